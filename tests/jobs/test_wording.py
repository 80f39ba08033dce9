"""What a definition may say: one answer for whatever it may not, at its place, the same for form, text and API."""

from __future__ import annotations

import io
import json
import tarfile
from datetime import datetime

import pytest

from clusters import sources
from jobs import shipped
from jobs.wording import Wording, check_known, read
from projects.actors import Actor
from projects.errors import Invalid
from tests.factories import NOON, a_cluster, a_definition, a_project, a_user

TRAIN = {
    "title": "Train",
    "template": {"command": ["python", "train.py", "${epochs}"]},
    "parameters": {"properties": {"epochs": {"type": "integer", "default": 3}}},
}
MEGABYTE = "x" * 1_000_000


def wrong(**changed):
    with pytest.raises(Invalid) as refused:
        read(TRAIN | changed)
    assert all(len(path) < 300 and len(sentence) < 500 for path, sentence in refused.value.fields.items())
    return refused.value.fields


def wrong_template(**changed):
    return wrong(template={"command": ["true"]} | changed)


# -- One spelling ----------------------------------------------------------------------------------------------


def test_what_says_nothing_is_left_out():
    said = TRAIN | {
        "title": " Train ",
        "description": "one\r\ntwo\n",
        "template": TRAIN["template"]
        | {"environment": {}, "secrets": [], "source": {"kind": "none"}, "stop_grace_s": 30, "timeout_s": None, "runtime": None},
        "resources": {"accelerator": "cpu", "cluster": ""},
        "retries": {"user_code": {"times": 0, "delay_s": 5}, "host_lost": {"times": 2}},
    }
    assert read(said) == Wording(
        title="Train",
        description="one\ntwo",
        template=TRAIN["template"],
        parameters=TRAIN["parameters"],
        resources={"accelerator": "cpu"},
        retries={"host_lost": {"times": 2, "delay_s": 10}},
    )
    assert read(TRAIN | {"template": TRAIN["template"] | {"runtime": {}}}) == read(TRAIN)


def test_the_order_of_parameters_is_part_of_what_it_says():
    one = read(TRAIN | {"parameters": {"properties": {"epochs": {}, "a": {}}}})
    other = read(TRAIN | {"parameters": {"properties": {"a": {}, "epochs": {}}}})
    assert (one.parameters["x-order"], one == other) == (["epochs", "a"], False)
    assert read(TRAIN | {"parameters": {"properties": {"epochs": {}, "a": {}}, "x-order": ["a"]}}) == other


def test_what_people_see_is_in_order_and_says_the_same():
    said = TRAIN | {"parameters": {"additionalProperties": False, "properties": {"b": {}, "epochs": {}}, "x-order": ["epochs"]}}
    shown = read(said).document()
    assert list(shown) == ["title", "template", "parameters"]
    assert list(shown["parameters"]) == ["properties", "additionalProperties"]
    assert list(shown["parameters"]["properties"]) == ["epochs", "b"]
    assert read(shown) == read(said)


@pytest.mark.django_db
@pytest.mark.parametrize("said", shipped.shipped(), ids=lambda said: said["slug"])
def test_what_is_shipped_is_the_same_read_stored_and_shown(said):
    version = a_definition(**said)
    version.refresh_from_db()
    wording = read({name: value for name, value in said.items() if name != "slug"})
    assert Wording.of(version) == wording == read(wording.document())
    assert read(json.loads(json.dumps(wording.to_json()))) == wording


# -- Whatever it may not say -----------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [None, [], "x", 3])
def test_it_is_an_object(said):
    with pytest.raises(Invalid) as refused:
        read(said)
    assert refused.value.fields == {"": "A definition is an object with title, template and parameters."}


def test_all_faults_are_told_at_once():
    with pytest.raises(Invalid) as refused:
        read(
            {
                "titel": "x",
                "description": 3,
                "template": {"comand": []},
                "parameters": {"type": "array"},
                "resources": {"chips": 0},
                "retries": {"user_code": {"times": -1}},
            }
        )
    assert refused.value.fields == {
        "title": "is needed",
        "titel": "there is no such field; known are title, description, template, parameters, resources, retries",
        "description": "a text is needed",
        "template.comand": "there is no such field; known are "
        "source, command, environment, secrets, runtime, stop_grace_s, timeout_s",
        "template.command": "is needed",
        "parameters.type": "parameters come by name, so it is object, or left out",
        "resources.chips": "a whole number from 1 is needed",
        "retries.user_code.times": "a whole number from 0 to 100 is needed",
    }


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("", "is needed"),
        (" \n", "is needed"),
        ("x" * 101, "at most 100 characters"),
        (MEGABYTE, "at most 100 characters"),
        ("two\nlines", "a line break"),
        ("\u202eevil", "turns the direction of text"),
        (7, "a text is needed"),
    ],
)
def test_a_title_is_a_line(title, words):
    assert words in wrong(title=title)["title"]


@pytest.mark.parametrize("text", ["\u2066x", "a\x07", "x" * 2001, MEGABYTE])
def test_a_description_is_readable(text):
    assert list(wrong(description=text)) == ["description"]


@pytest.mark.parametrize("where", ["title", "description"])
@pytest.mark.parametrize("text", ["nul\0", "half \ud800"])
def test_what_no_database_holds_is_refused(where, text):
    assert "NUL" in wrong(**{where: text})[""]


def test_depth_names_and_the_whole_are_bounded():
    deep = []
    for _ in range(60):
        deep = [deep]
    assert "nested too deeply" in wrong(parameters={"x": deep})[""]
    assert "more than 200 characters" in wrong(template={"command": ["true"], MEGABYTE: 1})[""]
    assert "more than 200 characters" in wrong(parameters={"properties": {MEGABYTE: {}}})[""]
    many = {f"N{number}": "x" * 4900 for number in range(100)}
    assert wrong_template(environment=many, command=["x" * 90_000])[""] == "A definition has at most 512 KiB in all."


@pytest.mark.parametrize(
    ("template", "path", "words"),
    [
        ({"command": []}, "command", "a list of texts is needed"),
        ({"command": "train"}, "command", "a list of texts is needed"),
        ({"command": ["a", 3]}, "command.1", "a text is needed"),
        ({"command": ["", "a"]}, "command.0", "the name of a program"),
        ({"command": ["a"] * 1001}, "command", "at most 1000 texts"),
        ({"command": ["a", MEGABYTE]}, "command.1", "at most 100000 bytes"),
        ({"command": ["a", "${other}"]}, "command.1", "${other} names no parameter; there is epochs."),
        ({"environment": {"A": "${other}"}}, "environment.A", "names no parameter"),
        ({"runtime": {"name": "${other}"}}, "runtime.name", "names no parameter"),
        ({"source": {"kind": "git", "address": "https://x/y", "ref": "${other}"}}, "source.ref", "names no parameter"),
        (
            {"source": {"kind": "script", "name": "a.sh", "text": "echo ${i}"}},
            "source.text",
            "A variable of the shell",
        ),
        ({"environment": []}, "environment", "an object of texts"),
        ({"environment": {"A": 1}}, "environment.A", "a text is needed"),
        ({"environment": {"A": MEGABYTE}}, "environment.A", "at most 100000 bytes"),
        ({"environment": {"PANEL_X": "1"}}, "environment.PANEL_X", "not a name for a variable"),
        ({"environment": {"A=B": "1"}}, "environment.A=B", "not a name for a variable"),
        ({"environment": {"": "1"}}, "environment.", "not a name for a variable"),
        ({"environment": {"A\u202e": "1"}}, "environment.A\u202e", "not a name for a variable"),
        ({"environment": {f"N{n}": "x" for n in range(201)}}, "environment", "at most 200 variables"),
        ({"environment": {f"N{n}": "x" * 99_000 for n in range(6)}}, "environment", "at most 500000 bytes in all"),
        ({"secrets": "KEY"}, "secrets", "a list of names"),
        ({"secrets": ["KEY", "no name"]}, "secrets.1", "not the name of a secret"),
        ({"secrets": ["KEY", "KEY"]}, "secrets.1", "twice"),
        ({"secrets": [3]}, "secrets.0", "not the name of a secret"),
        ({"secrets": [f"K{n}" for n in range(51)]}, "secrets", "at most 50 secrets"),
        ({"runtime": "tensorflow"}, "runtime", "an object of name is needed"),
        ({"runtime": {"name": 3}}, "runtime.name", "a text is needed"),
        ({"runtime": {"nam": "x"}}, "runtime.nam", "known are name"),
        ({"source": "git"}, "source", "one of these kinds is needed: none, recipe, script, archive, git"),
        ({"source": {}}, "source.kind", "one of these kinds"),
        ({"source": {"kind": "${epochs}"}}, "source.kind", "one of these kinds"),
        ({"source": {"kind": ["git"]}}, "source.kind", "one of these kinds"),
        ({"source": {"kind": "git"}}, "source.address", "is needed"),
        ({"source": {"kind": "git", "address": "ftp://x/y"}}, "source.address", "an address of one of these kinds"),
        ({"source": {"kind": "git", "address": "https://me:word@x/y"}}, "source.address", "a password"),
        ({"source": {"kind": "git", "address": "https://x/y", "ref": "--help"}}, "source.ref", "a branch, a tag"),
        ({"source": {"kind": "git", "address": "https://x/y", "branch": "a"}}, "source.branch", "known are address, ref"),
        ({"source": {"kind": "git", "address": MEGABYTE}}, "source.address", "at most 1000 bytes"),
        ({"source": {"kind": "script", "name": "../x", "text": "1"}}, "source.name", "a file's name"),
        ({"source": {"kind": "script", "name": "${epochs}", "text": "1"}}, "source.name", "a file's name"),
        ({"source": {"kind": "script", "name": ".", "text": "1"}}, "source.name", "a file's name"),
        ({"source": {"kind": "script", "name": "a.py", "text": " "}}, "source.text", "is needed"),
        ({"source": {"kind": "script", "name": "a.py", "text": MEGABYTE}}, "source.text", "at most 262144 bytes"),
        ({"source": {"kind": "recipe", "name": ""}}, "source.name", "is needed"),
        ({"source": {"kind": "archive", "digest": 3}}, "source.digest", "a text is needed"),
        ({"stop_grace_s": -1}, "stop_grace_s", "a whole number from 0 to 3600"),
        ({"stop_grace_s": True}, "stop_grace_s", "a whole number"),
        ({"timeout_s": 0}, "timeout_s", "a whole number from 1"),
        ({"timeout_s": 1.5}, "timeout_s", "a whole number from 1"),
        ({"output": "/"}, "output", "there is no such field"),
    ],
)
def test_what_a_template_may_not_be_is_told_at_its_place(template, path, words):
    found = wrong_template(**template)
    assert list(found) == [f"template.{path}"] and words in found[f"template.{path}"]


@pytest.mark.parametrize("text", ["$HOME", "${HOME}", "${x:-y}", "${Epochs}", "$${epochs}", "${epochs}/${epochs}"])
def test_what_a_shell_writes_and_what_there_is_may_stand_in_it(text):
    assert read(TRAIN | {"template": {"command": ["sh", "-c", text]}}).template["command"][2] == text


@pytest.mark.parametrize(
    ("resources", "path"),
    [
        ({"accelerator": "v99"}, "accelerator"),
        ({"accelerator": 3}, "accelerator"),
        ({"chips": "4"}, "chips"),
        ({"chips": True}, "chips"),
        ({"chips": 10_001}, "chips"),
        ({"cluster": 3}, "cluster"),
        ({"memory": 3}, "memory"),
    ],
)
def test_resources_are_what_a_launch_may_ask_for(resources, path):
    assert list(wrong(resources=resources)) == [f"resources.{path}"]


# -- What it names ---------------------------------------------------------------------------------------------


def missing(project, **said):
    try:
        check_known(read(TRAIN | {"template": {"command": ["true"]}} | said), project)
    except Invalid as refused:
        return refused.fields
    return {}


@pytest.mark.django_db
def test_what_it_names_is_there():
    a_cluster(name="lab")
    project = a_project(slug="vit")
    found = missing(
        project,
        template={"command": ["true"], "runtime": {"name": "jax"}, "source": {"kind": "recipe", "name": "none"}},
        resources={"accelerator": "cpu", "cluster": "attic"},
    )
    assert found == {
        "template.runtime.name": "there is no such runtime; known are tensorflow, torch_xla",
        "template.source.name": "there is no such recipe; known are digits_tensorflow, digits_xla",
        "resources.cluster": "there is no such cluster; there is lab",
    }
    right = {"command": ["true"], "runtime": {"name": "tensorflow"}, "source": {"kind": "recipe", "name": "digits_xla"}}
    assert missing(project, template=right, resources={"accelerator": "cpu", "cluster": "lab"}) == {}
    assert missing(project, template={"command": ["${epochs}"], "runtime": {"name": "${epochs}"}}) == {}
    assert missing(project, template={"command": ["true"], "secrets": ["NOT_SET_YET"]}) == {}


@pytest.mark.django_db
def test_an_archive_is_one_of_its_own_project():
    project, other = a_project(slug="vit"), a_project()
    stored = an_archive(project)
    template = {"command": ["true"], "source": {"kind": "archive", "digest": stored}}
    assert missing(project, template=template) == {}
    assert list(missing(other, template=template)) == ["template.source.digest"]


def an_archive(project, now: datetime = NOON) -> str:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo("train.py")
        entry.size = 1
        archive.addfile(entry, io.BytesIO(b"1"))
    packed.seek(0)
    return sources.upload(project=project, name="code.tar.gz", file=packed, by=Actor(user=a_user()), now=now).source_id
