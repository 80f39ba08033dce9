from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from clusters import workloads
from clusters.models import Workload
from clusters.states import WORKLOAD_ENDED, Wanted


class Command(BaseCommand):
    help = (
        "End everything that runs or waits, and wait until nothing is left. The panel must be up: its hosts are told through it."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--list", action="store_true", help="only say what runs")
        parser.add_argument("--grace", type=int, default=30, help="seconds from TERM to KILL (default: 30)")

    def handle(self, *args: Any, **options: Any) -> None:
        living = Workload.objects.exclude(state__in=WORKLOAD_ENDED).select_related("subject")
        if options["list"]:
            self._list(list(living))
            return
        for workload in living:
            workloads.want_stop(workload.pk, code="panel-stopped", grace_s=options["grace"], now=timezone.now())
        deadline = time.monotonic() + options["grace"] + 20
        while living.filter(wanted=Wanted.STOP).exists():
            if time.monotonic() > deadline:
                raise CommandError(
                    "Some work has not ended: " + ", ".join(w.subject.address for w in living.filter(wanted=Wanted.STOP))
                )
            time.sleep(0.2)

    def _list(self, living: list[Workload]) -> None:
        running = [workload for workload in living if workload.running_at]
        if running:
            names = ", ".join(f"{workload.subject.title} ({workload.subject.address})" for workload in running)
            self.stdout.write(f"Still running: {names}")
            self.stdout.write("The next start takes them up again; with the panel up, `manage.py stop_workloads` ends them.")
