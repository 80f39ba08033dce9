from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from projects import tokens
from projects.actors import SCOPES, Actor
from projects.management import said_as_errors


class Command(BaseCommand):
    help = "Issue an API token of a user and print it, and nothing else: TOKEN=$(manage.py issue_token admin)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="the user's name")
        parser.add_argument("--scope", choices=SCOPES, default="launch")
        parser.add_argument("--name", default="command line")
        parser.add_argument("--days", type=float, help="how long it is valid; without it: until it is revoked")

    def handle(self, *args: Any, user: str, scope: str, name: str, days: float | None, **options: Any) -> None:
        owner = User.objects.filter(username=user, is_active=True).first()
        if owner is None:
            raise CommandError(f"There is no active user {user}.")
        expires_at = None if days is None else timezone.now() + timedelta(days=days)
        with said_as_errors():
            _token, text = tokens.issue(user=owner, name=name, scope=scope, expires_at=expires_at, by=Actor(user=owner))
        self.stdout.write(text)
