"""The one function that writes the audit: inside the transaction of the change that it tells of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from django.db import transaction
from django.utils import timezone

from projects.actors import Actor
from projects.models import AuditEntry, Project


class Subject(Protocol):
    """What can be named: monitoring's Subject, which stands a floor above, is one."""

    kind: str
    key: str
    title: str


def record(
    verb: str, *, by: Actor, subject: Subject | tuple[str, str, str] | None = None, project: Project | None = None, **data: Any
) -> AuditEntry:
    """Keep that `by` did `verb` to `subject` (or kind, id and title). Never a secret's value among `data`.

    Raises RuntimeError outside a transaction: change and entry stand or fall together.
    """
    entry = _entry(verb, by, subject, None if project is None else project.pk, data)
    entry.save()
    return entry


def record_many(verb: str, *, by: Actor, subjects: Iterable[tuple[Subject, int]], **data: Any) -> None:
    """The same for many subjects, each with the id of its project: an entry each, in one query."""
    AuditEntry.objects.bulk_create([_entry(verb, by, subject, project_id, data) for subject, project_id in subjects])


def _entry(
    verb: str, by: Actor, subject: Subject | tuple[str, str, str] | None, project_id: int | None, data: dict[str, Any]
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
        project_id=project_id,
        subject_kind=kind,
        subject_id=key,
        subject_title=title,
        data=data,
    )
