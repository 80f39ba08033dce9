"""The loops and what each does in a tick: one table, one `run`. `manage.py loops` runs them as threads of one process."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone

from clusters import chores, holding
from clusters.dispatch import dispatch
from clusters.scheduling import schedule
from clusters.sweep import sweep
from controlpanel.inbox import Inbox
from jobs import attempts, notices
from monitoring.waking import Waker

logger = logging.getLogger(__name__)
HOLDER = uuid.uuid4().hex  # this process, among the holders of loops


@dataclass
class SchedulerLoop:
    """A pass, then dispatch of what it ordered and of chores, then each second the sweep."""

    name: str = "scheduler"
    swept_at: float = 0.0

    def __post_init__(self) -> None:
        self.waker = Waker("scheduler")

    def tick(self) -> None:
        now = timezone.now()
        schedule(now=now)
        dispatch(now=now)
        chores.publish(now=now)
        if time.monotonic() - self.swept_at >= 1:
            sweep(now=now)
            dispatch(now=now)
            self.swept_at = time.monotonic()

    def wait(self) -> None:
        self.waker.wait(1.0)


@dataclass
class FollowLoop:
    """Whoever owns workloads follows them; jobs that wait to try again begin; who wants to know of it is told."""

    name: str = "follow"

    def __post_init__(self) -> None:
        self.waker = Waker("follow")

    def tick(self) -> None:
        now = timezone.now()
        attempts.follow(now=now)
        attempts.begin_due(now=now)
        notices.tick(now=now)

    def wait(self) -> None:
        self.waker.wait(1.0)


LOOPS: dict[str, Callable[[], SchedulerLoop | FollowLoop | Inbox]] = {
    "inbox": Inbox,
    "scheduler": SchedulerLoop,
    "follow": FollowLoop,
}


def run(name: str, stop: threading.Event) -> None:
    """Tick while this process holds the loop; a tick that raises is logged and the next one comes a second later."""
    loop = LOOPS[name]()
    renew_at = 0.0
    held = False
    while not stop.is_set():
        try:
            if time.monotonic() >= renew_at or not held:
                held = holding.hold(name, HOLDER, now=timezone.now())
                renew_at = time.monotonic() + settings.LOOP_HOLD_S / 4
            if not held:
                stop.wait(1.0)
                continue
            loop.tick()
            loop.wait()
        except Exception:
            logger.exception("tick failed loop=%s", name)
            close_old_connections()
            stop.wait(1.0)
    holding.release(name, HOLDER, now=timezone.now())
