"""Chores of the panel itself. Each fetches nothing, calls one function, and is safe twice."""

from __future__ import annotations

from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from clusters import chores, fetches, resolving, retention
from clusters.models.chores import ChoreKind
from jobs import notice_sending, notices
from monitoring import segments
from projects import idempotency

CHORES: dict[str, chores.Do] = {
    ChoreKind.RESOLVE_SOURCE: resolving.resolve,
    ChoreKind.SEND_NOTICES: notice_sending.send_due,
}


@shared_task
def do_chore(chore_id: int) -> None:
    chores.run(chore_id, CHORES, now=timezone.now)


@shared_task
def forget_expired() -> None:
    idempotency.forget_old(timezone.now())
    chores.forget_done(before=timezone.now() - timedelta(days=1))
    notices.forget_old(before=timezone.now() - timedelta(days=settings.NOTICE_KEEP_DAYS))
    call_command("clearsessions")


@shared_task
def sweep_log_store() -> None:
    segments.sweep_objects(timezone.now())


@shared_task
def forget_old() -> None:
    retention.forget_old(now=timezone.now())


@shared_task
def drop_fetched_files() -> None:
    fetches.drop_old(now=timezone.now())
