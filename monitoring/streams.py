"""Connections to Redis, and the names of the keys that monitoring uses there.

redis-py 7.4. Version 8 gives blocking reads a time-out that ends them, so that is said on each connection.
"""

from __future__ import annotations

import functools
from typing import Any

import redis
import redis.asyncio
from django.conf import settings
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

WAKE = "wake"  # stream: which loop has something to do
WAIT_S = 0.05  # what a web request gives Redis for one answer
LIVE_LENGTH = 64  # entries that a live stream keeps at least
LIVE_TTL_S = 60  # a live stream that nobody writes goes away
WATCHED_TTL_S = 30
DEAD_AFTER_S = 5  # of an answer that should come within a second: the connection is dead, and nobody has said so
BLOCKING: dict[str, Any] = {
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 25,
}


def live_key(address: str) -> str:
    return f"live:{address}"


def watched_key(address: str) -> str:
    """Exists while somebody listens to `address`; who listens renews it within WATCHED_TTL_S."""
    return f"watched:{address}"


def client() -> redis.Redis:
    """For web requests and after a commit: each answer within 50 ms or an error. Shared by the threads of the process."""
    return _client(settings.REDIS_URL)


def reader() -> redis.Redis:
    """For blocking reads, of a second at most. Shared by the threads of the process."""
    return _reader(settings.REDIS_URL)


def async_reader() -> redis.asyncio.Redis:
    """For one event loop's blocking reads, of any length: who reads says how long it waits for the answer."""
    return redis.asyncio.Redis.from_url(settings.REDIS_URL, retry=AsyncRetry(NoBackoff(), 0), socket_timeout=None, **BLOCKING)


# One a URL, since tests change it. A pool notices by itself that the process was forked, or that the server has closed a
# connection; whoever uses it says what to do when an answer fails, so nothing is sent twice behind their back.
@functools.lru_cache(maxsize=4)
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_timeout=WAIT_S, socket_connect_timeout=WAIT_S)


@functools.lru_cache(maxsize=4)
def _reader(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_timeout=DEAD_AFTER_S, **BLOCKING)
