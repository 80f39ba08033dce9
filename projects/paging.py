"""Lists by pages: a cursor says where one page ended, so that what is added meanwhile moves none of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core import signing
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _

from projects.errors import Invalid
from projects.queries import whole

MOST_A_PAGE = 200
USUAL = 50
Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class Cursor:
    """Where a page ended: the values (of JSON) that its last row is sorted by.

    It is of one query alone, its filters and its order, and signed: nobody makes one up.
    """

    place: tuple[Any, ...]
    query: str = ""

    def __str__(self) -> str:
        return _signer(self.query).sign_object(self.place)

    @classmethod
    def read(cls, text: str, *, query: str) -> Cursor | None:
        """None for "": the first page. Raises Invalid for what no page of this query ended with."""
        if not text:
            return None
        try:
            return cls(tuple(_signer(query).unsign_object(text)), query)
        except (signing.BadSignature, ValueError):
            raise Invalid({"cursor": _("it leads nowhere in this list; begin again without it")}) from None


def limit_of(query: Mapping[str, str], *, usual: int = USUAL, most: int = MOST_A_PAGE) -> int:
    """`limit` of a query, from 1 to `most`. Raises Invalid."""
    return max(1, min(whole(query, "limit", usual), most))


def _signer(query: str) -> signing.Signer:
    """Without the time: the same page has the same cursor, so that it can be seen whether a list has changed."""
    return signing.Signer(salt=f"projects.paging {query}")


def newest_page(rows: QuerySet[Row], query: Mapping[str, str], *, of: str) -> tuple[list[Row], str | None]:
    """The page of `rows`, newest first, that the query asks for, and the cursor of the page after it. Raises Invalid."""
    limit, cursor = limit_of(query), Cursor.read(query.get("cursor", ""), query=of)
    if cursor:
        rows = rows.filter(pk__lt=cursor.place[0])
    found = list(rows.order_by("-pk")[: limit + 1])
    shown = found[:limit]
    return shown, str(Cursor((shown[-1].pk,), of)) if len(found) > limit else None
