"""The API of saved views."""

from __future__ import annotations

from typing import ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs import saved_views
from jobs.models import SavedView
from projects import idempotency, shapes
from projects.actors import Actor

QUERY_WORDS = "Filters and `sort`, as in the address of GET /jobs: `?state=failed&sort=-ended`."


class ViewAnswer(shapes.Answer):
    example: ClassVar = {
        "id": 3,
        "name": "failed of mine",
        "query": "?owner=me&state=failed&sort=-ended",
        "project": None,
        "owner": "member1",
        "is_default": True,
        "link": "/jobs?owner=me&state=failed&sort=-ended",
    }
    id = serializers.IntegerField()
    name = serializers.CharField()
    query = serializers.CharField(help_text=QUERY_WORDS)
    project = serializers.CharField(source="project.slug", default=None, allow_null=True, help_text="Where it is shared.")
    owner = serializers.CharField(source="owner.username")
    is_default = serializers.BooleanField(help_text="One's own list of jobs opens with it.")
    link = serializers.SerializerMethodField()

    def get_link(self, view: SavedView) -> str:
        return f"/jobs{view.query}"


class NewView(shapes.Body):
    example: ClassVar = {"name": "failed of mine", "query": "owner=me&state=failed&sort=-ended"}
    name = shapes.Text(help_text="1 to 60 characters.")
    query = shapes.Text(help_text=QUERY_WORDS)
    project = shapes.Text(default="", help_text="Share it with all who see this project.")
    is_default = shapes.Flag(default=False)


class ViewChanges(shapes.Body):
    example: ClassVar = {"name": "my failures", "is_default": True}
    name = shapes.Text(required=False)
    query = shapes.Text(required=False)
    is_default = shapes.Flag(required=False)


class Views(APIView):
    @extend_schema(operation_id="list_views", parameters=[shapes.FIELDS], responses=shapes.listed(ViewAnswer))
    def get(self, request: Request) -> Response:
        """One's own views of the list of jobs, and those that are shared in one's projects."""
        return shapes.many(ViewAnswer, request, saved_views.of(Actor.of(request)))

    @extend_schema(operation_id="save_view", request=NewView, responses={201: ViewAnswer}, parameters=[idempotency.PARAMETER])
    def post(self, request: Request) -> Response:
        """Save a list of jobs under a name."""
        by = Actor.of(request)

        def make() -> idempotency.Answer:
            body = shapes.read(NewView, request)
            is_default = body.pop("is_default")
            view = saved_views.save(**body, by=by, now=timezone.now())
            if is_default:
                saved_views.make_default(view, by=by)
            return 201, dict(ViewAnswer(saved_views.get_view(by, view.pk)).data)

        status, answer, is_replayed = idempotency.once(request, by, make)
        return Response(answer, status=status, headers={"Idempotent-Replayed": "true"} if is_replayed else {})


class OneView(APIView):
    @extend_schema(operation_id="change_view", request=ViewChanges, responses=ViewAnswer)
    def patch(self, request: Request, view_id: int) -> Response:
        """Give a view another name or another list, or open one's own list with it."""
        by = Actor.of(request)
        view, body = saved_views.get_view(by, view_id), shapes.read(ViewChanges, request)
        is_default = body.pop("is_default", view.is_default)
        if body:
            saved_views.change(view, by=by, **body)
        if is_default != view.is_default:
            saved_views.make_default(view if is_default else None, by=by)
        return shapes.one(ViewAnswer, request, saved_views.get_view(by, view_id))

    @extend_schema(operation_id="delete_view", responses={204: None})
    def delete(self, request: Request, view_id: int) -> Response:
        """Delete a view; whose list opened with it sees all jobs again."""
        by = Actor.of(request)
        saved_views.delete(saved_views.get_view(by, view_id), by=by)
        return Response(status=204)
