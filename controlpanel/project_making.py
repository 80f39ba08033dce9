"""A project that can be worked in from its first moment: it has the definitions that the panel ships."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from controlpanel import preparing
from projects import services
from projects.actors import Actor
from projects.models import Project, Team


def make(*, team: Team, slug: str, name: str, by: Actor, now: datetime) -> Project:
    """Raises Invalid at "slug" or "name"."""
    with transaction.atomic():
        project = services.create_project(team=team, slug=slug, name=name or slug, by=by)
        preparing.publish_shipped(project, now)
    return project
