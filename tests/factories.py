"""The smallest valid thing of each kind; a test says what matters to it."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User

from clusters import workloads
from clusters.enrolment import hashed
from clusters.models import Chip, Cluster, Host, Slice, Workload
from clusters.specs import Request, Spec
from clusters.states import HostState
from jobs import definitions, services, shipped
from jobs.models import DefinitionVersion, Job
from monitoring import subjects
from monitoring.models import Subject
from projects import tokens
from projects.actors import Actor
from projects.models import ApiToken, Membership, Project, Role, Team

PASSWORD = "a-password-of-the-tests"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
_numbers = itertools.count(1)


def a_user(*, username: str | None = None, password: str = PASSWORD, is_superuser: bool = False, is_active: bool = True) -> User:
    return User.objects.create_user(
        username or f"person-{next(_numbers)}", password=password, is_superuser=is_superuser, is_active=is_active
    )


def a_team(*, slug: str | None = None, name: str = "A team") -> Team:
    return Team.objects.create(slug=slug or f"team-{next(_numbers)}", name=name)


def a_member(*, team: Team | None = None, role: str = Role.MEMBER, username: str | None = None) -> User:
    """A person in the team."""
    user = a_user(username=username)
    Membership.objects.create(team=team or a_team(), user=user, role=role)
    return user


def a_project(*, team: Team | None = None, slug: str | None = None, name: str = "A project") -> Project:
    return Project.objects.create(team=team or a_team(), slug=slug or f"project-{next(_numbers)}", name=name)


def a_token(
    *, user: User | None = None, name: str = "script", scope: str = "admin", expires_at: datetime | None = None
) -> tuple[ApiToken, str]:
    """The token and its text."""
    user = user or a_user()
    return tokens.issue(user=user, name=name, scope=scope, expires_at=expires_at, by=Actor(user=user))


def a_cluster(*, name: str | None = None, lost_after_s: int | None = 900, files_root: str = "") -> Cluster:
    return Cluster.objects.create(
        name=name or f"cluster-{next(_numbers)}", accelerator="cpu", lost_after_s=lost_after_s, files_root=files_root
    )


def a_host(
    *,
    cluster: Cluster | None = None,
    name: str | None = None,
    chips: int = 2,
    state: str = HostState.READY,
    heard_at: datetime | None = NOON,
    created_at: datetime = NOON,
) -> Host:
    """A ready host with free chips whose agent has session 1. Its HTTP token is `token_of(host)`."""
    name = name or f"host-{next(_numbers)}"
    cluster = cluster or Cluster.objects.first() or a_cluster()
    host = Host(name=name, state=state, heard_at=heard_at, machine_id=f"machine-of-{name}", redis_password_hash=hashed(name))
    host.slice = Slice.objects.create(cluster=cluster, name=name)
    host.subject = subjects.ensure(kind="host", key=str(host.pk), title=name)
    host.session, host.instance_id, host.boot_id, host.token_hash = 1, "instance-1", "boot-1", hashed(token_of(host))
    host.save()
    Host.objects.filter(pk=host.pk).update(created_at=created_at)
    host.created_at = created_at
    Chip.objects.bulk_create(Chip(host=host, number=number) for number in range(chips))
    return host


def token_of(host: Host) -> str:
    return f"token-of-{host.pk}"


def a_subject(*, project: Project | None = None, kind: str = "job") -> Subject:
    key = str(next(_numbers))
    return subjects.ensure(kind=kind, key=key, title=f"{kind} {key}", project=project)


def a_workload(
    *,
    project: Project | None = None,
    chips: int = 1,
    cluster: str = "",
    priority: int = 0,
    now: datetime = NOON,
    queued_at: datetime | None = None,
    **spec: Any,
) -> Workload:
    """A waiting workload of a job that nobody follows. What is left over goes into its spec."""
    project = project or Project.objects.first() or a_project()
    return workloads.create(
        project=project,
        subject=a_subject(project=project),
        request=Request(accelerator="cpu", chips=chips, cluster=cluster),
        spec=Spec(**{"command": ["true"]} | spec),
        now=now,
        queued_at=queued_at,
        priority=priority,
    )


def a_definition(*, project: Project | None = None, by: User | None = None, **wording: Any) -> DefinitionVersion:
    """The definition `command`, or what `wording` makes of it."""
    return definitions.publish(
        project=project or a_project(), by=Actor(user=by or a_user()), now=NOON, **shipped.command() | wording
    )


def a_job(
    *, project: Project | None = None, by: User | None = None, command: str = "true", now: datetime = NOON, **launch: Any
) -> Job:
    """A queued job of the definition `command`; its cluster is made when there is none."""
    project, by = project or a_project(), by or a_user()
    if not Cluster.objects.exists():
        a_cluster()
    return services.launch(
        project=project,
        version=a_definition(project=project, by=by),
        values={"command": command},
        resources=launch.pop("resources", {}),
        by=Actor(user=by),
        now=now,
        **launch,
    )
