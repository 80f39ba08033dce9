"""The form that edits a definition: from what it says to fields and back, and each error at its field."""

from __future__ import annotations

import pytest
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from hypothesis import given
from hypothesis import strategies as st

from jobs import shipped
from jobs.definition_form import MOST_ROWS, DefinitionForm
from jobs.wording import read, same
from projects.errors import Invalid
from tests.jobs.test_definition_rows import SCHEMAS

SHIPPED = [{name: value for name, value in one.items() if name != "slug"} for one in shipped.shipped()]
WHOLE = {
    "title": "Train",
    "description": "one\ntwo",
    "template": {
        "source": {"kind": "git", "address": "https://host/code", "ref": "${ref}"},
        "command": ["python", "train.py", "--epochs", "${epochs}"],
        "environment": {"A": "1", "B": "two\nlines"},
        "secrets": ["KEY", "OTHER"],
        "runtime": {"name": "tensorflow"},
        "stop_grace_s": 60,
        "timeout_s": 3600,
    },
    "parameters": {
        "type": "object",
        "properties": {"ref": {"type": "string", "default": "main"}, "epochs": {"type": "integer", "minimum": 1}},
        "required": ["epochs"],
        "additionalProperties": False,
        "$defs": {"x": True},
    },
    "resources": {"accelerator": "cpu", "chips": 2, "cluster": "lab"},
    "retries": {"user_code": {"times": 1, "delay_s": 30}, "host_lost": {"times": 3}},
}
VALUES = st.none() | st.booleans() | st.integers(-9, 99) | st.text("ab\n[\"' =", max_size=5)
SOURCES = [
    "git",
    {"kind": "none"},
    {"kind": "odd"},
    {"kind": "recipe", "name": "x"},
    {"kind": "git", "address": "a"},
    {"kind": "git", "x": "y"},
]
BUDGETS = st.dictionaries(st.just("times"), VALUES)
TEMPLATES = st.fixed_dictionaries(
    {},
    optional={
        "source": st.sampled_from(SOURCES),
        "command": st.lists(VALUES, max_size=4) | VALUES | st.just(["/bin/sh", "-c", "a\nb"]) | st.just(["/bin/sh", "-c"]),
        "environment": st.dictionaries(st.text("AB=", max_size=3), VALUES, max_size=3) | VALUES,
        "secrets": st.lists(VALUES, max_size=3) | VALUES,
        "runtime": st.sampled_from([None, {}, {"name": "x"}, {"name": 3}, {"x": "y"}, "x"]),
        "stop_grace_s": VALUES | st.floats(0, 9),
        "odd": VALUES,
    },
)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "title": VALUES,
        "description": VALUES,
        "template": TEMPLATES | VALUES,
        "parameters": st.fixed_dictionaries(
            {},
            optional={
                "type": VALUES,
                "properties": st.dictionaries(st.sampled_from(["a", "b", "", "A b"]), SCHEMAS | VALUES, max_size=3) | VALUES,
                "required": st.lists(st.sampled_from(["a", "c"]), unique=True) | VALUES,
                "x-order": st.lists(st.sampled_from(["a", "c"]), unique=True) | VALUES,
                "$defs": VALUES,
            },
        )
        | VALUES,
        "resources": st.dictionaries(st.sampled_from(["accelerator", "chips", "memory"]), VALUES) | VALUES,
        "retries": st.dictionaries(st.sampled_from(["user_code", "odd"]), st.dictionaries(st.just("times"), VALUES) | VALUES)
        | VALUES,
        "odd": VALUES,
    },
)


def sent(form, **changed):
    """What a browser sends of it, line ends included; a field that `changed` has as None is not sent."""
    query = QueryDict(mutable=True)
    for one in [*form.all_fields]:
        if one.path != "secrets":
            query[one.path] = one.text.replace("\n", "\r\n")
    query.setlist("secrets", form.secrets)
    query.setlist("row", [row.key for row in form.rows])
    for row in form.rows:
        if row.is_required:
            query[f"{row.prefix}.required"] = "on"
    for name, value in changed.items():
        query[name] = value
    return query


def posted(form, **changed):
    return DefinitionForm.posted(sent(form, **changed), MultiValueDict(), None)


def refused(form):
    """The errors at its fields, by what is wrong with the document."""
    try:
        read(form.document())
    except Invalid as error:
        form.refuse(error.fields)
    return form.errors, form.general


# -- There and back --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [*SHIPPED, WHOLE], ids=lambda said: said["title"])
def test_what_a_definition_says_is_in_its_form_and_comes_back_from_the_browser(said):
    document = read(said).document()
    form = DefinitionForm.of(document)
    assert form.lost(document) == []
    again = posted(form)
    assert (again.unread, again.document()) == ({}, document)
    assert list(again.document()["parameters"]["properties"]) == list(document["parameters"]["properties"])


@given(DOCUMENTS)
def test_whatever_is_said_is_in_the_form_or_told_to_be_lost(said):
    form = DefinitionForm.of(said)
    if form.lost(said):
        return
    shown = form.document()
    assert DefinitionForm.of(shown).lost(shown) == []
    assert same(posted(form).document(), shown)


@pytest.mark.parametrize(
    ("changed", "lost"),
    [
        ({"titel": "x"}, ["titel"]),
        ({"title": "two\nlines"}, ["title"]),
        ({"template": {"command": ["a"], "output": "/x"}}, ["template.output"]),
        ({"template": {"command": ["a"], "source": {"kind": "git", "address": "a", "branch": "b"}}}, ["template.source.branch"]),
        ({"template": "x"}, ["template"]),
        ({"resources": {"chips": [1]}}, ["resources.chips"]),
        ({"resources": {"chips": "two"}}, []),
        ({"parameters": {"properties": {"a": 3}}}, []),
        ({"parameters": {"properties": {f"a{number}": {} for number in range(MOST_ROWS + 1)}}}, ["parameters.properties"]),
        ({"template": {"command": ["a"], "source": {"kind": "none"}, "secrets": [], "timeout_s": None}}, []),
    ],
)
def test_what_the_form_has_no_field_for_is_told(changed, lost):
    said = WHOLE | changed
    assert DefinitionForm.of(said).lost(said) == lost


# -- Typed -----------------------------------------------------------------------------------------------------


@pytest.fixture
def form():
    return DefinitionForm.of(read(WHOLE).document())


def test_a_line_of_the_shell_and_arguments_are_two_ways_to_write_a_command(form):
    assert posted(form, command="a\r\n-b c").document()["template"]["command"] == ["a", "-b c"]
    shell = {"command.kind": "shell", "command": "set -e\r\na | b"}
    assert posted(form, **shell).document()["template"]["command"] == ["/bin/sh", "-c", "set -e\na | b"]
    assert posted(form, command='["a", "b\\nc"]').document()["template"]["command"] == ["a", "b\nc"]
    assert posted(form, command='["a"').document()["template"]["command"] == ['["a"']
    assert "command" not in posted(form, command=" ").document()["template"]


def test_numbers_that_are_none_stay_as_they_were_typed(form):
    typed = {"resources.chips": "two", "stop_grace_s": "1.5", "timeout_s": "", "retries.user_code.times": "x"}
    document = posted(form, **typed).document()
    assert (document["resources"]["chips"], document["template"]["stop_grace_s"]) == ("two", 1.5)
    assert "timeout_s" not in document["template"] and document["retries"]["user_code"]["times"] == "x"


def test_another_kind_of_source_says_what_its_own_fields_say(form):
    typed = {"source.kind": "script", "script.name": " a.py ", "script.text": "print(1)\r\n"}
    found = posted(form, **typed)
    assert found.document()["template"]["source"] == {"kind": "script", "name": "a.py", "text": "print(1)\n"}
    assert found.texts["git.address"] == "https://host/code"  # and is there when one goes back to git
    assert "source" not in posted(form, **{"source.kind": "none"}).document()["template"]


def test_texts_that_say_nothing_are_told_at_their_fields(form):
    typed = {"environment": "A", "rest": "{", "row.0.more": "x", "row.1.name": "ref"}
    assert posted(form, **typed).unread == {
        "environment": "line 1 has no “=”",
        "rest": "line 1: A name in double quotes is needed.",
        "row.0.more": "line 1: A value is needed: a text in double quotes, a number, true, false, null, a list or an object.",
        "row.1.name": "another parameter has this name",
    }
    assert posted(form, rest="[]").unread == {"rest": "an object is needed"}


def test_rows_are_added_removed_and_moved(form):
    def names():
        return [row.name for row in form.rows]

    form.move_row("1", -1)
    assert names() == ["epochs", "ref"]
    form.move_row("1", -1)
    form.move_row("0", 1)
    form.move_row("none", 1)
    assert names() == ["epochs", "ref"]
    added = form.add_row()
    assert (added.key, names(), list(form.document()["parameters"]["properties"])) == (
        "2",
        ["epochs", "ref", ""],
        ["epochs", "ref"],
    )
    form.remove_row("1")
    form.remove_row("none")
    assert names() == ["ref", ""]
    for _ in range(MOST_ROWS):
        form.add_row()
    assert (len(form.rows), form.add_row()) == (MOST_ROWS, None)


def test_a_row_that_is_no_row_of_the_form_is_none(form):
    query = sent(form)
    query.setlist("row", ["1", "1", "x", '"><b', "0"])
    found = DefinitionForm.posted(query, MultiValueDict(), None)
    assert [row.key for row in found.rows] == ["1", "0"]


# -- Errors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "path", "words"),
    [
        ({"title": ""}, "title", "is needed"),
        ({"description": "\u202e"}, "description", "turns the direction"),
        ({"source.kind": "odd"}, "source.kind", "one of these kinds"),
        ({"git.address": "ftp://x/y"}, "git.address", "an address of one of these kinds"),
        ({"git.ref": "${other}"}, "git.ref", "names no parameter"),
        ({"source.kind": "recipe"}, "recipe.name", "is needed"),
        ({"source.kind": "script", "script.name": "../x", "script.text": "1"}, "script.name", "a file's name"),
        ({"source.kind": "archive"}, "archive.digest", "is needed"),
        ({"command": ""}, "command", "is needed"),
        ({"command": "a\r\n${other}"}, "command", "line 2: ${other} names no parameter"),
        ({"command": "${other}", "command.kind": "shell"}, "command", "${other} names no parameter"),
        ({"environment": "PANEL_X=1"}, "environment", "PANEL_X: not a name for a variable"),
        ({"secrets": "no name"}, "secrets", "no name: not the name of a secret"),
        ({"runtime": "${other}"}, "runtime", "names no parameter"),
        ({"stop_grace_s": "-1"}, "stop_grace_s", "a whole number"),
        ({"timeout_s": "x"}, "timeout_s", "a whole number"),
        ({"resources.chips": "0"}, "resources.chips", "a whole number from 1"),
        ({"resources.accelerator": "v99"}, "resources.accelerator", "no such accelerator"),
        ({"retries.user_code.times": "x"}, "retries.user_code.times", "a whole number"),
        ({"rest": '{"type": "array"}'}, "rest", "type: parameters come by name"),
        ({"row.1.name": "Epochs"}, "row.1.name", "begins with a letter"),
        ({"row.1.minimum": "x"}, "row.1.minimum", "a number is needed"),
        ({"row.1.default": "many"}, "row.1.default", "a whole number is needed"),
        ({"row.1.more": '{"pattern": "("}'}, "row.1.more", "pattern: not a regular expression"),
        ({"row.1.kind": "choice", "row.1.choices": ""}, "row.1.choices", "at least one value"),
        ({"row.1.kind": "json", "row.1.json": '{"type": "x"}'}, "row.1.json", "type: there is no such type"),
        ({"row.1.kind": "json", "row.1.json": "3"}, "row.1.name", "an object is needed"),
        ({"row.0.title": "x" * 101}, "row.0.title", "at most 100 characters"),
    ],
)
def test_an_error_stands_at_its_field(form, typed, path, words):
    found = posted(form, **({"command": "true", "git.ref": "x"} | typed))
    errors, general = refused(found)
    assert (list(errors), general) == ([path], []) and words in errors[path]
    assert [one.path for one, _sentence in found.faults] == [path]


def test_a_fault_of_a_parameter_tells_its_name(form):
    found = posted(form, **{"row.1.minimum": "x", "title": ""})
    refused(found)
    assert [(one.title, one.id) for one, _sentence in found.faults] == [
        ("Title", "definition-title"),
        ("epochs: Least", "definition-row-1-minimum"),
    ]


def test_an_error_of_no_field_is_general(form):
    form.refuse({"": "It is too large.", "odd.path": "is odd"})
    assert form.general == ["It is too large.", "odd.path: is odd"]
