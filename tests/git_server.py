"""A real git server over https with a certificate authority of its own: git's own http-backend behind a small handler."""

from __future__ import annotations

import os
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import trustme


class GitServer:
    """Serves the bare repositories in a folder. `ca_file` is what a git client trusts it by; `asked` what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.ca_file = folder / "ca.pem"
        folder.mkdir(parents=True, exist_ok=True)
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(self.ca_file))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def address(self, name: str) -> str:
        return f"https://localhost:{self._http.server_address[1]}/{name}.git"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def repository(self, name: str) -> Repository:
        return Repository(self.folder / f"{name}.git", self.folder / f"{name}-work", self.address(name))


class Repository:
    """A bare repository and the working copy that fills it."""

    def __init__(self, bare: Path, work: Path, address: str) -> None:
        self.bare, self.work, self.address = bare, work, address
        _git(None, "init", "--quiet", "--bare", "--initial-branch=main", str(bare))
        _git(bare, "config", "http.uploadpack", "true")
        _git(bare, "config", "uploadpack.allowAnySHA1InWant", "true")
        _git(None, "init", "--quiet", "--initial-branch=main", str(work))

    def commit(self, files: dict[str, str], *, branch: str = "main") -> str:
        """On `branch`, pushed; returns the commit."""
        _git(self.work, "checkout", "--quiet", "-B", branch)
        for name, text in files.items():
            (self.work / name).parent.mkdir(parents=True, exist_ok=True)
            (self.work / name).write_text(text)
        _git(self.work, "add", "-A")
        _git(self.work, "commit", "--quiet", "--allow-empty", "-m", "a commit")
        _git(self.work, "push", "--quiet", str(self.bare), f"refs/heads/{branch}")
        return _git(self.work, "rev-parse", "HEAD")

    def tag(self, name: str, *, annotated: bool) -> None:
        _git(self.work, "tag", *(["-a", "-m", "a tag"] if annotated else []), name)
        _git(self.work, "push", "--quiet", str(self.bare), f"refs/tags/{name}")


def _git(folder: Path | None, *arguments: str) -> str:
    who = {"NAME": "tests", "EMAIL": "tests@localhost"}
    environment = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in who.items()}
    answer = subprocess.run(
        ["git", *([] if folder is None else ["-C", str(folder)]), *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | environment | {"GIT_CONFIG_GLOBAL": "/dev/null"},
    )
    return answer.stdout.strip()


def _handler(server: GitServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(
                self.rfile.read(int(self.headers["Content-Length"])) if "Content-Length" in self.headers else self._chunks()
            )

        def _chunks(self) -> bytes:
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            return body

        def _answer(self, body: bytes) -> None:
            """As CGI (RFC 3875): git-http-backend says headers, an empty line, and the body."""
            url = urlsplit(self.path)
            server.asked.append(f"{self.command} {self.path}")
            said = subprocess.run(
                ["git", "http-backend"],
                input=body,
                capture_output=True,
                check=False,
                env=os.environ
                | {
                    "GIT_PROJECT_ROOT": str(server.folder),
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                    "REQUEST_METHOD": self.command,
                    "PATH_INFO": url.path,
                    "QUERY_STRING": url.query,
                    "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                    "CONTENT_LENGTH": str(len(body)),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                    "REMOTE_ADDR": "127.0.0.1",
                },
            ).stdout
            head, _empty, content = said.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self.send_response(int(headers.pop("Status", "200").split()[0]))
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
