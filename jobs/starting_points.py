"""What a new definition can be started from: a recipe, a past job, another definition; or nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from clusters import catalogue, sources
from jobs import definitions, services, shipped
from jobs.models import Job, JobDefinition
from jobs.wording import Wording, read
from projects.access import visible_projects
from projects.actors import Actor
from projects.errors import NotFound

JOB = re.compile(r"job:#?([0-9]{1,18})")
RECIPE = re.compile(r"recipe:([a-z0-9_]{1,63})")
DEFINITION = re.compile(r"definition:([a-z0-9-]{1,63})/([a-z0-9-]{1,63})(?:@([0-9]{1,9}))?")


@dataclass(frozen=True)
class Start:
    """What the editor is opened with, and what that is in words."""

    document: Mapping[str, Any]
    sentence: str = ""


def start(text: str, by: Actor) -> Start:
    """Of `recipe:digits_xla`, `job:17`, `definition:vit/train`, `definition:vit/train@3`, or "". Raises NotFound."""
    text = text.strip()
    if found := RECIPE.fullmatch(text):
        return _of_recipe(found[1])
    if found := JOB.fullmatch(text):
        return _of_job(services.get_job(by, int(found[1]), may="jobs.view"))
    if found := DEFINITION.fullmatch(text):
        definition = definitions.get_definition(by, found[1], found[2], may="project.view")
        return of_version(definition, int(found[3]) if found[3] else None)
    if text:
        raise NotFound("no-such-start", _("There is nothing to start from by this name: %(text)s.") % {"text": text[:100]})
    return Start(blank())


def blank() -> dict[str, Any]:
    return {
        "title": "",
        "template": {},
        "parameters": {"type": "object", "additionalProperties": False},
        "resources": {"accelerator": next(iter(catalogue.CATALOGUE)), "chips": 1},
    }


def of_version(definition: JobDefinition, number: int | None) -> Start:
    version = definitions.version_of(definition, number)
    words = {"project": definition.project.slug, "slug": definition.slug, "number": version.number}
    return Start(Wording.of(version).document(), _("as %(project)s / %(slug)s is in version %(number)s") % words)


def _of_recipe(name: str) -> Start:
    if name not in sources.recipes():
        raise NotFound("no-such-recipe", _("There is no recipe %(name)s.") % {"name": name}, known=sources.recipes())
    said = {part: value for part, value in shipped.recipe(name).items() if part != "slug"}
    return Start(read(said).document(), _("as the recipe %(name)s has it") % {"name": name})


def _of_job(job: Job) -> Start:
    """Its definition's wording at that time, with what the job was launched with as defaults."""
    said = Wording.of(job.version).document()
    template, schema = dict(said["template"]), dict(said["parameters"])
    if "properties" in schema:
        schema["properties"] = {name: _with_default(part, name, job) for name, part in schema["properties"].items()}
        left = [name for name in schema.get("required", []) if name not in job.parameters]
        schema = {name: value for name, value in schema.items() if name != "required"} | ({"required": left} if left else {})
    if job.environment:
        template["environment"] = template.get("environment", {}) | job.environment
    if job.secrets:
        template["secrets"] = sorted({*template.get("secrets", []), *job.secrets})
    budgets = job.retries.to_json().items()
    made = {
        "title": job.name,
        **{name: value for name, value in said.items() if name == "description"},
        "template": template,
        "parameters": schema,
        "resources": {name: value for name, value in job.request_json.items() if value != ""},
        "retries": {cause: budget for cause, budget in budgets if budget["times"]},
    }
    sentence = _("as job #%(number)s was launched, with its values as defaults") % {"number": job.pk}
    return Start({name: value for name, value in made.items() if value != {} or name == "parameters"}, sentence)


def _with_default(part: Any, name: str, job: Job) -> Any:
    return {**part, "default": job.parameters[name]} if name in job.parameters and isinstance(part, Mapping) else part


def choices(by: Actor) -> list[tuple[str, list[tuple[str, str]]]]:
    """What the page offers: groups of (value, words). One query."""
    groups = [(_("Recipes"), [(f"recipe:{name}", name) for name in sources.recipes()])]
    found = JobDefinition.objects.launchable().filter(project__in=visible_projects(by)).select_related("project")
    of_projects: dict[str, list[tuple[str, str]]] = {}
    for one in found.order_by("project__slug", "title"):
        of_projects.setdefault(one.project.slug, []).append((f"definition:{one.project.slug}/{one.slug}", one.title))
    return groups + [(_("Definitions of %(project)s") % {"project": slug}, found) for slug, found in of_projects.items()]
