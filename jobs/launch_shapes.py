"""The JSON of a launch: what a person or a script may say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django.utils.translation import gettext as _

from jobs import notice_wishes
from jobs.values import MOST_ENVIRONMENT_BYTES, MOST_VALUE_BYTES, is_readable, is_storable, unstorable
from projects import shapes, variables
from projects.errors import Invalid


class NotifyBody(shapes.Body):
    """What is left out is as the launcher's notices are set (`/notices`)."""

    example: ClassVar = {"events": ["fails"], "waits_longer_than_min": 60}
    events = shapes.Names(required=False, help_text="Of `starts`, `ends` and `fails`; empty: none.")
    waits_longer_than_min = shapes.Whole(required=False, allow_null=True, help_text="Minutes; null: however long it waits.")
    by_mail = shapes.Flag(required=False)
    by_webhook = shapes.Flag(required=False)


class LaunchBody(shapes.Body):
    """The body of POST /jobs."""

    example: ClassVar = {
        "project": "first-project",
        "definition": "digits-tensorflow",
        "parameters": {"epochs": 3},
        "resources": {"chips": 1},
        "name": "digits",
        "labels": {"sweep": "a"},
    }
    project = shapes.Text(help_text="Its slug.")
    definition = shapes.Text(help_text="The slug of a definition of the project.")
    version = shapes.Whole(default=None, allow_null=True, help_text="Of the definition; left out: the newest.")
    parameters = shapes.Object(
        default=dict, help_text="What fills the definition's parameters; those that are left out have their defaults."
    )
    resources = shapes.Object(
        default=dict, help_text="`accelerator`, `chips` and `cluster`; what is left out is the definition's."
    )
    name = shapes.Text(default="", help_text="At most 100 characters; empty: the definition's.")
    labels = shapes.Texts(default=dict, help_text="At most 50, with names of 63 and values of 200 characters.")
    environment = shapes.Texts(default=dict, help_text="Variables of the command, besides the definition's.")
    secrets = shapes.Names(default=list, help_text="Secrets of the project that the command gets as variables of these names.")
    retries = shapes.Object(default=dict, help_text="`user_code` and `host_lost`, each with `times` and `delay_s`.")
    notify = NotifyBody(default=dict, help_text="What you want to be told of this job otherwise than of all your jobs.")


@dataclass(frozen=True)
class Launch:
    """What a person or a script wants launched."""

    project: str
    definition: str
    version: int | None
    parameters: dict[str, Any]
    resources: dict[str, Any]
    name: str
    labels: dict[str, str]
    environment: dict[str, str]
    secrets: list[str]
    retries: dict[str, Any]
    notify: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_body(cls, body: Any) -> Launch:
        """Raises Invalid with the path of each field that is unknown, missing, of a wrong type or unfit."""
        wrong = {}
        try:
            asked = cls(**shapes.checked(LaunchBody, body))
        except Invalid as refused:
            wrong = refused.fields
        if isinstance(body, Mapping):
            wrong |= {
                name: unstorable()
                for name in set(body) - set(wrong) - {"version"}  # which is looked for, and not kept
                if not is_storable(body[name])
            }
        wrong = wrong or _unfit(asked)
        if wrong:
            raise Invalid(wrong)
        return asked

    @property
    def wanted(self) -> dict[str, Any]:
        """As services.launch and services.drafted take it, besides project and version."""
        return {
            "values": self.parameters,
            "resources": self.resources,
            "name": self.name,
            "labels": self.labels,
            "environment": self.environment,
            "secrets": self.secrets,
            "retries": self.retries,
            "notify": self.notify,
        }


def _unfit(asked: Launch) -> dict[str, str]:
    unreadable = _("holds a line break, a control character or one that turns the direction of text")
    wrong = {path: unreadable for path, value in (("name", asked.name), ("labels", asked.labels)) if not is_readable(value)}
    wrong |= notice_wishes.unfit(asked.notify, at="notify.")
    if len(asked.name) > 100:
        wrong["name"] = _("at most 100 characters")
    if len(asked.labels) > 50 or any(len(k) > 63 or len(v) > 200 for k, v in asked.labels.items()):
        wrong["labels"] = _("at most 50 labels, with names of 63 and values of 200 characters")
    for name, value in asked.environment.items():
        if not name or "=" in name or "\0" in name or variables.is_panels(name):
            wrong[f"environment.{name}"] = _("not a name for a variable; VIRTUAL_ENV and those with PANEL_ are the panel's")
        elif len(value.encode()) > MOST_VALUE_BYTES:
            wrong[f"environment.{name}"] = _("at most %(most)s bytes") % {"most": MOST_VALUE_BYTES}
    total = sum(len(name) + len(value) for name, value in asked.environment.items())
    if not wrong and total > MOST_ENVIRONMENT_BYTES:
        wrong["environment"] = _("at most %(most)s bytes in all") % {"most": MOST_ENVIRONMENT_BYTES}
    return wrong
