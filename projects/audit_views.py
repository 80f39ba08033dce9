"""The page of the audit, and the same as a file for a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Iterable

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from projects import audit_listing
from projects.actors import Actor
from projects.audit_listing import Wanted
from projects.models import AuditEntry

COLUMNS = ["at", "who", "token", "verb", "team", "project", "kind", "id", "title", "data"]
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet runs
ROWS_A_PIECE = 1000


@login_required
@require_GET
def audit_page(request: HttpRequest) -> HttpResponse:
    by = Actor.of(request)
    wanted, found, cursor = audit_listing.page(request.GET, by)
    context = {
        "teams": audit_listing.teams_of(by),
        "wanted": wanted,
        "entries": found,
        "nouns": audit_listing.NOUNS,
        "older": wanted.address(cursor=cursor) if cursor else "",
        "newest": wanted.address() if "cursor" in request.GET else "",
        "csv": wanted.address(),
    }
    return render(request, "audit.html", context)


@login_required
@require_GET
def audit_csv(request: HttpRequest) -> StreamingHttpResponse:
    """All that the page would show page by page, newest first, read as it is taken."""
    by = Actor.of(request)
    wanted = Wanted.from_query(request.GET)
    name = f"audit-{timezone.now():%Y-%m-%d}.csv"
    return StreamingHttpResponse(
        _lines(wanted, by, _piece(wanted, by, None)),
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        },
    )


async def _lines(wanted: Wanted, by: Actor, piece: list[AuditEntry]) -> AsyncIterator[bytes]:
    """The first piece was read before the answer began: what is wrong is an answer of its own."""
    yield _written([COLUMNS])
    while piece:
        yield _written(_row(entry) for entry in piece)
        piece = await sync_to_async(_piece)(wanted, by, piece[-1].pk)


def _piece(wanted: Wanted, by: Actor, before: int | None) -> list[AuditEntry]:
    rows = audit_listing.entries(wanted, by)
    return list((rows.filter(pk__lt=before) if before else rows).order_by("-pk")[:ROWS_A_PIECE])


def _row(entry: AuditEntry) -> list[str]:
    return [
        entry.at.isoformat(),
        entry.user_name,
        str(entry.token_id or ""),
        entry.verb,
        entry.team.slug if entry.team else "",
        entry.project.slug if entry.project else "",
        entry.subject_kind,
        entry.subject_id,
        entry.subject_title,
        json.dumps(entry.data, ensure_ascii=False),
    ]


def _written(rows: Iterable[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([_harmless(cell) for cell in row] for row in rows)
    return text.getvalue().encode()


def _harmless(cell: str) -> str:
    """A name that somebody chose is text to a spreadsheet, whatever it begins with."""
    return f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell
