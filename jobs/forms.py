"""The launch form: from a definition, an old job or what was posted to fields, and from their texts to the API's body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.http import QueryDict
from django.utils import timezone
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _

from clusters import sources
from clusters.free import ClusterRoom
from clusters.specs import Request
from jobs import parameters, services
from jobs.launch_shapes import Launch
from jobs.models import DefinitionVersion, Job
from jobs.pairs import pairs_of, text_of_pairs
from jobs.retries import Cause, Policy
from jobs.schema_form import NOTHING, Choice, Form, Kind, SchemaField, json_of, number_of
from projects.actors import Actor
from projects.errors import Invalid
from projects.models import Project

RESOURCES = ("accelerator", "chips", "cluster")
NOTIFY: dict[str, dict[str, Any]] = {
    "nothing": {"events": [], "waits_longer_than_min": None},
    "fails": {"events": ["fails"]},
    "ends": {"events": ["ends"]},
    "starts-ends": {"events": ["starts", "ends"]},
}  # what the form's choices ask for


@dataclass(frozen=True)
class Field:
    """What the template draws. `path` is its name in the form and the path of the errors at it."""

    path: str
    id: str
    title: str
    kind: str
    text: str = ""
    help: str = ""
    unit: str = ""
    error: str = ""
    is_required: bool = False
    choices: list[Choice] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Lines of a text that is taller than one; the page lets it grow."""
        least = {Kind.TEXT: 3, Kind.JSON: 3, Kind.LINES: 3}.get(Kind(self.kind), 1)
        return min(20, max(least, self.text.count("\n") + 1))

    @property
    def described_by(self) -> str:
        return " ".join(f"{self.id}-{part}" for part in ("error", "help") if getattr(self, part))


class LaunchForm:
    """A version of a definition and a text for each field; `texts` has the paths that were sent, or that have a value.

    `is_pinned`: this version was asked for; else it is the newest, and a launch says none.
    """

    def __init__(
        self, project: Project, version: DefinitionVersion, texts: Mapping[str, str], secrets: list[str], job: Job | None = None
    ) -> None:
        self.project, self.version, self.job = project, version, job
        self.is_pinned = False
        self.texts = dict(texts)
        self.secrets = secrets
        self.schema = Form.of(version.parameters, version.template)
        self.unread: dict[str, str] = {}  # texts that have no value at all: path -> sentence
        self.errors: dict[str, str] = {}  # path of a field -> sentence
        self.general: list[str] = []  # errors of no field

    # -- Where its texts come from ------------------------------------------------------------------------------

    @classmethod
    def fresh(cls, project: Project, version: DefinitionVersion) -> LaunchForm:
        """As the definition has it."""
        schema = Form.of(version.parameters, version.template)
        values = {one.name: one.default for one in schema.fields if one.default is not NOTHING}
        texts = _texts(schema, values, version.resources) | _texts_of_retries(Policy.from_json(version.retries))
        return cls(project, version, texts, [])

    @classmethod
    def of_job(cls, job: Job, version: DefinitionVersion) -> LaunchForm:
        """As the job was launched; what this version of its definition no longer knows is `dropped`."""
        schema = Form.of(version.parameters, version.template)
        texts = _texts(schema, job.parameters, job.request_json) | _texts_of_retries(job.retries)
        texts["name"] = job.name if job.name != version.definition.slug else ""
        texts["labels"] = text_of_pairs(job.labels)
        texts["environment"] = text_of_pairs(job.environment)
        return cls(job.project, version, texts, list(job.secrets), job)

    @classmethod
    def posted(
        cls, project: Project, version: DefinitionVersion, sent: QueryDict, files: MultiValueDict, by: Actor | None = None
    ) -> LaunchForm:
        """As it was sent. With `by`, files that came along are stored, and their digests are the texts."""
        known = ("name", "labels", "environment", "parameters", "notify")
        texts = {
            path: str(sent[path]) for path in sent if path in known or path.startswith(("parameters.", "resources.", "retries."))
        }
        form = cls(project, version, texts, sent.getlist("secrets"))
        for one in form.schema.fields:
            if by and one.kind == Kind.ARCHIVE and (file := files.get(one.path)):
                try:
                    stored = sources.upload(project=project, name=file.name, file=file, by=by, now=timezone.now())
                    form.texts[one.path] = stored.source_id
                except Invalid as refused:
                    form.unread[one.path] = "; ".join(refused.fields.values())
        return form

    @property
    def dropped(self) -> list[str]:
        """Parameters of the old job that have no field here."""
        if self.job is None or self.schema.takes_more:
            return []
        return sorted(set(self.job.parameters) - {one.name for one in self.schema.fields})

    # -- What it asks for -----------------------------------------------------------------------------------------

    @cached_property
    def body(self) -> dict[str, Any]:
        """What a script would send as POST /jobs. Only converts; `unread` has what cannot be."""
        resources = {name: self.texts[f"resources.{name}"].strip() for name in RESOURCES if f"resources.{name}" in self.texts}
        if (chips := number_of(resources.pop("chips", ""), whole=True)) is not NOTHING:
            resources["chips"] = chips
        body = {
            "project": self.project.slug,
            "definition": self.version.definition.slug,
            **({"version": self.version.number} if self.is_pinned else {}),
            "parameters": self._parameters(),
            "resources": {name: value for name, value in resources.items() if value != "" or name == "cluster"},
            "name": self.texts.get("name", "").strip(),
            "labels": self._pairs("labels"),
            "environment": self._pairs("environment"),
            "secrets": self.secrets,
            "retries": self._retries(),
        }
        if notify := NOTIFY.get(self.texts.get("notify", "")):
            body["notify"] = notify
        if not resources.get("cluster") and not self.version.resources.get("cluster"):
            body["resources"].pop("cluster", None)  # any, as when nothing is said
        return body

    @property
    def short_body(self) -> dict[str, Any]:
        """Without what is empty or as the definition has it: as a person would write it."""
        usual = _retries_of(_texts_of_retries(Policy.from_json(self.version.retries)))
        body = self.body | ({"retries": {}} if self.body["retries"] == usual else {})
        return {name: value for name, value in body.items() if value not in ("", {}, [])}

    def _parameters(self) -> Any:
        more = json_of(self.texts.get("parameters", ""))
        if more is not NOTHING and not isinstance(more, dict):
            return more
        values = {} if more is NOTHING else dict(more)
        for one in self.schema.fields:
            value = one.value_of(self.texts[one.path]) if one.path in self.texts else NOTHING
            if value is not NOTHING:
                values[one.name] = value
        return values

    def _retries(self) -> dict[str, dict[str, Any]]:
        return _retries_of(self.texts)

    def _pairs(self, path: str) -> dict[str, Any]:
        pairs, fault = pairs_of(self.texts.get(path, ""), strip=path == "labels")
        if fault:
            self.unread[path] = fault
        return pairs

    # -- What is wrong with it ----------------------------------------------------------------------------------------

    def check(self) -> tuple[dict[str, str], Request | None]:
        """(what a launch would refuse, what would be placed), asked of the functions that a launch asks."""
        body, request, wrong = self.body, None, dict(self.unread)
        try:
            Launch.from_body(body)
        except Invalid as refused:
            return refused.fields | wrong, None
        try:
            parameters.check(self.version.parameters, body["parameters"])
        except Invalid as refused:
            wrong = refused.fields | wrong
        try:
            Policy.from_json(body["retries"])
        except Invalid as refused:
            wrong = refused.fields | wrong
        try:
            request = services.request_of(dict(self.version.resources) | body["resources"])
        except Invalid as refused:
            wrong = refused.fields | wrong
        return wrong, request

    def refuse(self, wrong: Mapping[str, str]) -> None:
        """Puts each error at its field: that of the same path, or of the longest path that it lies below."""
        for path, sentence in wrong.items():
            owner = self._owner_of(path)
            if owner is None:
                self.general.append(f"{path}: {sentence}" if path else sentence)
                continue
            below = path[len(owner) + 1 :]
            text = f"{below}: {sentence}" if below else sentence
            self.errors[owner] = f"{self.errors[owner]}; {text}" if owner in self.errors else text

    def _owner_of(self, path: str) -> str | None:
        known = [one.path for one in self.all_fields]
        found = [one for one in known if path == one or path.startswith(f"{one}.")]
        return max(found, key=len, default=None)

    @property
    def faults(self) -> list[tuple[Field, str]]:
        """In the order of the page, for the summary."""
        return [(one, one.error) for one in self.all_fields if one.error]

    def problems(self, wrong: Mapping[str, str]) -> list[tuple[Field, str]]:
        """The same while it is being filled in: a parameter that is still empty is no problem yet."""
        self.refuse({path: sentence for path, sentence in wrong.items() if not self._is_empty(path)})
        return self.faults

    def _is_empty(self, path: str) -> bool:
        owner = self._owner_of(path) or ""
        return owner.startswith("parameters.") and not self.texts.get(owner, "").strip()

    # -- Its fields -------------------------------------------------------------------------------------------------

    @property
    def parameter_fields(self) -> list[Field]:
        found = [self._parameter(one, f"parameter-{number}") for number, one in enumerate(self.schema.fields)]
        return [*found, self._more_parameters] if self.schema.takes_more else found

    def _parameter(self, one: SchemaField, id: str) -> Field:
        text = self.texts.get(one.path, "")
        kind = Kind.TEXT if one.kind == Kind.LINE and "\n" in text else one.kind  # a line would lose the rest
        choices = one.choices if kind == Kind.CHOICE else []
        if choices and text not in [choice.text for choice in choices]:
            choices = [*choices, Choice(text, text or _("none"))]  # what was sent or launched stays to be seen
        return self._field(
            one.path,
            one.title,
            kind,
            id=id,
            help=one.help,
            unit=one.unit,
            is_required=one.is_required and kind != Kind.SWITCH and one.default is NOTHING,
            choices=choices,
        )

    @property
    def _more_parameters(self) -> Field:
        help = _("Parameters that have no field of their own, as a JSON object. May be left empty.")
        return self._field("parameters", _("More parameters") if self.schema.fields else _("Parameters"), Kind.JSON, help=help)

    @property
    def accelerator(self) -> str:
        return self.texts.get("resources.accelerator", "").strip()

    @property
    def accelerator_field(self) -> Field:
        return self._field("resources.accelerator", _("Accelerator"), Kind.CHOICE)

    @property
    def chips_field(self) -> Field:
        help = _("On one host.")
        return self._field("resources.chips", _("Chips") if self.accelerator != "cpu" else _("Slots"), Kind.WHOLE, help=help)

    @property
    def cluster_field(self) -> Field:
        return self._field("resources.cluster", _("Cluster"), Kind.CHOICE)

    @property
    def more_fields(self) -> list[Field]:
        return [
            self._field("name", _("Name"), Kind.LINE, help=_("For people, in lists and titles. Default: the definition's.")),
            self._field("labels", _("Labels"), Kind.LINES, help=_("key=value, one a line. Lists can be narrowed to them.")),
            self._field(
                "environment",
                _("Environment"),
                Kind.LINES,
                help=_("NAME=value, one a line. Everybody in the team can read it: what is secret belongs into secrets."),
            ),
        ]

    @property
    def notify_field(self) -> Field:
        choices = [
            Choice("", _("as of all my jobs")),
            Choice("fails", _("when it fails")),
            Choice("ends", _("when it ends")),
            Choice("starts-ends", _("when it starts and when it ends")),
            Choice("nothing", _("nothing")),
        ]
        return self._field("notify", _("Tell me"), Kind.CHOICE, choices=choices)

    @property
    def retry_fields(self) -> list[Field]:
        words = {Cause.USER_CODE: _("After a failure of the command"), Cause.HOST_LOST: _("After a loss of its host")}
        found = []
        for cause, title in words.items():
            found.append(self._field(f"retries.{cause}.times", title, Kind.WHOLE, unit=_("more tries")))
            found.append(self._field(f"retries.{cause}.delay_s", _("each after"), Kind.WHOLE, unit="s"))
        return found

    @property
    def secrets_field(self) -> Field:
        return self._field("secrets", _("Secrets"), Kind.CHOICE, help=_("Each is set as the variable of its name."))

    @property
    def all_fields(self) -> list[Field]:
        where = [self.accelerator_field, self.chips_field, self.cluster_field]
        return [*where, *self.parameter_fields, *self.more_fields, *self.retry_fields, self.secrets_field, self.notify_field]

    @property
    def has_more(self) -> bool:
        """Whether the part that is folded has something to see."""
        paths = ("name", "labels", "environment", "secrets", "notify")
        usual = _texts_of_retries(Policy.from_json(self.version.retries))
        if any(self.texts.get(path, text) != text or path in self.errors for path, text in usual.items()):
            return True
        return bool(self.secrets) or any(self.texts.get(path) or path in self.errors for path in paths)

    def _field(self, path: str, title: str, kind: Kind, *, id: str = "", **more: Any) -> Field:
        text, error = self.texts.get(path, ""), self.errors.get(path, "")
        return Field(path, id or path.replace(".", "-"), title, kind, text=text, error=error, **more)


def _texts(schema: Form, values: Mapping[str, Any], resources: Mapping[str, Any]) -> dict[str, str]:
    texts = {one.path: one.text_of(values[one.name]) for one in schema.fields if one.name in values}
    if schema.takes_more:
        known = {one.name for one in schema.fields}
        more = {name: value for name, value in values.items() if name not in known}
        texts["parameters"] = json.dumps(more, ensure_ascii=False, indent=2) if more else ""
    return texts | {f"resources.{name}": str(resources[name]) for name in RESOURCES if name in resources}


def _texts_of_retries(policy: Policy) -> dict[str, str]:
    budgets = policy.to_json().items()
    return {f"retries.{cause}.{name}": str(value) for cause, budget in budgets for name, value in budget.items()}


def _retries_of(texts: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for cause in Cause.values:
        for name in ("times", "delay_s"):
            value = number_of(texts.get(f"retries.{cause}.{name}", ""), whole=True)
            if value is not NOTHING:
                found.setdefault(cause, {})[name] = value
    return found


def accelerators(form: LaunchForm, rooms: list[ClusterRoom]) -> list[str]:
    """Those that clusters have, and the one that is asked for."""
    return sorted({room.accelerator for room in rooms} | ({form.accelerator} if form.accelerator else set()))
