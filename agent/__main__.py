"""`python -m agent run`: the agent of a TPU host."""

from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
from pathlib import Path

from agent import __version__, loop
from agent.home import InUse
from agent.self_account import FORMAT
from agent.session import NotEnrolled

MACHINE_ID = Path("/etc/machine-id")


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=os.environ.get("LOG_LEVEL", "INFO"), format=FORMAT)
    if options.doing == "orders":
        from agent import worker  # Celery, which the loop itself does without

        worker.run(Path(options.state))
        return 0
    if options.doing == "build":
        from agent import building

        return building.build(Path(options.folder))
    if options.doing == "checkout":
        from agent import checkouts

        return checkouts.check_out(Path(options.folder))
    settings = loop.Settings(
        state=Path(options.state).expanduser().resolve(),
        panel=options.panel,
        enrolment_token=os.environ.pop("PANEL_ENROLMENT_TOKEN", ""),
        name=options.name,
        chips=options.chips,
        runtimes=Path(options.runtimes).expanduser().resolve() if options.runtimes else None,
        machine_id=options.machine_id[:64] or _machine_id(),
    )
    try:
        return loop.run(settings)
    except (InUse, NotEnrolled) as error:
        print(f"agent: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agent", description="Runs what the panel places on this host.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command", dest="doing")
    once = "PANEL_ENROLMENT_TOKEN enrols this host, once; it is not needed again."
    run = commands.add_parser("run", help="serve this host until stopped", epilog=once)
    run.add_argument("--panel", required=True, help="the panel's address, such as https://panel.example.org")
    run.add_argument("--state", default="~/.tpu-panel-agent", help="folder of this host's state")
    run.add_argument("--name", default=socket.gethostname()[:64], help="what people call this host")
    slots = 2 * (os.cpu_count() or 1)
    run.add_argument("--machine-id", default=os.environ.get("PANEL_MACHINE_ID", ""), help="of a second host on one machine")
    run.add_argument("--chips", type=int, default=slots, help="chips of this host; slots on a host that has none")
    run.add_argument("--runtimes", default="", help="folder of built Python environments (default: in the state folder)")
    build = commands.add_parser("build", help="build a runtime; the agent starts this itself")
    build.add_argument("folder")
    checkout = commands.add_parser("checkout", help="fetch a commit; the agent starts this itself")
    checkout.add_argument("folder")
    orders = commands.add_parser("orders", help="take this host's orders; the agent starts this itself")
    orders.add_argument("--state", required=True)
    return parser


def _machine_id() -> str:
    """What stays the same when the agent is set up anew: systemd's machine id, else the host's name."""
    if MACHINE_ID.exists() and (known := MACHINE_ID.read_text().strip()):
        return known[:64]
    return socket.gethostname()[:64]


if __name__ == "__main__":
    sys.exit(main())
