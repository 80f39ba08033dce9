"""The command line: which command it is, and how it ends."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from tpu_panel.cli import acting, completion, defining, launching, listing, options
from tpu_panel.cli.statuses import Status, of_error
from tpu_panel.cli.terminal import Terminal
from tpu_panel.errors import STRANGE, PanelError, strange
from tpu_panel.panel import Panel

Command = Callable[[Panel, Terminal, argparse.Namespace], int]


def run(arguments: Sequence[str] | None = None) -> int:
    terminal = Terminal()
    try:
        return int(_run(terminal, list(sys.argv[1:] if arguments is None else arguments)))
    except KeyboardInterrupt:
        return _ended(terminal, "Interrupted.", Status.INTERRUPTED)
    except BrokenPipeError:
        _write_nowhere()
        return Status.BROKEN_PIPE
    except OSError as error:  # of what it writes on: the rest is told where it is opened
        _write_nowhere()
        return _ended(terminal, f"tpu-panel: the result cannot be written: {error.strerror}.", Status.FAILED)


def _ended(terminal: Terminal, sentence: str, status: Status) -> Status:
    with suppress(OSError):
        terminal.bar("")
        terminal.note(sentence)
    return status


def _write_nowhere() -> None:
    """What is still unwritten raises no second time."""
    for stream in (sys.stdout, sys.__stdout__):
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[union-attr]


def _run(terminal: Terminal, words: list[str]) -> int:
    parser = options.parser()
    if words[:1] == ["complete"]:
        for found in completion.candidates(parser, words[words.index("--") + 1 :] if "--" in words else words[1:]):
            terminal.print(found)
        return Status.DONE
    arguments = parser.parse_args(words)
    try:
        if arguments.command == "completion":
            terminal.print(completion.SCRIPTS[arguments.shell].rstrip())
            return Status.DONE
        if arguments.command == "login":
            return acting.login(terminal, arguments)
        with Panel(patience_s=arguments.patience, notice=terminal.note) as panel:
            return _done(COMMANDS[arguments.command], panel, terminal, arguments)
    except PanelError as error:
        terminal.bar("")
        terminal.note(json.dumps(error.as_json()) if getattr(arguments, "json", False) else f"tpu-panel: {error.message}")
        return of_error(error)


def _done(command: Command, panel: Panel, terminal: Terminal, arguments: argparse.Namespace) -> int:
    try:
        return command(panel, terminal, arguments)
    except STRANGE as error:
        raise strange(panel.url, error) from error


COMMANDS: dict[str, Command] = {
    "launch": launching.launch,
    "relaunch": launching.relaunch,
    "jobs": listing.jobs,
    "job": listing.job,
    "logs": acting.logs,
    "cancel": acting.cancel,
    "wait": acting.wait,
    "definitions": defining.definitions,
    "hosts": listing.hosts,
    "metrics": listing.metrics,
    "open": acting.open_page,
}
