"""What admins do with teams and projects. Who may is the door's to check (access.py)."""

from __future__ import annotations

from typing import TypeVar

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from projects import audit
from projects.actors import Actor
from projects.errors import Invalid, NotFound
from projects.models import Membership, Project, Role, Team

Row = TypeVar("Row", Team, Project)


def create_team(*, slug: str, name: str, by: Actor) -> Team:
    """A team without members. Raises Invalid at "slug" or "name"."""
    with transaction.atomic():
        team = _insert(Team(slug=slug, name=name))
        audit.record("team.create", by=by, subject=_team_subject(team))
    return team


def create_project(*, team: Team, slug: str, name: str, by: Actor) -> Project:
    """A project of the team's, empty. Raises Invalid at "slug" or "name"."""
    with transaction.atomic():
        project = _insert(Project(team=team, slug=slug, name=name))
        audit.record("project.create", by=by, subject=("project", str(project.pk), slug), project=project, team=team.slug)
    return project


def add_member(*, team: Team, user: User, role: str, by: Actor) -> Membership:
    """Take a person into the team, or give a member another role. Raises Invalid at "role"."""
    if role not in Role.values:
        raise Invalid({"role": _("There is no such role; there is %(known)s.") % {"known": ", ".join(Role.values)}})
    with transaction.atomic():
        membership, made = Membership.objects.select_for_update().get_or_create(team=team, user=user, defaults={"role": role})
        was = "" if made else membership.role
        if was != role:
            membership.role = role
            membership.save(update_fields=["role"])
            audit.record("member.add", by=by, subject=_team_subject(team), user=user.get_username(), role=role, was=was)
    return membership


def remove_member(*, team: Team, user: User, by: Actor) -> None:
    """Take a person out of the team; their jobs and tokens stay. Raises NotFound when they are not in it."""
    with transaction.atomic():
        membership = Membership.objects.select_for_update().filter(team=team, user=user).first()
        if membership is None:
            raise NotFound("no-such-member", _("%(name)s is not in this team.") % {"name": user.get_username()})
        membership.delete()
        audit.record("member.remove", by=by, subject=_team_subject(team), user=user.get_username(), was=membership.role)


def _insert(row: Row) -> Row:
    try:
        row.full_clean()
        with transaction.atomic():
            row.save(force_insert=True)
    except ValidationError as error:
        raise Invalid({field: " ".join(messages) for field, messages in error.message_dict.items()}) from None
    except IntegrityError:  # another was quicker
        raise Invalid({"slug": _("This name is taken.")}) from None
    return row


def _team_subject(team: Team) -> tuple[str, str, str]:
    return "team", str(team.pk), team.slug
