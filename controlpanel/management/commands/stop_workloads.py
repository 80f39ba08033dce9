from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet
from django.utils import timezone

from clusters import workloads
from clusters.models import Workload
from clusters.states import WORKLOAD_ENDED, Wanted
from controlpanel import local_agent


class Command(BaseCommand):
    help = (
        "End everything that runs or waits, and wait until nothing is left. The panel must be up: its hosts are told through it."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--list", action="store_true", help="only say what runs")
        parser.add_argument("--here", action="store_true", help="only what runs on the host that `manage.py up` brings")
        parser.add_argument("--grace", type=int, default=30, help="seconds from TERM to KILL (default: 30)")

    def handle(self, *args: Any, **options: Any) -> None:
        living = Workload.objects.exclude(state__in=WORKLOAD_ENDED).select_related("subject").order_by("pk")
        if options["here"]:
            host = local_agent.enrolled_host(settings.VAR_DIR)
            living = living.filter(ranks__host__in=[UUID(host)] if host else [])
        if options["list"]:
            self._list(list(living))
        else:
            self._stop(living, grace_s=options["grace"])

    def _stop(self, living: QuerySet[Workload], *, grace_s: int) -> None:
        found = list(living)
        if found:
            self.stdout.write(f"Ending {_names(found)}")
            self.stdout.flush()
        for workload in found:
            workloads.want_stop(workload.pk, code="panel-stopped", grace_s=grace_s, now=timezone.now())
        deadline = time.monotonic() + grace_s + 20
        while living.filter(wanted=Wanted.STOP).exists():
            if time.monotonic() > deadline:
                raise CommandError(f"Some work has not ended: {_names(living.filter(wanted=Wanted.STOP))}")
            time.sleep(0.2)

    def _list(self, living: list[Workload]) -> None:
        running = [workload for workload in living if workload.running_at]
        if running:
            self.stdout.write(f"Still running: {_names(running)}")
            self.stdout.write("The next start takes them up again; with the panel up, `manage.py stop_workloads` ends them.")


def _names(found: Iterable[Workload]) -> str:
    return ", ".join(f"{workload.subject.title} ({workload.subject.address})" for workload in found)
