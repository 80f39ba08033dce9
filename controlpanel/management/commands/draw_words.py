from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from controlpanel import words


class Command(BaseCommand):
    help = "Write what the code says into the catalogues (locale/), and take out what it no longer says; prints what is to do."

    def handle(self, *args: Any, **options: Any) -> None:
        for language in words.OTHERS:
            for fault in words.renew(language):
                self.stdout.write(f"{language}: {fault}")
