"""The smallest valid thing of each kind; a test says what matters to it."""

from __future__ import annotations

import itertools
from datetime import datetime

from django.contrib.auth.models import User

from projects import tokens
from projects.actors import Actor
from projects.models import ApiToken, Membership, Project, Role, Team

PASSWORD = "a-password-of-the-tests"
_numbers = itertools.count(1)


def a_user(*, username: str | None = None, password: str = PASSWORD, is_superuser: bool = False, is_active: bool = True) -> User:
    return User.objects.create_user(
        username or f"person-{next(_numbers)}", password=password, is_superuser=is_superuser, is_active=is_active
    )


def a_team(*, slug: str | None = None, name: str = "A team") -> Team:
    return Team.objects.create(slug=slug or f"team-{next(_numbers)}", name=name)


def a_member(*, team: Team | None = None, role: str = Role.MEMBER, username: str | None = None) -> User:
    """A person in the team."""
    user = a_user(username=username)
    Membership.objects.create(team=team or a_team(), user=user, role=role)
    return user


def a_project(*, team: Team | None = None, slug: str | None = None, name: str = "A project") -> Project:
    return Project.objects.create(team=team or a_team(), slug=slug or f"project-{next(_numbers)}", name=name)


def a_token(
    *, user: User | None = None, name: str = "script", scope: str = "admin", expires_at: datetime | None = None
) -> tuple[ApiToken, str]:
    """The token and its text."""
    user = user or a_user()
    return tokens.issue(user=user, name=name, scope=scope, expires_at=expires_at, by=Actor(user=user))
