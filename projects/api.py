"""The API's door to who one is, one's tokens, one's projects and their secrets."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from projects import schema, secrets, tokens  # noqa: F401  schema tells drf-spectacular of our tokens
from projects.access import get_project, visible_projects
from projects.actors import SCOPES, Actor
from projects.models import Membership, Role


class MeTeam(serializers.Serializer):
    slug = serializers.CharField()
    name = serializers.CharField()
    role = serializers.ChoiceField(Role.choices)


class MeAnswer(serializers.Serializer):
    username = serializers.CharField()
    is_superuser = serializers.BooleanField()
    scope = serializers.ChoiceField(SCOPES)
    teams = MeTeam(many=True)


class TokenAnswer(serializers.Serializer):
    id = serializers.IntegerField()
    name = serializers.CharField()
    prefix = serializers.CharField()
    scope = serializers.ChoiceField(SCOPES)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)


class TokenList(serializers.Serializer):
    results = TokenAnswer(many=True)


class NewToken(serializers.Serializer):
    name = serializers.CharField(max_length=100)
    scope = serializers.ChoiceField(SCOPES)
    expires_at = serializers.DateTimeField(allow_null=True, default=None)


class IssuedToken(TokenAnswer):
    text = serializers.CharField()  # this once


class ProjectAnswer(serializers.Serializer):
    slug = serializers.CharField()
    name = serializers.CharField()
    team = serializers.CharField()
    role = serializers.ChoiceField(Role.choices)


class ProjectList(serializers.Serializer):
    results = ProjectAnswer(many=True)


class SecretAnswer(serializers.Serializer):
    name = serializers.CharField()
    updated_at = serializers.DateTimeField()


class SecretList(serializers.Serializer):
    results = SecretAnswer(many=True)


class SecretValue(serializers.Serializer):
    value = serializers.CharField(trim_whitespace=False, allow_blank=True)  # secrets.put says what is wrong with it


class Me(APIView):
    @extend_schema(responses=MeAnswer)
    def get(self, request: Request) -> Response:
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
    @extend_schema(responses=TokenList)
    def get(self, request: Request) -> Response:
        return Response(TokenList({"results": tokens.of(_person(request))}).data)

    @extend_schema(request=NewToken, responses={201: IssuedToken})
    def post(self, request: Request) -> Response:
        """The text is in this answer and nowhere else, so it is not kept for an Idempotency-Key either."""
        token, text = tokens.issue(user=_person(request), by=Actor.of(request), **_read(NewToken, request))
        return Response(TokenAnswer(token).data | {"text": text}, status=201, headers={"Cache-Control": "no-store"})


class OneToken(APIView):
    @extend_schema(responses={204: None})
    def delete(self, request: Request, token_id: int) -> Response:
        tokens.revoke(token=tokens.get_token(_person(request), token_id), by=Actor.of(request))
        return Response(status=204)


class Projects(APIView):
    @extend_schema(responses=ProjectList)
    def get(self, request: Request) -> Response:
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
        return Response(ProjectList({"results": found}).data)


class Secrets(APIView):
    @extend_schema(responses=SecretList)
    def get(self, request: Request, slug: str) -> Response:
        """Names alone: whoever launches needs them, nobody reads a value back."""
        project = get_project(Actor.of(request), slug, may="project.view")
        return Response(SecretList({"results": project.secrets.order_by("name")}).data)


class OneSecret(APIView):
    @extend_schema(request=SecretValue, responses={204: None})
    def put(self, request: Request, slug: str, name: str) -> Response:
        actor = Actor.of(request)
        project = get_project(actor, slug, may="secrets.edit")
        secrets.put(project=project, name=name, by=actor, **_read(SecretValue, request))
        return Response(status=204)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, name: str) -> Response:
        actor = Actor.of(request)
        secrets.remove(project=get_project(actor, slug, may="secrets.edit"), name=name, by=actor)
        return Response(status=204)


def _person(request: Request) -> User:
    assert request.user.is_authenticated  # the default permission has looked
    return request.user


def _read(kind: type[serializers.Serializer], request: Request) -> dict[str, Any]:
    body = kind(data=request.data)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)
