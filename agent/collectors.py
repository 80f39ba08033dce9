"""How busy this host is, and each workload on it: read from /proc, a sample each few seconds."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from agent import processes
from agent.protocol import Samples

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Collectors:
    """Rates need two readings: a first sample has none."""

    def __init__(self, disk: Path, proc: Path = Path(processes.PROC)) -> None:
        self._disk = disk
        self._proc = proc
        self._last: dict[str, tuple[float, float]] = {}  # name -> (monotonic seconds, counter)

    def sample(self, supervisors: Mapping[str, int]) -> Samples:
        """Of the host, and of the process tree below each workload's supervisor (workload id -> pid)."""
        host = self._cpu() | self._memory() | self._network() | self._disk_space()
        workloads = {workload: self._tree(workload, pid) for workload, pid in supervisors.items()}
        for gone in [name for name in self._last if name.startswith("tree:") and name[5:] not in supervisors]:
            del self._last[gone]
        return Samples(
            at_ms=time.time_ns() // 1_000_000, host=host, workloads={w: values for w, values in workloads.items() if values}
        )

    def _cpu(self) -> dict[str, float]:
        """Of all cores together, 0 to 100."""
        ticks = [int(text) for text in self._lines("stat")[0].split()[1:9]]  # user nice system idle iowait irq softirq steal
        busy, total = self._delta("busy", sum(ticks) - ticks[3] - ticks[4]), self._delta("total", sum(ticks))
        return {"host.cpu_percent": round(100 * busy / total, 2)} if busy is not None and total else {}

    def _memory(self) -> dict[str, float]:
        sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in self._lines("meminfo") if ":" in line}
        total = sizes.get("MemTotal", 0)
        return {"host.memory_used_bytes": float(total - sizes.get("MemAvailable", 0)), "host.memory_total_bytes": float(total)}

    def _network(self) -> dict[str, float]:
        received = sent = 0
        for line in self._lines("net/dev")[2:]:
            name, _colon, counters = line.partition(":")
            if name.strip() != "lo":
                fields = counters.split()
                received, sent = received + int(fields[0]), sent + int(fields[8])
        rates = {
            "host.network_received_bytes_per_s": self._rate("received", received),
            "host.network_sent_bytes_per_s": self._rate("sent", sent),
        }
        return {name: rate for name, rate in rates.items() if rate is not None}

    def _disk_space(self) -> dict[str, float]:
        usage = shutil.disk_usage(self._disk)
        return {"host.disk_used_bytes": float(usage.used), "host.disk_free_bytes": float(usage.free)}

    def _tree(self, workload: str, pid: int) -> dict[str, float]:
        """CPU of the command and all below it (100 is one core), their resident memory, and how many they are."""
        ticks = pages = count = 0
        for child in processes.descendants(pid, self._proc):
            stat = (self._lines(f"{child}/stat") or [""])[0].rpartition(")")[2].split()
            if len(stat) > 21:
                ticks, pages, count = ticks + int(stat[11]) + int(stat[12]), pages + int(stat[21]), count + 1
        if not count:
            return {}
        rate = self._rate(f"tree:{workload}", ticks / TICKS_A_SECOND)
        values = {"system.memory_bytes": float(pages * PAGE_BYTES), "system.processes": float(count)}
        # A process that has ended takes its counter along: no rate is better than a negative one.
        return values if rate is None or rate < 0 else values | {"system.cpu_percent": round(100 * rate, 2)}

    def _rate(self, name: str, counter: float) -> float | None:
        """A second, since the last reading; None at the first."""
        now = time.monotonic()
        before = self._last.get(name)
        self._last[name] = (now, counter)
        return None if before is None or now <= before[0] else round((counter - before[1]) / (now - before[0]), 3)

    def _delta(self, name: str, counter: float) -> float | None:
        before = self._last.get(name)
        self._last[name] = (time.monotonic(), counter)
        return None if before is None else counter - before[1]

    def _lines(self, name: str) -> list[str]:
        try:
            return (self._proc / name).read_text(errors="replace").splitlines()
        except OSError:
            return []
