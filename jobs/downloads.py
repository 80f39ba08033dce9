"""A fetched file as an HTTP answer: streamed piece by piece, whole or one range of it (RFC 9110, 14)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from rest_framework.request import Request as ApiRequest

from clusters import fetches, pieces
from clusters.models import Fetch
from projects.errors import Gone

ONE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


class Unsatisfiable(Exception):
    """The range begins where the file has ended."""


def answer(request: HttpRequest | ApiRequest, fetch: Fetch) -> HttpResponseBase:
    """The bytes of a complete fetch that the request asks for. Raises Gone when they are lost; the next request fetches anew."""
    size, tag = fetch.size_bytes, f'"{fetch.pk}"'
    asked = request.headers.get("Range", "") if request.headers.get("If-Range", tag) == tag else ""
    try:
        part = range_of(asked, size)
    except Unsatisfiable:
        refusal = {"code": "range-not-satisfiable", "message": _("The file ends before this range."), "details": {}}
        return JsonResponse(refusal, status=416, headers={"Content-Range": f"bytes */{size}", "Accept-Ranges": "bytes"})
    start, end = part or (0, size)
    headers = {
        "Content-Length": str(end - start),
        "Content-Disposition": content_disposition_header(True, _plain(fetch.file.name)) or "attachment",
        "Accept-Ranges": "bytes",
        "ETag": tag,
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-cache",
    }
    if part is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    return StreamingHttpResponse(
        _bytes(fetch, start, end, _read(fetch, start, end)),
        status=200 if part is None else 206,
        content_type="application/octet-stream",  # whatever it is, a browser never shows it as a page
        headers=headers,
    )


def range_of(header: str, size: int) -> tuple[int, int] | None:
    """(start, end) of the one range that is asked for; None: the whole file, as for whatever is no single range.

    Raises Unsatisfiable.
    """
    found = ONE_RANGE.fullmatch(header.strip())
    if found is None or header.strip() == "bytes=-":
        return None
    first, last = found.groups()
    if not first:  # the last so many bytes
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < int(first):
            return None
    if start >= size:
        raise Unsatisfiable
    return start, end


def _read(fetch: Fetch, offset: int, end: int) -> bytes:
    """The bytes of the piece at `offset`. Raises Gone when they are lost, and forgets the fetch: no download breaks off twice."""
    try:
        return pieces.read(fetch.pk, offset)[: end - offset] if offset < end else b""
    except Gone:
        fetches.forget(fetch)
        raise


async def _bytes(fetch: Fetch, offset: int, end: int, data: bytes) -> AsyncIterator[bytes]:
    """Read as the client takes them: a file may be larger than memory. The first piece was read before the answer began."""
    while data:
        yield data
        offset += len(data)
        data = await sync_to_async(_read)(fetch, offset, end)


def _plain(name: str) -> str:
    """No header holds a line end."""
    return "".join(letter if letter.isprintable() else "_" for letter in name)
