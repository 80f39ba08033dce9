from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from controlpanel import preparing
from projects import services
from projects.actors import operator
from projects.management import said_as_errors
from projects.models import Team


class Command(BaseCommand):
    help = "Make a project of a team, with the definitions that the panel ships: manage.py add_project scans --team vision."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="its name in addresses: lower-case letters, digits and hyphens")
        parser.add_argument("--team", default="first-team")
        parser.add_argument("--name", help="its name on pages; without it: the slug")

    def handle(self, *args: Any, slug: str, team: str, name: str | None, **options: Any) -> None:
        found = Team.objects.filter(slug=team).first()
        if found is None:
            raise CommandError(f"There is no team {team}; manage.py add_team makes one.")
        with transaction.atomic(), said_as_errors():
            project = services.create_project(team=found, slug=slug, name=name or slug, by=operator())
            preparing.publish_shipped(project, timezone.now())
        self.stdout.write(f"Made the project {slug} of {team}.")
