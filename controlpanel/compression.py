"""Answers go compressed to who takes that: pages, JSON, styles, scripts. Static files are compressed beforehand (whitenoise)."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

LEAST_BYTES = 1024  # below it is one packet, compressed or not
TYPES = frozenset({"text/html", "application/json", "text/css", "text/javascript"})


class CompressionMiddleware(GZipMiddleware):
    """Whole answers alone: what streams (events, logs, files) is sent as it comes, and a part of a file as it was asked for.

    Pages hold secrets (the CSRF token) beside what others wrote, and lengths of compressed pages tell of both (BREACH): the
    token is masked anew for each answer, and Django's middleware adds up to 100 random bytes. An ETag becomes a weak one,
    which If-None-Match takes as the same.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return super().process_response(request, response) if _is_worth_it(response) else response


def _is_worth_it(response: HttpResponseBase) -> bool:
    if not isinstance(response, HttpResponse) or response.streaming or response.has_header("Content-Range"):
        return False
    kind = response.get("Content-Type", "").partition(";")[0].strip().lower()
    return kind in TYPES and len(response.content) >= LEAST_BYTES
