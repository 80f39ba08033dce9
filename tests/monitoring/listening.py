"""A real web server (with the websocket alone, usually), and a listener that holds every frame to what was promised."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import uvicorn
from channels.routing import ProtocolTypeRouter, URLRouter
from django.test import Client
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from monitoring import live
from monitoring.routing import websocket_urlpatterns

KERNEL_BYTES = 64 * 1024  # asked for as buffer on either side: else the kernel holds some 10 MB for who takes nothing


class Server:
    """uvicorn in a thread, as `manage.py up` runs it."""

    def __init__(self, app: Any = None) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)  # of all that it accepts
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        app = app or ProtocolTypeRouter({"websocket": URLRouter(websocket_urlpatterns)})
        self._server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve(sockets=[self._socket])

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Server:
        self._thread.start()
        wait_for(lambda: self._server.started)
        return self

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()

    def followed(self) -> set[str]:
        """Addresses that somebody listens to."""
        return {address for loop, reader in list(live._readers.items()) if loop is self._loop for address in reader._streams}

    def tasks(self) -> list[str]:
        """What runs for sockets."""
        assert self._loop
        names = [task.get_name() for task in asyncio.all_tasks(self._loop)]
        return [name for name in names if name.startswith(("subscription ", "checks "))]

    def is_held_up(self) -> bool:
        """A socket waits for its browser to take something."""
        return any(not protocol.writable.is_set() for protocol in list(self._server.server_state.connections))

    def unsent_bytes(self) -> int:
        """Held in memory for sockets that take nothing, beside the kernel's buffers."""
        return sum(protocol.transport.get_write_buffer_size() for protocol in list(self._server.server_state.connections))


class Listener:
    """A browser of `user` (by cookie), or a script with `token`."""

    def __init__(self, server: Server, user=None, *, token: str = "", origin: str | None = "ours", **options: Any) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if user is not None:
            client = Client()
            client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
            headers["Cookie"] = f"sessionid={client.cookies['sessionid'].value}"
        self._connecting = connect(
            f"ws://127.0.0.1:{server.port}/ws/v1",
            origin=server.origin if origin == "ours" else origin,  # type: ignore[arg-type]
            additional_headers=headers,
            sock=_connected(server.port),
            **options,
        )
        self.socket = self._connecting.__enter__()
        self.messages: list[dict[str, Any]] = []
        self.logs: dict[tuple[str, str, int, str], bytearray] = {}
        self.ends: dict[tuple[str, str, int, str], int] = {}
        self.frames = 0
        self._looked = 0

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_) -> None:
        self._connecting.__exit__(None, None, None)

    def say(self, **message: Any) -> None:
        self.socket.send(json.dumps(message))

    def subscribe(self, subject: str, **wanted: Any) -> dict[str, Any]:
        self.say(type="subscribe", subject=subject, **wanted)
        return self.until(lambda m: m["type"] in ("subscribed", "refused") and m["subject"] == subject)

    def hear(self, timeout: float = 10) -> dict[str, Any]:
        """The next frame; of a log, every byte must follow what came before. Raises TimeoutError or ConnectionClosed."""
        frame = self.socket.recv(timeout)
        if isinstance(frame, str):
            self.messages.append(json.loads(frame))
            return self.messages[-1]
        size = int.from_bytes(frame[:4], "big")
        header, data = json.loads(frame[4 : 4 + size]), frame[4 + size :]
        key = (header["subject"], header["workload"], header["rank"], header["part"])
        if key in self.ends:
            assert header["offset"] == self.ends[key], "log bytes lost or repeated"
        self.ends[key] = header["offset"] + len(data)
        self.logs.setdefault(key, bytearray()).extend(data)
        self.frames += 1
        return {"type": "bytes", **header, "data": data}

    def until(self, is_it: Callable[[dict[str, Any]], bool], timeout: float = 20) -> dict[str, Any]:
        """The next message that is it, of those that were passed over too. Each is found once."""
        deadline = time.monotonic() + timeout
        while True:
            while self._looked < len(self.messages):
                self._looked += 1
                if is_it(self.messages[self._looked - 1]):
                    return self.messages[self._looked - 1]
            self.hear(max(deadline - time.monotonic(), 0.001))

    def until_bytes(self, count: int, timeout: float = 20) -> bytes:
        """All bytes of the only log, once it has so many."""
        deadline = time.monotonic() + timeout
        while sum(map(len, self.logs.values())) < count:
            self.hear(max(deadline - time.monotonic(), 0.001))
        [data] = self.logs.values()
        return bytes(data)

    def quiet(self, seconds: float) -> list[dict[str, Any]]:
        """What comes within so many seconds."""
        heard, deadline = [], time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                heard.append(self.hear(left))
            except TimeoutError:
                break
        return heard

    def close_code(self, timeout: float = 10) -> int | None:
        """The server's, once it has closed."""
        try:
            while True:
                self.hear(timeout)
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None


def _connected(port: int) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, KERNEL_BYTES)
    client.connect(("127.0.0.1", port))
    return client


def wait_for(is_so: Callable[[], Any], timeout: float = 10) -> None:
    deadline = time.monotonic() + timeout
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)
