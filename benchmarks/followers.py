"""Five hundred people look on: what it costs a web process, and whether launches are still quick meanwhile.

    python -m benchmarks.followers [--followers 500] [--seconds 20]

Starts a panel and a host of its own, and prints JSON. First all follow the log of one job that prints a thousand lines a second,
then each follows a job of its own. Launches are asked for all the while; those of the same run without followers are the
baseline. Each follower counts the bytes that it gets: `bytes_missing` is what all of them together have not got at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import websockets

from agent import processes
from benchmarks.launch import spread
from tests.road.world import World, a_world

PRINTS = (
    "while [ ! -e {go} ]; do sleep 0.05; done; i=0; while [ $i -lt {turns} ]; do i=$((i+1));"
    " seq -f 'line %.0f of a training' $((i*50-49)) $((i*50)); sleep 0.05; done"
)
SOME = 20  # jobs of their own in the second part, each followed by a share of all: 500 processes would measure the machine
LAUNCH_EVERY_S = 0.5


class Follower:
    """One socket on one job; asks again from where it is when it was too slow."""

    def __init__(self, world: World, number: int) -> None:
        self.address = world.url.replace("http", "ws", 1) + "/ws/v1"
        self.headers = {"Authorization": world.client.headers["Authorization"]}
        self.subject = f"job:{number}"
        self.got = 0
        self.log: dict[str, Any] = {}

    async def follow(self, ready: asyncio.Semaphore) -> None:
        async with websockets.connect(self.address, additional_headers=self.headers, max_size=None, compression=None) as socket:
            await socket.send(json.dumps({"type": "subscribe", "subject": self.subject, "logs": "all", "log_from": "start"}))
            ready.release()
            async for frame in socket:
                if isinstance(frame, bytes):
                    size = int.from_bytes(frame[:4], "big")
                    self.log = json.loads(frame[4 : 4 + size])
                    if self.log["part"] == "output":
                        assert self.log["offset"] == self.got, f"{self.subject}: {self.got} and then {self.log['offset']}"
                        self.got += len(frame) - 4 - size
                elif (message := json.loads(frame))["type"] == "behind":
                    place = {field: message[field] for field in ("subject", "workload", "rank", "part")}
                    await socket.send(json.dumps(place | {"type": "log", "from": self.got}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--followers", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, a_world(Path(name)) as world:
        world.add_agent("bench", slots=SOME + 8).wait_ready()
        asyncio.run(launches(world, 5))  # everything imported and connected
        figures: dict[str, Any] = {"idle_launch_ms": spread(asyncio.run(launches(world, options.seconds)))}
        for title, jobs in (("one_log", 1), ("own_jobs", SOME)):
            figures[title] = asyncio.run(followed(world, Path(name) / title, jobs, options.followers, options.seconds))
            p99 = figures[title]["launch_ms"]["p99"]
            figures[title]["ratio_launch_p99_to_idle"] = round(p99 / figures["idle_launch_ms"]["p99"], 1)
    print(json.dumps(figures, indent=2))


async def followed(world: World, go: Path, jobs: int, followers: int, seconds: int) -> dict[str, Any]:
    """Jobs share a thousand lines a second among them."""
    command = PRINTS.format(go=go, turns=seconds * 20 // jobs)
    numbers = [await asyncio.to_thread(world.launch, command) for _ in range(jobs)]
    for number in numbers:
        await asyncio.to_thread(world.wait, number, "running")
    before = web_mib(world)
    everyone = [Follower(world, numbers[place % jobs]) for place in range(followers)]
    ready = asyncio.Semaphore(0)
    tasks = []
    for one in everyone:
        tasks.append(asyncio.create_task(one.follow(ready)))
        await ready.acquire()
    with_all = web_mib(world)
    go.touch()
    took = await launches(world, seconds)
    for number in numbers:
        await asyncio.to_thread(world.wait, number, within_s=300)
    sizes = {f"job:{number}": len(await asyncio.to_thread(world.complete_log, number)) for number in numbers}
    deadline = time.monotonic() + 60
    while any(one.got < sizes[one.subject] for one in everyone) and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
    for task in tasks:
        task.cancel()
    errors = [one for one in await asyncio.gather(*tasks, return_exceptions=True) if not isinstance(one, asyncio.CancelledError)]
    return {
        "followers": followers,
        "bytes_each": max(sizes.values()),
        "bytes_missing": sum(sizes[one.subject] - one.got for one in everyone),
        "followers_that_broke": len(errors),
        "launch_ms": spread(took),
        "kib_a_follower": round((with_all - before) * 1024 / followers, 1),
        "web_mib_at_the_end": round(web_mib(world), 1),
    }


async def launches(world: World, seconds: float) -> list[float]:
    """Milliseconds of each, one every half second."""
    found, until_s = [], time.monotonic() + seconds
    while time.monotonic() < until_s:
        began = time.perf_counter()
        await asyncio.to_thread(world.launch, "true")
        found.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(LAUNCH_EVERY_S)
    return found


def web_mib(world: World) -> float:
    """Resident memory of the web process."""
    assert world.up
    for pid in processes.descendants(world.up.pid):
        with suppress(OSError):
            if b"uvicorn" in Path(f"/proc/{pid}/cmdline").read_bytes():
                pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2
    raise AssertionError("no web process")


if __name__ == "__main__":
    main()
