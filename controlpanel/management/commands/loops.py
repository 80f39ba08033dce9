from __future__ import annotations

import signal
import threading
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from controlpanel import celery  # noqa: F401  makes it the current app, through which orders are published
from controlpanel.loops import LOOPS, run


class Command(BaseCommand):
    help = "Run the panel's loops: all of them as threads, or those that are named."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("names", nargs="*", choices=[*LOOPS, []], default=[])

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        threads = [threading.Thread(target=run, args=(name, stop), name=name) for name in options["names"] or LOOPS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
