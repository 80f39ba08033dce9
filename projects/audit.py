"""The one function that writes the audit: inside the transaction of the change that it tells of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from django.db import transaction
from django.utils import timezone

from projects.actors import Actor
from projects.models import AuditEntry, Project, Team


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
    entry = _entry(verb, by, subject, data, project=project, of_team=of_team)
    entry.save()
    return entry


def record_many(verb: str, *, by: Actor, subjects: Iterable[tuple[Subject, Project]], **data: Any) -> None:
    """The same for many subjects, each with its project: an entry each, in one query."""
    AuditEntry.objects.bulk_create([_entry(verb, by, subject, data, project=project) for subject, project in subjects])


def _entry(
    verb: str,
    by: Actor,
    subject: Subject | tuple[str, str, str] | None,
    data: dict[str, Any],
    *,
    project: Project | None,
    of_team: Team | None = None,
) -> AuditEntry:
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError(f"audit.record({verb!r}) outside a transaction")
    kind, key, title = (
        ("", "", "") if subject is None else subject if isinstance(subject, tuple) else (subject.kind, subject.key, subject.title)
    )
    return AuditEntry(
        at=timezone.now(),
        verb=verb,
        user=by.user if by.user.is_authenticated else None,
        user_name=by.user.get_username(),
        token_id=by.token_id,
        project=project,
        team_id=of_team.pk if of_team else project.team_id if project else None,
        subject_kind=kind,
        subject_id=key,
        subject_title=title,
        data=data,
    )
