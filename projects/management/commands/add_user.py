from __future__ import annotations

import secrets
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError, transaction

from projects import members
from projects.actors import operator
from projects.management import said_as_errors
from projects.models import Role, Team


class Command(BaseCommand):
    help = "Take a person into a team, with a random password, printed this once, when they are new: manage.py add_user ada."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="the name to sign in with")
        parser.add_argument("--team", default="first-team")
        parser.add_argument("--role", choices=Role.values, default=Role.MEMBER)

    def handle(self, *args: Any, user: str, team: str, role: str, **options: Any) -> None:
        found = Team.objects.filter(slug=team).first()
        if found is None:
            raise CommandError(f"There is no team {team}; there is {', '.join(Team.objects.values_list('slug', flat=True))}.")
        with transaction.atomic(), said_as_errors():
            person, password = _person(user)
            members.add(team=found, user=person, role=role, by=operator())
        self.stdout.write(f"{user} is {role} of {team}.")
        if password:
            self.stdout.write(f"Sign in as {user} with the password {password}  (shown once)")


def _person(name: str) -> tuple[User, str]:
    """Of whom is new also the password. Raises CommandError for a name that cannot be one."""
    known = User.objects.filter(username=name).first()
    if known:
        return known, ""
    password = secrets.token_urlsafe(12)
    made = User(username=name)
    made.set_password(password)
    with said_as_errors():
        made.full_clean()
        try:
            made.save()
        except IntegrityError:
            raise CommandError(f"There is a user {name} since just now; try again.") from None
    return made, password
