from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from projects import members
from projects.actors import operator
from projects.management import said_as_errors


class Command(BaseCommand):
    help = "Shut a person out: no sign-in, no session, no token, no link of theirs; what they launched stays."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="the name that they sign in with")

    def handle(self, *args: Any, user: str, **options: Any) -> None:
        found = User.objects.filter(username=user).first()
        if found is None:
            raise CommandError(f"There is no user {user}.")
        with said_as_errors():
            members.deactivate(user=found, by=operator())
        self.stdout.write(f"{user} is deactivated: whatever is open to them ends within a minute.")
