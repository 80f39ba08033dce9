from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from controlpanel import drawn_docs


class Command(BaseCommand):
    help = "Draw the documents that are made from code (docs/states.md); --check fails when one is stale."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        stale = []
        for name, text in drawn_docs.drawn().items():
            path = Path(settings.BASE_DIR) / name
            if path.exists() and path.read_text() == text:
                continue
            stale.append(name)
            if not options["check"]:
                path.write_text(text)
        if stale and options["check"]:
            raise CommandError(f"Stale: {', '.join(stale)}. Draw again with `make docs`.")
