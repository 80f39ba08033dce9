"""A lock that its holder keeps until it dies, however it dies: how one process knows that another lives."""

from __future__ import annotations

import fcntl
import os


def is_held(path: str | os.PathLike[str]) -> bool:
    """Whether a living process holds it. Asking takes it for an instant, so whoever wants to hold it tries more than once."""
    try:
        lock = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
