"""Chores of the panel itself. Each fetches nothing, calls one function, and is safe twice."""

from __future__ import annotations

from celery import shared_task
from django.core.management import call_command
from django.utils import timezone

from clusters import fetches
from monitoring import segments
from projects import idempotency


@shared_task
def forget_expired() -> None:
    idempotency.forget_old(timezone.now())
    call_command("clearsessions")


@shared_task
def sweep_log_store() -> None:
    segments.sweep_objects(timezone.now())


@shared_task
def drop_fetched_files() -> None:
    fetches.drop_old(now=timezone.now())
