"""Five hundred people look on: what it costs a web process, and whether launches are still quick meanwhile.

    python -m benchmarks.followers [--followers 500] [--seconds 20]

Starts a panel and a host of its own, and prints JSON. First all follow the log of one job that prints a thousand lines a second;
then each follows a job of its own, of which twenty print as much together and the others have ended. Launches are asked for all
the while. The followers are a process of their own, and count the bytes that each gets: `bytes_missing` is what all of them
together have not got at the end. There are two baselines of the same run: launches without followers (`idle_launch_ms`), and a
bare websocket server of the library `websockets` that sends the same bytes to as many followers (`bare`), with launches at the
panel beside it: what they take longer then, the machine is to blame for.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from agent import processes
from benchmarks import crowd
from benchmarks.idle import cpu_s
from benchmarks.launch import launch_many, spread
from tests.road.world import World, a_world

PRINTS = (
    "while [ ! -e {go} ]; do sleep 0.05; done; i=0; while [ $i -lt {turns} ]; do i=$((i+1));"
    " seq -f 'line %.0f of a training' $((i*{lines}-{lines}+1)) $((i*{lines})); sleep {pause_s}; done"
)
SOME = 20  # jobs that print at once in the second part: 500 processes would measure the machine
LAUNCH_EVERY_S = 0.25
MOST_RATIO = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--followers", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, a_world(Path(name)) as world:
        world.add_agent("bench", slots=SOME + 8).wait_ready()
        launches(world, 5)  # everything imported and connected
        figures: dict[str, Any] = {"followers": options.followers, "idle_launch_ms": spread(launches(world, options.seconds))}
        for title, jobs in (("one_log", 1), ("own_jobs", options.followers)):
            figures[title] = compared(world, Path(name) / title, jobs, options.followers, options.seconds)
            p99 = figures[title]["launch_ms"]["p99"]
            figures[title]["ratio_launch_p99_to_idle"] = round(p99 / figures["idle_launch_ms"]["p99"], 1)
    parts = [figures["one_log"], figures["own_jobs"]]
    figures["too_slow"] = any(part["ratio_launch_p99_to_idle"] >= MOST_RATIO for part in parts)
    figures["is_lost"] = any(part["bytes_missing"] or part["errors"] for part in parts)
    print(json.dumps(figures, indent=2))


def compared(world: World, go: Path, jobs: int, followers: int, seconds: int) -> dict[str, Any]:
    """As many followers of so many jobs, first at the panel and then at the bare server."""
    numbers = prepared(world, go, jobs, seconds)
    subjects = [f"job:{numbers[place % jobs]}" for place in range(followers)]
    pid = web_process(world)
    before_mib = mib(pid)
    token = world.client.headers["Authorization"]
    with crowd.listening(world.url.replace("http", "ws", 1) + "/ws/v1", subjects, token=token) as listeners:
        with_all_mib = mib(pid)
        with launching(world) as took, using(pid) as used:
            go.touch()
            time.sleep(seconds)
        for number in numbers:
            world.wait(number, within_s=300)
        sizes = {f"job:{number}": len(world.complete_log(number)) for number in numbers}
        figures = got(listeners, subjects, sizes) | costs(took, used, (with_all_mib - before_mib) / followers)
        figures["web_mib_at_the_end"] = round(mib(pid), 1)
    figures["bare"] = bare(world, subjects, sizes, seconds)
    figures["ratio_cpu_to_bare"] = round(figures["cpu_s"] / max(0.01, figures["bare"]["cpu_s"]), 1)
    return figures


def prepared(world: World, go: Path, jobs: int, seconds: int) -> list[int]:
    """Numbers of jobs: those that print wait for the file `go`, the others have ended."""
    printing = min(jobs, SOME)
    pause_s = 0.05 if printing == 1 else 0.5
    lines = round(1000 * pause_s / printing)
    command = PRINTS.format(go=go, turns=round(seconds / pause_s), lines=lines, pause_s=pause_s)
    others = launch_many(world, "echo done", jobs - printing)
    for number in others:
        world.wait(number, within_s=300)
    numbers = launch_many(world, command, printing)
    for number in numbers:
        world.wait(number, "running")
    return numbers + others


def bare(world: World, subjects: list[str], sizes: dict[str, int], seconds: int) -> dict[str, Any]:
    with crowd.bare_server() as (address, pid, words):
        before_mib = mib(pid)
        with crowd.listening(address, subjects) as listeners:
            a_follower_mib = (mib(pid) - before_mib) / len(subjects)
            with launching(world) as took, using(pid) as used:
                words.send((sizes, seconds))
                assert words.recv() == "sent"
            return got(listeners, subjects, sizes) | costs(took, used, a_follower_mib)


def got(listeners: crowd.Crowd, subjects: list[str], sizes: dict[str, int]) -> dict[str, Any]:
    found = listeners.end(sizes)
    wanted = [sizes[subject] for subject in subjects]
    return {
        "bytes_all": sum(wanted),
        "bytes_missing": sum(abs(size - mine) for size, mine in zip(wanted, found.sizes, strict=True)),
        "errors": found.errors,
    }


def costs(took: list[float], used: list[float], a_follower_mib: float) -> dict[str, Any]:
    return {"launch_ms": spread(took), "cpu_s": round(used[0], 1), "kib_a_follower": round(a_follower_mib * 1024, 1)}


@contextmanager
def using(pid: int) -> Iterator[list[float]]:
    """One number at its end: seconds of processor time that a process has used meanwhile."""
    before, found = cpu_s([pid]), list[float]()
    yield found
    found.append(cpu_s([pid]) - before)


@contextmanager
def launching(world: World) -> Iterator[list[float]]:
    """Milliseconds of the launches that somebody asks for meanwhile."""
    found, over = list[float](), threading.Event()
    thread = threading.Thread(target=lambda: found.extend(launches(world, None, over)))
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def launches(world: World, seconds: float | None, over: threading.Event | None = None) -> list[float]:
    """Milliseconds of each, one every LAUNCH_EVERY_S, for so long or until it is over."""
    found, over = [], over or threading.Event()
    until_s = None if seconds is None else time.monotonic() + seconds
    while not found or not over.wait(LAUNCH_EVERY_S):
        if until_s is not None and time.monotonic() > until_s:
            break
        began = time.perf_counter()
        world.launch("true")
        found.append((time.perf_counter() - began) * 1000)
    return found


def web_process(world: World) -> int:
    assert world.up
    for pid in processes.descendants(world.up.pid):
        with suppress(OSError):
            if b"uvicorn" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
    raise AssertionError("no web process")


def mib(pid: int) -> float:
    """Resident memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


if __name__ == "__main__":
    main()
