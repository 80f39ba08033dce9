"""`definitions`: what can be launched, and which parameters one takes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from tpu_panel.cli import tables, words
from tpu_panel.cli.statuses import Status, UsageError
from tpu_panel.cli.tables import Column
from tpu_panel.cli.terminal import Terminal
from tpu_panel.panel import Panel

DEFINITIONS = [
    Column("definition"),
    Column("project", gives=3),
    Column("version", is_figure=True),
    Column("asks for"),
    Column("last job", is_figure=True),
    Column("title", gives=1, is_sentence=True),
]
PARAMETERS = [Column("parameter"), Column("type"), Column("default", gives=2), Column("what it is", gives=1, is_sentence=True)]


def definitions(panel: Panel, terminal: Terminal, arguments: argparse.Namespace) -> int:
    found = [one for one in panel.definitions(arguments.project or "") if arguments.definition in (None, one["slug"])]
    if arguments.definition and not found:
        raise UsageError(f"There is no definition {arguments.definition} in your projects.")
    if arguments.json:
        terminal.print(json.dumps(found))
    elif arguments.definition:
        for one in found:
            _print_one(terminal, one)
    else:
        rows = [
            [
                words.plain(text)
                for text in (one["slug"], one["project"], str(one["version"]), _asks_for(one), _last(one), one["title"])
            ]
            for one in found
        ]
        for line in tables.lines(terminal, DEFINITIONS, rows):
            terminal.print(line)
    return Status.DONE


def _print_one(terminal: Terminal, one: Mapping[str, Any]) -> None:
    needed = one["parameters"].get("required", [])
    rows = [
        ("definition", f"{one['project']}/{one['slug']}, version {one['version']}"),
        ("title", one["title"]),
        ("what it is", one["description"]),
        ("asks for", _asks_for(one)),
    ]
    for line in tables.pairs(terminal, [(name, words.plain(text)) for name, text in rows]):
        terminal.print(line)
    parts = one["parameters"].get("properties", {})
    table = [[words.plain(text) for text in _parameter(name, part, name in needed)] for name, part in parts.items()]
    if table:
        terminal.print()
        for line in tables.lines(terminal, PARAMETERS, table):
            terminal.print(line)


def _parameter(name: str, part: Mapping[str, Any], is_needed: bool) -> list[str]:
    choices = " | ".join(json.dumps(value) for value in part.get("enum", []))
    default = json.dumps(part["default"]) if "default" in part else "(needed)" if is_needed else ""
    return [name, choices or str(part.get("type", "any")), default, str(part.get("description") or part.get("title", ""))]


def _asks_for(one: Mapping[str, Any]) -> str:
    asked = one["resources"]
    return f"{asked.get('chips', 1)} x {asked['accelerator']}" if asked.get("accelerator") else ""


def _last(one: Mapping[str, Any]) -> str:
    return str(one["last_job"]["number"]) if one["last_job"] else ""
