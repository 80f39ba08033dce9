"""Many followers in a process of their own, and a bare websocket server in another: so that neither is counted as the panel."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import websockets
from websockets.asyncio.server import ServerConnection, broadcast, serve

ALL_WITHIN_S = 60  # after the last byte was there to be sent
TURNS_A_SECOND = 20


@dataclass(frozen=True)
class Got:
    """What a crowd has got: bytes of each follower, in the order of their subjects, and what broke any of them."""

    sizes: list[int]
    errors: list[str]


class Crowd:
    """Followers that listen; `end` says what they got."""

    def __init__(self, words: Connection) -> None:
        self._words = words

    def end(self, sizes: Mapping[str, int]) -> Got:
        """Waits until each has as many bytes as its subject's log, or ALL_WITHIN_S."""
        self._words.send(dict(sizes))
        return self._words.recv()


@contextmanager
def listening(address: str, subjects: Sequence[str], *, token: str = "") -> Iterator[Crowd]:
    """One follower for each subject at a websocket's address; all of them are answered before it begins."""
    with _beside(_crowd, address, list(subjects), token) as words:
        assert words.recv() == "ready"
        yield Crowd(words)


@contextmanager
def bare_server() -> Iterator[tuple[str, int, Connection]]:
    """(address, process id, words). Once told ({subject: bytes}, seconds) it sends them over so long, and says "sent"."""
    with _beside(_serve) as words:
        port, pid = words.recv()
        yield f"ws://127.0.0.1:{port}", pid, words


@contextmanager
def _beside(do: Callable[..., None], *arguments: Any) -> Iterator[Connection]:
    spawn = multiprocessing.get_context("spawn")  # a fork would share memory that is measured
    mine, theirs = spawn.Pipe()
    process = spawn.Process(target=do, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        yield mine
    finally:
        process.terminate()
        process.join()


@dataclass(eq=False)
class Follower:
    """One socket on one subject's log. Counts its bytes, and asks again from where it is when it was too slow."""

    subject: str
    got: int = 0
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self, address: str, token: str) -> None:
        headers = {"Authorization": token}
        async with websockets.connect(address, additional_headers=headers, max_size=None, compression=None) as socket:
            await socket.send(json.dumps({"type": "subscribe", "subject": self.subject, "logs": "all", "log_from": "start"}))
            async for frame in socket:
                self.answered.set()
                if isinstance(frame, bytes):
                    self.take(frame)
                elif (message := json.loads(frame))["type"] == "behind":
                    place = {name: message[name] for name in ("subject", "workload", "rank", "part")}
                    await socket.send(json.dumps(place | {"type": "log", "from": self.got}))

    def take(self, frame: bytes) -> None:
        """Raises ValueError where bytes are missing, or come twice."""
        size = int.from_bytes(frame[:4], "big")
        log = json.loads(frame[4 : 4 + size])
        if log["part"] == "output":
            if log["offset"] != self.got:
                raise ValueError(f"{self.subject}: {self.got} and then {log['offset']}")
            self.got += len(frame) - 4 - size


def _crowd(words: Connection, address: str, subjects: list[str], token: str) -> None:
    asyncio.run(_follow_all(words, address, subjects, token))


async def _follow_all(words: Connection, address: str, subjects: list[str], token: str) -> None:
    everyone, tasks = [Follower(subject) for subject in subjects], []
    for one in everyone:
        task = asyncio.create_task(one.follow(address, token))
        tasks.append(task)
        answer = asyncio.create_task(one.answered.wait())
        await asyncio.wait([task, answer], return_when=asyncio.FIRST_COMPLETED)
    words.send("ready")
    sizes = await asyncio.to_thread(words.recv)
    deadline = time.monotonic() + ALL_WITHIN_S
    while any(one.got < sizes[one.subject] for one in everyone) and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
    errors = [repr(task.exception() or "closed") for task in tasks if task.done()]
    words.send(Got([one.got for one in everyone], errors))


def _serve(words: Connection) -> None:
    asyncio.run(_serve_all(words))


async def _serve_all(words: Connection) -> None:
    listeners: dict[str, set[ServerConnection]] = {}

    async def take(socket: ServerConnection) -> None:
        listeners.setdefault(json.loads(await socket.recv())["subject"], set()).add(socket)
        await socket.send('{"type": "subscribed"}')
        await socket.wait_closed()

    async with serve(take, "127.0.0.1", 0, compression=None) as server:
        words.send((next(iter(server.sockets)).getsockname()[1], os.getpid()))
        sizes, seconds = await asyncio.to_thread(words.recv)
        turns, began = seconds * TURNS_A_SECOND, time.monotonic()
        for turn in range(turns):
            for subject, size in sizes.items():
                start, end = size * turn // turns, size * (turn + 1) // turns
                if end > start:
                    broadcast(listeners.get(subject, ()), frame_of(start, end - start))
            await asyncio.sleep(max(0, began + (turn + 1) / TURNS_A_SECOND - time.monotonic()))
        words.send("sent")
        await asyncio.to_thread(words.recv)  # until it is ended


def frame_of(offset: int, size: int) -> bytes:
    """So many bytes of a log as the panel sends them."""
    header = json.dumps({"workload": "0" * 36, "rank": 0, "part": "output", "offset": offset}).encode()
    return len(header).to_bytes(4, "big") + header + b"x" * size
