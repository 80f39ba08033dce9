"""A page of the list of jobs: what it shows, in which order, from where on. The same for the page and for GET /api/v1/jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import QueryDict

from jobs import columns, filters, sorting
from jobs.filters import Filter
from jobs.models import Job
from jobs.sorting import Order
from projects.actors import Actor
from projects.errors import Invalid
from projects.paging import USUAL, Cursor, limit_of


@dataclass(frozen=True)
class Page:
    """The query of a list of jobs."""

    wanted: Filter = Filter()
    order: Order = Order()
    cursor: Cursor | None = None
    limit: int = USUAL
    columns: tuple[str, ...] = ()  # of the page's table; () are the usual ones

    @classmethod
    def from_query(cls, query: QueryDict) -> Page:
        """Raises Invalid with the path of each parameter that is wrong."""
        wrong: dict[str, str] = {}
        read: dict[str, Any] = {}
        for name, of in (
            ("wanted", lambda: Filter.from_query(query)),
            ("order", lambda: Order.read(query.get("sort", ""))),
            ("limit", lambda: limit_of(query)),
            ("columns", lambda: columns.read(query.getlist("column"))),
        ):
            try:
                read[name] = of()
            except Invalid as refused:
                wrong |= refused.fields
        if wrong:
            raise Invalid(wrong)
        page = cls(**read)
        return cls(**read, cursor=Cursor.read(query.get("cursor", ""), query=page.query))

    @property
    def query(self) -> str:
        """What its cursors belong to."""
        return f"{self.wanted.address()} {self.order}"

    def more(self, **other: Any) -> Mapping[str, Any]:
        """What its address has besides the filters, but for what is usual."""
        kept: dict[str, Any] = {}
        if self.order != Order():
            kept["sort"] = str(self.order)
        if self.limit != USUAL:
            kept["limit"] = self.limit
        if self.columns:
            kept["column"] = list(self.columns)
        return kept | other


def jobs_of_page(page: Page, by: Actor, *, now: datetime) -> tuple[list[Job], Cursor | None]:
    """The jobs, and the cursor of the page after them. Raises NotFound or Invalid for names that `by` does not know."""
    rows = filters.matching(page.wanted, by, now=now)
    shown, place = sorting.page_of(rows, page.order, page.cursor.place if page.cursor else None, page.limit)
    return shown, Cursor(place, page.query) if place else None
