"""What a panel that does nothing costs: memory of its processes, processor time, and how soon it takes the first job.

    python -m benchmarks.idle [--seconds 30]

Prints JSON. Memory is PSS (each shared page counted once over all that share it). The baseline of the same run is a Python
that has imported Django and does nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agent import processes
from tests.road.world import World, until

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
BARE = "import django.db.models, time; print('up', flush=True); time.sleep(60)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        try:
            world.start()  # everything prepared: what is measured is a second start
            world.stop_panel()
            print(json.dumps(measure(world, options.seconds), indent=2))
        finally:
            world.stop()


def measure(world: World, seconds: float) -> dict[str, object]:
    began = time.monotonic()
    world.start()
    number = world.launch("sleep 1000")
    accepted_s = time.monotonic() - began
    agent = world.add_agent().wait_ready()
    world.wait(number, "running")
    assert world.up and agent.process
    panel = {name_of(pid): pid for pid in processes.descendants(world.up.pid)} | {"up": world.up.pid}
    hosts = [agent.process.pid, *processes.descendants(agent.process.pid)]
    note = json.loads((agent.folder(world.job(number)["workload"]) / "rank" / "started").read_text())
    time.sleep(5)  # what starting left to do
    before = cpu_s(list(panel.values()))
    time.sleep(seconds)
    used_s = cpu_s(list(panel.values())) - before
    bare = subprocess.Popen([sys.executable, "-c", BARE], stdout=subprocess.PIPE)
    assert bare.stdout
    bare.stdout.readline()
    memory = {name: pss_mib([pid]) for name, pid in panel.items()}
    figures = {
        "up_to_first_accepted_s": round(accepted_s, 2),
        "panel_mib": {"all": round(sum(memory.values()), 1), **memory},
        "agent_mib": pss_mib(hosts),
        "supervisor_mib": pss_mib([note["supervisor_pid"]]),
        "idle_cpu_percent_of_a_core": round(100 * used_s / seconds, 2),
        "bare_django_mib": pss_mib([bare.pid]),
    }
    bare.kill()
    figures["ratio_panel_to_bare_django"] = round(sum(memory.values()) / float(str(figures["bare_django_mib"])), 1)
    until(lambda: world.cancel(number, force=True).status_code in (202, 409), what="canceled")
    world.wait(number)
    return figures


def name_of(pid: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    for known in ("valkey", "uvicorn", "loops"):
        if any(known in word.decode() for word in words):
            return known
    return f"celery {pid}"  # the worker, and the beat that it has forked


def pss_mib(pids: list[int]) -> float:
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return round(total / 1024, 1)


def cpu_s(pids: list[int]) -> float:
    total = 0.0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND
    return total


if __name__ == "__main__":
    main()
