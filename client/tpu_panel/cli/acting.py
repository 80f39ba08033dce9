"""`login`, `logs`, `cancel`, `wait` and `open`."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
import time
import webbrowser
from pathlib import Path

from tpu_panel import config
from tpu_panel.cli import watching, words
from tpu_panel.cli.statuses import Status, UsageError, of_job
from tpu_panel.cli.terminal import Terminal
from tpu_panel.cli.watching import JsonLines, Shown
from tpu_panel.config import Account
from tpu_panel.connection import checked_url
from tpu_panel.errors import Conflict, NotSignedIn, PanelError, WaitTimeout, strange
from tpu_panel.job import Job
from tpu_panel.panel import Panel


def login(terminal: Terminal, arguments: argparse.Namespace) -> int:
    """Tries a token, then keeps it with the panel's address."""
    kept = _kept_url()
    url = checked_url(arguments.url or os.environ.get("PANEL_URL") or kept or config.USUAL_URL)
    token = _token(terminal, arguments, url)
    with Panel(url, token, patience_s=arguments.patience) as panel:
        me = panel.me()
        if not isinstance(me.get("username"), str) or not isinstance(me.get("scope"), str):
            raise strange(panel.url, KeyError("username"))
    place = config.save(Account(url, token))
    if arguments.json:
        terminal.print(json.dumps({"url": url, "username": me["username"], "scope": me["scope"], "config": str(place)}))
    else:
        terminal.print(f"Signed in at {url} as {words.plain(me['username'])}; the token may {me['scope']}.")
        terminal.note(f"Kept in {place}, which only you can read.")
    overridden = [name for name in ("PANEL_URL", "PANEL_TOKEN") if os.environ.get(name)]
    if overridden:
        terminal.note(f"Mind that {' and '.join(overridden)} in the environment go before it.")
    return Status.DONE


def _kept_url() -> str:
    """ "": none, or in a file that is broken, which is to be written anew now."""
    try:
        kept = config.load()
    except PanelError:
        return ""
    return kept.url if kept else ""


def _token(terminal: Terminal, arguments: argparse.Namespace, url: str) -> str:
    """From a file, typed without being shown, or piped in. Never an argument: other users see those."""
    if arguments.token_file:
        try:
            text = Path(arguments.token_file).read_text()
        except OSError as error:
            raise UsageError(f"{arguments.token_file} cannot be read: {error.strerror}.") from None
        except ValueError:
            raise UsageError(f"{arguments.token_file} is no text.") from None
    elif sys.stdin.isatty():
        terminal.note(f"Make a token at {url}/tokens and paste it here (it is not shown).")
        try:
            text = getpass.getpass("Token: ")
        except EOFError:
            text = ""
    else:
        text = sys.stdin.readline()
    token = text.strip()
    if not token:
        raise NotSignedIn("no-token", "No token was given.")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise NotSignedIn("no-token", "That is no token: one has letters, digits, - and _ only.")
    return token


def logs(panel: Panel, terminal: Terminal, arguments: argparse.Namespace) -> int:
    job = panel.job(arguments.number)
    which = {"rank": arguments.rank, "attempt": arguments.attempt, "part": arguments.part, "tail": arguments.tail}
    shown = JsonLines(terminal) if arguments.json else Shown(terminal)
    if not arguments.follow:
        if arguments.json:
            raise UsageError("--json goes with -f: what is stored is bytes, and printed as it is.")
        for data in job.log_bytes(follow=False, **which):
            terminal.write(data)
        return Status.DONE
    try:
        watching.show(job.follow(**which), shown)
    except KeyboardInterrupt:
        terminal.note(f"Follow on: tpu-panel logs {job.number} -f")
        return Status.INTERRUPTED
    return Status.DONE


def cancel(panel: Panel, terminal: Terminal, arguments: argparse.Namespace) -> int:
    """Each of them, also when one has ended already or does not exist."""
    status, done = Status.DONE, list[Job]()
    for number in arguments.numbers:
        try:
            job = panel.job(number).cancel(force=arguments.force)
        except PanelError as error:
            if len(arguments.numbers) == 1 or not isinstance(error, Conflict) and error.status != 404:
                raise
            terminal.note(error.message)
            status = Status.FAILED
            continue
        done.append(job)
        if not arguments.json:
            terminal.print(f"Job {number} is {job.state}.")
    if arguments.json:
        terminal.print(json.dumps([job.data for job in done]))
    return status


def wait(panel: Panel, terminal: Terminal, arguments: argparse.Namespace) -> int:
    """For all of them; the first that has not succeeded says how it ends."""
    jobs = [panel.job(number) for number in arguments.numbers]
    deadline = None if arguments.timeout is None else time.monotonic() + arguments.timeout
    for job in jobs:
        try:
            job.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        except WaitTimeout:
            if arguments.json:
                terminal.print(json.dumps([one.data for one in jobs]))
            sentence = f"Job {job.number} is {job.state} after {arguments.timeout:g} s, and goes on."
            raise WaitTimeout("wait-timeout", sentence, details={"job": job.number, "state": job.state}) from None
        if not arguments.json:
            terminal.print(watching.verdict(terminal, job, terminal.out))
    if arguments.json:
        terminal.print(json.dumps([job.data for job in jobs]))
    return next((status for status in map(of_job, jobs) if status), Status.DONE)


def open_page(panel: Panel, terminal: Terminal, arguments: argparse.Namespace) -> int:
    job = panel.job(arguments.number)
    if arguments.json:
        terminal.print(json.dumps({"url": job.url}))
        return Status.DONE
    terminal.print(job.url)
    if not webbrowser.open(job.url):
        terminal.note("No browser could be started here: open the address yourself.")
    return Status.DONE
