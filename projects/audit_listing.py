"""What the audit shows to whom, narrowed: the same for the page, its CSV and GET /api/v1/audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from projects import texts
from projects.access import RIGHTS, ROLES, get_project, get_team
from projects.actors import Actor
from projects.errors import Forbidden, Invalid
from projects.models import AuditEntry, Membership, Team
from projects.paging import newest_page

MOST_CHARACTERS = 300
ONE_VALUE = ("team", "project", "who", "verb", "object", "since", "until")
# First words of the verbs that are recorded: what the page offers to choose from.
NOUNS = [
    "cluster",
    "definition",
    "host",
    "invitation",
    "job",
    "member",
    "notices",
    "project",
    "secret",
    "source",
    "team",
    "token",
    "user",
    "view",
    "workload",
]

PARAMETERS = [
    OpenApiParameter("team", str, description="Its slug."),
    OpenApiParameter("project", str, description="Its slug."),
    OpenApiParameter("who", str, description="The name of whoever did it."),
    OpenApiParameter("verb", str, description="`job.cancel`, or `job` for all that is done with jobs."),
    OpenApiParameter("object", str, description="`job:17`, or a part of its title."),
    OpenApiParameter("since", OpenApiTypes.DATETIME, description="Not before this moment, or this day (UTC)."),
    OpenApiParameter("until", OpenApiTypes.DATETIME, description="Before this moment, or up to the end of this day (UTC)."),
]


@dataclass(frozen=True)
class Wanted:
    """As the query says it; "" lets all through."""

    team: str = ""
    project: str = ""
    who: str = ""
    verb: str = ""
    object: str = ""
    since: str = ""
    until: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Wanted:
        """Raises Invalid with each parameter that is wrong."""
        wanted, wrong = cls(**{name: query.get(name, "").strip() for name in ONE_VALUE}), {}
        for name in ONE_VALUE:
            text = getattr(wanted, name)
            if len(text) > MOST_CHARACTERS:
                wrong[name] = _("at most %(most)s characters") % {"most": MOST_CHARACTERS}
            elif not texts.is_readable(text):
                wrong[name] = _("there is nothing of this name")
            elif name in ("since", "until") and text and _moment(text) is None:
                wrong[name] = _("a day or a moment is needed, as 2026-03-01 or 2026-03-01T12:00:00Z")
        if wrong:
            raise Invalid(wrong)
        return wanted

    def address(self, **more: Any) -> str:
        """From its "?" on, without what is not asked for; what its cursors belong to."""
        return "?" + urlencode({name: getattr(self, name) for name in ONE_VALUE if getattr(self, name)} | more)

    def without(self, name: str) -> Wanted:
        return replace(self, **{name: ""})

    @property
    def is_active(self) -> bool:
        return self != Wanted()


def entries(wanted: Wanted, by: Actor) -> QuerySet[AuditEntry]:
    """Those that are asked for, of what `by` may read: an admin their teams', an operator all. Raises NotFound or Forbidden."""
    rows = AuditEntry.objects.select_related("project", "team")
    if wanted.team:
        rows = rows.filter(team=get_team(by, wanted.team, may="team.oversee"))
    if wanted.project:
        rows = rows.filter(project=get_project(by, wanted.project, may="team.oversee"))
    if not wanted.team and not wanted.project and not by.user.is_superuser:
        rows = rows.filter(team__in=[team.pk for team in teams_of(by)])
    if wanted.who:
        rows = rows.filter(user_name=wanted.who)
    if wanted.verb:
        rows = rows.filter(Q(verb=wanted.verb) | Q(verb__startswith=wanted.verb + "."))
    if wanted.object:
        kind, colon, key = wanted.object.partition(":")
        exact = Q(subject_kind=kind, subject_id=key) if colon else Q()
        rows = rows.filter(
            exact | Q(subject_title__icontains=wanted.object) if colon else Q(subject_title__icontains=wanted.object)
        )
    if wanted.since:
        rows = rows.filter(at__gte=_moment(wanted.since))
    if wanted.until:
        rows = rows.filter(at__lt=_moment(wanted.until, is_end=True))
    return rows


def page(query: Mapping[str, str], by: Actor) -> tuple[Wanted, list[AuditEntry], str | None]:
    """What was asked, the entries of the page, newest first, and the cursor of the page after them."""
    wanted = Wanted.from_query(query)
    found, cursor = newest_page(entries(wanted, by), query, of=f"audit {wanted.address()}")
    return wanted, found, cursor


def teams_of(by: Actor) -> list[Team]:
    """Those whose audit `by` may read. Raises Forbidden when there is none."""
    if by.user.is_superuser:
        return list(Team.objects.order_by("slug"))
    roles = ROLES[ROLES.index(RIGHTS["team.oversee"].role) :]
    found = Team.objects.filter(memberships__in=Membership.objects.filter(user=by.user.pk, role__in=roles))
    teams = list(found.order_by("slug"))
    if not teams:
        raise Forbidden("role", _("The audit is for admins of a team: it tells of all that was done there, and by whom."))
    return teams


def _moment(text: str, *, is_end: bool = False) -> datetime | None:
    """Of a day or of a moment, in UTC, which is also the zone of what names none. A day ends with its last moment.

    None for what is neither, and for what is in no year of UTC.
    """
    try:
        if day := parse_date(text):
            return datetime.combine(day, time.max if is_end else time.min, UTC)
        moment = parse_datetime(text)
        if moment is None:
            return None
        return timezone.make_aware(moment, UTC) if timezone.is_naive(moment) else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
