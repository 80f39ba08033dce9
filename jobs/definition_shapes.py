"""The JSON of the API of definitions."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from jobs.differences import MISSING, Difference
from jobs.models import DefinitionVersion, Job, JobDefinition
from jobs.states import JobState
from jobs.wording import WordingBody
from projects import shapes

WORDING = {name: value for name, value in WordingBody.example.items() if name != "title"}


class LastJobAnswer(shapes.Answer):
    number = serializers.IntegerField(source="pk")
    version = serializers.IntegerField(source="version.number")
    state = serializers.ChoiceField(JobState.choices)
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)


class DefinitionAnswer(shapes.Answer):
    """Of a definition with its project and its newest version; `last_jobs` in its context is definition id -> job."""

    example: ClassVar[dict[str, Any]] = {
        "slug": "train",
        "project": "first-project",
        "title": "Train ViT",
        "version": 3,
        **WORDING,
        "is_shipped": False,
        "archived_at": None,
        "last_job": {"number": 17, "version": 3, "state": "running", "created_at": "2026-03-01T12:00:00Z", "created_by": "ada"},
        "link": "/definitions/first-project/train",
    }
    slug = serializers.CharField(help_text="Its name in addresses, once a project.")
    project = serializers.CharField(source="project.slug")
    title = serializers.CharField()
    version = serializers.IntegerField(source="newest.number", help_text="The newest; they count from 1.")
    description = serializers.CharField(source="newest.description")
    template = serializers.DictField(source="newest.template", help_text="What is run.")
    parameters = serializers.DictField(source="newest.parameters", help_text="JSON Schema.")
    resources = serializers.DictField(source="newest.resources")
    retries = serializers.DictField(source="newest.retries")
    is_shipped = serializers.BooleanField(
        source="newest.is_shipped", help_text="It says what the panel ships, and changes with the panel until someone edits it."
    )
    archived_at = serializers.DateTimeField(allow_null=True, help_text="Since when nobody can launch it.")
    last_job = serializers.SerializerMethodField(help_text="The one launched last, with any of its versions.")
    link = serializers.SerializerMethodField(help_text="Its page.")

    @extend_schema_field(LastJobAnswer(allow_null=True))
    def get_last_job(self, definition: JobDefinition) -> dict[str, Any] | None:
        found: Job | None = self.context["last_jobs"].get(definition.pk)
        return None if found is None else LastJobAnswer(found).data

    def get_link(self, definition: JobDefinition) -> str:
        return f"/definitions/{definition.project.slug}/{definition.slug}"


class VersionAnswer(shapes.Answer):
    """What one version of a definition says, and who made it."""

    example: ClassVar[dict[str, Any]] = {
        "number": 3,
        "title": "Train ViT",
        **WORDING,
        "note": "Twice the epochs",
        "is_shipped": False,
        "created_by": "ada",
        "created_at": "2026-03-01T12:00:00Z",
    }
    number = serializers.IntegerField()
    title = serializers.CharField()
    description = serializers.CharField()
    template = serializers.DictField()
    parameters = serializers.DictField(help_text="JSON Schema.")
    resources = serializers.DictField()
    retries = serializers.DictField()
    note = serializers.CharField(help_text="What its author said of the change.")
    is_shipped = serializers.BooleanField()
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)
    created_at = serializers.DateTimeField()


class NewVersionBody(WordingBody):
    """What a new version says."""

    example: ClassVar[dict[str, Any]] = WordingBody.example | {"note": "Twice the epochs", "base": 2}
    note = shapes.Text(default="", help_text="What you say of the change; at most 200 characters.")
    base = shapes.Whole(
        default=None, allow_null=True, help_text="The version that you began from: 409 when there is a newer one. As If-Match."
    )


class NewDefinitionBody(WordingBody):
    """What a new definition says, and where it stands."""

    example: ClassVar[dict[str, Any]] = WordingBody.example | {"project": "first-project", "slug": "train-vit", "note": ""}
    project = shapes.Text(help_text="Its slug.")
    slug = shapes.Text(default="", help_text="Its name in addresses; left out it is made of the title.")
    note = shapes.Text(default="", help_text="What you say of it; at most 200 characters.")


class DifferenceAnswer(shapes.Answer):
    """One field that two versions differ in."""

    example: ClassVar[dict[str, Any]] = {
        "path": "parameters.properties.epochs.default",
        "kind": "changed",
        "before": 10,
        "after": 20,
    }
    path = serializers.CharField()
    kind = serializers.ChoiceField(["added", "removed", "changed"])
    before = serializers.SerializerMethodField(help_text="Null where it was not said.")
    after = serializers.SerializerMethodField(help_text="Null where it is no longer said.")

    @extend_schema_field({"nullable": True})
    def get_before(self, one: Difference) -> Any:
        return None if one.before is MISSING else one.before

    @extend_schema_field({"nullable": True})
    def get_after(self, one: Difference) -> Any:
        return None if one.after is MISSING else one.after


def etag_of(version: DefinitionVersion) -> str:
    """What If-Match compares: the version that was seen."""
    return f'"{version.number}"'
