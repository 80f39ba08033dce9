"""Functions run at once, each in a thread with a database connection of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from django.db import connection


def at_once(*functions: Callable[[], object], timeout: float = 60) -> None:
    """Run them all; raises what one of them raised, or AssertionError when one does not end in time."""
    errors: list[BaseException] = []

    def run(function: Callable[[], object]) -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[function], daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + timeout
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads), "a thread did not end in time"
