"""What may be written behind `tpu-panel`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

from tpu_panel.cli.completion import SCRIPTS
from tpu_panel.cli.statuses import Status
from tpu_panel.connection import PATIENCE_S
from tpu_panel.version import VERSION

STATES = ["queued", "starting", "running", "stopping", "succeeded", "failed", "canceled"]
PAIR = "NAME=VALUE"
PATIENCE = "ask a panel that is away again for so long (%(default)g)"
STATUSES = """\
Ends with 0 when all went well; of a job that is followed or waited for with its command's own exit code, 1 when it failed
without one, 125 when it was canceled. 64: what was written is wrong. 69: the panel does not answer. 77: not signed in, or
not allowed. 124: timed out. 130: Ctrl-C, and the job goes on. 1: the panel refused for another reason.
"""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(Status.USAGE, f"{self.prog}: {message}\n")


def parser() -> Parser:
    shape = argparse.RawDescriptionHelpFormatter
    outer = Parser(prog="tpu-panel", description="Jobs on a TPU control panel.", epilog=STATUSES, formatter_class=shape)
    outer.add_argument("--version", action="version", version=f"tpu-panel {VERSION}")
    commands = outer.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    for name, (words, fill) in COMMANDS.items():
        one = commands.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
        if name != "completion":
            one.add_argument("--json", action="store_true", help="for scripts: JSON on the standard output")
            one.add_argument("--patience", type=seconds, default=PATIENCE_S, metavar="S", help=PATIENCE)
        fill(one)
    return outer


def _login(one: argparse.ArgumentParser) -> None:
    one.add_argument("url", nargs="?", metavar="URL", help="of the panel")
    one.add_argument("--token-file", metavar="FILE", help="read the token from there")


def _launch(one: argparse.ArgumentParser) -> None:
    one.add_argument("definition", nargs="?", metavar="DEFINITION", help="what to launch")
    words = "fill a parameter; @FILE is what a file holds, of an archive @FOLDER; again for each item of a list"
    _several(one, "-p", "--parameter", dest="parameters", metavar=PAIR, help=words)
    one.add_argument("--project", help="needed when several projects have that definition (or PANEL_PROJECT)")
    one.add_argument("--version", type=whole, metavar="N", help="of the definition (the newest)")
    one.add_argument("--name")
    one.add_argument("--chips", type=whole, metavar="N")
    one.add_argument("--accelerator")
    one.add_argument("--cluster")
    _several(one, "--label", dest="labels", metavar=PAIR)
    _several(one, "--env", dest="environment", metavar=PAIR, help="a variable of the command")
    _several(one, "--secret", dest="secrets", metavar="NAME", help="of the project, for the command")
    one.add_argument("--notify", metavar="EVENTS", help="tell me of it: starts, ends, fails, with commas between; or nothing")
    one.add_argument("--file", metavar="FILE", help="a launch as JSON (-: the standard input); what else is written counts more")
    one.add_argument("--check", action="store_true", help="only say whether it would start now, and launch nothing")
    _follow(one)


def _relaunch(one: argparse.ArgumentParser) -> None:
    _number(one)
    one.add_argument("--with-checkpoints", action="store_true", help="go on in the folder of checkpoints that the job wrote")
    _follow(one)


def _jobs(one: argparse.ArgumentParser) -> None:
    one.add_argument("--project")
    _several(one, "--state", choices=STATES, help="any of several")
    one.add_argument("--owner", metavar="NAME")
    one.add_argument("--mine", action="store_true", help="one's own")
    one.add_argument("--definition", metavar="NAME")
    one.add_argument("--accelerator")
    one.add_argument("--cluster")
    _several(one, "--label", dest="labels", metavar=PAIR, help="all of several")
    one.add_argument("--text", help="part of the name, or the number")
    one.add_argument("--since", metavar="SPAN", help="launched within: 30m, 24h, 7d, 4w")
    one.add_argument("--created-after", metavar="MOMENT")
    one.add_argument("--created-before", metavar="MOMENT")
    one.add_argument("--sort", metavar="ORDER", help="number, name, started, ended; the greatest first: --sort=-ended")
    one.add_argument("--limit", type=whole, default=50, metavar="N", help="so many at most (%(default)s)")
    one.add_argument("--all", action="store_true", help="however many there are")


def _logs(one: argparse.ArgumentParser) -> None:
    _number(one)
    one.add_argument("-f", "--follow", action="store_true", help="go on to the end of the job")
    one.add_argument("--rank", type=whole, default=0, metavar="N")
    one.add_argument("--attempt", type=whole, metavar="N", help="(the last)")
    one.add_argument("--part", choices=["output", "prepare"], default="output")
    one.add_argument("--tail", type=whole, metavar="N", help="begin with the last lines, so many")


def _cancel(one: argparse.ArgumentParser) -> None:
    _numbers(one)
    one.add_argument("--force", action="store_true", help="leave them no time to stop by themselves")


def _wait(one: argparse.ArgumentParser) -> None:
    _numbers(one)
    one.add_argument("--timeout", type=seconds, metavar="S", help="for so many seconds in all")


def _definitions(one: argparse.ArgumentParser) -> None:
    one.add_argument("definition", nargs="?", metavar="DEFINITION", help="its parameters, with their defaults")
    one.add_argument("--project")


def _metrics(one: argparse.ArgumentParser) -> None:
    _number(one)
    one.add_argument("name", nargs="?", metavar="NAME", help="of one metric")
    one.add_argument("--csv", action="store_true")
    one.add_argument("--by", choices=["step", "wall"], default="step", help="wall: Unix milliseconds")
    one.add_argument("--buckets", type=whole, metavar="N", help="put points together to so many at most (20; as data 2000)")


def _completion(one: argparse.ArgumentParser) -> None:
    one.add_argument("shell", choices=list(SCRIPTS))


def _follow(one: argparse.ArgumentParser) -> None:
    one.add_argument("-f", "--follow", action="store_true", help="print its log to its end; Ctrl-C leaves it running")


def _number(one: argparse.ArgumentParser) -> None:
    one.add_argument("number", type=number, metavar="JOB")


def _numbers(one: argparse.ArgumentParser) -> None:
    one.add_argument("numbers", type=number, nargs="+", metavar="JOB")


def _several(one: argparse.ArgumentParser, *names: str, dest: str = "", **more: object) -> None:
    one.add_argument(*names, action="append", default=[], **({"dest": dest} if dest else {}), **more)  # type: ignore[arg-type]


Fill = Callable[[argparse.ArgumentParser], None]
COMMANDS: dict[str, tuple[str, Fill]] = {
    "login": ("keep a panel's address and a token (from a prompt, or piped in)", _login),
    "launch": ("launch a job", _launch),
    "relaunch": ("launch what a job was once more, to the commit and the packages", _relaunch),
    "jobs": ("list jobs, newest first", _jobs),
    "job": ("show a job", _number),
    "logs": ("print a job's log as it was printed, to the byte", _logs),
    "cancel": ("end jobs", _cancel),
    "wait": ("wait for the end of jobs", _wait),
    "definitions": ("list what can be launched, or show the parameters of one", _definitions),
    "hosts": ("list hosts", lambda one: None),
    "metrics": ("show what a job has measured", _metrics),
    "open": ("open a job's page in the browser", _number),
    "completion": ("print what makes a shell complete these commands", _completion),
}


def number(text: str) -> int:
    """A job's number, also as it is written in sentences and addresses."""
    found = text.rpartition("/")[2].removeprefix("#")
    if not (found.isascii() and found.isdecimal()) or len(found) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of a job")
    return int(found)


def whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def seconds(text: str) -> float:
    try:
        found = float(text.removesuffix("s"))
    except ValueError:
        found = -1.0
    if not 0 <= found < 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return found
