"""A real Valkey of the tests' own, which they may kill."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

import redis

from controlpanel import valkey


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Valkey:
    """A server process on a port of its own; it keeps its port over `kill` and `start`, and forgets all else."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.command, self.url = valkey.configure(folder, self.port)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Valkey:
        self.process = subprocess.Popen(self.command)
        deadline = time.monotonic() + 10
        while True:
            try:
                self.client().ping()
                return self
            except redis.exceptions.ConnectionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)
