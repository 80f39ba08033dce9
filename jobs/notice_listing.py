"""What a person was told, the newest first, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet

from jobs.models import Notice
from projects.paging import Cursor, limit_of


def of(user: User) -> QuerySet[Notice]:
    return Notice.objects.filter(user=user).select_related("event", "job").order_by("-pk")


def page(user: User, query: Mapping[str, str]) -> tuple[list[Notice], str | None]:
    """The page that the query asks for, and the cursor of the one after it. Raises Invalid."""
    limit, name = limit_of(query), f"notices {user.pk}"
    cursor, rows = Cursor.read(query.get("cursor", ""), query=name), of(user)
    if cursor:
        rows = rows.filter(pk__lt=UUID(cursor.place[0]))
    found = list(rows[: limit + 1])
    shown = found[:limit]
    return shown, str(Cursor((str(shown[-1].pk),), name)) if len(found) > limit else None
