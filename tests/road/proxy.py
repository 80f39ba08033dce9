"""A forwarding HTTP proxy between an agent and its panel, which a test may tell to lose, hold or cut calls."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

HOLD_FOR_S = 60  # at most: no call outlives its test


@dataclass
class Fault:
    """What befalls the calls whose path ends with `path`."""

    path: str
    is_cut: bool = False  # the connection ends before the panel hears of the call
    reached: list[str] = field(default_factory=list)  # paths of calls that were cut, or that the panel has answered
    over: threading.Event = field(default_factory=threading.Event)  # answers are held until then
    is_lost: bool = False  # and are not delivered even then


class Proxy:
    """Listens on a port of its own. Without a fault it is not noticed."""

    def __init__(self, panel: str) -> None:
        self._panel = urlsplit(panel).netloc
        self._fault: Fault | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def cutting(self, path: str) -> Iterator[Fault]:
        """Calls do not reach the panel."""
        with self._suffering(Fault(path, is_cut=True)) as fault:
            yield fault

    @contextmanager
    def losing_answers(self, path: str) -> Iterator[Fault]:
        """Calls reach the panel, and its answers nobody."""
        with self._suffering(Fault(path, is_lost=True)) as fault:
            yield fault

    @contextmanager
    def holding_answers(self, path: str) -> Iterator[Fault]:
        """Calls reach the panel; its answers come when the block ends."""
        with self._suffering(Fault(path)) as fault:
            yield fault

    @contextmanager
    def _suffering(self, fault: Fault) -> Iterator[Fault]:
        self._fault = fault
        try:
            yield fault
        finally:
            self._fault = None
            fault.over.set()

    def carry(self, caller: BaseHTTPRequestHandler) -> None:
        body = caller.rfile.read(int(caller.headers.get("Content-Length", 0)))
        fault = self._fault if self._fault and caller.path.endswith(self._fault.path) else None
        if fault and fault.is_cut:
            fault.reached.append(caller.path)
            caller.close_connection = True
            return
        status, answer = self._ask(caller, body)
        if fault:
            fault.reached.append(caller.path)
            fault.over.wait(HOLD_FOR_S)
            if fault.is_lost:
                caller.close_connection = True
                return
        with suppress(OSError):  # the agent was killed
            caller.send_response(status)
            caller.send_header("Content-Type", "application/json")
            caller.send_header("Content-Length", str(len(answer)))
            caller.end_headers()
            caller.wfile.write(answer)

    def _ask(self, caller: BaseHTTPRequestHandler, body: bytes) -> tuple[int, bytes]:
        kept = {name: value for name, value in caller.headers.items() if name.lower() not in ("host", "connection")}
        connection = http.client.HTTPConnection(self._panel, timeout=HOLD_FOR_S)
        try:
            connection.request(caller.command, caller.path, body, kept)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except OSError:
            return 502, b"{}"
        finally:
            connection.close()


def _handler_of(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            proxy.carry(self)

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(OSError):  # the agent was killed
                super().handle()

    return Handler
