"""Lists by pages: a cursor says where one page ended, so that what is added meanwhile moves none of the others."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from projects.errors import Invalid

MOST_A_PAGE = 200
USUAL = 50


@dataclass(frozen=True)
class Cursor:
    """Where a page ended: the values that its last row is sorted by. It is of one query alone: its filters and its order."""

    place: tuple[Any, ...]
    query: str = ""

    def __str__(self) -> str:
        text = json.dumps([_mark(self.query), *self.place], separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str, *, query: str, kinds: Sequence[type | tuple[type, ...]]) -> Cursor | None:
        """None for "": the first page. Raises Invalid for what is no cursor of this query; `kinds` are those of its values."""
        if not text:
            return None
        try:
            mark, *place = json.loads(base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4)))
        except (ValueError, TypeError, RecursionError):
            mark, place = None, []
        if mark is not None and mark != _mark(query):
            raise Invalid({"cursor": _("it is of another list: go on with the filters and the order that it came from")})
        fits = len(place) == len(kinds) and all(isinstance(one, kind) for one, kind in zip(place, kinds, strict=True))
        if mark is None or not fits:
            raise Invalid({"cursor": _("no cursor that an answer had as next_cursor")})
        return cls(tuple(place), query)


def limit_of(query: Mapping[str, str], *, usual: int = USUAL, most: int = MOST_A_PAGE) -> int:
    """`limit` of a query, from 1 to `most`. Raises Invalid."""
    text = query.get("limit") or str(usual)
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise Invalid({"limit": _("a whole number is needed")})
    return max(1, min(int(text), most))


def _mark(query: str) -> str:
    return hashlib.sha256(query.encode()).hexdigest()[:8]
