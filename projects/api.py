"""The API's door to who one is, one's tokens, one's projects and their secrets."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from projects import schema, secrets, shapes, tokens  # noqa: F401  schema tells drf-spectacular of our tokens
from projects.access import get_project, visible_projects
from projects.actors import SCOPES, Actor
from projects.models import Membership, Role
from projects.token_shapes import IssuedToken, NewToken, TokenAnswer


class MeTeam(shapes.Answer):
    example: ClassVar = {"slug": "vision", "name": "Vision", "role": "member"}
    slug = serializers.CharField()
    name = serializers.CharField()
    role = serializers.ChoiceField(Role.choices)


class MeAnswer(shapes.Answer):
    example: ClassVar = {"username": "member1", "is_superuser": False, "scope": "launch", "teams": [MeTeam.example]}
    username = serializers.CharField()
    is_superuser = serializers.BooleanField()
    scope = serializers.ChoiceField(SCOPES)
    teams = MeTeam(many=True)


class ProjectAnswer(shapes.Answer):
    example: ClassVar = {"slug": "first-project", "name": "First project", "team": "first-team", "role": "admin"}
    slug = serializers.CharField()
    name = serializers.CharField()
    team = serializers.CharField()
    role = serializers.ChoiceField(Role.choices)


PROJECTS = shapes.listed(ProjectAnswer)


class SecretAnswer(shapes.Answer):
    example: ClassVar = {"name": "HF_TOKEN", "updated_at": "2026-03-01T12:00:00Z", "updated_by": "ada"}
    name = serializers.CharField()
    updated_at = serializers.DateTimeField()
    updated_by = serializers.CharField(source="updated_by.username", default=None, allow_null=True)


class SecretValue(shapes.Body):
    example: ClassVar = {"value": "hf_..."}
    value = serializers.CharField(trim_whitespace=False, allow_blank=True)  # secrets.put says what is wrong with it


class Me(APIView):
    @extend_schema(operation_id="get_me", responses=MeAnswer)
    def get(self, request: Request) -> Response:
        """Who one is, with which scope, and in which teams."""
        actor = Actor.of(request)
        memberships = Membership.objects.filter(user=_person(request)).order_by("team__slug")
        me = {
            "username": actor.user.get_username(),
            "is_superuser": actor.user.is_superuser,
            "scope": actor.scope,
            "teams": [
                {"slug": slug, "name": name, "role": role}
                for slug, name, role in memberships.values_list("team__slug", "team__name", "role")
            ],
        }
        return Response(MeAnswer(me).data)


class Tokens(APIView):
    @extend_schema(operation_id="list_tokens", parameters=[shapes.FIELDS], responses=shapes.listed(TokenAnswer))
    def get(self, request: Request) -> Response:
        """One's own tokens, newest first, the revoked ones too."""
        return shapes.many(TokenAnswer, request, tokens.of(_person(request)))

    @extend_schema(operation_id="issue_token", request=NewToken, responses={201: IssuedToken})
    def post(self, request: Request) -> Response:
        """Issue a token of one's own, of a scope not greater than one's own.

        Its text is in this answer and nowhere else, so it is not kept for an Idempotency-Key either. Of a scope that no role of
        one's own has a use for there is none. One that a token issues expires with that token, and is revoked with it.
        """
        by, person, asked = Actor.of(request), _person(request), shapes.read(NewToken, request)
        tokens.check_use(person, asked["scope"], by)
        token, text = tokens.issue(user=person, by=by, **asked)
        return Response(TokenAnswer(token).data | {"text": text}, status=201, headers={"Cache-Control": "no-store"})


class OneToken(APIView):
    @extend_schema(operation_id="revoke_token", responses={204: None})
    def delete(self, request: Request, token_id: int) -> Response:
        """Revoke one of one's own tokens: it opens nothing from now on."""
        tokens.revoke(token=tokens.get_token(_person(request), token_id), by=Actor.of(request))
        return Response(status=204)


class Projects(APIView):
    @extend_schema(operation_id="list_projects", parameters=[shapes.FIELDS], responses=PROJECTS)
    def get(self, request: Request) -> Response:
        """The projects of one's teams."""
        actor = Actor.of(request)
        roles = dict(Membership.objects.filter(user=_person(request)).values_list("team_id", "role"))
        found = [
            {
                "slug": project.slug,
                "name": project.name,
                "team": project.team.slug,
                "role": Role.ADMIN if actor.user.is_superuser else roles[project.team_id],
            }
            for project in visible_projects(actor).select_related("team").order_by("slug")
        ]
        return shapes.many(ProjectAnswer, request, found)


class Secrets(APIView):
    @extend_schema(operation_id="list_secrets", parameters=[shapes.FIELDS], responses=shapes.listed(SecretAnswer))
    def get(self, request: Request, slug: str) -> Response:
        """The names of a project's secrets: whoever launches needs them, nobody reads a value back."""
        project = get_project(Actor.of(request), slug, may="project.view")
        return shapes.many(SecretAnswer, request, project.secrets.select_related("updated_by").order_by("name"))


class OneSecret(APIView):
    @extend_schema(operation_id="put_secret", request=SecretValue, responses={204: None})
    def put(self, request: Request, slug: str, name: str) -> Response:
        """Set a secret, or replace its value. For admins of the team."""
        actor = Actor.of(request)
        project = get_project(actor, slug, may="secrets.edit")
        secrets.put(project=project, name=name, by=actor, **shapes.read(SecretValue, request))
        return Response(status=204)

    @extend_schema(operation_id="delete_secret", responses={204: None})
    def delete(self, request: Request, slug: str, name: str) -> Response:
        """Delete a secret. For admins of the team."""
        actor = Actor.of(request)
        secrets.remove(project=get_project(actor, slug, may="secrets.edit"), name=name, by=actor)
        return Response(status=204)


def _person(request: Request) -> User:
    assert request.user.is_authenticated  # the default permission has looked
    return request.user
