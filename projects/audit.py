"""The one function that writes the audit: inside the transaction of the change that it tells of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from django.db import transaction
from django.utils import timezone

from projects.actors import Actor
from projects.models import AuditEntry, Project, Team
from projects.rows import insert


class Subject(Protocol):
    """What can be named: monitoring's Subject, which stands a floor above, is one."""

    kind: str
    key: str
    title: str


def record(
    verb: str,
    *,
    by: Actor,
    subject: Subject | tuple[str, str, str] | None = None,
    project: Project | None = None,
    of_team: Team | None = None,
    **data: Any,
) -> AuditEntry:
    """Keep that `by` did `verb` to `subject` (or kind, id and title). Never a secret's value among `data`.

    The admins of `of_team`, or else of the project's team, may read it; without both operators alone.

    Raises RuntimeError outside a transaction: change and entry stand or fall together.
    """
    kind, key, title = _named(subject)
    return AuditEntry.objects.create(
        **_who(by),
        verb=verb,
        project=project,
        team_id=of_team.pk if of_team else project.team_id if project else None,
        subject_kind=kind,
        subject_id=key,
        subject_title=title,
        data=data,
    )


def record_many(
    verb: str, *, by: Actor, subjects: Iterable[tuple[Subject | tuple[str, str, str], int, int]], **data: Any
) -> None:
    """The same for many subjects, each with the ids of its project and its team: an entry each, in one statement."""
    rows = [(project_id, team_id, *_named(subject)) for subject, project_id, team_id in subjects]
    same = _who(by) | {"verb": verb, "data": data}
    insert(AuditEntry, same, ("project", "team", "subject_kind", "subject_id", "subject_title"), rows)


def _who(by: Actor) -> dict[str, Any]:
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("audit outside a transaction: change and entry stand or fall together")
    return {
        "at": timezone.now(),
        "user_id": by.user.pk if by.user.is_authenticated else None,
        "user_name": by.user.get_username(),
        "token_id": by.token_id,
    }


def _named(subject: Subject | tuple[str, str, str] | None) -> tuple[str, str, str]:
    if subject is None:
        return "", "", ""
    return subject if isinstance(subject, tuple) else (subject.kind, subject.key, subject.title)
