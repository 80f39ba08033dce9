"""The API of a team's projects: what there is, a new one, another name."""

from __future__ import annotations

from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlpanel import project_making
from projects import idempotency, services, shapes
from projects.access import get_project, get_team, role_in
from projects.actors import Actor
from projects.api import PROJECTS, ProjectAnswer
from projects.models import Project
from projects.team_shapes import NewName


class NewProject(shapes.Body):
    example: ClassVar = {"slug": "scans", "name": "Scans"}
    slug = shapes.Text(help_text="Its name in addresses, the only one over all teams: small letters, digits and dashes, 1 to 63.")
    name = shapes.Text(default="", help_text="Its name on pages, at most 100 characters; empty: the slug.")


class TeamProjects(APIView):
    @extend_schema(operation_id="list_team_projects", parameters=[shapes.FIELDS], responses=PROJECTS)
    def get(self, request: Request, slug: str) -> Response:
        """A team's projects."""
        by = Actor.of(request)
        team = get_team(by, slug, may="team.view")
        role = role_in(by, team)
        found = [_told(project, role) for project in team.projects.select_related("team").order_by("slug")]
        return shapes.many(ProjectAnswer, request, found)

    @extend_schema(
        operation_id="create_project", request=NewProject, responses={201: ProjectAnswer}, parameters=[idempotency.PARAMETER]
    )
    def post(self, request: Request, slug: str) -> Response:
        """Make a project, with the definitions that the panel ships. For admins of the team."""
        by = Actor.of(request)
        team = get_team(by, slug, may="team.edit")

        def make() -> idempotency.Answer:
            made = project_making.make(team=team, by=by, now=timezone.now(), **shapes.read(NewProject, request))
            return 201, ProjectAnswer(_told(made, role_in(by, team))).data

        status, body, is_replayed = idempotency.once(request, by, make)
        return Response(body, status=status, headers={"Idempotent-Replayed": "true"} if is_replayed else {})


class OneProject(APIView):
    @extend_schema(operation_id="get_project", parameters=[shapes.FIELDS], responses=ProjectAnswer)
    def get(self, request: Request, slug: str) -> Response:
        """One project."""
        by = Actor.of(request)
        project = get_project(by, slug, may="project.view")
        return shapes.one(ProjectAnswer, request, _told(project, role_in(by, project)))

    @extend_schema(operation_id="rename_project", request=NewName, responses=ProjectAnswer)
    def patch(self, request: Request, slug: str) -> Response:
        """Give a project another name; its slug stays. For admins of the team."""
        by = Actor.of(request)
        project = get_project(by, slug, may="team.edit")
        services.rename_project(project=project, by=by, **shapes.read(NewName, request))
        return shapes.one(ProjectAnswer, request, _told(project, role_in(by, project)))


def _told(project: Project, role: str | None) -> dict[str, Any]:
    return {"slug": project.slug, "name": project.name, "team": project.team.slug, "role": role}
