"""Points as they were measured, as a CSV file: for jobs and for hosts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _

from monitoring import metrics
from monitoring.metric_queries import Owner
from monitoring.shapes import MOST_NAMES
from projects.errors import Invalid

HEAD = "name,attempt,rank,step,ms,value\n"
QUOTED = ',"\n\r'
FORMULAS = "=+-@\t\r"  # what a spreadsheet would compute


def answer(owner: Owner, names: Sequence[str], file_name: str) -> StreamingHttpResponse:
    """It comes as it is read. Raises Invalid."""
    if not 0 < len(names) <= MOST_NAMES:
        raise Invalid({"name": _("from 1 to %(most)s are needed") % {"most": MOST_NAMES}})
    return StreamingHttpResponse(
        _streamed(rows(owner, names)),
        content_type="text/csv; charset=utf-8",
        headers={"X-Content-Type-Options": "nosniff", "Content-Disposition": f'attachment; filename="{file_name}"'},
    )


def rows(owner: Owner, names: Sequence[str]) -> Iterator[str]:
    """Every point a line, a chunk at a time."""
    yield HEAD
    for name in names:
        for row, points in metrics.points(owner.subject, name):
            before = f"{_cell(name)},{owner.attempts.get(row.workload_id, '')},{row.rank}"
            columns = zip(points.steps, points.walls, points.values, strict=True)
            yield "".join(f"{before},{step},{ms},{value!r}\n" for step, ms, value in columns)


def _cell(name: str) -> str:
    text = f"'{name}" if name.startswith(tuple(FORMULAS)) else name
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in QUOTED) else text


async def _streamed(texts: Iterator[str]) -> AsyncIterator[bytes]:
    while text := await sync_to_async(_next)(texts):
        yield text.encode()


def _next(texts: Iterator[str]) -> str:
    return next(texts, "")
