from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from projects import services
from projects.actors import operator
from projects.management import said_as_errors


class Command(BaseCommand):
    help = "Make a team, still without members: manage.py add_team vision --name 'Computer vision'."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="its name in addresses: lower-case letters, digits and hyphens")
        parser.add_argument("--name", help="its name on pages; without it: the slug")

    def handle(self, *args: Any, slug: str, name: str | None, **options: Any) -> None:
        with said_as_errors():
            services.create_team(slug=slug, name=name or slug, by=operator())
        self.stdout.write(f"Made the team {slug}.")
