"""What must stand before the panel's processes start. Each step is safe to repeat."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import redis
from django.conf import settings
from django.core.management import call_command
from django.db import transaction

from clusters import enrolment, wheel
from clusters.models import Cluster, Host
from controlpanel import local_agent, words
from jobs import definitions, shipped
from monitoring import retention
from monitoring.streams import client
from projects.actors import operator
from projects.first_steps import first_steps
from projects.models import Project

LOCAL_CLUSTER = "local"


class NotReady(Exception):
    """What keeps the panel from starting, in a sentence."""


def check_redis() -> None:
    """The panel can reach Redis and give hosts users of their own. Raises NotReady."""
    probe = "panel-probe"
    try:
        connection = client()
        connection.ping()
        connection.execute_command("ACL", "SETUSER", probe, "reset", "off")
        connection.execute_command("ACL", "DELUSER", probe)
    except redis.exceptions.ResponseError as error:
        raise NotReady(
            f"This Redis does not let the panel make users ({error}). Each host needs one of its own (ACL SETUSER): "
            "use Redis 6.2 or newer or Valkey, and a user that may administer it, in REDIS_URL."
        ) from error
    except redis.exceptions.RedisError as error:
        raise NotReady(f"Redis does not answer at the address in REDIS_URL: {error}") from error


def tables() -> None:
    call_command("migrate", verbosity=0, interactive=False)
    retention.count_anew()


def first_people(now: datetime) -> str:
    """A sentence with the first sign-in, once."""
    made = first_steps(now)
    return f"Sign in as {made.username} with the password {made.password}  (shown once)" if made else ""


def shipped_definitions(now: datetime) -> None:
    """Every project can launch what the panel ships; a release that words one anew makes its next version.

    What a team has edited is its own: it is left alone (docs/adr/0013-a-teams-edit-stays.md).
    """
    for project in Project.objects.all():
        publish_shipped(project, now)


def publish_shipped(project: Project, now: datetime) -> None:
    for definition in shipped.shipped():
        definitions.ship(project=project, by=operator(), now=now, **definition)


def local_host(now: datetime) -> None:
    """A cluster of this machine's processors, and a token for its agent when it is not a host of this database."""
    with transaction.atomic():
        cluster, _made = Cluster.objects.get_or_create(
            name=LOCAL_CLUSTER, defaults={"accelerator": "cpu", "lost_after_s": None, "files_shared": True}
        )
        token_file = local_agent.token_file(settings.VAR_DIR)
        host = local_agent.enrolled_host(settings.VAR_DIR)
        if host and Host.objects.in_service().filter(pk=host).exists():
            token_file.unlink(missing_ok=True)
            return
        token_file.parent.mkdir(parents=True, exist_ok=True)
        token_file.touch(mode=0o600)
        token_file.write_text(enrolment.issue(cluster=cluster, by=operator(), now=now, valid_for=timedelta(days=1)))


def languages() -> None:
    words.compile_all()


def static_files() -> None:
    folders = [Path(str(folder[1] if isinstance(folder, tuple) else folder)) for folder in settings.STATICFILES_DIRS]
    mark = settings.STATIC_ROOT / ".collected"
    digest = _digest(path for folder in folders for path in folder.rglob("*"))
    if not mark.exists() or mark.read_text() != digest:
        call_command("collectstatic", verbosity=0, interactive=False, clear=True)
        mark.write_text(digest)


def agent_wheel() -> None:
    mark = wheel.folder() / ".built"
    digest = _digest((settings.BASE_DIR / "agent").glob("*.*"))
    if not mark.exists() or mark.read_text() != digest or not any(wheel.folder().glob("*.whl")):
        wheel.build()
        mark.write_text(digest)


def _digest(paths: Iterable[Path]) -> str:
    """Of names, sizes and times: quick, and it changes with every edit."""
    found = sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path.is_file())
    return hashlib.sha256(repr(found).encode()).hexdigest()
