"""The JSON of the jobs API: what a launch may say, what a job looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from agent.protocol import UNREADABLE
from clusters import fetches
from clusters.models import Fetch, OutputFile
from jobs.models import Attempt, Job, JobDefinition
from jobs.progress import Progress
from projects import variables
from projects.errors import Invalid

MOST_LEVELS = 50  # of lists and objects in one another
MOST_VALUE_BYTES = 100_000  # of one variable: Linux takes 128 KiB
MOST_ENVIRONMENT_BYTES = 500_000  # of all that a launch sets


@dataclass(frozen=True)
class Launch:
    """The body of POST /jobs."""

    project: str
    definition: str
    parameters: dict[str, Any] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    retries: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_body(cls, body: Any) -> Launch:
        """Raises Invalid with the path of each field that is unknown, missing or of a wrong type."""
        if not isinstance(body, Mapping):
            raise Invalid({"": _("The body must be a JSON object.")})
        checks = {
            "project": _is_text,
            "definition": _is_text,
            "parameters": _is_object,
            "resources": _is_object,
            "name": _is_text,
            "labels": _is_texts,
            "environment": _is_texts,
            "secrets": _is_names,
            "retries": _is_object,
        }
        wrong = {
            name: _("there is no such field; known are %(known)s") % {"known": ", ".join(checks)}
            for name in set(body) - set(checks)
        }
        wrong |= {name: _("is needed") for name in ("project", "definition") if name not in body}
        wrong |= {name: check.__doc__ or "" for name, check in checks.items() if name in body and not check(body[name])}
        wrong |= {
            name: _("holds a NUL or half a character, or is nested too deeply")
            for name in set(body) - set(wrong)
            if not is_storable(body[name])
        }
        wrong |= _unfit(body) if not wrong else {}
        if wrong:
            raise Invalid(wrong)
        return cls(**body)


def _is_text(value: Any) -> bool:
    """a text is needed"""
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    """an object is needed"""
    return isinstance(value, dict)


def _is_texts(value: Any) -> bool:
    """an object of texts is needed"""
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _is_names(value: Any) -> bool:
    """a list of names is needed"""
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def is_storable(value: Any, levels: int = MOST_LEVELS) -> bool:
    """JSON carries NUL and halves of surrogate pairs, databases and command lines do not; nor what is nested for ever."""
    if isinstance(value, Mapping):
        return levels > 0 and all(is_storable(name) and is_storable(part, levels - 1) for name, part in value.items())
    if isinstance(value, list):
        return levels > 0 and all(is_storable(part, levels - 1) for part in value)
    return not isinstance(value, str) or ("\0" not in value and value.encode(errors="ignore").decode() == value)


def is_readable(value: str | Mapping[str, str]) -> bool:
    """It stands in one line of a list or a title, as it was written."""
    if isinstance(value, Mapping):
        return all(is_readable(name) and is_readable(text) for name, text in value.items())
    return not UNREADABLE.search(value)


def _unfit(body: Mapping[str, Any]) -> dict[str, str]:
    wrong = {
        path: _("holds a line break, a control character or one that turns the direction of text")
        for path in ("name", "labels")
        if not is_readable(body.get(path, ""))
    }
    if len(body.get("name", "")) > 100:
        wrong["name"] = _("at most 100 characters")
    if len(body.get("labels", {})) > 50 or any(len(k) > 63 or len(v) > 200 for k, v in body.get("labels", {}).items()):
        wrong["labels"] = _("at most 50 labels, with names of 63 and values of 200 characters")
    for name in body.get("environment", {}):
        if not name or "=" in name or "\0" in name or variables.is_panels(name):
            wrong[f"environment.{name}"] = _("not a name for a variable; VIRTUAL_ENV and those with PANEL_ are the panel's")
        elif len(body["environment"][name].encode()) > MOST_VALUE_BYTES:
            wrong[f"environment.{name}"] = _("at most %(most)s bytes") % {"most": MOST_VALUE_BYTES}
    total = sum(len(name) + len(value) for name, value in body.get("environment", {}).items())
    if not wrong and total > MOST_ENVIRONMENT_BYTES:
        wrong["environment"] = _("at most %(most)s bytes in all") % {"most": MOST_ENVIRONMENT_BYTES}
    return wrong


class JobShape:
    @staticmethod
    def of(job: Job, progress: Progress | None = None) -> dict[str, Any]:
        """Of a job read `for_display`."""
        code, sentence = job.why
        return {
            "number": job.pk,
            "name": job.name,
            "project": job.project.slug,
            "definition": job.version.definition.slug,
            "version": job.version.number,
            "state": job.state,
            "reason": {"code": code, "sentence": sentence},
            "progress": progress
            and {"step": progress.step, "total": progress.total, "percent": progress.percent, "left_s": progress.left_s},
            "parameters": job.parameters,
            "resources": job.request_json,
            "source": job.spec_json["source"],
            "labels": job.labels,
            "environment": job.environment,
            "secrets": job.secrets,
            "retries": job.retries_json,
            "retry_at": job.retry_at,
            "relaunch_of": job.relaunch_of_id,
            "created_by": job.created_by.get_username() if job.created_by else None,
            "created_at": job.created_at,
            "started_at": job.started_at,
            "ended_at": job.ended_at,
            "subject": f"job:{job.pk}",
            "workload": str(job.workload_id) if job.workload_id else None,
            "link": f"/jobs/{job.pk}",
        }


class AttemptShape:
    @staticmethod
    def of(attempt: Attempt) -> dict[str, Any]:
        """Of an attempt read with its workload."""
        workload = attempt.workload
        return {
            "number": attempt.number,
            "workload": str(workload.pk),
            "state": workload.state,
            "outcome": workload.outcome,
            "reason": {"code": workload.reason_code, "sentence": workload.reason},
            "counted": attempt.counted,
            "retried_as": attempt.retried_as or None,
            "created_at": attempt.created_at,
            "running_at": workload.running_at,
            "ended_at": workload.ended_at,
        }


class FileShape:
    @staticmethod
    def of(file: OutputFile, *, job: int, attempt: int | None) -> dict[str, Any]:
        return {
            "id": file.pk,
            "area": file.area,
            "path": file.path,
            "size_bytes": file.size_bytes,
            "modified_at": file.modified_at,
            "attempt": attempt,
            "rank": file.rank.number,
            "host": file.rank.host.name,
            "link": f"/jobs/{job}/files/{file.pk}",
        }


class FetchShape:
    @staticmethod
    def of(fetch: Fetch) -> dict[str, Any]:
        """`sentence` says what it waits for, where that is more than its turn."""
        return {
            "state": fetch.state,
            "received_bytes": fetch.received_bytes,
            "size_bytes": fetch.size_bytes,
            "host": fetch.host.name,
            "sentence": fetches.why_it_waits(fetch),
        }


class DefinitionShape:
    @staticmethod
    def of(definition: JobDefinition) -> dict[str, Any]:
        newest = max(definition.versions.all(), key=lambda version: version.number)
        return {
            "slug": definition.slug,
            "title": definition.title,
            "project": definition.project.slug,
            "version": newest.number,
            "parameters": newest.parameters,
            "resources": newest.resources,
            "retries": newest.retries,
        }
