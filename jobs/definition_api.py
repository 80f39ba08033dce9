"""The API of job definitions: look, publish, compare, archive. The same services as the pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs import definition_listing, definitions, differences
from jobs.definition_shapes import (
    DefinitionAnswer,
    DifferenceAnswer,
    NewDefinitionBody,
    NewVersionBody,
    VersionAnswer,
    etag_of,
)
from jobs.models import DefinitionVersion, JobDefinition
from jobs.values import is_storable
from jobs.wording import Wording, WordingBody, read
from projects import idempotency, shapes
from projects.access import get_project
from projects.actors import Actor
from projects.errors import Invalid
from projects.paging import Cursor, limit_of
from projects.queries import whole

IF_MATCH = "If-Match"
SEEN = re.compile(r'(?:W/)?"([0-9]{1,9})"')
MATCHED = OpenApiParameter(
    IF_MATCH,
    str,
    OpenApiParameter.HEADER,
    description="The ETag of the definition that you began from, or `*`: 409 when there is a newer version. As `base`.",
)


class Definitions(APIView):
    @extend_schema(
        operation_id="list_definitions",
        parameters=[*definition_listing.PARAMETERS, *shapes.PAGED],
        responses=shapes.paged(DefinitionAnswer),
    )
    def get(self, request: Request) -> Response:
        """The definitions of one's projects, each as its newest version has it.

        By project and name.
        """
        page = definition_listing.Page.from_query(request.query_params)
        shown, cursor = definition_listing.definitions_of_page(page, Actor.of(request))
        more = {"next_cursor": str(cursor) if cursor else None}
        known = definition_listing.last_jobs(shown)
        return shapes.many(DefinitionAnswer, request, shown, more=more, last_jobs=known)

    @extend_schema(
        operation_id="create_definition",
        request=NewDefinitionBody,
        responses={201: DefinitionAnswer},
        parameters=[idempotency.PARAMETER],
    )
    def post(self, request: Request) -> Response:
        """Make a definition, in its first version.

        409 when the project has one of this name. Safe to repeat with an Idempotency-Key.
        """
        by = Actor.of(request)

        def make() -> tuple[int, dict[str, Any]]:
            wording, asked = _read(NewDefinitionBody, request.data)
            project = get_project(by, asked["project"], may="definitions.edit")
            version, _is_made = definitions.edit(
                project=project,
                slug=asked["slug"] or definitions.name_of(wording.title),
                wording=wording,
                by=by,
                now=timezone.now(),
                note=asked["note"],
                base=definitions.NEW,
            )
            return 201, _whole(version.definition, version)

        return _made(*idempotency.once(request, by, make))


class OneDefinition(APIView):
    @extend_schema(operation_id="get_definition", parameters=[shapes.FIELDS], responses=DefinitionAnswer)
    def get(self, request: Request, project: str, slug: str) -> Response:
        """One definition, as its newest version has it.

        Its ETag is what If-Match takes when the next version is published.
        """
        definition = definitions.get_definition(Actor.of(request), project, slug, may="project.view")
        return _shown(request, definition)


class Versions(APIView):
    @extend_schema(
        operation_id="list_definition_versions",
        parameters=shapes.PAGED,
        responses=shapes.paged(VersionAnswer),
    )
    def get(self, request: Request, project: str, slug: str) -> Response:
        """The versions of a definition, newest first."""
        definition = definitions.get_definition(Actor.of(request), project, slug, may="project.view")
        query, limit = f"versions of {definition.pk}", limit_of(request.query_params)
        cursor = Cursor.read(request.query_params.get("cursor", ""), query=query)
        rows = definition.versions.select_related("created_by").order_by("-number")
        found = list((rows.filter(number__lt=cursor.place[0]) if cursor else rows)[: limit + 1])
        shown = found[:limit]
        more = {"next_cursor": str(Cursor((shown[-1].number,), query)) if len(found) > limit else None}
        return shapes.many(VersionAnswer, request, shown, more=more)

    @extend_schema(
        operation_id="publish_definition_version",
        request=NewVersionBody,
        responses={200: VersionAnswer, 201: VersionAnswer},
        parameters=[MATCHED, idempotency.PARAMETER],
    )
    def post(self, request: Request, project: str, slug: str) -> Response:
        """Publish the next version of a definition.

        201: it is made. 200: it says what the newest says already, so none is made and the answer is that one. With `base` or
        If-Match, 409 `definition-changed` when someone published meanwhile; `details.newest` is the number of theirs.
        """
        by = Actor.of(request)
        definition = definitions.get_definition(by, project, slug, may="definitions.edit")
        matched = _matched(request)

        def make() -> tuple[int, dict[str, Any]]:
            wording, asked = _read(NewVersionBody, request.data)
            version, is_made = definitions.edit(
                project=definition.project,
                slug=definition.slug,
                wording=wording,
                by=by,
                now=timezone.now(),
                note=asked["note"],
                base=asked["base"] or matched,
            )
            return 201 if is_made else 200, VersionAnswer(version).data

        status, body, is_replayed = idempotency.once(request, by, make)
        headers = {"Location": f"/api/v1/definitions/{project}/{slug}/versions/{body['number']}"} if status == 201 else {}
        return Response(body, status=status, headers=headers | ({"Idempotent-Replayed": "true"} if is_replayed else {}))


class OneVersion(APIView):
    @extend_schema(operation_id="get_definition_version", parameters=[shapes.FIELDS], responses=VersionAnswer)
    def get(self, request: Request, project: str, slug: str, number: int) -> Response:
        """One version of a definition; it never changes."""
        definition = definitions.get_definition(Actor.of(request), project, slug, may="project.view")
        return shapes.one(VersionAnswer, request, definitions.version_of(definition, number))


class Comparison(APIView):
    @extend_schema(
        operation_id="compare_definition_versions",
        parameters=[
            OpenApiParameter("from", int, required=True, description="The number of a version."),
            OpenApiParameter("to", int, description="The number of another; left out: the newest."),
            shapes.FIELDS,
        ],
        responses=shapes.listed(DifferenceAnswer, **{"from": serializers.IntegerField(), "to": serializers.IntegerField()}),
    )
    def get(self, request: Request, project: str, slug: str) -> Response:
        """What two versions of a definition differ in, field by field."""
        definition = definitions.get_definition(Actor.of(request), project, slug, may="project.view")
        before = definitions.version_of(definition, whole(request.query_params, "from", 0))
        after = definitions.version_of(definition, whole(request.query_params, "to", 0) or None)
        found = differences.between(Wording.of(before), Wording.of(after))
        return shapes.many(DifferenceAnswer, request, found, more={"from": before.number, "to": after.number})


class Archival(APIView):
    @extend_schema(operation_id="archive_definition", request=None, responses=DefinitionAnswer)
    def post(self, request: Request, project: str, slug: str) -> Response:
        """Hide a definition and let nobody launch it.

        Its jobs stay and go on. Archived again it stays as it is.
        """
        by = Actor.of(request)
        definition = definitions.get_definition(by, project, slug, may="definitions.edit")
        return _shown(request, definitions.archive(definition=definition, by=by, now=timezone.now()))

    @extend_schema(operation_id="unarchive_definition", responses={204: None})
    def delete(self, request: Request, project: str, slug: str) -> Response:
        """Let a definition be launched again."""
        by = Actor.of(request)
        definitions.unarchive(definition=definitions.get_definition(by, project, slug, may="definitions.edit"), by=by)
        return Response(status=204)


def _read(kind: type[WordingBody], body: Any) -> tuple[Wording, dict[str, Any]]:
    """(what the definition shall say, the rest of the body). Raises Invalid with all that is wrong."""
    wrong: dict[str, str] = {}
    asked: dict[str, Any] = {}
    try:
        asked = shapes.checked(kind, body)
    except Invalid as refused:
        wrong = refused.fields
    if not isinstance(body, Mapping):
        raise Invalid(wrong)
    around = [name for name in body if name not in WordingBody().fields]
    for name in around:
        if name not in wrong and not is_storable(body[name]):
            wrong[name] = _("holds a NUL or half a character")
        elif name not in wrong and isinstance(body[name], str) and len(body[name]) > definitions.MOST_NOTE:
            wrong[name] = _("at most %(most)s characters") % {"most": definitions.MOST_NOTE}
    try:
        wording = read({name: value for name, value in body.items() if name not in around})
    except Invalid as refused:
        wrong = refused.fields | wrong
    if wrong:
        raise Invalid(wrong)
    return wording, asked


def _matched(request: Request) -> int | None:
    """The version that If-Match names; None: any."""
    text = request.headers.get(IF_MATCH, "*").strip()
    found = SEEN.fullmatch(text)
    if text != "*" and not found:
        raise Invalid({IF_MATCH: _("the ETag of the definition is needed, or *")})
    return int(found[1]) if found else None


def _shown(request: Request, definition: JobDefinition) -> Response:
    version = definitions.version_of(definition, None)
    definition.newest = version
    answer = shapes.one(DefinitionAnswer, request, definition, last_jobs=definition_listing.last_jobs([definition]))
    answer["ETag"] = etag_of(version)
    return answer


def _whole(definition: JobDefinition, version: DefinitionVersion) -> dict[str, Any]:
    definition.newest = version
    return DefinitionAnswer(definition, context={"last_jobs": {}}).data


def _made(status: int, body: dict[str, Any], is_replayed: bool) -> Response:
    headers = {"Location": f"/api/v1{body['link']}"} | ({"Idempotent-Replayed": "true"} if is_replayed else {})
    return Response(body, status=status, headers=headers)
