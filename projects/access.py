"""Rights: what each needs of a role and of a token's scope. Looking up and being allowed are one call.

A stranger gets 404 (they may not know that it exists), a member without the right 403.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from projects.actors import SCOPES, Actor
from projects.errors import Forbidden, NotFound
from projects.models import Membership, Project, Role, Team

ROLES = list(Role.values)


@dataclass(frozen=True)
class Right:
    role: str  # least role in the project's team
    scope: str  # least scope of the token


RIGHTS = {
    "project.view": Right(Role.VIEWER, "read"),
    "jobs.view": Right(Role.VIEWER, "read"),
    "jobs.launch": Right(Role.MEMBER, "launch"),
    "jobs.cancel": Right(Role.MEMBER, "launch"),
    "jobs.label": Right(Role.MEMBER, "launch"),
    "definitions.edit": Right(Role.MEMBER, "launch"),
    "secrets.edit": Right(Role.ADMIN, "admin"),
    "team.view": Right(Role.VIEWER, "read"),
    "team.oversee": Right(Role.ADMIN, "read"),  # its audit, its members' tokens, its invitations
    "team.leave": Right(Role.VIEWER, "admin"),
    "team.edit": Right(Role.ADMIN, "admin"),
}


def get_project(actor: Actor, slug: str, *, may: str) -> Project:
    """The project of this slug, when `actor` has the right `may` in it. Raises NotFound or Forbidden."""
    project = visible_projects(actor).select_related("team").filter(slug=slug).first()
    if project is None:
        raise NotFound(
            "no-such-project", _("There is no project %(slug)s, or you are not in its team.") % {"slug": slug}, project=slug
        )
    check(actor, project, may=may)
    return project


def get_team(actor: Actor, slug: str, *, may: str) -> Team:
    """The team of this slug, when `actor` has the right `may` in it. Raises NotFound or Forbidden."""
    team = visible_teams(actor).filter(slug=slug).first() if "\0" not in slug else None
    if team is None:
        raise NotFound("no-such-team", _("There is no team %(slug)s, or you are not in it.") % {"slug": slug}, team=slug)
    check(actor, team, may=may)
    return team


def visible_teams(actor: Actor) -> QuerySet[Team]:
    if not actor.user.is_authenticated:
        return Team.objects.none()
    return Team.objects.visible_to(actor.user)


def is_operator(actor: Actor) -> bool:
    """Who sees to the installation, its hosts and its teams: a superuser, by session or by a token of scope admin."""
    return actor.user.is_superuser and actor.scope == "admin"


def check_operator(actor: Actor) -> None:
    """Raises Forbidden."""
    if not is_operator(actor):
        raise Forbidden("role", _("Only an operator may do this."))


def visible_projects(actor: Actor) -> QuerySet[Project]:
    if not actor.user.is_authenticated:
        return Project.objects.none()
    return Project.objects.visible_to(actor.user)


def projects_with(actor: Actor, right: str) -> QuerySet[Project]:
    """The visible projects in which `actor` has the right: what a page offers to choose from."""
    needed = RIGHTS[right]
    projects = visible_projects(actor)
    if SCOPES.index(actor.scope) < SCOPES.index(needed.scope):
        return projects.none()
    if not actor.user.is_authenticated or actor.user.is_superuser:
        return projects
    roles = ROLES[ROLES.index(needed.role) :]
    return projects.filter(team__memberships__in=Membership.objects.filter(user=actor.user, role__in=roles))


def check(actor: Actor, place: Project | Team, *, may: str) -> None:
    """Raises Forbidden unless `actor`, who is known to see `place`, has the right `may` in it."""
    right = RIGHTS[may]
    if SCOPES.index(actor.scope) < SCOPES.index(right.scope):
        raise Forbidden(
            "token-scope",
            _("This token may only %(has)s; this needs a token of scope %(needs)s.") % {"has": actor.scope, "needs": right.scope},
        )
    role = role_in(actor, place)
    if role is None or ROLES.index(role) < ROLES.index(right.role):
        raise Forbidden(
            "role",
            _("You are %(has)s in this team; this needs the role %(needs)s.") % {"has": role or _("nobody"), "needs": right.role},
        )


def rights_in(actor: Actor, place: Project | Team) -> frozenset[str]:
    """All that a page may offer in this project or team, for one look at the actor's role."""
    role = role_in(actor, place)
    if role is None:
        return frozenset()
    scope, rank = SCOPES.index(actor.scope), ROLES.index(role)
    return frozenset(
        name for name, right in RIGHTS.items() if scope >= SCOPES.index(right.scope) and rank >= ROLES.index(right.role)
    )


def role_in(actor: Actor, place: Project | Team) -> str | None:
    if not actor.user.is_authenticated:
        return None
    if actor.user.is_superuser:
        return Role.ADMIN
    team_id = place.pk if isinstance(place, Team) else place.team_id
    return Membership.objects.filter(team_id=team_id, user_id=actor.user.pk).values_list("role", flat=True).first()
