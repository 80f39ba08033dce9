"""Answers that take long, as a log that is followed: what they must not hold, and how they end with the process."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from asgiref.sync import SyncToAsync, sync_to_async
from django.db import close_old_connections

_endings: set[Callable[[], Any]] = set()
_is_ending = threading.Event()  # the process was told to: who is cut off comes again, and may be quicker than the server's door


async def release_thread() -> None:
    """Give back the thread in which the request was looked at, and its database connection: 500 followers would hold 500.

    Django keeps both until the answer's last byte. What comes after that gets a thread anew.
    """
    await sync_to_async(close_old_connections)()
    context = SyncToAsync.thread_sensitive_context.get(None)
    executor = SyncToAsync.context_to_thread_executor.pop(context, None) if context else None
    if executor is not None:
        executor.shutdown(wait=False)


@contextmanager
def ended_with_process(end: Callable[[], object]) -> Iterator[None]:
    """While the block lasts, `end` is called in this event loop as soon as the process is told to end; at once when it was.

    The server itself only waits for answers, for three seconds, and then cuts them off.
    """
    _watch_signals()
    call = partial(asyncio.get_running_loop().call_soon_threadsafe, end)
    _endings.add(call)
    if _is_ending.is_set():
        call()
    try:
        yield
    finally:
        _endings.discard(call)


def _watch_signals() -> None:
    """Hear of the signals that end the process, besides who hears of them already.

    Not when the application is loaded: uvicorn sets its own handlers before that or after it, as its version has it.
    """
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            before = signal.getsignal(number)
            if not (isinstance(before, partial) and before.func is _told):
                signal.signal(number, partial(_told, before))


def end_all() -> None:
    """From any thread, and from a signal's handler."""
    for end in list(_endings):
        end()


def _told(before: Any, number: int, frame: Any) -> None:
    _is_ending.set()
    end_all()
    if callable(before):
        before(number, frame)
    elif before == signal.SIG_DFL:  # nobody else has heard
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
