"""A page of the list of jobs: what it shows, in which order, from where on. The same for the page and for GET /api/v1/jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Q
from django.http import QueryDict
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter

from jobs import filters
from jobs.filters import Filter
from jobs.models import Job
from projects.actors import Actor
from projects.errors import Invalid
from projects.paging import USUAL, Cursor, limit_of

ORDERS = {"number": "pk", "name": "name", "started": "started_at", "ended": "ended_at"}  # by which a list is sorted -> column
SORT = OpenApiParameter(
    "sort",
    str,
    enum=[sign + name for name in ORDERS for sign in ("", "-")],
    description="`-` puts the greatest first.",
    default="-number",
)


@dataclass(frozen=True)
class Order:
    """Jobs that are equal in it come newest first, those that have no such moment last."""

    name: str = "number"
    is_down: bool = True

    @classmethod
    def read(cls, text: str) -> Order:
        """Of "-started". Raises Invalid."""
        name = text.removeprefix("-")
        if not text:
            return cls()
        if name not in ORDERS:
            raise Invalid({"sort": _("there is no such order; known are %(known)s") % {"known": ", ".join(ORDERS)}})
        return cls(name, text.startswith("-"))

    def __str__(self) -> str:
        return f"-{self.name}" if self.is_down else self.name

    @property
    def _column(self) -> str:
        return ORDERS[self.name]

    @property
    def columns(self) -> list[Any]:
        if self._column == "pk":
            return ["-pk" if self.is_down else "pk"]
        column = F(self._column)
        return [column.desc(nulls_last=True) if self.is_down else column.asc(nulls_last=True), "-pk"]

    def place(self, job: Job) -> tuple[Any, ...]:
        """What a cursor after `job` holds."""
        value = getattr(job, self._column)
        return (job.pk,) if self._column == "pk" else (value.isoformat() if isinstance(value, datetime) else value, job.pk)

    def after(self, place: tuple[Any, ...]) -> Q:
        """The jobs behind that place."""
        *values, number = place
        if not values:
            return Q(pk__lt=number) if self.is_down else Q(pk__gt=number)
        column, value = self._column, values[0]
        if value is None:
            return Q(**{column: None, "pk__lt": number})
        if self.name != "name":
            value = datetime.fromisoformat(value)
        beyond = Q(**{f"{column}__{'lt' if self.is_down else 'gt'}": value}) | Q(**{column: value, "pk__lt": number})
        return beyond if self.name == "name" else beyond | Q(**{column: None})


@dataclass(frozen=True)
class Page:
    """The query of a list of jobs."""

    wanted: Filter = Filter()
    order: Order = Order()
    cursor: Cursor | None = None
    limit: int = USUAL

    @classmethod
    def from_query(cls, query: QueryDict) -> Page:
        """Raises Invalid with the path of each parameter that is wrong."""
        wrong: dict[str, str] = {}
        read: dict[str, Any] = {}
        for name, of in (
            ("wanted", lambda: Filter.from_query(query)),
            ("order", lambda: Order.read(query.get("sort", ""))),
            ("limit", lambda: limit_of(query)),
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
        return kept | other


def jobs_of_page(page: Page, by: Actor, *, now: datetime) -> tuple[list[Job], Cursor | None]:
    """The jobs, and the cursor of the page after them. Raises NotFound or Invalid for names that `by` does not know."""
    rows = filters.matching(page.wanted, by, now=now).for_display().order_by(*page.order.columns)
    if page.cursor:
        rows = rows.filter(page.order.after(page.cursor.place))
    jobs = list(rows[: page.limit + 1])
    shown = jobs[: page.limit]
    return shown, Cursor(page.order.place(shown[-1]), page.query) if len(jobs) > page.limit else None
