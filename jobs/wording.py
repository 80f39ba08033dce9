"""What a definition says, and what it may say: the one place that form, text and API ask.

Its JSON is that of recipes/*/recipe.json: title, description, template, parameters, resources, retries.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from django.utils.translation import gettext as _

from agent.protocol import UNREADABLE
from clusters import catalogue, runtimes, sources
from clusters.models import Cluster
from jobs import schemas, template_rules
from jobs.documents import MOST_BYTES
from jobs.models import DefinitionVersion
from jobs.parameters import PLACE
from jobs.retries import Policy
from jobs.schema_form import Form
from jobs.values import is_readable, is_storable
from projects import shapes
from projects.errors import Invalid
from projects.models import Project

MOST_TITLE = 100
MOST_DESCRIPTION = 2000
MOST_NAME = 200  # characters of a name in any of its objects
MOST_CHIPS = 10_000


class WordingBody(shapes.Body):
    """What a version of a definition says."""

    example: ClassVar[dict[str, Any]] = {
        "title": "Train ViT",
        "description": "On the team's own images.",
        "template": {
            "source": {"kind": "git", "address": "https://github.com/team/vit", "ref": "${ref}"},
            "command": ["python", "train.py", "--epochs", "${epochs}"],
            "runtime": {"name": "torch_xla"},
        },
        "parameters": {
            "type": "object",
            "properties": {
                "epochs": {"type": "integer", "minimum": 1, "default": 10},
                "ref": {"type": "string", "default": "main"},
            },
            "additionalProperties": False,
        },
        "resources": {"accelerator": "cpu", "chips": 1},
        "retries": {"host_lost": {"times": 3}},
    }
    title = shapes.Text(help_text="At most 100 characters.")
    description = shapes.Text(default="", help_text="At most 2000 characters.")
    template = shapes.Object(
        help_text="What is run: `command`, and where needed `source`, `environment`, `secrets`, `runtime`, `stop_grace_s` and"
        " `timeout_s`. Its texts may hold `${parameter}`."
    )
    parameters = shapes.Object(default=dict, help_text="JSON Schema (2020-12) of what fills the template.")
    resources = shapes.Object(default=dict, help_text="`accelerator`, `chips` and `cluster`, where a launch does not say.")
    retries = shapes.Object(default=dict, help_text="`user_code` and `host_lost`, each with `times` and `delay_s`.")


@dataclass(frozen=True, eq=False)
class Wording:
    """What a version says, in the one spelling that makes equal what means the same. Made by `read` and `of`."""

    title: str
    template: dict[str, Any]
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    retries: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, version: DefinitionVersion) -> Wording:
        said = {name: getattr(version, name) for name in cls.__dataclass_fields__}
        return _plain(said, [one.name for one in Form.of(version.parameters, version.template).fields])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Wording) and same(self.to_json(), other.to_json())

    def __hash__(self) -> int:
        return hash(self.title)

    def to_json(self) -> dict[str, Any]:
        """As it is stored: the order of parameters, which PostgreSQL does not keep, stands in `x-order`."""
        return asdict(self)

    def document(self) -> dict[str, Any]:
        """As people read and write it: in order, without what is empty, and without an `x-order` that the order itself tells."""
        said = self.to_json()
        schema = said["parameters"]
        order = schema.pop("x-order", [])
        if properties := schema.get("properties"):
            schema["properties"] = {name: properties[name] for name in dict.fromkeys([*order, *properties])}
            if order and order != list(schema["properties"]):
                schema["x-order"] = order
        said["template"] = {name: said["template"][name] for name in template_rules.CHECKS if name in said["template"]}
        needed = ("title", "template", "parameters")
        inner = {"parameters": _in_order(schema, ("$schema", "type", "properties", "required", "additionalProperties"))}
        said |= inner | {"resources": _in_order(said["resources"], ("accelerator", "chips", "cluster"))}
        names = ("title", "description", "template", "parameters", "resources", "retries")
        return {name: said[name] for name in names if said[name] or name in needed}


def read(data: Any) -> Wording:
    """What `data` (JSON) says. Raises Invalid with the path of whatever a definition may not say."""
    if not isinstance(data, Mapping):
        raise Invalid({"": _("A definition is an object with title, template and parameters.")})
    if not is_storable(data):
        raise Invalid({"": _("A text holds a NUL or half a character, a number is too large, or it is nested too deeply.")})
    if _has_long_name(data):
        raise Invalid({"": _("A name in it has more than %(most)s characters.") % {"most": MOST_NAME}})
    wrong: dict[str, str] = {}
    try:
        shapes.checked(WordingBody, data)
    except Invalid as refused:
        wrong = refused.fields
    for name, check in CHECKS.items():
        if name in data and name not in wrong:
            wrong |= check(data)
    if not wrong and len(json.dumps(data, ensure_ascii=False).encode()) > MOST_BYTES:
        wrong[""] = _("A definition has at most %(most)s KiB in all.") % {"most": MOST_BYTES // 1024}
    if wrong:
        raise Invalid(wrong)
    properties = data.get("parameters", {}).get("properties", {})
    return _plain(data, list(dict.fromkeys([*data.get("parameters", {}).get("x-order", []), *properties])))


def same(one: Any, other: Any) -> bool:
    """Whether two values of JSON are the same: 1 and 1.0 are, 1 and true are not, and names have no order."""
    return json.dumps(_told(one), sort_keys=True) == json.dumps(_told(other), sort_keys=True)


def _told(value: Any) -> Any:
    """PostgreSQL gives 1e22 back as a whole number."""
    if isinstance(value, Mapping):
        return {name: _told(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_told(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def check_known(wording: Wording, project: Project) -> None:
    """What it names is there: runtime, recipe, archive, cluster. Raises Invalid.

    Secrets are not asked for: who may edit a definition may not set them, and a launch says what is missing.
    """
    wrong: dict[str, str] = {}
    runtime = (wording.template.get("runtime") or {}).get("name", "")
    if runtime and not PLACE.search(runtime) and runtime not in runtimes.names():
        known = ", ".join(runtimes.names())
        wrong["template.runtime.name"] = _("there is no such runtime; known are %(known)s") % {"known": known}
    source = wording.template.get("source", {"kind": "none"})
    if source["kind"] == "recipe" and not PLACE.search(source["name"]) and source["name"] not in sources.recipes():
        known = ", ".join(sources.recipes())
        wrong["template.source.name"] = _("there is no such recipe; known are %(known)s") % {"known": known}
    if source["kind"] == "archive" and not PLACE.search(source["digest"]):
        try:
            sources.uploaded(project, source["digest"])
        except Invalid as refused:
            wrong |= {f"template.{path}": why for path, why in refused.fields.items()}
    cluster, accelerator = wording.resources.get("cluster", ""), wording.resources.get("accelerator", "")
    if cluster:
        known_clusters = dict(Cluster.objects.values_list("name", "accelerator"))
        if cluster not in known_clusters:
            words = _("there is no such cluster; there is %(known)s")
            wrong["resources.cluster"] = words % {"known": ", ".join(sorted(known_clusters)) or _("none yet")}
        elif accelerator and known_clusters[cluster] != accelerator:
            wrong["resources.cluster"] = _("it has %(has)s") % {"has": known_clusters[cluster]}
    if wrong:
        raise Invalid(wrong)


# -- The one spelling ------------------------------------------------------------------------------------------


def _plain(said: Mapping[str, Any], order: list[str]) -> Wording:
    """Without what says nothing, so that what means the same is the same. `order` is that of its parameters."""
    template = {name: value for name, value in said["template"].items() if value not in USUAL.get(name, ())}
    if template.get("source", {}).get("kind") == "script":
        template["source"] = template["source"] | {"text": template["source"]["text"].replace("\r\n", "\n")}
    parameters = dict(said.get("parameters", {}))
    if len(order) > 1:
        parameters["x-order"] = order
    retries = Policy.from_json(said.get("retries", {})).to_json()
    return Wording(
        title=said["title"].strip(),
        description=said.get("description", "").replace("\r\n", "\n").strip(),
        template=template,
        parameters=parameters,
        resources={name: value for name, value in said.get("resources", {}).items() if value != ""},
        retries={cause: budget for cause, budget in retries.items() if budget["times"]},
    )


USUAL: dict[str, tuple[Any, ...]] = {
    "source": ({"kind": "none"},),
    "environment": ({},),
    "secrets": ([],),
    "runtime": (None, {}, {"name": ""}),
    "stop_grace_s": (30,),
    "timeout_s": (None,),
}


def _in_order(found: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: found[name] for name in dict.fromkeys([*names, *found]) if name in found}


# -- What it may say -------------------------------------------------------------------------------------------


def _title(data: Mapping[str, Any]) -> dict[str, str]:
    title = data["title"]
    if not title.strip():
        return {"title": _("is needed")}
    if len(title) > MOST_TITLE:
        return {"title": _("at most %(most)s characters") % {"most": MOST_TITLE}}
    words = _("holds a line break, a control character or one that turns the direction of text")
    return {} if is_readable(title) else {"title": words}


def _description(data: Mapping[str, Any]) -> dict[str, str]:
    text = data["description"]
    if len(text) > MOST_DESCRIPTION:
        return {"description": _("at most %(most)s characters") % {"most": MOST_DESCRIPTION}}
    is_plain = not UNREADABLE.search(text.replace("\r\n", "").replace("\n", ""))
    return {} if is_plain else {"description": _("holds a control character or one that turns the direction of text")}


def _template(data: Mapping[str, Any]) -> dict[str, str]:
    schema = data.get("parameters")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return template_rules.wrong(data["template"], list(properties) if isinstance(properties, Mapping) else [])


def _parameters(data: Mapping[str, Any]) -> dict[str, str]:
    return schemas.wrong(data["parameters"])


def _resources(data: Mapping[str, Any]) -> dict[str, str]:
    resources, names = data["resources"], ("accelerator", "chips", "cluster")
    unknown = _("there is no such resource; known are accelerator, chips, cluster")
    wrong = {f"resources.{name}": unknown for name in resources if name not in names}
    if "accelerator" in resources and not (
        isinstance(resources["accelerator"], str) and catalogue.find(resources["accelerator"])
    ):
        known = ", ".join(catalogue.CATALOGUE)
        wrong["resources.accelerator"] = _("there is no such accelerator; known are %(known)s") % {"known": known}
    chips = resources.get("chips", 1)
    if not isinstance(chips, int) or isinstance(chips, bool) or not 1 <= chips <= MOST_CHIPS:
        wrong["resources.chips"] = _("a whole number from 1 is needed")
    cluster = resources.get("cluster", "")
    if not isinstance(cluster, str) or len(cluster) > MOST_NAME:
        wrong["resources.cluster"] = _("the name of a cluster is needed")
    return wrong


def _retries(data: Mapping[str, Any]) -> dict[str, str]:
    try:
        Policy.from_json(data["retries"])
    except Invalid as refused:
        return refused.fields
    return {}


CHECKS = {
    "title": _title,
    "description": _description,
    "template": _template,
    "parameters": _parameters,
    "resources": _resources,
    "retries": _retries,
}


def _has_long_name(value: Any) -> bool:
    """Names stand in paths of errors; a text may be longer."""
    if isinstance(value, Mapping):
        return any(len(name) > MOST_NAME or _has_long_name(part) for name, part in value.items())
    return isinstance(value, list) and any(map(_has_long_name, value))
