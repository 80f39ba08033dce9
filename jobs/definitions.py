"""Job definitions: published in versions that never change."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from jobs.models import DefinitionVersion, JobDefinition
from jobs.retries import Policy
from projects import audit
from projects.actors import Actor
from projects.errors import NotFound
from projects.models import Project


def publish(
    *,
    project: Project,
    slug: str,
    title: str,
    template: Mapping[str, Any],
    parameters: Mapping[str, Any],
    resources: Mapping[str, Any],
    retries: Mapping[str, Any] | None = None,
    by: Actor,
    now: datetime,
) -> DefinitionVersion:
    """The newest version of the definition with this wording: the present one if it says the same, else a new one.

    Raises Invalid when `retries` is no policy.
    """
    Policy.from_json(retries or {})
    with transaction.atomic():
        definition, _made = JobDefinition.objects.select_for_update().get_or_create(
            project=project, slug=slug, defaults={"title": title, "created_at": now}
        )
        last = definition.versions.order_by("-number").first()
        wording = {"template": template, "parameters": parameters, "resources": resources, "retries": dict(retries or {})}
        if last and wording == {name: getattr(last, name) for name in wording}:
            return last
        version = DefinitionVersion.objects.create(
            definition=definition,
            number=last.number + 1 if last else 1,
            **wording,
            created_at=now,
            created_by=by.user if by.user.is_authenticated else None,
        )
        audit.record(
            "definition.publish", by=by, subject=("definition", str(definition.pk), slug), project=project, version=version.number
        )
        return version


def get_version(project: Project, slug: str) -> DefinitionVersion:
    """The newest version of a project's definition. Raises NotFound with the names that exist."""
    of_slug = DefinitionVersion.objects.filter(definition__project=project, definition__slug=slug)
    version = of_slug.select_related("definition").order_by("-number").first()
    if version is None:
        known = sorted(project.definitions.values_list("slug", flat=True))
        raise NotFound("no-such-definition", _("There is no definition %(slug)s in this project.") % {"slug": slug}, known=known)
    return version
