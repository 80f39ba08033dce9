"""The API of teams: members, links into them, tokens that reach them. Their projects: controlpanel/project_api.py."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from projects import idempotency, invitation_links, invitations, members, services, shapes, teams, tokens
from projects.access import check_operator, get_team
from projects.actors import Actor
from projects.errors import Forbidden
from projects.paging import newest_page
from projects.team_shapes import (
    Acceptance,
    InvitationAnswer,
    MadeInvitation,
    MemberAnswer,
    MembershipAnswer,
    NewInvitation,
    NewName,
    NewRole,
    NewTeam,
    TeamAnswer,
    TeamTokenAnswer,
    expiry,
)


class Teams(APIView):
    @extend_schema(operation_id="list_teams", parameters=[shapes.FIELDS], responses=shapes.listed(TeamAnswer))
    def get(self, request: Request) -> Response:
        """One's own teams; to an operator all."""
        return shapes.many(TeamAnswer, request, teams.teams_of(Actor.of(request)))

    @extend_schema(operation_id="create_team", request=NewTeam, responses={201: TeamAnswer}, parameters=[idempotency.PARAMETER])
    def post(self, request: Request) -> Response:
        """Make a team, still without members. For operators."""
        by = Actor.of(request)
        check_operator(by)

        def make() -> idempotency.Answer:
            team = services.create_team(by=by, **shapes.read(NewTeam, request))
            return 201, TeamAnswer(teams.with_counts(team, by)).data

        return _made(*idempotency.once(request, by, make))


class OneTeam(APIView):
    @extend_schema(operation_id="get_team", parameters=[shapes.FIELDS], responses=TeamAnswer)
    def get(self, request: Request, slug: str) -> Response:
        """One team."""
        by = Actor.of(request)
        return shapes.one(TeamAnswer, request, teams.with_counts(get_team(by, slug, may="team.view"), by))

    @extend_schema(operation_id="rename_team", request=NewName, responses=TeamAnswer)
    def patch(self, request: Request, slug: str) -> Response:
        """Give a team another name; its slug stays. For its admins."""
        by = Actor.of(request)
        team = services.rename_team(team=get_team(by, slug, may="team.edit"), by=by, **shapes.read(NewName, request))
        return shapes.one(TeamAnswer, request, teams.with_counts(team, by))


class Members(APIView):
    @extend_schema(operation_id="list_members", parameters=[shapes.FIELDS], responses=shapes.listed(MemberAnswer))
    def get(self, request: Request, slug: str) -> Response:
        """Who is in a team, admins first."""
        return shapes.many(MemberAnswer, request, teams.members_of(get_team(Actor.of(request), slug, may="team.view")))


class OneMember(APIView):
    @extend_schema(operation_id="change_role", request=NewRole, responses=MemberAnswer)
    def patch(self, request: Request, slug: str, username: str) -> Response:
        """Give a member another role. For admins of the team, which keeps at least one."""
        by = Actor.of(request)
        team = get_team(by, slug, may="team.edit")
        membership = members.change_role(team=team, username=username, by=by, **shapes.read(NewRole, request))
        return shapes.one(MemberAnswer, request, membership)

    @extend_schema(operation_id="remove_member", responses={204: None})
    def delete(self, request: Request, slug: str, username: str) -> Response:
        """Take a member out of a team, or leave it oneself. Others: for admins of the team, which keeps at least one.

        What they launched stays. Within a minute nothing of the team's is open to them: pages, sockets, streams and tokens;
        and whose last team it was has no token left.
        """
        by = Actor.of(request)
        members.remove(team=get_team(by, slug, may=right_to_remove(by, username)), username=username, by=by)
        return Response(status=204)


class Invitations(APIView):
    @extend_schema(operation_id="list_invitations", parameters=shapes.PAGED, responses=shapes.paged(InvitationAnswer))
    def get(self, request: Request, slug: str) -> Response:
        """The links into a team, newest first, those that are over too. For its admins."""
        team = get_team(Actor.of(request), slug, may="team.oversee")
        rows = team.invitations.select_related("created_by")
        found, cursor = newest_page(rows, request.query_params, of=f"invitations {team.pk}")
        return shapes.many(InvitationAnswer, request, found, more={"next_cursor": cursor})

    @extend_schema(operation_id="create_invitation", request=NewInvitation, responses={201: MadeInvitation})
    def post(self, request: Request, slug: str) -> Response:
        """Make a link by which people join a team. For its admins.

        The link is in this answer and nowhere else, so it is not kept for an Idempotency-Key either.
        """
        by, now = Actor.of(request), timezone.now()
        team, asked = get_team(by, slug, may="team.edit"), shapes.read(NewInvitation, request)
        asked["expires_at"] = expiry(asked["expires_at"], now)
        invitation, text = invitations.create(team=team, by=by, now=now, **asked)
        body = InvitationAnswer(invitation).data | {"link": invitation_links.link(text)}
        return Response(body, status=201, headers={"Cache-Control": "no-store"})


class OneInvitation(APIView):
    @extend_schema(operation_id="revoke_invitation", responses={204: None})
    def delete(self, request: Request, slug: str, number: int) -> Response:
        """Take a link back: nobody joins by it from now on. For admins of the team."""
        by = Actor.of(request)
        team = get_team(by, slug, may="team.edit")
        invitations.revoke(invitation=invitations.get_invitation(team, number), by=by, now=timezone.now())
        return Response(status=204)


class Acceptances(APIView):
    @extend_schema(operation_id="accept_invitation", request=Acceptance, responses={201: MembershipAnswer})
    def post(self, request: Request) -> Response:
        """Join a team by a link. Needs a token of scope admin.

        404: it is no link of the panel's; 410: it is over; 409: one is in the team already, or it is for another address.
        """
        by = Actor.of(request)
        if by.scope != "admin":
            raise Forbidden(
                "token-scope", _("This token may only %(has)s; this needs a token of scope admin.") % {"has": by.scope}
            )
        text = invitation_links.text_of(shapes.read(Acceptance, request)["invitation"])
        membership = invitations.accept(text=text, user=_person(request), now=timezone.now(), by=by)
        return shapes.one(MembershipAnswer, request, membership, status=201)


class TeamTokens(APIView):
    @extend_schema(operation_id="list_team_tokens", parameters=shapes.PAGED, responses=shapes.paged(TeamTokenAnswer))
    def get(self, request: Request, slug: str) -> Response:
        """The tokens that may reach a team's projects: those of its members that open something, newest first. For its admins."""
        team = get_team(Actor.of(request), slug, may="team.oversee")
        found, cursor = newest_page(tokens.of_team(team), request.query_params, of=f"tokens of {team.pk}")
        return shapes.many(TeamTokenAnswer, request, found, more={"next_cursor": cursor})


class OneTeamToken(APIView):
    @extend_schema(operation_id="revoke_team_token", responses={204: None})
    def delete(self, request: Request, slug: str, token_id: int) -> Response:
        """Revoke a member's token; it opens nothing any more, in their other teams neither. For admins of the team."""
        by = Actor.of(request)
        team = get_team(by, slug, may="team.edit")
        tokens.revoke_of_team(team=team, token=tokens.get_token_of_team(team, token_id), by=by)
        return Response(status=204)


def right_to_remove(by: Actor, username: str) -> str:
    """What it takes to end a membership: less for one's own."""
    return "team.leave" if username == by.user.get_username() else "team.edit"


def _made(status: int, body: dict[str, Any], is_replayed: bool) -> Response:
    headers = {"Location": f"/api/v1/teams/{body['slug']}"} | ({"Idempotent-Replayed": "true"} if is_replayed else {})
    return Response(body, status=status, headers=headers)


def _person(request: Request) -> User:
    assert request.user.is_authenticated  # the default permission has looked
    return request.user
