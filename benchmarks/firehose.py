"""A job that prints much: nothing is lost, and how soon is it at a client that listens, and what do others feel of it?

    python -m benchmarks.firehose [--lines 100000] [--floods 3] [--seconds 20] [--hops]

Starts a panel and a host of its own and prints JSON. First so many numbered lines as fast as they come, then a thousand a
second, each with the moment at which it was printed; all processes share this machine's clock. The baseline of the same
run sends the same bytes by XADD to a stream of the same Valkey, to a client that waits in XREAD. `--hops` says of the steady
lines how long each stretch of their way took, at the price of two more readers.
"""

from __future__ import annotations

import argparse
import http.client
import json
import tempfile
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from agent import protocol
from benchmarks.launch import spread
from tests.road.listener import LogListener
from tests.road.world import Agent, World, a_world

PIECE_BYTES = 64 * 1024  # as the supervisor reads from the command's pipe
ASK_EVERY_S = 0.02  # another person's look at the jobs
LINES_A_SECOND = 1000
FLAT_OUT = """
import sys, time
for i in range({lines}):
    sys.stdout.write(f"{{i:07d}} {{time.time_ns()}}\\n")
"""
STEADY = """
import sys, time
began = time.monotonic()
for i in range({lines}):
    wait_s = began + i / {rate} - time.monotonic()
    if wait_s > 0:
        time.sleep(wait_s)
    sys.stdout.write(f"{{i:07d}} {{time.time_ns()}}\\n")
    sys.stdout.flush()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--floods", type=int, default=3, help="how often so many lines; the slowest is told")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--hops", action="store_true")
    options = parser.parse_args()
    steady_lines = options.seconds * LINES_A_SECOND
    with tempfile.TemporaryDirectory() as folder, a_world(Path(folder)) as world:
        agent = world.add_agent("bench").wait_ready()
        run(world, Path(folder) / "warm.py", STEADY, 500)  # everything imported and connected
        with asking(world) as idle:
            time.sleep(10)
        with asking(world) as asked:
            floods = [run(world, Path(folder) / f"flood{i}.py", FLAT_OUT, options.lines) for i in range(options.floods)]
            with hops(world, agent) if options.hops else nullcontext() as passed:
                stream = run(world, Path(folder) / "stream.py", STEADY, steady_lines)
        raw_flood, raw_stream = raw(world, floods[0]), raw(world, stream[: 5 * LINES_A_SECOND], rate=LINES_A_SECOND)
    flood = max(floods, key=lambda found: found[-1][1] - found[-1][0])
    jobs_page = {
        "idle": spread(took for _at, took in idle),
        "flat_out": spread(during(floods, asked)),
        "steady": spread(during([stream], asked)),
    }
    figures: dict[str, Any] = {
        "flat_out": {"lines": len(flood), **of_flood(flood)},
        "raw_flat_out": of_flood(raw_flood),
        "steady_print_to_client_ms": spread(delays(stream)),
        "raw_steady_ms": spread(delays(raw_stream)),
        "get_jobs_ms": jobs_page,
        "ratio_flat_out_to_raw": round(of_flood(flood)["all_s"] / of_flood(raw_flood)["all_s"], 1),
        "ratio_steady_p99_to_raw": round(spread(delays(stream))["p99"] / spread(delays(raw_stream))["p99"], 1),
        "ratio_get_jobs_p99_to_idle": {
            name: round(jobs_page[name]["p99"] / jobs_page["idle"]["p99"], 1) for name in ("flat_out", "steady")
        },
    }
    if passed is not None:
        figures["hops_ms"] = of_hops(stream, passed)
    print(json.dumps(figures, indent=2))


Came = list[tuple[float, float]]  # of each line, in order: (printed, at the client), both Unix seconds
Asked = list[tuple[float, float]]  # (Unix seconds, milliseconds)


def run(world: World, path: Path, program: str, lines: int) -> Came:
    """Every line of a job that runs `program`. Fails when one is lost, comes twice, or differs in the store."""
    path.write_text(program.format(lines=lines, rate=LINES_A_SECOND))
    go = path.with_suffix(".go")
    number = world.launch(f"while [ ! -e {go} ]; do sleep 0.05; done; exec python3 {path}")
    world.wait(number, "running")
    with LogListener(world, number) as listener:
        listener.hear()
        go.touch()
        text = listener.hear_all(120)
    assert world.wait(number)["state"] == "succeeded"
    assert world.complete_log(number) == text
    return lines_of(text, listener.came)


def lines_of(text: bytes, came: list[tuple[float, int]]) -> Came:
    found, frames, end = [], iter(came), 0
    at, held = next(frames)
    for number, line in enumerate(text.splitlines(keepends=True)):
        end += len(line)
        while held < end:
            at, held = next(frames)
        said, printed_ns = line.split()
        assert int(said) == number, f"line {number} is {said!r}"
        found.append((int(printed_ns) / 1e9, at))
    return found


def delays(found: Came) -> list[float]:
    return [(came - printed) * 1000 for printed, came in found]


def of_flood(found: Came) -> dict[str, float]:
    """`last_line_ms`: from the print of the last line to its arrival. `all_s`: from the first print on."""
    first, last, came = found[0][0], found[-1][0], found[-1][1]
    return {
        "printing_s": round(last - first, 3),
        "last_line_ms": round((came - last) * 1000, 1),
        "all_s": round(came - first, 3),
        "lines_a_second": round(len(found) / (came - first)),
    }


def during(runs: list[Came], asked: Asked) -> list[float]:
    """Milliseconds of what was asked while lines were on their way."""
    return [took for at, took in asked if any(found[0][0] <= at <= found[-1][1] for found in runs)]


@contextmanager
def asking(world: World) -> Iterator[Asked]:
    """(when, milliseconds) of each GET /api/v1/jobs that somebody else makes meanwhile, on a connection of their own."""
    asked: Asked = []
    over = threading.Event()
    headers = {"Authorization": world.client.headers["Authorization"]}

    def ask() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", world.port)
        while not over.wait(ASK_EVERY_S):
            began = time.perf_counter()
            connection.request("GET", "/api/v1/jobs", headers=headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
            took = time.perf_counter() - began
            asked.append((time.time() - took, took * 1000))
        connection.close()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield asked
    finally:
        over.set()
        thread.join()


def raw(world: World, like: Came, *, rate: int = 0) -> Came:
    """As many lines through a bare stream: a line an entry at `rate` a second, or in pieces as fast as they go."""
    key, sender = "bench", world.redis()
    size = sum(len(b"%07d %d\n" % (number, int(printed * 1e9))) for number, (printed, _came) in enumerate(like))
    sender.delete(key)
    text, came = bytearray(), list[tuple[float, int]]()

    def take(_entry: str, fields: dict[bytes, bytes]) -> bool:
        text.extend(fields[b"d"])
        came.append((time.time(), len(text)))
        return len(text) < size

    thread = threading.Thread(target=read_stream, args=(world, key, take))
    thread.start()
    piece, began = b"", time.monotonic()
    for number in range(len(like)):
        if rate and (wait_s := began + number / rate - time.monotonic()) > 0:
            time.sleep(wait_s)
        piece += b"%07d %d\n" % (number, time.time_ns())
        if rate or len(piece) > PIECE_BYTES or number == len(like) - 1:
            sender.xadd(key, {"d": piece})
            piece = b""
    thread.join()
    sender.delete(key)
    return lines_of(bytes(text), came)


def read_stream(
    world: World, key: str, take: Callable[[str, dict[bytes, bytes]], bool], over: threading.Event | None = None
) -> None:
    """Hands each entry of a stream to `take` until that says no more, or it is over."""
    connection, last = world.redis(), "0"
    while over is None or not over.is_set():
        found: Any = connection.xread({key: last}, block=200)
        for _key, entries in found:
            for entry, fields in entries:
                last = entry.decode()
                if not take(last, fields):
                    return


# -- Where the time goes ---------------------------------------------------------------------------------------

Passed = dict[str, list[tuple[float, int]]]  # stretch -> (Unix seconds, bytes of the log that had come so far by then)


@contextmanager
def hops(world: World, agent: Agent) -> Iterator[Passed]:
    """When the bytes of the next job's log went by: into the host's stream, and out of the inbox after its commit."""
    passed: Passed = {"shipped": [], "announced": []}
    over = threading.Event()
    number = world.client.get("jobs", params={"limit": 1}).json()["results"][0]["number"] + 1

    def take_report(entry: str, fields: dict[bytes, bytes]) -> bool:
        if fields[b"k"] == b"log" and fields[b"f"].endswith(b"/output"):
            passed["shipped"].append((int(entry.partition("-")[0]) / 1000, int(fields[b"o"]) + len(fields[b"d"])))
        return True

    def take_news(entry: str, fields: dict[bytes, bytes]) -> bool:
        if fields[b"t"] == b"log" and b"d" in fields and fields[b"p"] == b"output":
            passed["announced"].append((int(entry.partition("-")[0]) / 1000, int(fields[b"o"]) + len(fields[b"d"])))
        return True

    places = {protocol.reports_key(agent.host_id): take_report, f"live:job:{number}": take_news}
    threads = [threading.Thread(target=read_stream, args=(world, *place, over)) for place in places.items()]
    for thread in threads:
        thread.start()
    try:
        yield passed
    finally:
        over.set()
        for thread in threads:
            thread.join()


def of_hops(stream: Came, passed: Passed) -> dict[str, dict[str, float]]:
    ends = [sum(len(b"%07d %d\n" % (0, int(p * 1e9))) for p, _c in stream[:1]) * (i + 1) for i in range(len(stream))]
    at: dict[str, list[float]] = {}
    for name, marks in passed.items():
        offsets = [offset for _at, offset in marks]
        at[name] = [marks[bisect_left(offsets, end)][0] for end in ends if offsets[-1] >= end]
    told = min(map(len, at.values()))
    shipped, announced, lines = at["shipped"][:told], at["announced"][:told], stream[:told]
    return {
        "printed_to_shipped": spread((s - p) * 1000 for (p, _c), s in zip(lines, shipped, strict=True)),
        "shipped_to_announced": spread((a - s) * 1000 for s, a in zip(shipped, announced, strict=True)),
        "announced_to_client": spread((c - a) * 1000 for (_p, c), a in zip(lines, announced, strict=True)),
    }


if __name__ == "__main__":
    main()
