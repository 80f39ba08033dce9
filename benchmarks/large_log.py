"""A large log, made directly in the store of a panel: as if a training job had printed it.

    PANEL_VAR=... python -m benchmarks.large_log JOB [--lines 10000000] [--rank 0] [--file copy.log]

Prints JSON: how many lines and bytes it has, and when it began and ended. `--file` takes the same bytes, for a baseline. Line
n has been printed n / 200 s after the first. One line in 100,000 has the word `needle`; of 10 million the 7,654,321st is a
traceback's first.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

LINES_A_SECOND = 200
FIRST_MS = 1_772_366_400_000
NEEDLE_EVERY = 100_000
SEGMENT_BYTES = 256 * 1024  # what a steady log is sealed in (LOG_SEAL_BYTES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", type=int)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlpanel.settings")
    import django

    django.setup()
    print(json.dumps(store(options.job, options.lines, rank=options.rank, copy=options.file)))


def fill(environment: dict[str, str], job: int, lines: int, *, rank: int = 0, copy: Path | None = None) -> dict[str, int]:
    """The same, for the panel that has this environment."""
    command = [sys.executable, "-m", "benchmarks.large_log", str(job), "--lines", str(lines), "--rank", str(rank)]
    command += ["--file", str(copy)] if copy else []
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def store(job: int, lines: int, *, rank: int, copy: Path | None) -> dict[str, int]:
    from django.db import transaction

    from jobs.models import Job
    from monitoring import logs, objects
    from monitoring.models import Log, LogPiece, LogSegment

    found = Job.objects.select_related("subject").get(pk=job)
    log = logs.open_log(subject=found.subject, workload_id=found.workload_id, rank=rank, part="output")
    offset, line, rows = 0, 0, list[Any]()
    with ExitStack() as files:
        file = files.enter_context(copy.open("wb")) if copy else None
        for data, count in segments_of(lines):
            if file:
                file.write(data)
            name = objects.name_of(log, offset, len(data))
            objects.save(name, data)
            times = [[offset + place, FIRST_MS + (line + ahead) * 1000 // LINES_A_SECOND] for place, ahead in marks(data)]
            rows.append(
                LogSegment(
                    log=log,
                    offset=offset,
                    size_bytes=len(data),
                    first_line=line,
                    line_count=count,
                    first_ms=times[0][1],
                    last_ms=times[-1][1],
                    times=times,
                    name=name,
                )
            )
            offset, line = offset + len(data), line + count
    ends = {"head_offset": offset, "sealed_offset": offset, "sealed_lines": line, "final_offset": offset}
    with transaction.atomic():  # in place of what the job has printed itself
        LogPiece.objects.filter(log=log).delete()
        LogSegment.objects.filter(log=log).delete()
        LogSegment.objects.bulk_create(rows, batch_size=500)
        Log.objects.filter(pk=log.pk).update(**ends)
    return {"bytes": offset, "lines": line, "first_ms": FIRST_MS, "last_ms": FIRST_MS + line * 1000 // LINES_A_SECOND}


def segments_of(lines: int) -> Iterator[tuple[bytes, int]]:
    """(bytes, line ends in them), cut in the middle of lines as a shipper does."""
    waiting = b""
    for first in range(0, lines, 10_000):
        waiting += b"".join(map(text_of, range(first, min(first + 10_000, lines))))
        while len(waiting) >= SEGMENT_BYTES:
            data, waiting = waiting[:SEGMENT_BYTES], waiting[SEGMENT_BYTES:]
            yield data, data.count(b"\n")
    if waiting:
        yield waiting, waiting.count(b"\n")


def text_of(number: int) -> bytes:
    if number % NEEDLE_EVERY == NEEDLE_EVERY // 2:
        return b"checkpoint %d written, with a needle in it\n" % number
    if number == 7_654_320:
        return b"Traceback (most recent call last):\n"
    noise = random.Random(number).random() if number % 50 == 0 else number % 9973 / 9973
    return (
        f"step {number:,} of the training: loss {noise:.6f}, learning rate {3e-4 * noise:.3e},"
        f" {412_000 + number % 991} tokens/s, {number % 7} s wait\n"
    ).encode()


def marks(data: bytes) -> Iterator[tuple[int, int]]:
    """(place, lines before it) of 128 lines at most."""
    step, place, line = max(1, data.count(b"\n") // 127), 0, 0
    yield 0, 0
    while True:
        for _ in range(step):
            place = data.find(b"\n", place) + 1
            if not place or place >= len(data):
                return
            line += 1
        yield place, line


if __name__ == "__main__":
    main()
