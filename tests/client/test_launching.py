"""What a launch is put together from: the command line, a file, and the version that is meant."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.client.fakes import Script, a_job, a_terminal
from tpu_panel import Panel
from tpu_panel.cli import launching, options
from tpu_panel.cli.statuses import UsageError

DEFINITION = {"slug": "train", "project": "vision", "parameters": {"properties": {"size": {"type": "integer"}}}}


def launch(script: Script, *written: str) -> None:
    arguments = options.parser().parse_args(["launch", *written])
    panel = Panel("http://panel.example", "tpu_x", transport=script.transport)
    assert launching.launch(panel, a_terminal(), arguments) == 0


def known(*definitions: object) -> httpx.Response:
    return httpx.Response(200, json={"results": definitions, "next_cursor": None})


def made() -> httpx.Response:
    return httpx.Response(201, json=a_job(state="queued"))


def test_the_command_line_goes_before_the_file(tmp_path):
    (tmp_path / "launch.json").write_text(
        json.dumps({"definition": "train", "parameters": {"size": 1, "rate": 2}, "labels": {"a": "1"}, "name": "of the file"})
    )
    script = Script(known(DEFINITION), made())
    launch(script, "--file", str(tmp_path / "launch.json"), "-p", "size=7", "--label", "b=2", "--chips", "4")
    assert json.loads(script.requests[1].content) == {
        "project": "vision",
        "definition": "train",
        "parameters": {"size": 7, "rate": 2},
        "resources": {"chips": 4},
        "name": "of the file",
        "labels": {"a": "1", "b": "2"},
    }


@pytest.mark.parametrize(
    ("written", "notify"),
    [
        (["--notify", "starts, fails"], {"by_mail": True, "events": ["starts", "fails"]}),
        (["--notify", "nothing"], {"by_mail": True, "events": [], "waits_longer_than_min": None}),
        ([], {"by_mail": True, "events": ["ends"]}),
    ],
)
def test_what_is_to_be_told_goes_before_the_files_and_the_rest_stays(tmp_path, written, notify):
    (tmp_path / "launch.json").write_text(json.dumps({"definition": "train", "notify": {"by_mail": True, "events": ["ends"]}}))
    script = Script(known(DEFINITION), made())
    launch(script, "--file", str(tmp_path / "launch.json"), *written)
    assert json.loads(script.requests[1].content)["notify"] == notify


def test_parameters_are_read_by_the_version_that_is_launched():
    script = Script(
        known(DEFINITION), httpx.Response(200, json={"parameters": {"properties": {"size": {"type": "string"}}}}), made()
    )
    launch(script, "train", "--version", "2", "-p", "size=7")
    assert script.asked[1] == "GET /api/v1/definitions/vision/train/versions/2"
    body = json.loads(script.requests[2].content)
    assert (body["version"], body["parameters"]) == (2, {"size": "7"})


def test_a_definition_that_several_projects_have_needs_a_word():
    with pytest.raises(UsageError, match=r"say which with --project \(vision, speech\)"):
        launch(Script(known(DEFINITION, DEFINITION | {"project": "speech"})), "train")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "must hold a JSON object"),
        ("{", "is no JSON"),
        ('{"colour": 1}', "there is no field colour"),
        ('{"labels": []}', "labels must be an object"),
        ('{"secrets": "A"}', "secrets must be a list"),
        ('{"version": "2"}', "version must be a whole number"),
        ('{"name": 2}', "name must be a text"),
    ],
)
def test_a_file_that_is_no_launch_is_told(tmp_path, text, words):
    (tmp_path / "launch.json").write_text(text)
    with pytest.raises(UsageError, match=words):
        launch(Script(), "--file", str(tmp_path / "launch.json"))
