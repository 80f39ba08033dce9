"""The API of job definitions."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.models import JobDefinition
from jobs.shapes import DefinitionAnswer
from projects import shapes
from projects.access import get_project, visible_projects
from projects.actors import Actor


class Definitions(APIView):
    @extend_schema(
        operation_id="list_definitions",
        parameters=[OpenApiParameter("project", str), shapes.FIELDS],
        responses=shapes.listed(DefinitionAnswer),
    )
    def get(self, request: Request) -> Response:
        """The definitions of one's projects, each with its newest version."""
        projects = visible_projects(Actor.of(request))
        if slug := request.query_params.get("project", ""):
            projects = projects.filter(pk=get_project(Actor.of(request), slug, may="project.view").pk)
        found = JobDefinition.objects.filter(project__in=projects).select_related("project").prefetch_related("versions")
        return shapes.many(DefinitionAnswer, request, found.order_by("project__slug", "slug"))
