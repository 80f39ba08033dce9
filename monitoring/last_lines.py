"""The last lines of a log as a person reads them: without colours, each in its last state."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring import lines, log_text, logs
from monitoring.models import Log

MOST_BYTES = 64 * 1024  # read for them: of lines that are longer there are fewer


@dataclass(frozen=True)
class LastLine:
    """`number` counts from 1, as it is shown."""

    number: int
    text: str


def last_lines(log: Log, count: int) -> list[LastLine]:
    """At most `count` whole lines, in their order, as far as 64 KiB reach back; of one that is longer its end.

    Raises Gone where the store has lost them.
    """
    head = log.head_offset
    floor = max(0, head - MOST_BYTES)
    start = max(lines.tail_offset(log, count), floor)
    data = logs.read(log, start, head - start)
    number = lines.line_at(log, start) + 1
    if start == floor > 0 and 0 <= (cut := data.find(b"\n")) < len(data) - 1:  # it began in the middle of a line
        data, number = data[cut + 1 :], number + 1
    found = log_text.plain(data).removesuffix(b"\n").split(b"\n") if data else []
    return [LastLine(number + place, log_text.shown(line, []).text) for place, line in enumerate(found)][-count:]
