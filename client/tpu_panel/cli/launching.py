"""`launch` and `relaunch`: what is asked for, put together from the command line and a file."""

from __future__ import annotations

import argparse
import json
import os
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tpu_panel.cli import parameters, watching
from tpu_panel.cli.parameters import pairs
from tpu_panel.cli.statuses import Status, UsageError
from tpu_panel.cli.terminal import Terminal
from tpu_panel.job import Job
from tpu_panel.panel import Panel

FIELDS = (
    "project",
    "definition",
    "version",
    "parameters",
    "resources",
    "name",
    "labels",
    "environment",
    "secrets",
    "retries",
    "notify",
)
WORDS: dict[type, str] = {dict: "an object", list: "a list", int: "a whole number", str: "a text"}


def launch(panel: Panel, terminal: Terminal, arguments: argparse.Namespace) -> int:
    body = _file(arguments.file) if arguments.file else {}
    slug = arguments.definition or body.get("definition")
    if not slug:
        raise UsageError("Say which definition to launch: tpu-panel launch DEFINITION")
    definition = _definition(panel, slug, arguments.project or body.get("project") or os.environ.get("PANEL_PROJECT", ""))
    project = definition["project"]
    version = body.get("version") if arguments.version is None else arguments.version
    if version is not None:
        definition = panel.definition_version(slug, version, project=project)
    given = parameters.parse(
        arguments.parameters, definition["parameters"], slug, lambda path: _upload(panel, terminal, path, project)
    )
    resources = {"chips": arguments.chips, "accelerator": arguments.accelerator, "cluster": arguments.cluster}
    asked = {
        **body,
        "project": project,
        "definition": slug,
        "version": version,
        "parameters": {**body.get("parameters", {}), **given},
        "resources": {**body.get("resources", {}), **{name: value for name, value in resources.items() if value is not None}},
        "labels": {**body.get("labels", {}), **pairs("--label", arguments.labels)},
        "environment": {**body.get("environment", {}), **pairs("--env", arguments.environment)},
        "secrets": [*body.get("secrets", []), *arguments.secrets],
        "name": arguments.name or body.get("name", ""),
        "notify": body.get("notify", {}) if arguments.notify is None else {**body.get("notify", {}), **_notify(arguments.notify)},
    }
    if arguments.check:
        return _checked(terminal, arguments, panel.check(**asked))
    return _begun(terminal, arguments, lambda key: panel.launch(**asked, key=key))


def relaunch(panel: Panel, terminal: Terminal, arguments: argparse.Namespace) -> int:
    before = panel.job(arguments.number)
    return _begun(terminal, arguments, lambda key: before.relaunch(with_checkpoints=arguments.with_checkpoints, key=key))


def _checked(terminal: Terminal, arguments: argparse.Namespace, found: Mapping[str, Any]) -> int:
    terminal.print(json.dumps(found) if arguments.json else str(found["sentence"]))
    return Status.DONE if found["starts"] == "now" else Status.FAILED


def _begun(terminal: Terminal, arguments: argparse.Namespace, begin: Any) -> int:
    key = uuid.uuid4().hex
    try:
        job: Job = begin(key)
    except KeyboardInterrupt:
        terminal.note("Interrupted: it may have been launched all the same. Look with: tpu-panel jobs --mine")
        return Status.INTERRUPTED
    if arguments.follow:
        return watching.watch(terminal, job, as_json=arguments.json)
    if arguments.json:
        terminal.print(json.dumps(job.data))
    else:
        terminal.print(f"Job {job.number} is {job.state}: {job.url}")
        terminal.note(f"Follow it: tpu-panel logs {job.number} -f    Wait for it: tpu-panel wait {job.number}")
    return Status.DONE


def _notify(text: str) -> dict[str, Any]:
    """How the person is told is as they have set it. Which events there are the panel knows, and says."""
    if text == "nothing":
        return {"events": [], "waits_longer_than_min": None}
    return {"events": [name for name in text.replace(" ", "").split(",") if name]}


def _definition(panel: Panel, slug: str, project: str) -> Mapping[str, Any]:
    """The one that is meant; its project goes without saying where no other has one of that name. Raises UsageError."""
    known = panel.definitions(project)
    found = [one for one in known if one["slug"] == slug]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"Several projects have {slug}: say which with --project ({', '.join(one['project'] for one in found)})."
        )
    slugs = sorted({str(one["slug"]) for one in known})
    place = f"Project {project}" if project else "None of your projects"
    raise UsageError(f"{place} has {'no' if project else 'a'} definition {slug}; there is {', '.join(slugs) or 'none'}.")


def _upload(panel: Panel, terminal: Terminal, path: Path, project: str) -> str:
    terminal.bar(f"Uploading {path} ...")
    try:
        return panel.upload(path, project=project)
    finally:
        terminal.bar("")


def _file(name: str) -> dict[str, Any]:
    """A launch as the API takes it. Raises UsageError."""
    try:
        found = json.loads(sys.stdin.read() if name == "-" else Path(name).read_text())
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is no JSON: {error}.") from None
    if not isinstance(found, dict):
        raise UsageError(f"{name} must hold a JSON object, as POST /api/v1/jobs takes it.")
    objects = ("parameters", "resources", "labels", "environment", "retries", "notify")
    kinds: dict[str, type] = {**dict.fromkeys(objects, dict), "secrets": list, "version": int}
    for field, value in found.items():
        if field not in FIELDS:
            raise UsageError(f"{name}: there is no field {field}; known are {', '.join(FIELDS)}.")
        if not isinstance(value, kinds.get(field, str)):
            raise UsageError(f"{name}: {field} must be {WORDS[kinds.get(field, str)]}.")
    return found
