"""How a notice moves, and when it is tried again."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings

from jobs.models import Notice
from jobs.states import NOTICE_MOVES, NOTICE_OPEN, NoticeState

BACK_OFF_S = (10, 60, 300, 1800, 7200)  # after the first try, the second ...; then it has failed


def claim(notice: Notice, *, now: datetime) -> bool:
    """pending -> sending, before anything is sent. False: another has it."""
    changes = {"tries": notice.tries + 1, "due_at": now + timedelta(seconds=settings.NOTICE_SENDING_S)}
    return _move(notice, NoticeState.SENDING, now=now, **changes)


def try_again(notice: Notice, *, detail: str, now: datetime) -> datetime | None:
    """sending -> pending until its next try, or failed after the last; returns when that is."""
    if notice.tries > len(BACK_OFF_S):
        move(notice, NoticeState.FAILED, detail=detail, now=now)
        return None
    due_at = min(now + timedelta(seconds=BACK_OFF_S[notice.tries - 1]), max(notice.give_up_at, now))
    _move(notice, NoticeState.PENDING, now=now, due_at=due_at, detail=detail[:300])
    return due_at


def move(notice: Notice, to: str, *, now: datetime, detail: str = "") -> bool:
    """To a state in which it stays."""
    return _move(notice, to, now=now, due_at=None, detail=detail[:300])


def _move(notice: Notice, to: str, *, now: datetime, **changes: object) -> bool:
    """The one function that changes a notice: conditional on the state and the try that it saw, so that of two one wins."""
    if to not in NOTICE_MOVES[notice.state]:
        raise ValueError(f"notice={notice.pk} cannot move {notice.state} -> {to}")
    assert (to in NOTICE_OPEN) == (changes["due_at"] is not None)
    changes |= {"state": to, "moved_at": now}
    if not Notice.objects.filter(pk=notice.pk, state=notice.state, tries=notice.tries).update(**changes):
        return False
    for name, value in changes.items():
        setattr(notice, name, value)
    return True
