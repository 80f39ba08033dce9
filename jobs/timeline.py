"""How a job's time was spent, attempt by attempt, as segments of one line: pure, from the moments that rows hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

CHARACTER = 0.55  # percent of the line that a character of a label takes on a wide screen
SEEN = 4.0  # percent: what is narrower is told by its title alone
LEAST = 0.3  # percent: a short segment is still seen


@dataclass(frozen=True)
class Try:
    """One attempt's moments; None: it has not come to that."""

    number: int
    created_at: datetime
    ordered_at: datetime | None
    running_at: datetime | None
    ended_at: datetime | None
    failed: bool = False


@dataclass(frozen=True)
class Segment:
    """`kind` is queued, prepare, run, failed (a run that failed), delay (until the next attempt) or left (an estimate)."""

    kind: str
    start: datetime
    end: datetime
    attempt: int
    x: float = 0.0  # percent of the line
    width: float = 0.0

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()


@dataclass(frozen=True)
class Label:
    segment: Segment
    words: str

    @property
    def x(self) -> float:
        return self.segment.x

    @property
    def end(self) -> float:
        return self.x + (len(self.words) + len(" 12 min 12 s")) * CHARACTER


def segments(tries: Sequence[Try], *, now: datetime, left_s: float | None = None) -> list[Segment]:
    """All of the line, in its order; they do not overlap, and their widths fill it."""
    found = [segment for one in tries for segment in _of_try(one, now)]
    found = [*_with_delays(found)]
    if left_s and found and found[-1].kind == "run" and tries[-1].ended_at is None:
        found.append(Segment("left", found[-1].end, found[-1].end + timedelta(seconds=left_s), found[-1].attempt))
    return _placed([segment for segment in found if segment.seconds > 0])


def labels(line: Iterable[Segment]) -> list[Label]:
    """Words below the segments, left to right; where two would stand on one another, the longer segment has them."""
    line = list(line)
    several = max((segment.attempt for segment in line), default=1) > 1
    found: list[Label] = []
    for segment in sorted(line, key=lambda segment: -segment.width):
        label = Label(segment, _words(segment, several))
        is_told = segment.width >= SEEN or segment.kind in ("run", "failed")
        if is_told and label.end <= 102 and all(label.end <= other.x or other.end <= label.x for other in found):
            found.append(label)
    return sorted(found, key=lambda label: label.x)


def drawn_again_after_s(line: Sequence[Segment]) -> int:
    """A young line soon looks different: while it lives, it is asked for anew when it is a good deal longer."""
    spent = sum(segment.seconds for segment in line if segment.kind != "left")
    return round(min(15, max(2, spent / 4)))


def _of_try(one: Try, now: datetime) -> Iterator[Segment]:
    end = one.ended_at or now
    moments = [("queued", one.created_at), ("prepare", one.ordered_at), ("failed" if one.failed else "run", one.running_at)]
    come = [(kind, at) for kind, at in moments if at is not None]
    for (kind, start), (_kind, following) in zip(come, [*come[1:], ("", end)], strict=True):
        yield Segment(kind, start, max(start, following), one.number)


def _with_delays(found: Sequence[Segment]) -> Iterator[Segment]:
    for segment, following in zip(found, [*found[1:], None], strict=True):
        yield segment
        if following and following.start > segment.end:
            yield Segment("delay", segment.end, following.start, following.attempt)


def _placed(found: Sequence[Segment]) -> list[Segment]:
    """Each at least LEAST wide; the wide ones give what that takes."""
    total = sum(segment.seconds for segment in found)
    widths = [max(LEAST, 100 * segment.seconds / total) for segment in found] if total else []
    scale = 100 / sum(widths) if widths else 0
    x, placed = 0.0, []
    for segment, width in zip(found, widths, strict=True):
        placed.append(Segment(segment.kind, segment.start, segment.end, segment.attempt, round(x, 3), round(width * scale, 3)))
        x += width * scale
    return placed


def _words(segment: Segment, several: bool) -> str:
    if segment.kind in ("run", "failed"):
        return _("attempt %(number)s") % {"number": segment.attempt} if several else _("running")
    return {"queued": _("queued"), "prepare": _("preparing"), "delay": _("delay"), "left": _("left")}[segment.kind]
