"""A webhook's receiver: a real HTTP server that keeps what came, and says what it is told to say."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook


class Receiver:
    """On a free port of 127.0.0.1. `status` answers the next; `before` runs before an answer."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, str], bytes]] = []
        self.status, self.headers, self.before = 204, dict[str, str](), lambda: None
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.calls.append((self.path, {name.lower(): value for name, value in self.headers.items()}, content))
                receiver.before()
                self.send_response(receiver.status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}/hook?a=b"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for _path, headers, _content in self.calls]

    def read(self, number: int, secret: str) -> Any:
        """The JSON of a call whose signature the standard's own library finds right."""
        _path, headers, content = self.calls[number]
        return Webhook(secret).verify(content, headers)
