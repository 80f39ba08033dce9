"""Why a job ended: the rule that fits, which rank was first and where, and its last words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent import protocol
from clusters import reasons
from clusters.models import Rank
from jobs.ending_rules import Verdict, judge
from jobs.models import Attempt, Job
from monitoring import last_lines, logs
from monitoring.last_lines import LastLine
from monitoring.log_patterns import Mode, Pattern
from projects.errors import Gone

LINES_READ = 200  # in which a rule looks for what it knows
LINES_SHOWN = 12
TRACE_BEGINS = "Traceback (most recent call last)"
FOR_THE_PANEL = re.compile(r"::(?:metric|progress) ")  # agent/metric_lines.py
WITHOUT_WORDS = ("canceled", "panel-stopped", "preempted")  # what it was saying then says nothing of it


@dataclass(frozen=True)
class Ending:
    """`sentence` is the reason's own; `rank` and `host` are of the one that failed first, None and "" where none did begin."""

    attempt: int
    code: str
    sentence: str
    verdict: Verdict
    rank: int | None
    host: str
    exit_code: int | None
    signal: int | None
    ended_at: datetime | None
    part: str
    last_words: list[LastLine]
    told_by: LastLine | None  # the line that the rule knew
    error: LastLine | None  # where the log is best read from; None: there is no log

    @property
    def lines_link(self) -> str:
        """Of the log's viewer (static/js/log_links.js), as the fragment of the job's address."""
        return f"#{self.attempt}.{self.rank}.{self.part}:L{self.error.number}" if self.error else ""


def of_attempt(job: Job, attempt: Attempt) -> Ending:
    """Of an attempt that has ended, read with its workload; of the job's last one the job itself has the last word."""
    workload = attempt.workload
    is_last = job.has_ended and workload.pk == job.workload_id
    code, data = (job.reason_code, job.reason_data) if is_last else (workload.reason_code, workload.reason_data)
    rank = _first_to_fail(attempt, data.get("rank"))
    part, said = ("", []) if rank is None or code in WITHOUT_WORDS else _said(job, rank)
    verdict = judge(code, data, [data["detail"]] if not said and "detail" in data else [line.text for line in said])
    told_by = said[verdict.line] if said and verdict.line is not None else None
    return Ending(
        attempt=attempt.number,
        code=code,
        sentence=reasons.sentence(code, data),
        verdict=verdict,
        rank=rank.number if rank else None,
        host=rank.host.name if rank else "",
        exit_code=rank.exit_code if rank else None,
        signal=rank.signal if rank else None,
        ended_at=(rank.ended_at if rank else None) or workload.ended_at,
        part=part,
        last_words=said[-LINES_SHOWN:],
        told_by=told_by,
        error=_error_in(said, verdict.line),
    )


def _first_to_fail(attempt: Attempt, number: int | None) -> Rank | None:
    """The one that the reason names, else the first."""
    ranks = list(attempt.workload.ranks.select_related("host").order_by("number"))
    return next((rank for rank in ranks if rank.number == number), ranks[0] if ranks else None)


def _said(job: Job, rank: Rank) -> tuple[str, list[LastLine]]:
    """(part of the log, its last lines): of its output, else of its preparing."""
    assert job.subject
    for part in (protocol.PART_OUTPUT, protocol.PART_PREPARE):
        log = logs.find_log(job.subject, rank.workload_id, rank.number, part)
        if log is None or not log.head_offset:
            continue
        try:
            return part, _for_people(last_lines.last_lines(log, LINES_READ))
        except Gone:  # the store has lost them: there is still a reason to tell
            return part, []
    return protocol.PART_OUTPUT, []


def _for_people(found: list[LastLine]) -> list[LastLine]:
    """Without what is said to the panel, and without an empty end."""
    said = [line for line in found if not FOR_THE_PANEL.match(line.text)]
    while said and not said[-1].text.strip():
        said.pop()
    return said


def _error_in(said: Sequence[LastLine], told: int | None) -> LastLine | None:
    """The trace that leads to the line which told, else that line; untold the first that tells of an error, else the last."""
    if not said:
        return None
    upto = len(said) - 1 if told is None else told
    traces = [line for line in said[: upto + 1] if TRACE_BEGINS in line.text]
    if traces:
        return traces[-1]
    if told is not None:
        return said[told]
    matcher = Pattern("", Mode.ERRORS).matcher()
    return next((line for line in said if matcher.spans(line.text.encode())), said[-1])
