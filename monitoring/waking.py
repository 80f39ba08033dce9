"""How a loop sleeps until there is something to do: the stream `wake`, with a look each second behind it."""

from __future__ import annotations

import logging
import time
from typing import Any

import redis

from monitoring import streams

logger = logging.getLogger(__name__)
STREAM = streams.WAKE


class Waker:
    """Waits for entries of the stream `wake` that name this loop. Entries that came during a tick count too."""

    def __init__(self, loop: str) -> None:
        self.loop = loop.encode()
        self.last_id = b"0"

    def wait(self, timeout_s: float) -> bool:
        """True: woken; False: after `timeout_s` seconds, or Redis is away and as long was slept."""
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            try:
                found: Any = streams.reader().xread({STREAM: self.last_id}, block=max(1, int(left * 1000)))
            except redis.exceptions.RedisError as error:
                logger.warning("cannot wait for work loop=%s error=%r", self.loop.decode(), error)
                time.sleep(left)
                return False
            if self.seen(found):
                return True
        return False

    def seen(self, found: list) -> bool:
        """Whether entries read from the stream name this loop; remembers the last one read."""
        woken = False
        for _stream, entries in found:
            for entry_id, fields in entries:
                self.last_id = entry_id
                woken = woken or fields.get(b"loop") == self.loop
        return woken
