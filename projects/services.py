"""What admins do with teams and projects. Who may is the door's to check (access.py). Members: members.py."""

from __future__ import annotations

from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from projects import audit, texts
from projects.actors import Actor
from projects.errors import Invalid
from projects.models import Project, Team

Row = TypeVar("Row", Team, Project)


def create_team(*, slug: str, name: str, by: Actor) -> Team:
    """A team without members. Raises Invalid at "slug" or "name"."""
    with transaction.atomic():
        team = _insert(Team(slug=slug, name=name))
        audit.record("team.create", by=by, subject=_team_subject(team), of_team=team)
    return team


def create_project(*, team: Team, slug: str, name: str, by: Actor) -> Project:
    """A project of the team's, empty. Raises Invalid at "slug" or "name"."""
    with transaction.atomic():
        project = _insert(Project(team=team, slug=slug, name=name))
        audit.record("project.create", by=by, subject=("project", str(project.pk), slug), project=project, team=team.slug)
    return project


def rename_team(*, team: Team, name: str, by: Actor) -> Team:
    """Another name on pages; the slug stays, since addresses hold it. Raises Invalid at "name"."""
    with transaction.atomic():
        _rename(team, name, "team.rename", by=by, subject=_team_subject(team), of_team=team)
    return team


def rename_project(*, project: Project, name: str, by: Actor) -> Project:
    """As rename_team."""
    with transaction.atomic():
        _rename(project, name, "project.rename", by=by, subject=("project", str(project.pk), project.slug), project=project)
    return project


def _rename(row: Row, name: str, verb: str, **audited: Any) -> None:
    was = row.name
    row.name = name.strip()
    try:
        _check_fields(row, exclude={"slug"})
    except Invalid:
        row.name = was
        raise
    if row.name != was:
        row.save(update_fields=["name"])
        audit.record(verb, was=was, name=row.name, **audited)


def _insert(row: Row) -> Row:
    _check_fields(row)
    try:
        row.validate_unique()
        with transaction.atomic():
            row.save(force_insert=True)
    except ValidationError as error:
        raise _invalid(error) from None
    except IntegrityError:  # another was quicker
        raise Invalid({"slug": _("This name is taken.")}) from None
    return row


def _check_fields(row: Row, *, exclude: set[str] | None = None) -> None:
    """Raises Invalid."""
    try:
        row.clean_fields(exclude=exclude)
    except ValidationError as error:
        raise _invalid(error) from None
    if not texts.is_readable(row.name):
        raise Invalid({"name": _("There is a character in it that no line shows.")})


def _invalid(error: ValidationError) -> Invalid:
    return Invalid({field: " ".join(messages) for field, messages in error.message_dict.items()})


def _team_subject(team: Team) -> tuple[str, str, str]:
    return "team", str(team.pk), team.slug
