from __future__ import annotations

import sys
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from controlpanel import demo
from projects import tokens
from projects.actors import Actor


class Command(BaseCommand):
    help = "Launch the demo's job through the API of a panel that is up, and follow it in the terminal."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", default="first-project")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(is_superuser=True).order_by("pk").first()
        if user is None:
            raise CommandError("Nobody is there to launch it: run `manage.py prepare` first.")
        expires_at = timezone.now() + timedelta(hours=6)
        _token, text = tokens.issue(user=user, name="demo", scope="launch", expires_at=expires_at, by=Actor(user=user))
        api = demo.Api(settings.PUBLIC_URL, text)
        try:
            job = demo.follow(api, demo.launch(api, options["project"]), demo.Terminal())
            self.stdout.write(demo.verdict(api, job))
        except demo.DemoFailed as error:
            raise CommandError(str(error)) from error
        sys.exit(0 if job["state"] == "succeeded" else 1)
