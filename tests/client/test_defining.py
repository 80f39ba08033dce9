"""What `definitions` prints, for people and for programs."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.client.fakes import Script, a_terminal
from tpu_panel import Panel
from tpu_panel.cli import defining, options
from tpu_panel.cli.statuses import UsageError

DIGITS = {
    "project": "first-project",
    "slug": "digits",
    "title": "Handwritten digits\x1b[2J",
    "description": "",
    "version": 3,
    "resources": {"accelerator": "cpu", "chips": 2},
    "last_job": {"number": 17},
    "parameters": {
        "properties": {
            "epochs": {"type": "integer", "default": 10, "description": "Times that each digit is seen."},
            "precision": {"enum": ["float32", "bfloat16"], "default": "float32", "title": "Precision"},
            "data": {"type": "string"},
        },
        "required": ["data"],
    },
}
COMMAND = DIGITS | {"slug": "command", "last_job": None, "resources": {}, "parameters": {"type": "object"}}


def run(*written: str):
    arguments, terminal = options.parser().parse_args(["definitions", *written]), a_terminal()
    script = Script(httpx.Response(200, json={"results": [DIGITS, COMMAND], "next_cursor": None}))
    panel = Panel("http://panel.example", "tpu_x", transport=script.transport)
    assert defining.definitions(panel, terminal, arguments) == 0
    return terminal.out.shown.decode()


def test_all_that_can_be_launched_is_a_line_each():
    head, digits, command = run().splitlines()
    assert head.split()[:2] == ["definition", "project"]
    assert digits.split()[:7] == ["digits", "first-project", "3", "2", "x", "cpu", "17"]
    assert "\x1b" not in digits and command.startswith("command")


def test_one_tells_its_parameters_with_defaults_and_choices():
    shown = run("digits")
    rows = {line.split()[0]: line for line in shown.splitlines() if line}
    assert "first-project/digits, version 3" in shown and "command" not in shown
    assert rows["epochs"].split()[:3] == ["epochs", "integer", "10"] and rows["epochs"].endswith("Times that each digit is seen.")
    assert '"float32" | "bfloat16"' in rows["precision"]
    assert rows["data"].split() == ["data", "string", "(needed)"]


def test_programs_get_what_the_panel_says():
    assert [one["slug"] for one in json.loads(run("--json"))] == ["digits", "command"]


def test_a_name_that_is_none_is_told():
    with pytest.raises(UsageError, match="no definition digitz in your projects"):
        run("digitz")
