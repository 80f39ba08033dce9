"""How often one person may ask the API: counted in Valkey for all web processes, told in the headers of each answer.

The headers are those of draft-ietf-httpapi-ratelimit-headers-10. Without Valkey nothing is counted: a panel that answers is
worth more than a limit that holds.
"""

from __future__ import annotations

import functools
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import limits
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from limits.errors import StorageError
from limits.storage import RedisStorage
from redis.backoff import NoBackoff
from redis.retry import Retry
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

logger = logging.getLogger(__name__)

POLICY = "api"
HEADER, POLICY_HEADER = "RateLimit", "RateLimit-Policy"
ANSWERS_WITHIN_S = 0.2  # Valkey, or nothing is counted
LEFT_ALONE_S = 5  # Valkey, after it did not answer


@dataclass(frozen=True)
class Rate:
    """What one person has left of a window, after the request that asks."""

    most: int
    window_s: int
    asked: int
    resets_in_s: int

    @property
    def left(self) -> int:
        return max(0, self.most - self.asked)

    @property
    def headers(self) -> dict[str, str]:
        return {
            POLICY_HEADER: f'"{POLICY}";q={self.most};w={self.window_s}',
            HEADER: f'"{POLICY}";r={self.left};t={self.resets_in_s}',
        }


class PerPerson(BaseThrottle):
    """One count for a person, however many tokens they have."""

    rate: Rate | None = None

    def allow_request(self, request: Request, view: object) -> bool:
        if request.user.pk is None:
            return True
        self.rate = count(request.user.pk)
        request._request.rate = self.rate  # type: ignore[attr-defined]  # for RateHeadersMiddleware
        return self.rate is None or self.rate.asked <= self.rate.most

    def wait(self) -> float | None:
        return self.rate.resets_in_s if self.rate else None


class RateHeadersMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if rate := getattr(request, "rate", None):
            for name, value in rate.headers.items():
                response[name] = value
        return response


def count(user_id: int) -> Rate | None:
    """Count one more request of this person; None where nothing is counted."""
    if not settings.API_RATE:
        return None
    limit, counter = limits.parse(settings.API_RATE), _counter(settings.REDIS_URL)
    return counter.count(limit, f"user-{user_id}")


class _Counter:
    """Fixed windows that begin with a person's first request."""

    def __init__(self, url: str) -> None:
        client: Any = {
            "retry": Retry(NoBackoff(), 0),
            "socket_timeout": ANSWERS_WITHIN_S,
            "socket_connect_timeout": ANSWERS_WITHIN_S,
        }
        self.storage = RedisStorage(url, key_prefix="rate", wrap_exceptions=True, **client)
        self.away_until = 0.0

    def count(self, limit: limits.RateLimitItem, who: str) -> Rate | None:
        if time.monotonic() < self.away_until:
            return None
        key, window_s = limit.key_for(POLICY, who), limit.get_expiry()
        try:
            asked = self.storage.incr(key, window_s)
            resets_at = self.storage.get_expiry(key)
        except StorageError as error:
            self.away_until = time.monotonic() + LEFT_ALONE_S
            logger.warning("requests are not counted why=%s", error)
            return None
        resets_in_s = min(window_s, max(1, math.ceil(resets_at - time.time())))
        return Rate(most=limit.amount, window_s=window_s, asked=asked, resets_in_s=resets_in_s)


@functools.lru_cache(maxsize=4)
def _counter(url: str) -> _Counter:
    return _Counter(url)
