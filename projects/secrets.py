"""A project's secrets: encrypted at rest, written by people, read only for the host that starts their job."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from projects import audit, variables
from projects.actors import Actor
from projects.errors import Conflict, Invalid, NotFound
from projects.models import Project, Secret, secret_name

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

LEAST_BYTES = 8  # a shorter value would blot out half a log when it is masked
MOST_BYTES = 64 * 1024


def put(*, project: Project, name: str, value: str, by: Actor) -> Secret:
    """Set a secret; a job that starts from now on gets the new value. The caller checks the right secrets.edit.

    Raises Invalid at "name" or at "value" (8 bytes to 64 KiB of UTF-8).
    """
    _check(name, value)
    sealed = _fernet(make=True).encrypt(value.encode())
    with transaction.atomic():
        secret, made = Secret.objects.update_or_create(
            project=project, name=name, defaults={"value": sealed, "updated_by": by.user if by.user.is_authenticated else None}
        )
        audit.record("secret.put", by=by, subject=_subject(secret), project=project, made=made)
    return secret


def remove(*, project: Project, name: str, by: Actor) -> None:
    """Forget a secret; jobs that wait and name it will not start. Raises NotFound."""
    with transaction.atomic():
        secret = Secret.objects.select_for_update().filter(project=project, name=name).first()
        if secret is None:
            raise NotFound("no-such-secret", _("There is no secret %(name)s in this project.") % {"name": name})
        audit.record("secret.remove", by=by, subject=_subject(secret), project=project)
        secret.delete()


def names(project: Project) -> list[str]:
    return list(project.secrets.order_by("name").values_list("name", flat=True))


def reveal(project_id: int, names: Iterable[str]) -> dict[str, str]:
    """Name -> value, in clear: only for the one who starts a job.

    Raises Conflict("secret-missing") or Conflict("secret-unreadable"), which name the secrets.
    """
    wanted = sorted(set(names))
    if not wanted:
        return {}
    sealed = dict(Secret.objects.filter(project_id=project_id, name__in=wanted).values_list("name", "value"))
    missing = [name for name in wanted if name not in sealed]
    if missing:
        raise Conflict("secret-missing", _("The project has no secret %(names)s.") % {"names": ", ".join(missing)}, names=missing)
    return _opened({name: bytes(sealed[name]) for name in wanted})


def seal(text: str) -> bytes:
    """For other secrets that the panel keeps, each for its own purpose."""
    return _fernet(make=True).encrypt(text.encode())


def unseal(sealed: bytes) -> str:
    """Raises Conflict("secret-unreadable")."""
    return _opened({"": bytes(sealed)})[""]


def _check(name: str, value: str) -> None:
    try:
        secret_name(name)
    except ValidationError as error:
        raise Invalid({"name": " ".join(error.messages)}) from None
    if variables.is_panels(name):
        raise Invalid({"name": _("VIRTUAL_ENV and names that begin with PANEL_ are the panel's own.")})
    if variables.is_obeyed(name):
        raise Invalid({"name": _("%(name)s steers how programs start: set it in the environment of a launch.") % {"name": name}})
    try:
        size_bytes = len(value.encode())
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can carry
        raise Invalid({"value": _("The value is no valid text.")}) from None
    if not LEAST_BYTES <= size_bytes <= MOST_BYTES:
        raise Invalid({"value": _("A secret has 8 bytes to 64 KiB.")})


def _opened(sealed: dict[str, bytes]) -> dict[str, str]:
    from cryptography.fernet import InvalidToken

    fernet, opened, unreadable = _fernet(make=False), {}, []
    for name, value in sealed.items():
        try:
            opened[name] = fernet.decrypt(value).decode()
        except InvalidToken:
            unreadable.append(name)
    if unreadable:
        raise _unreadable(unreadable)
    return opened


def _fernet(*, make: bool) -> Fernet:
    """Encrypts and decrypts with the kept key, which `make` makes at first use. Raises Conflict("secret-unreadable")."""
    from cryptography.fernet import Fernet

    path = Path(settings.SECRETS_KEY_FILE)
    if make and not path.exists():
        _keep_key(path, Fernet.generate_key())
    try:
        return Fernet(path.read_bytes().strip())
    except (FileNotFoundError, ValueError):
        raise _unreadable([]) from None


def _keep_key(path: Path, key: bytes) -> None:
    """Of two makers one wins, and nobody reads half a key: it gets its name only when it is on the disk whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _unreadable(names: list[str]) -> Conflict:
    sentence = _(
        "Stored secrets cannot be read: the key file %(file)s is missing or has changed. Bring it back, or put them anew."
    )
    return Conflict("secret-unreadable", sentence % {"file": Path(settings.SECRETS_KEY_FILE).name}, names=names)


def _subject(secret: Secret) -> tuple[str, str, str]:
    return "secret", str(secret.pk), secret.name
