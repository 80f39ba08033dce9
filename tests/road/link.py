"""A TCP link between two parts of the road, which a test may cut as networks do: without a word to either side."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field

PIECE_BYTES = 64 * 1024


@dataclass(eq=False)
class _Connection:
    near: socket.socket  # who has called
    far: socket.socket
    passes: threading.Event = field(default_factory=threading.Event)
    is_forgotten: bool = False  # what is sent goes nowhere, and nobody says so

    def close(self) -> None:
        self.passes.set()
        for side in (self.near, self.far):
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
            side.close()


class Link:
    """Listens on a port of its own and forwards to `target`, a port of this machine."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._is_whole = threading.Event()
        self._is_whole.set()
        self._is_closed = False
        self._connections: list[_Connection] = []
        self._door = socket.socket()
        self._door.bind(("127.0.0.1", 0))
        self._door.listen(64)
        self.port = self._door.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def part(self) -> None:
        """Nothing passes from now on, as if packets were dropped: open connections stay open, new ones get no answer."""
        self._is_whole.clear()
        for connection in list(self._connections):
            connection.passes.clear()

    def join(self, *, forget: bool = False) -> None:
        """Everything passes again, and what was sent meanwhile arrives; with `forget` only on connections that are new."""
        for connection in list(self._connections):
            connection.is_forgotten |= forget
            connection.passes.set()
        self._is_whole.set()

    def forget(self) -> None:
        """The connections of before are dead, and nobody says so; new ones pass."""
        self.part()
        self.join(forget=True)

    def cut(self) -> None:
        """Every open connection ends, as when something on the way has held them for too long."""
        for connection in list(self._connections):
            connection.close()

    def close(self) -> None:
        self._is_closed = True
        self._is_whole.set()
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self.cut()

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                near, _address = self._door.accept()
            except OSError:
                return
            self._is_whole.wait()
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(("127.0.0.1", self._target), timeout=5)
        except OSError:
            near.close()
            return
        for side in (near, far):
            side.settimeout(None)
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = _Connection(near, far)
        if self._is_whole.is_set():
            connection.passes.set()
        self._connections.append(connection)
        back = threading.Thread(target=_pump, args=(connection, far, near), daemon=True)
        back.start()
        _pump(connection, near, far)
        back.join()
        connection.close()
        self._connections.remove(connection)


def _pump(connection: _Connection, source: socket.socket, target: socket.socket) -> None:
    """To the end of what `source` sends. The end, too, is not heard of while nothing passes."""
    try:
        while data := source.recv(PIECE_BYTES):
            connection.passes.wait()
            if not connection.is_forgotten:
                target.sendall(data)
        connection.passes.wait()
        if not connection.is_forgotten:
            target.shutdown(socket.SHUT_WR)
    except OSError:  # one side has reset it
        connection.passes.wait()
        if not connection.is_forgotten:
            connection.close()
