"""What pages and the API show of teams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, F, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from projects.access import visible_teams
from projects.actors import Actor
from projects.models import Membership, Project, Team

ROLE_ORDER = {"admin": 0, "member": 1, "viewer": 2}


def teams_of(by: Actor) -> list[Team]:
    """Those that `by` may see, by slug, each with `member_count`, `project_count` and `by`'s own `role`. Two queries."""
    roles = dict(Membership.objects.filter(user=by.user.pk).values_list("team_id", "role"))
    found = list(_counted(visible_teams(by)).order_by("slug"))
    for team in found:
        team.role = roles.get(team.pk)
    return found


def with_counts(team: Team, by: Actor) -> Team:
    """The same of one team."""
    found = _counted(Team.objects.filter(pk=team.pk)).get()
    found.role = Membership.objects.filter(team=team, user=by.user.pk).values_list("role", flat=True).first()
    return found


def members_of(team: Team) -> list[Membership]:
    """Admins first, then by name."""
    found = team.memberships.select_related("user")
    return sorted(found, key=lambda one: (ROLE_ORDER[one.role], one.user.get_username().casefold()))


def _counted(teams: QuerySet[Team]) -> QuerySet[Team]:
    counts: Mapping[str, Any] = {"member_count": _count_of(Membership), "project_count": _count_of(Project)}
    return teams.annotate(**counts)


def _count_of(rows: type[Membership] | type[Project]) -> Coalesce:
    of_team = rows.objects.filter(team=OuterRef("pk")).order_by().values("team").annotate(number=Count(F("pk"))).values("number")
    return Coalesce(Subquery(of_team, output_field=IntegerField()), 0)
