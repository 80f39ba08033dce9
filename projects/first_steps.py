"""An empty panel becomes one that a person can sign in to."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from projects import members, services
from projects.actors import Actor
from projects.models import Project, Role


@dataclass(frozen=True)
class FirstSteps:
    """What was made. The password is kept nowhere else."""

    username: str
    password: str = field(repr=False)
    project: Project


def first_steps(now: datetime) -> FirstSteps | None:
    """An operator `admin`, their team and project; None when there is any user. Of two callers at once one makes them."""
    if User.objects.exists():
        return None
    password = secrets.token_urlsafe(12)
    try:
        with transaction.atomic():
            admin = User.objects.create_superuser("admin", password=password, date_joined=now)
            by = Actor(user=admin)
            team = services.create_team(slug="first-team", name="First team", by=by)
            members.add(team=team, user=admin, role=Role.ADMIN, by=by)
            project = services.create_project(team=team, slug="first-project", name="First project", by=by)
    except IntegrityError:
        return None
    return FirstSteps(username="admin", password=password, project=project)
