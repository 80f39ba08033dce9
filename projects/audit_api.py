"""The API of the audit."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from projects import audit_listing, shapes
from projects.actors import Actor


class AuditSubject(shapes.Answer):
    example: ClassVar = {"kind": "job", "id": "17", "title": "digits"}
    kind = serializers.CharField(source="subject_kind")
    id = serializers.CharField(source="subject_id")
    title = serializers.CharField(source="subject_title")


class AuditAnswer(shapes.Answer):
    example: ClassVar[dict[str, Any]] = {
        "id": 120,
        "at": "2026-03-01T12:00:00Z",
        "who": "ada",
        "token_id": None,
        "verb": "job.cancel",
        "team": "vision",
        "project": "vit",
        "object": AuditSubject.example,
        "details": {"force": False},
    }
    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    who = serializers.CharField(source="user_name", help_text="Empty: the panel itself.")
    token_id = serializers.IntegerField(allow_null=True, help_text="Of the token that was used; null: a page.")
    verb = serializers.CharField()
    team = serializers.CharField(source="team.slug", default=None, allow_null=True)
    project = serializers.CharField(source="project.slug", default=None, allow_null=True)
    object = AuditSubject(source="*")
    details = serializers.DictField(source="data")


class Audit(APIView):
    @extend_schema(
        operation_id="list_audit",
        parameters=[*audit_listing.PARAMETERS, *shapes.PAGED],
        responses=shapes.paged(AuditAnswer),
    )
    def get(self, request: Request) -> Response:
        """Who did what, newest first. Of one's teams, for their admins; of all, for operators."""
        _wanted, found, cursor = audit_listing.page(request.query_params, Actor.of(request))
        return shapes.many(AuditAnswer, request, found, more={"next_cursor": cursor})
