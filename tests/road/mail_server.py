"""A mail server that keeps what came: as much of SMTP as Django's backend speaks."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable


class MailServer:
    """On a free port of 127.0.0.1. `before` runs when a mail has come whole, before it is said to be taken."""

    def __init__(self) -> None:
        self.mails: list[str] = []
        self.before: Callable[[], object] = lambda: None
        mails = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.say("220 here")
                while line := self.rfile.readline():
                    word = line[:4].upper()
                    if word == b"QUIT":
                        self.say("221 bye")
                        return
                    if word == b"DATA":
                        self.say("354 go on")
                        self.take()
                    self.say("250 well")

            def take(self) -> None:
                lines: list[bytes] = []
                while (line := self.rfile.readline()) not in (b".\r\n", b""):
                    lines.append(line)
                mails.mails.append(b"".join(lines).decode())
                mails.before()

            def say(self, text: str) -> None:
                self.wfile.write(f"{text}\r\n".encode())

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"smtp://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
