"""From texts to values and back; what is wrong is found by the rules of the API and put at its field."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from jobs import parameters
from jobs.forms import LaunchForm
from jobs.schema_form import NOTHING, Form, Kind, SchemaField, json_of, number_of
from projects.errors import Invalid

STRINGS = {"type": "array", "items": {"type": "string"}}


def field(schema, *, is_required=False):
    return SchemaField("x", schema, is_required)


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, Kind.LINE),
        ({"type": "string", "format": "textarea"}, Kind.TEXT),
        ({"type": "string", "format": "command"}, Kind.TEXT),
        ({"type": "string", "format": "script"}, Kind.TEXT),
        ({"type": "string", "maxLength": 100_000}, Kind.TEXT),
        ({"type": "string", "default": "two\nlines"}, Kind.TEXT),
        ({"type": "string", "format": "archive"}, Kind.ARCHIVE),
        ({"type": "string", "enum": ["a", "b"]}, Kind.CHOICE),
        ({"enum": [1, "1", None]}, Kind.CHOICE),
        ({"type": "integer"}, Kind.WHOLE),
        ({"type": "number"}, Kind.NUMBER),
        ({"type": "boolean"}, Kind.SWITCH),
        (STRINGS, Kind.LINES),
        ({"type": "array", "items": {"type": "integer"}}, Kind.JSON),
        ({"type": "array"}, Kind.JSON),
        ({"type": "object"}, Kind.JSON),
        ({"type": ["integer", "null"]}, Kind.JSON),
        ({"enum": []}, Kind.JSON),
        ({}, Kind.JSON),
    ],
)
def test_a_schema_says_what_a_field_is(schema, kind):
    assert field(schema).kind == kind


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "vit", "vit"),
        ({"type": "string"}, " vit ", " vit "),
        ({"type": "string"}, "", NOTHING),
        ({"type": "string", "default": ""}, "", NOTHING),
        ({"type": "string", "default": "vit"}, "", ""),  # what was cleared is not filled in again unseen
        ({"type": "string", "format": "script"}, "a\r\nb\r\n", "a\nb\n"),
        ({"type": "integer"}, "12", 12),
        ({"type": "integer"}, " -12 ", -12),
        ({"type": "integer"}, "1e3", 1000),
        ({"type": "integer"}, "1.5", 1.5),
        ({"type": "integer"}, "", NOTHING),
        ({"type": "integer"}, "many", "many"),
        ({"type": "integer"}, "2,000", "2,000"),
        ({"type": "integer"}, "٣", "٣"),
        ({"type": "integer"}, "9" * 5000, "9" * 5000),
        ({"type": "number"}, "3e-4", 0.0003),
        ({"type": "number"}, ".5", 0.5),
        ({"type": "number"}, "1.", 1.0),
        ({"type": "number"}, "nan", "nan"),
        ({"type": "number"}, "1e999", "1e999"),
        ({"type": "number"}, "1_000", "1_000"),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "", False),
        ({"type": "boolean"}, "perhaps", "perhaps"),
        ({"enum": [1, "1", None]}, "1", 1),
        ({"enum": [1, "1", None]}, '"1"', "1"),
        ({"enum": [1, "1", None]}, "null", None),
        ({"enum": [1, "1", None]}, "", NOTHING),
        ({"enum": ["a"]}, "b", "b"),
        (STRINGS, "a\r\nb\r\n", ["a", "b"]),
        (STRINGS, "a\n\nb", ["a", "", "b"]),
        (STRINGS, "", NOTHING),
        (STRINGS | {"default": ["a"]}, "", []),
        (STRINGS, '["two\\nlines"]', ["two\nlines"]),
        (STRINGS, "[not json", ["[not json"]),
        ({"type": "object"}, '{"a": [1, 2.5]}', {"a": [1, 2.5]}),
        ({"type": "object"}, "{a}", "{a}"),
        ({"type": "object"}, " ", NOTHING),
        ({"type": "object"}, "NaN", "NaN"),
        ({"type": "object"}, "[1e999]", "[1e999]"),
        ({"type": "object"}, "[" * 100_000, "[" * 100_000),
    ],
)
def test_a_text_becomes_a_value_or_goes_on_as_it_is(schema, text, value):
    found = field(schema).value_of(text)
    assert (found, type(found)) == (value, type(value))


def test_a_list_that_is_needed_may_be_empty():
    assert field(STRINGS, is_required=True).value_of("") == []


@given(st.text() | st.from_regex(r"[-+0-9.eE]{0,30}"))
def test_a_number_is_one_that_json_can_carry(text):
    for whole in (True, False):
        found = number_of(text, whole=whole)
        assert found is NOTHING or isinstance(found, str | int) or math.isfinite(found)
        if isinstance(found, str):
            assert found == text.strip()


@given(st.text())
def test_json_is_that_of_the_standard(text):
    found = json_of(text)
    if found is not NOTHING:
        json.dumps(found, allow_nan=False)


VALUES = {
    Kind.LINE: ({"type": "string"}, st.text(st.characters(exclude_characters="\r"), min_size=1)),
    Kind.WHOLE: ({"type": "integer"}, st.integers()),
    Kind.NUMBER: ({"type": "number"}, st.floats(allow_nan=False, allow_infinity=False) | st.integers()),
    Kind.SWITCH: ({"type": "boolean"}, st.booleans()),
    Kind.CHOICE: ({"enum": ["a", 1, "1", None, [1], "ü"]}, st.sampled_from(["a", 1, "1", None, [1], "ü"])),
    Kind.LINES: (STRINGS, st.lists(st.text(st.characters(exclude_characters="\r")), min_size=1)),
    Kind.JSON: (
        {},
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
        ),
    ),
}


@given(st.data(), st.sampled_from(sorted(VALUES)))
def test_a_value_that_is_shown_and_sent_again_is_the_same(data, kind):
    schema, values = VALUES[kind]
    value, one = data.draw(values), field(schema, is_required=True)
    assert one.kind == kind
    found = one.value_of(one.text_of(value).replace("\n", "\r\n") if kind == Kind.LINES else one.text_of(value))
    assert (found, type(found)) == (value, type(value)) or (kind == Kind.NUMBER and found == value)


def test_help_says_what_it_takes():
    schema = {"type": "integer", "description": "Times.", "minimum": 1, "maximum": 9, "multipleOf": 2, "default": 4}
    assert field(schema).help == "Times. 1 to 9, a multiple of 2. Default: 4."
    assert field({"type": "number", "exclusiveMinimum": 0, "maximum": 1}).help == "More than 0, at most 1. May be left empty."
    assert field({"type": "string"}, is_required=True).help == ""
    assert field(STRINGS, is_required=True).help == "One a line."
    assert (field({}).title, SchemaField("batch_size", {"title": "Batch"}).title) == ("X", "Batch")


def test_a_choice_that_none_is_made_of_begins_empty():
    assert [one.text for one in field({"enum": ["a", 1]}).choices] == ["", '"a"', "1"]
    assert [one.text for one in field({"enum": ["a", 1], "default": 1}).choices] == ['"a"', "1"]


def test_an_empty_choice_has_a_word():
    assert [(one.text, one.label) for one in field({"enum": ["", "jax"], "default": ""}).choices] == [
        ('""', "none"),
        ('"jax"', "jax"),
    ]


def test_what_is_run_comes_before_how():
    schema = {"properties": {name: {} for name in ("runtime", "line", "ref")}}
    template = {"command": ["sh", "${line}"], "source": {"kind": "git", "ref": "${ref}"}, "runtime": {"name": "${runtime}"}}
    assert [one.name for one in Form.of(schema, template).fields] == ["ref", "line", "runtime"]


def test_a_schema_may_be_odd():
    assert Form.of({}) == Form([], True)
    form = Form.of({"properties": {"a b": True, "c": {}}, "required": ["c"], "additionalProperties": False})
    assert [(one.path, one.kind, one.is_required) for one in form.fields] == [
        ("parameters.a b", Kind.JSON, False),
        ("parameters.c", Kind.JSON, True),
    ]
    assert not form.takes_more


def test_fields_come_in_the_order_that_is_said_then_in_that_of_the_template():
    schema = {"properties": {name: {} for name in "abcd"}, "x-order": ["d", "gone"]}
    template = {"command": ["train", "--c=${c}", "${b}${c}"], "environment": {"D": "${d}"}}
    assert [one.name for one in Form.of(schema, template).fields] == ["d", "c", "b", "a"]
    assert [one.name for one in Form.of({"properties": schema["properties"]}).fields] == ["a", "b", "c", "d"]


# -- The whole form ------------------------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "properties": {
        "epochs": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "rate": {"type": "number", "exclusiveMinimum": 0},
        "name": {"type": "string", "maxLength": 5},
        "kind": {"enum": ["adam", "sgd"]},
        "jit": {"type": "boolean", "default": True},
        "layers": STRINGS | {"maxItems": 2},
        "mesh": {"type": "object", "properties": {"x": {"type": "integer"}}},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def a_form(schema=SCHEMA, resources=None, **texts):
    version = SimpleNamespace(
        parameters=schema,
        template={"command": ["train"]},
        resources=resources or {"accelerator": "cpu", "chips": 1},
        definition=SimpleNamespace(slug="train"),
        retries={},
        number=1,
    )
    sent = QueryDict(mutable=True)
    for path, text in texts.items():
        sent.setlist(path.replace("__", "."), text if isinstance(text, list) else [text])
    return LaunchForm.posted(SimpleNamespace(slug="vit"), version, sent, {})


@given(
    st.fixed_dictionaries(
        {}, optional={name: st.text(max_size=8) | st.from_regex(r"-?[0-9.]{1,4}") for name in SCHEMA["properties"]}
    )
)
def test_whatever_is_converted_the_check_of_the_api_decides(typed):
    values = a_form(**{f"parameters__{name}": text for name, text in typed.items()}).body["parameters"]
    assert set(values) <= set(typed)
    form = a_form(**{f"parameters__{name}": text for name, text in typed.items()})
    try:
        parameters.check(SCHEMA, values)
        wrong = {}
    except Invalid as refused:
        wrong = refused.fields
    form.refuse(wrong)
    assert not form.general
    assert bool(form.faults) == bool(wrong)
    assert {path.split(".")[1] for path in wrong} == {one.path.split(".")[1] for one, _sentence in form.faults}


def test_a_body_is_what_a_script_would_send():
    form = a_form(
        parameters__epochs="7",
        parameters__rate="3e-4",
        parameters__name="",
        parameters__kind='"sgd"',
        parameters__jit=["", "true"],
        parameters__layers="a\r\nb",
        parameters__mesh='{"x": 1}',
        resources__accelerator="cpu",
        resources__chips="4",
        resources__cluster="",
        name=" vit ",
        labels="sweep = a=b\r\n\r\n2024=x",
        environment="A=  spaced \nB=",
        secrets=["TOKEN", "KEY"],
    )
    assert form.body == {
        "project": "vit",
        "definition": "train",
        "parameters": {"epochs": 7, "rate": 0.0003, "kind": "sgd", "jit": True, "layers": ["a", "b"], "mesh": {"x": 1}},
        "resources": {"accelerator": "cpu", "chips": 4},
        "name": "vit",
        "labels": {"sweep": "a=b", "2024": "x"},
        "environment": {"A": "  spaced ", "B": ""},
        "secrets": ["TOKEN", "KEY"],
        "retries": {},
    }
    assert not form.unread


def test_a_switch_that_is_off_is_false_and_one_that_was_not_drawn_is_left_out():
    assert a_form(parameters__jit="").body["parameters"] == {"jit": False}
    assert a_form().body["parameters"] == {}
    assert a_form().short_body == {"project": "vit", "definition": "train"}


def test_any_cluster_is_said_where_the_definition_names_one():
    named = {"accelerator": "cpu", "chips": 1, "cluster": "local"}
    assert a_form(resources=named, resources__cluster="").body["resources"] == {"cluster": ""}
    assert a_form(resources__cluster="").body["resources"] == {}


def test_lines_that_are_no_pairs_are_told():
    form = a_form(labels="a=1\nb", environment="A=1\nA=2")
    assert (form.body and form.unread) == {"labels": "line 2 has no “=”", "environment": "line 2 names A again"}
    assert a_form(environment='{"A": "two\\nlines"}').body["environment"] == {"A": "two\nlines"}


def test_parameters_without_a_field_are_sent_where_the_schema_lets_them_through():
    open_schema = {"properties": {"epochs": {"type": "integer"}}}
    form = a_form(open_schema, parameters='{"more": 1}', parameters__epochs="2")
    assert form.body["parameters"] == {"more": 1, "epochs": 2}
    assert a_form(open_schema, parameters="[1]").body["parameters"] == [1]
    assert [one.path for one in form.parameter_fields] == ["parameters.epochs", "parameters"]


def test_errors_stand_at_their_field():
    form = a_form(parameters__mesh="{}")
    form.refuse(
        {
            "parameters.mesh.x": "'a' is not of type 'integer'",
            "parameters.mesh": "is wrong",
            "resources.chips": "too many",
            "environment.A=B": "not a name",
            "secrets.NONE": "there is no such secret",
            "labels": "too long",
            "parameters": "holds a NUL",
            "": "the body is odd",
        }
    )
    assert [(one.path, sentence) for one, sentence in form.faults] == [
        ("resources.chips", "too many"),
        ("parameters.mesh", "x: 'a' is not of type 'integer'; is wrong"),
        ("labels", "too long"),
        ("environment", "A=B: not a name"),
        ("secrets", "NONE: there is no such secret"),
    ]
    assert form.general == ["parameters: holds a NUL", "the body is odd"]
    assert form.has_more


def test_while_it_is_filled_in_what_is_empty_is_no_problem():
    form = a_form(parameters__name="", parameters__epochs="x")
    found = form.problems({"parameters.name": "is needed", "parameters.epochs": "is no number", "resources.chips": "is needed"})
    assert [one.path for one, _sentence in found] == ["resources.chips", "parameters.epochs"]


def test_a_line_with_a_break_is_drawn_as_lines():
    form = a_form(parameters__name="a\nb")
    assert [one.kind for one in form.parameter_fields if one.path == "parameters.name"] == [Kind.TEXT]


def test_what_is_none_of_the_choices_stays_to_be_seen():
    (kind,) = [one for one in a_form(parameters__kind="lion").parameter_fields if one.path == "parameters.kind"]
    assert [(choice.text, choice.label) for choice in kind.choices][-1] == ("lion", "lion")
