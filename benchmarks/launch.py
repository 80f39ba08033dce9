"""How long a launch takes: request to accepted, accepted to process printing, request to first line at a live client.

    python -m benchmarks.launch [--rounds 30]

Starts a panel and a host of its own and prints JSON. The baseline of the same run is a bare `Popen` of the same command.
The command prints its own clock, so "printing" is when the process itself ran, on the same machine's clock.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import websockets

from tests.road.world import World, a_world, until

SAY_CLOCK = "date +%s.%N"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--slots", type=int, default=32)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, a_world(Path(folder)) as world:
        world.add_agent("bench", slots=options.slots).wait_ready()
        measure(world, rounds=3)  # everything imported and connected
        figures = {
            "bare_popen_ms": spread(bare(options.rounds)),
            **measure(world, rounds=options.rounds),
            "burst_20": burst(world, 20),
            "throughput": throughput(world, 100),
        }
    figures["ratio_printing_to_popen"] = round(figures["accepted_to_printing_ms"]["p50"] / figures["bare_popen_ms"]["p50"], 2)
    print(json.dumps(figures, indent=2))


def bare(rounds: int) -> list[float]:
    """Milliseconds from the call to the clock that the process prints."""
    found = []
    for _ in range(rounds):
        began = time.time()
        said = subprocess.run(["/bin/sh", "-c", SAY_CLOCK], capture_output=True, check=True).stdout
        found.append((float(said) - began) * 1000)
    return found


def measure(world: World, *, rounds: int) -> dict[str, Any]:
    accepted, printing, first_line = [], [], []
    for _ in range(rounds):
        began, took_ms, number = launch(world)
        lined = asyncio.run(first_line_at(world, number))
        printed = float(world.complete_log(number).splitlines()[0])
        accepted.append(took_ms)
        printing.append((printed - began) * 1000 - took_ms)
        first_line.append((lined - began) * 1000)
    return {
        "request_to_accepted_ms": spread(accepted),
        "accepted_to_printing_ms": spread(printing),
        "request_to_first_line_ms": spread(first_line),
    }


def launch(world: World) -> tuple[float, float, int]:
    """(when it began, milliseconds until it was accepted, number)"""
    began, clock = time.time(), time.perf_counter()
    number = world.launch(SAY_CLOCK + "; sleep 1")
    return began, (time.perf_counter() - clock) * 1000, number


async def first_line_at(world: World, number: int) -> float:
    """When a client that listens from just after the launch on has the first byte of the log."""
    address = world.url.replace("http", "ws", 1) + "/ws/v1"
    headers = {"Authorization": world.client.headers["Authorization"]}
    async with websockets.connect(address, additional_headers=headers) as socket:
        await socket.send(json.dumps({"type": "subscribe", "subject": f"job:{number}", "logs": "all", "log_from": "start"}))
        while True:
            message = await asyncio.wait_for(socket.recv(), 30)
            if isinstance(message, bytes):
                return time.time()


def burst(world: World, count: int) -> dict[str, float]:
    """Launches at once: from the first request to the moment at which the last process ran."""
    began = time.time()
    numbers = launch_many(world, SAY_CLOCK + "; sleep 1", count)
    wait_for_all(world, numbers)
    printed = [float(world.complete_log(number).splitlines()[0]) - began for number in numbers]
    return {"all_started_s": round(max(printed), 3), "first_started_s": round(min(printed), 3)}


def throughput(world: World, count: int) -> dict[str, float]:
    """Short jobs through their whole life, by the panel's own times."""
    numbers = launch_many(world, "true", count)
    jobs = wait_for_all(world, numbers)
    began = min(datetime.fromisoformat(job["created_at"]) for job in jobs)
    ended = max(datetime.fromisoformat(job["ended_at"]) for job in jobs)
    return {"jobs": count, "jobs_a_second": round(count / (ended - began).total_seconds(), 1)}


def launch_many(world: World, command: str, count: int) -> list[int]:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda _: world.launch(command), range(count)))


def wait_for_all(world: World, numbers: list[int]) -> list[dict[str, Any]]:
    """Asks seldom: who measures must not be what is measured."""

    def ended() -> list[dict[str, Any]]:
        found = world.client.get("jobs", params={"limit": 200}).raise_for_status().json()["results"]
        mine = [job for job in found if job["number"] in numbers]
        return mine if all(job["ended_at"] for job in mine) else []

    return until(ended, 120, "all jobs", every_s=0.5)


def spread(found: Iterable[float]) -> dict[str, float]:
    ordered = sorted(found)
    return {
        "p50": round(ordered[len(ordered) // 2], 1),
        "p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], 1),
    }


if __name__ == "__main__":
    main()
