"""The API of job definitions."""

from __future__ import annotations

from rest_framework.request import Request as ApiRequest
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.models import JobDefinition
from jobs.shapes import DefinitionShape
from projects.access import get_project, visible_projects
from projects.actors import Actor


class Definitions(APIView):
    def get(self, request: ApiRequest) -> Response:
        """The definitions of one's projects, each with its newest version; `project` filters."""
        projects = visible_projects(Actor.of(request))
        if slug := request.query_params.get("project", ""):
            projects = projects.filter(pk=get_project(Actor.of(request), slug, may="project.view").pk)
        found = JobDefinition.objects.filter(project__in=projects).select_related("project").prefetch_related("versions")
        return Response({"results": [DefinitionShape.of(one) for one in found.order_by("project__slug", "slug")]})
