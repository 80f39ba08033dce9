"""Who this agent is to the panel: enrolled once, then in a session that the panel confirms again and again."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from agent import __version__, processes
from agent.home import Home, Identity
from agent.panel import Panel, Refused, Unreachable
from agent.protocol import ENV_HOST, ENV_WORKLOAD

logger = logging.getLogger(__name__)

CONFIRM_EVERY_S = 30.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 10.0
STRANGER_ROUNDS = 40  # 2 s: a process that KILL does not end by then is the kernel's business


class NotEnrolled(Exception):
    """The panel doesn't know this host, and there is no enrolment token that it takes."""


def enrol(
    home: Home, panel: Panel, *, token: str, machine_id: str, name: str, chips: int, stop: threading.Event
) -> Identity | None:
    """Become a host; waits for a panel that does not answer yet. None: told to stop. Raises NotEnrolled."""
    if not token:
        raise NotEnrolled("this host is not enrolled; make an enrolment token in the panel and start the agent with it")
    wait_s = FIRST_WAIT_S
    while not stop.is_set():
        try:
            identity = panel.enrol(token=token, machine_id=machine_id, name=name, chips=chips)
        except Refused as refusal:
            raise NotEnrolled(f"the panel refuses to enrol this host: {refusal.sentence}") from refusal
        except Unreachable as error:
            logger.warning("not enrolled yet: %s", error)
            stop.wait(wait_s)
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)
        else:
            home.keep_identity(identity)
            logger.info("enrolled host=%s panel=%s", identity.host_id, identity.panel)
            return identity
    return None


class Session:
    """The session number, or None while the panel gives none. Confirmed each CONFIRM_EVERY_S, and when a call says it is over."""

    def __init__(self, home: Home, panel: Panel, identity: Identity, *, machine_id: str, on_change: Callable[[], None]) -> None:
        self._home = home
        self._panel = panel
        self._identity = identity
        self._machine_id = machine_id
        self._on_change = on_change
        self._again = threading.Event()
        self.number: int | None = None
        self.is_unknown = False  # the panel does not know this host any more: enrol anew

    def run(self, stop: threading.Event) -> None:
        wait_s = FIRST_WAIT_S
        while not stop.is_set() and not self.is_unknown:
            if self._open():
                wait_s = FIRST_WAIT_S
                self._again.wait(CONFIRM_EVERY_S)
            else:
                stop.wait(wait_s)
                wait_s = min(wait_s * 2, LONGEST_WAIT_S)
            self._again.clear()

    def ask_again(self) -> None:
        """A call was refused for the session's sake, Redis does not know this host, or the agent ends."""
        self._again.set()

    def _open(self) -> bool:
        try:
            number = self._panel.open_session(
                self._identity,
                instance_id=self._home.instance_id(),
                boot_id=processes.boot_id(),
                machine_id=self._machine_id,
                version=__version__,
            )
        except Refused as refusal:
            logger.error("no session: %s", refusal.sentence)
            self.number = None
            self.is_unknown = refusal.status == 401
            self._on_change()
            return False
        except Unreachable as error:
            logger.warning("session not confirmed: %s", error)  # what runs goes on, and is shipped
            return False
        if number != self.number:
            # Only now: an agent that is refused must not touch the work of the one that is not.
            _end_strangers(self._home, self._identity.host_id)
            logger.info("session=%d", number)
            self.number = number
            self._on_change()
        return True


def _end_strangers(home: Home, host_id: str) -> None:
    """KILL for this host's processes of workloads that its disk does not know: of a state folder that was lost.

    Supervisors carry the host's mark only, and end with what they watch.
    """
    for _ in range(STRANGER_ROUNDS):
        strangers = [pid for pid in processes.marked(ENV_HOST, host_id) if _is_strange(home, processes.environment(pid))]
        if not strangers:
            return
        logger.warning("ending processes of workloads that the disk does not know pids=%s", strangers)
        for pid in strangers:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)  # what was forked meanwhile shows itself


def _is_strange(home: Home, environment: list[bytes]) -> bool:
    mark = f"{ENV_WORKLOAD}=".encode()
    workloads = [entry.removeprefix(mark).decode() for entry in environment if entry.startswith(mark)]
    return any(not (home.workloads / workload).is_dir() for workload in workloads)
