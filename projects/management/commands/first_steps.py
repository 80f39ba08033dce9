from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from projects.first_steps import first_steps


class Command(BaseCommand):
    help = "On an empty panel: make the user admin, a team and a project, and print the password, this once."

    def handle(self, *args: Any, **options: Any) -> None:
        made = first_steps(timezone.now())
        if made is None:
            self.stdout.write("There are users already; nothing was made.")
            return
        self.stdout.write(f"Sign in as {made.username} with the password {made.password}")
        self.stdout.write("It is shown this once. Your first project is " + made.project.slug)
