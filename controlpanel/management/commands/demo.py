from __future__ import annotations

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
    help = "Launch the demo's job at a panel that is up, and follow it in the terminal: with the client, as anyone would."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", default="first-project")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(is_superuser=True).order_by("pk").first()
        if user is None:
            raise CommandError("Nobody is there to launch it: run `manage.py prepare` first.")
        expires_at = timezone.now() + timedelta(hours=6)
        _token, text = tokens.issue(user=user, name="demo", scope="launch", expires_at=expires_at, by=Actor(user=user))
        demo.become(demo.command(options["project"]), url=settings.PUBLIC_URL, token=text)
