from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from controlpanel import preparing


class Command(BaseCommand):
    help = "Make all ready for the panel: tables, first user, languages, static files, the agent's wheel. Safe to repeat."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        try:
            preparing.check_redis()
        except preparing.NotReady as error:
            raise CommandError(str(error)) from error
        preparing.tables()
        sign_in = preparing.first_people(now)
        preparing.shipped_definitions(now)
        preparing.local_host(now)
        preparing.languages()
        preparing.static_files()
        preparing.agent_wheel()
        if sign_in:
            self.stdout.write(sign_in)
