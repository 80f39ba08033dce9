"""Files that ranks write, as their hosts tell of them: stored for those who look for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TypeVar

from agent.protocol import MORE_FILES, MOST_FILES, FileLine
from clusters.models import OutputFile, Rank
from monitoring import subjects

KEYS_A_QUERY = 500
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Key = tuple[str, str]  # area, path
T = TypeVar("T")


def note(rank: Rank, lines: Sequence[FileLine]) -> None:
    """Store what a host tells of a rank's files; of several words on one file the last counts. Safe twice.

    Of a rank MOST_FILES are kept: those that are gone make room, what is new beyond that is left out. A checkpoint that an
    earlier attempt has told of belongs to this one from now on. Announced after commit.
    """
    if not lines:
        return
    told: dict[Key, FileLine] = {(line.area, line.path): line for line in lines}
    has_more = told.pop((MORE_FILES.area, MORE_FILES.path), None) is not None
    there = {key: line for key, line in told.items() if not line.gone}
    left_out = _beyond_the_bound(rank, there)
    for key in left_out:
        del there[key]
    if (has_more or left_out) and not rank.has_more_files:
        rank.has_more_files = True
        rank.save(update_fields=["has_more_files"])
    for area, paths in _by_area(key for key, line in told.items() if line.gone):
        OutputFile.objects.filter(rank=rank, area=area, path__in=paths).update(gone=True)
    _take_over(rank, list(told))
    OutputFile.objects.bulk_create(
        [
            OutputFile(rank=rank, area=area, path=path, size_bytes=line.size_bytes, modified_at=_moment(line.modified_ms))
            for (area, path), line in there.items()
        ],
        update_conflicts=True,
        unique_fields=["rank", "area", "path"],
        update_fields=["size_bytes", "modified_at", "gone"],
    )
    subjects.changed(rank.workload.subject)


def note_gone(file: OutputFile) -> None:
    """Its host looked for it and did not find it."""
    if OutputFile.objects.filter(pk=file.pk, gone=False).update(gone=True):
        subjects.changed(file.rank.workload.subject)


def _beyond_the_bound(rank: Rank, there: dict[Key, FileLine]) -> list[Key]:
    """Those of the new files that there is no room for."""
    mine = OutputFile.objects.filter(rank=rank)
    known: set[Key] = set()
    for area, paths in _by_area(there):
        known |= {(area, path) for path in mine.filter(area=area, path__in=paths).values_list("path", flat=True)}
    new = [key for key in there if key not in known]
    if not new:
        return []
    room = MOST_FILES - mine.count()
    if len(new) > room:
        gone = [pk for pk, *key in mine.filter(gone=True).values_list("pk", "area", "path") if tuple(key) not in known]
        for some in _pieces(gone):
            mine.filter(pk__in=some).delete()
        room = MOST_FILES - mine.count()
    return new[max(0, room) :]


def _take_over(rank: Rank, keys: Sequence[Key]) -> None:
    """All attempts of a job share its checkpoints: on the same host it is the same file."""
    earlier = OutputFile.objects.filter(
        rank__workload__subject_id=rank.workload.subject_id,
        rank__workload_id__lt=rank.workload_id,  # ids are in the order of time
        rank__host_id=rank.host_id,
        area=OutputFile.Area.CHECKPOINTS,
        gone=False,
    )
    for area, paths in _by_area(key for key in keys if key[0] == OutputFile.Area.CHECKPOINTS):
        earlier.filter(area=area, path__in=paths).update(gone=True)


def _by_area(keys: Iterator[Key] | dict[Key, FileLine]) -> Iterator[tuple[str, list[str]]]:
    """The paths of each area, as many at a time as a database takes."""
    of_area: dict[str, list[str]] = {}
    for area, path in keys:
        of_area.setdefault(area, []).append(path)
    for area, paths in of_area.items():
        for some in _pieces(paths):
            yield area, some


def _pieces(things: list[T]) -> Iterator[list[T]]:
    left = iter(things)
    while some := list(islice(left, KEYS_A_QUERY)):
        yield some


def _moment(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)
