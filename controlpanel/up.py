"""`manage.py up`: everything that a laptop's panel needs, from one table, and nothing left behind when it ends.

Imports no Django: it waits all day, and Django would cost it 50 MB. What needs Django is a child.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from controlpanel import local_agent, valkey
from controlpanel.folder_lock import FolderLock, InUse
from controlpanel.parts import BASE_DIR, Part, say, spawn

END_WITHIN_S = 10.0
MIN_FREE_BYTES = 200 * 1024 * 1024


class CannotStart(Exception):
    """Why nothing was started, in a sentence that says what to do."""


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stop.set())
    try:
        return _run(options, stop)
    except CannotStart as error:
        say(str(error))
        return 1


def _run(options: argparse.Namespace, stop: threading.Event) -> int:
    var = Path(os.environ.get("PANEL_VAR") or BASE_DIR / "var").resolve()
    environment = {"PANEL_VAR": str(var), "PUBLIC_URL": os.environ.get("PUBLIC_URL") or f"http://127.0.0.1:{options.port}"}
    _check_folder(var)
    try:
        lock = FolderLock(var, url=environment["PUBLIC_URL"], wait_s=2 * END_WITHIN_S)
    except InUse as error:
        raise CannotStart(str(error)) from error
    _check_port(options.port)
    running: list[Part] = []
    try:
        if not os.environ.get("REDIS_URL"):
            redis, environment["REDIS_URL"] = _valkey(var)
            running.append(redis)
            redis.tend(time.monotonic())
        _prepare(environment)
        running += _parts(options, var, environment)
        for part in running:
            part.tend(time.monotonic())
        if not options.no_agent:
            running.append(_agent(options, var, environment))
        demo = _watch(running, environment, stop, options)
        if options.demo:
            _manage("stop_workloads", environment, "--here")  # what others run on hosts of their own goes on
            return demo if options.exit else 0
        _manage("stop_workloads", environment, "--list")  # running work outlives the panel: say which, and how to end it
    finally:
        lock.ending()
        _end(running)
    return 0


def _watch(running: list[Part], environment: dict[str, str], stop: threading.Event, options: argparse.Namespace) -> int:
    """Until told to stop: start again what ends, say once when the panel answers. Returns how the demo ended."""
    url, is_ready, demo = environment["PUBLIC_URL"], False, None
    while not stop.wait(0.5 if is_ready else 0.1):
        for part in running:
            part.tend(time.monotonic())
        if not is_ready and (is_ready := _answers(url)):
            say(f"The panel is at {url}  (Ctrl-C stops it{'' if options.demo else '; running work goes on'})")
            demo = spawn([sys.executable, str(BASE_DIR / "manage.py"), "demo"], environment) if options.demo else None
        if demo is not None and demo.poll() is not None and options.exit:
            break
    if demo is not None and demo.poll() is None:
        demo.kill()
    return 1 if demo is None else demo.wait()


def _parts(options: argparse.Namespace, var: Path, environment: dict[str, str]) -> list[Part]:
    """The process table, but for Valkey, which goes before all, and the agent, which may have to be installed first."""
    python = sys.executable
    web = [
        "--host",
        options.host,
        "--port",
        str(options.port),
        "--lifespan",
        "off",
        "--ws-per-message-deflate",
        "false",
        "--no-access-log",
        "--log-level",
        "warning",
    ]
    quiet = ["--without-mingle", "--without-gossip", "--without-heartbeat"]
    return [
        Part(
            "web",
            [python, "-m", "uvicorn", "controlpanel.asgi:application", "--timeout-graceful-shutdown", "3", *web],
            environment,
        ),
        Part("loops", [python, str(BASE_DIR / "manage.py"), "loops"], environment),
        Part(
            "worker",
            [
                python,
                "-m",
                "celery",
                "-q",
                "-A",
                "controlpanel.celery",
                "worker",
                "--pool",
                "threads",  # a git server that does not answer holds up no other chore
                "--concurrency",
                "4",
                "-B",
                "-Q",
                "panel",
                "-l",
                "WARNING",
                *quiet,
            ],
            environment | {"PYTHONWARNINGS": "ignore::UserWarning:celery.platforms"},  # that it runs as root, where it does
        ),
    ]


def _valkey(var: Path) -> tuple[Part, str]:
    """The embedded Valkey on the port that it had before: hosts remember it."""
    folder = var / "valkey"
    folder.mkdir(parents=True, exist_ok=True)
    remembered = folder / "port"
    port = int(remembered.read_text()) if remembered.exists() else _free_port()
    if not _is_free("127.0.0.1", port):
        raise CannotStart(f"Port {port} of the embedded Valkey is taken. End what listens there, or delete {remembered}.")
    remembered.write_text(str(port))
    command, url = valkey.configure(folder, port, password=_kept_password(folder / "password"))
    (var / "redis_url").touch(mode=0o600)
    (var / "redis_url").write_text(url)
    return Part("valkey", command), url


def _prepare(environment: dict[str, str]) -> None:
    """Migrations, first steps, static files, the agent's wheel: one child that says what it did."""
    if _manage("prepare", environment) != 0:
        raise CannotStart("The panel could not be prepared; the reason stands above.")


def _agent(options: argparse.Namespace, var: Path, environment: dict[str, str]) -> Part:
    try:
        command, token = local_agent.command(var, panel=environment["PUBLIC_URL"], slots=options.slots)
    except local_agent.NotInstalled as error:
        raise CannotStart(str(error)) from error
    part = Part("agent", command, {"PANEL_ENROLMENT_TOKEN": token})
    part.tend(time.monotonic())
    return part


def _check_folder(var: Path) -> None:
    """What is better said before anything runs. Raises CannotStart."""
    if sys.version_info < (3, 11):  # noqa: UP036  the linter knows, the person with an older one does not
        raise CannotStart(f"The panel needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    try:
        var.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(var).free
    except OSError as error:
        raise CannotStart(f"The state folder {var} cannot be used: {error.strerror}.") from error
    if free < MIN_FREE_BYTES:
        raise CannotStart(f"The disk of {var} has {free // 2**20} MiB left; {MIN_FREE_BYTES // 2**20} MiB are needed to begin.")


def _check_port(port: int) -> None:
    if not _is_free("127.0.0.1", port):
        raise CannotStart(f"Port {port} is taken. End what listens there, or choose another: manage.py up --port {port + 1}")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/sign-in", timeout=5):
            return True
    except urllib.error.HTTPError as error:
        say(f"The panel answers with status {error.code}; its words stand above.")
        return True
    except OSError:
        return False


def _manage(command: str, environment: dict[str, str], *arguments: str) -> int:
    return spawn([sys.executable, str(BASE_DIR / "manage.py"), command, *arguments], environment).wait()


def _end(running: list[Part]) -> None:
    """TERM to all at once; Valkey last, which the others still talk to."""
    deadline = time.monotonic() + END_WITHIN_S
    for part in reversed(running):
        if part.process is not None and part.name != "valkey":
            part.process.terminate()
    for part in reversed(running):
        if part.process is not None and part.name == "valkey":
            part.process.terminate()
        part.end(deadline)


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _kept_password(path: Path) -> str:
    import secrets

    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(24))
    return path.read_text()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="manage.py up", description="Run the panel and a local agent on this machine.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=int(os.environ.get("PORT", "8000")))
    parser.add_argument("--no-agent", action="store_true", help="without a host on this machine")
    parser.add_argument("--demo", action="store_true", help="launch a job that trains and follow it here")
    parser.add_argument("--exit", action="store_true", help="with --demo: end everything with the job, and with its status")
    slots = 2 * (os.cpu_count() or 1)
    parser.add_argument(
        "--slots", type=int, default=slots, help=f"of the local host when it is new (default: 2 x cores, {slots})"
    )
    return parser
