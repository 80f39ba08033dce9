"""What happened to a subject, in the order in which it was committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import F, Max

from monitoring import announcements
from monitoring.models import Event, Subject
from projects.rows import insert


def record(subject: Subject, code: str, sentence: str, *, at: datetime, by_name: str = "", **data: Any) -> Event:
    """Write an event in the caller's transaction, and announce it once that is committed.

    The subject's row stays locked until then, so `seq` is commit order. Callers lock subjects by id, and after workloads.
    Raises RuntimeError outside a transaction: the event would not stand and fall with what it tells.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError(f"event {code} of {subject.address} recorded outside a transaction")
    Subject.objects.filter(pk=subject.pk).update(seq=F("seq") + 1)
    subject.seq = Subject.objects.values_list("seq", flat=True).get(pk=subject.pk)
    event = Event.objects.create(
        subject=subject, seq=subject.seq, at=at, code=code, sentence=sentence, data=data, by_name=by_name
    )
    announcements.announce_event(subject, event)
    return event


KNOWN_OF_SUBJECT = ("pk", "kind", "key", "project_id", "seq")


@dataclass(frozen=True)
class News:
    """An event that is to be recorded of one of many subjects."""

    subject_id: int
    code: str
    sentence: str
    data: dict[str, Any] = field(default_factory=dict)


def record_many(news: Sequence[News], *, at: datetime, by_name: str = "") -> None:
    """The same as `record` for many subjects, in a constant number of queries; several of one subject come in this order.

    Locks the subjects by id. Lists that show them hear of the last of each list, which is enough to draw them again.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError(f"{len(news)} events recorded outside a transaction")
    if not news:
        return
    counts = Counter(one.subject_id for one in news)
    rows = Subject.objects.select_for_update().filter(pk__in=counts).order_by("pk")
    subjects = {pk: (kind, key, project, seq) for pk, kind, key, project, seq in rows.values_list(*KNOWN_OF_SUBJECT)}
    for count in set(counts.values()):
        of_count = [pk for pk in subjects if counts[pk] == count]
        Subject.objects.filter(pk__in=of_count).update(seq=F("seq") + count)
    heads = {pk: seq for pk, (_kind, _key, _project, seq) in subjects.items()}
    numbered = []
    for one in news:
        heads[one.subject_id] += 1
        numbered.append((one.subject_id, heads[one.subject_id], one.code, one.sentence, one.data))
    insert(Event, {"at": at, "by_name": by_name}, ("subject", "seq", "code", "sentence", "data"), numbered)
    announcements.announce_events(
        (
            *subjects[pk][:3],
            partial(Event, seq=seq, at=at, code=code, sentence=sentence, data=data, by_name=by_name),
            seq,
        )
        for pk, seq, code, sentence, data in numbered
    )


def since(subject: Subject, seq: int, limit: int) -> list[Event]:
    """At most `limit` events after number `seq`, in order."""
    return list(Event.objects.filter(subject=subject, seq__gt=seq).order_by("seq")[:limit])


def has(subject: Subject, code: str) -> bool:
    return Event.objects.filter(subject=subject, code=code).exists()


def newest_id(before: datetime | None = None) -> int:
    """Id of the last event, of those that happened before a moment; 0 when there is none."""
    rows = Event.objects.all() if before is None else Event.objects.filter(at__lt=before)
    return rows.order_by("-pk").values_list("pk", flat=True).first() or 0


def news_of_list(list_address: str, after_id: int) -> dict[str, int]:
    """Address -> last seq of the list's subjects with events of a greater id. Ids are only roughly commit order: look back."""
    kind, _colon, key = list_address.partition(":")
    of_list = {"subject__project": None} if kind == "shared" else {"subject__project": int(key)}
    rows = Event.objects.filter(pk__gt=after_id, **of_list).values_list("subject__kind", "subject__key")
    return {f"{kind}:{key}": seq for kind, key, seq in rows.annotate(Max("seq")).order_by()}
