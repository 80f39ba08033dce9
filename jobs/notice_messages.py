"""What a notice says: as JSON to a webhook, as words to a person."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ObjectDoesNotExist
from django.utils.translation import gettext, gettext_lazy, override

from clusters import reasons
from jobs.models import Notice

HAPPENED = {
    "job.running": gettext_lazy("Job %(number)s %(name)s has started"),
    "job.succeeded": gettext_lazy("Job %(number)s %(name)s has succeeded"),
    "job.failed": gettext_lazy("Job %(number)s %(name)s has failed"),
    "job.canceled": gettext_lazy("Job %(number)s %(name)s was canceled"),
    "job.waits": gettext_lazy("Job %(number)s %(name)s still waits"),
}
STATE_OF = {"job.waits": "queued"}  # of other codes it is the code's last word


@dataclass(frozen=True)
class Message:
    """Of an event as it was: the same at each try, whatever has happened to the job since."""

    code: str
    at: datetime
    seq: int
    number: int
    name: str
    project: str
    data: dict[str, Any]

    @classmethod
    def of(cls, notice: Notice) -> Message:
        """Of a notice read with its event and its job's project."""
        event, job = notice.event, notice.job
        return cls(event.code, event.at, event.seq, job.pk, job.name, job.project.slug, event.data)

    @property
    def link(self) -> str:
        return f"{settings.PUBLIC_URL}/jobs/{self.number}"

    @property
    def why(self) -> str:
        """In the language that is set; "": there is nothing to say."""
        code = self.data.get("reason", "")
        return reasons.sentence(code, self.data) if code else ""

    @property
    def headline(self) -> str:
        return str(HAPPENED[self.code]) % {"number": self.number, "name": self.name}

    @property
    def paragraph(self) -> str:
        lines = [gettext("%(headline)s (project %(project)s).") % {"headline": self.headline, "project": self.project}]
        if self.why:
            lines.append(self.why)
        lines += [f"{self.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC", self.link]
        return "\n".join(lines)

    def as_json(self) -> str:
        """The body of a webhook, in English: it is for programs, and every try has the same."""
        with override("en"):
            reason = {"code": self.data.get("reason", ""), "sentence": self.why}
        body = {
            "type": self.code,
            "timestamp": self.at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            "data": {
                "job": {"number": self.number, "name": self.name, "project": self.project, "link": self.link},
                "state": STATE_OF.get(self.code, self.code.rpartition(".")[2]),
                "reason": reason,
                "event_seq": self.seq,
            },
        }
        return json.dumps(body, ensure_ascii=False)


def language_of(user: User) -> str:
    """The one that the person has chosen, else the panel's."""
    try:
        chosen = user.profile.language
    except ObjectDoesNotExist:
        chosen = ""
    return chosen or settings.LANGUAGE_CODE
