"""Files fetched from their hosts when somebody wants them: asked for by an order, brought piece by piece, dropped after a day."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from agent.protocol import FETCH_PIECE_BYTES
from clusters import files, orders, pieces, silence
from clusters.models import Fetch, Host, OutputFile
from clusters.states import FETCH_MOVES, FETCH_OPEN, FetchState, HostState
from monitoring import conditions
from monitoring.announcements import wake
from projects.errors import Conflict, Gone, Invalid, NotFound

logger = logging.getLogger(__name__)

FRESH_S = 60  # a file that grows all the time is not fetched anew for who has just waited for it
FAILED_S = 10  # who asks again within is told why it failed; later it is tried again


def want(file: OutputFile, *, now: datetime) -> Fetch:
    """The fetch that a download of `file` is served from, or waits for: one that is there or on its way, else a new one.

    -> wanted. Raises Conflict (it has failed just now, the file is too large, or the panel's disk is low) and Gone (the file
    is not there any more, or its host).
    """
    with transaction.atomic():
        OutputFile.objects.select_for_update().get(pk=file.pk)
        last = Fetch.objects.filter(file=file).order_by("-pk").first()
        if last is not None and _serves(last, file, now):
            return last
        if last is not None and last.state == FetchState.FAILED and now - last.moved_at < timedelta(seconds=FAILED_S):
            raise Conflict("fetch-failed", last.detail, host=file.rank.host.name)
        _check_can_come(file)
        conditions.check_room()
        fetch = Fetch.objects.create(
            file=file,
            host=file.rank.host,
            size_bytes=file.size_bytes,
            modified_at=file.modified_at,
            created_at=now,
            moved_at=now,
        )
        place = {"files_root": file.rank.host.slice.cluster.files_root, "folder": file.folder, "path": file.path}
        orders.fetch(fetch.host_id, file.rank.workload_id, fetch_id=fetch.pk, now=now, **place)
        wake("scheduler")
    return fetch


def why_it_waits(fetch: Fetch) -> str:
    """A sentence when its host is not heard; "" else."""
    if fetch.is_complete or silence.silence_s(fetch.host, silence.listening()) <= settings.PLACE_SILENT_S:
        return ""
    return _("Host %(host)s is silent; the file comes when it is back.") % {"host": fetch.host.name}


def take_piece(fetch_id: int, *, host: Host, offset: int, size_bytes: int, data: bytes, now: datetime) -> Fetch:
    """Store bytes that stand at `offset` of a file of `size_bytes`. Offset 0 begins anew; safe twice.

    wanted -> coming -> complete. Any other offset than the next one wanted changes nothing: `received_bytes` of the answer
    says from where to go on. Raises NotFound (no fetch of this host), Gone (nobody waits for it any more) and Invalid.
    """
    fetch = _open_fetch(fetch_id, host)
    if size_bytes > settings.FETCH_MAX_BYTES:
        raise Gone("file-too-large", _fail(fetch, _too_large(fetch.file, size_bytes), now=now))
    if offset and (offset != fetch.received_bytes or size_bytes != fetch.size_bytes):
        fetch.received_bytes = fetch.received_bytes if size_bytes == fetch.size_bytes else 0
        return fetch
    if len(data) != min(FETCH_PIECE_BYTES, size_bytes - offset):
        raise Invalid({"": _("A piece has %(count)d bytes, but for the last.") % {"count": FETCH_PIECE_BYTES}})
    if data:
        pieces.save(fetch.pk, offset, data)
    received_bytes = offset + len(data)
    to = FetchState.COMPLETE if received_bytes == size_bytes else FetchState.COMING
    with transaction.atomic():
        orders.confirm_fetch(fetch.pk, now=now)
        if not _move(fetch, to, now=now, size_bytes=size_bytes, received_bytes=received_bytes):
            fetch.refresh_from_db()  # the same piece came twice at once, or the sweep has given it up
    if fetch.state == FetchState.FAILED:
        raise _over()
    return fetch


def refused_by_host(fetch_id: int, *, host: Host, sentence: str, is_gone: bool, now: datetime) -> None:
    """wanted, coming -> failed, by the host's word. Raises NotFound and Gone, as take_piece does."""
    fetch = _open_fetch(fetch_id, host)
    sentence = sentence or _("Host %(host)s could not bring it.") % {"host": host.name}
    with transaction.atomic():
        _fail(fetch, sentence.replace("\0", "").encode(errors="replace").decode(), now=now)
        if is_gone:
            files.note_gone(fetch.file)


def give_up_stalled(*, now: datetime) -> None:
    """wanted, coming -> failed when nothing came for FETCH_STALL_S; the next who wants the file asks anew."""
    stalled = Fetch.objects.open().filter(moved_at__lte=now - timedelta(seconds=settings.FETCH_STALL_S))
    for fetch in stalled.select_related("host"):
        words = {"host": fetch.host.name, "minutes": max(1, int(settings.FETCH_STALL_S // 60))}
        with transaction.atomic():
            _fail(fetch, _("Nothing came from host %(host)s for %(minutes)d min.") % words, now=now)


def forget(fetch: Fetch) -> None:
    """Its bytes are lost: the next who wants the file asks anew."""
    Fetch.objects.filter(pk=fetch.pk).delete()


def drop_old(*, now: datetime) -> int:
    """Drop what has come or failed FETCH_KEEP_S ago, and pieces that no fetch has; returns how many fetches went."""
    old = Fetch.objects.exclude(state__in=FETCH_OPEN)
    dropped, _rows = old.filter(moved_at__lte=now - timedelta(seconds=settings.FETCH_KEEP_S)).delete()
    stored = pieces.all_fetches()  # read before the rows: of a new fetch the row is there before its first piece
    for fetch_id in sorted(set(stored) - set(Fetch.objects.values_list("pk", flat=True))):
        pieces.drop(fetch_id)
    return dropped


def _serves(fetch: Fetch, file: OutputFile, now: datetime) -> bool:
    if fetch.state == FetchState.COMPLETE:
        is_as_it_was = fetch.modified_at == file.modified_at
        return is_as_it_was or file.gone or now - fetch.moved_at < timedelta(seconds=FRESH_S)
    return fetch.state != FetchState.FAILED


def _check_can_come(file: OutputFile) -> None:
    host = file.rank.host
    if file.gone or not file.folder:
        raise Gone("file-gone", _("%(path)s is no longer on host %(host)s.") % {"path": file.path, "host": host.name})
    if host.state == HostState.RETIRED:
        raise Gone("host-retired", _("Host %(host)s is retired: nothing comes from it any more.") % {"host": host.name})
    if file.size_bytes > settings.FETCH_MAX_BYTES:
        raise Conflict(
            "file-too-large",
            _too_large(file, file.size_bytes),
            size_bytes=file.size_bytes,
            most_bytes=settings.FETCH_MAX_BYTES,
            host=host.name,
            place=file.place,
        )


def _too_large(file: OutputFile, size_bytes: int) -> str:
    return _("%(name)s has %(size).1f MiB, and the panel fetches at most %(most).1f MiB. It lies on host %(host)s: %(place)s") % {
        "name": file.name,
        "size": size_bytes / 2**20,
        "most": settings.FETCH_MAX_BYTES / 2**20,
        "host": file.rank.host.name,
        "place": file.place,
    }


def _open_fetch(fetch_id: int, host: Host) -> Fetch:
    """Raises NotFound when this host has no such fetch, Gone when nobody waits for it."""
    related = ("file__rank__host__slice__cluster", "file__rank__workload__subject", "host")
    fetch = Fetch.objects.filter(pk=fetch_id, host=host).select_related(*related).first()
    if fetch is None:
        raise NotFound("no-such-fetch", _("The panel wants no such file of this host."))
    if not FETCH_MOVES[fetch.state]:
        raise _over()
    return fetch


def _over() -> Gone:
    return Gone("fetch-over", _("The panel does not wait for this file any more."))


def _fail(fetch: Fetch, sentence: str, *, now: datetime) -> str:
    with transaction.atomic():
        orders.confirm_fetch(fetch.pk, now=now)
        if _move(fetch, FetchState.FAILED, now=now, detail=sentence[:500]):
            logger.warning("fetch failed fetch=%d host=%s why=%s", fetch.pk, fetch.host_id, sentence)
    return sentence


def _move(fetch: Fetch, to: str, *, now: datetime, **changes: Any) -> bool:
    """The one function that changes a fetch: conditional on how far it saw it, so that of two at once one wins."""
    if to != fetch.state and to not in FETCH_MOVES[fetch.state]:
        raise ValueError(f"fetch={fetch.pk} cannot move {fetch.state} -> {to}")
    changes |= {"state": to, "moved_at": now}
    if not Fetch.objects.filter(pk=fetch.pk, state=fetch.state, received_bytes=fetch.received_bytes).update(**changes):
        return False
    for name, value in changes.items():
        setattr(fetch, name, value)
    return True
