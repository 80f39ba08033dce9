"""A parameter's schema in fields of a form, and back without loss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import shipped
from jobs.definition_rows import Kind, Row
from jobs.wording import same

PARAMETERS = [
    (f"{one['slug']}.{name}", schema)
    for one in shipped.shipped()
    for name, schema in one["parameters"].get("properties", {}).items()
]
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=6)
SCALARS = (
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | WORDS | st.sampled_from(["1", "true", '"', '"a"', "[]"])
)
SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null"]),
        "title": WORDS,
        "description": WORDS,
        "default": SCALARS | st.lists(SCALARS, max_size=3),
        "minimum": st.integers() | st.floats(-9, 9),
        "maximum": WORDS,
        "x-unit": WORDS,
        "enum": st.lists(SCALARS, max_size=3),
        "format": st.sampled_from(["textarea", "script", "archive"]),
        "items": st.sampled_from([{"type": "string"}, {"type": "string", "maxLength": 5}, {}]),
        "maxLength": st.integers(),
    },
)


def row(**texts):
    return Row("0", {"name": "a", "kind": "text"} | texts)


@given(SCHEMAS | SCALARS | st.lists(SCALARS, max_size=2))
def test_whatever_a_schema_is_it_comes_back(schema):
    made = Row.of("0", "a", schema, is_required=False)
    assert same(made.schema(), schema), made
    assert made.unread == {}


@pytest.mark.parametrize(("name", "schema"), PARAMETERS, ids=[name for name, _schema in PARAMETERS])
def test_what_is_shipped_needs_no_json(name, schema):
    assert Row.of("0", name, schema, is_required=False).kind != Kind.JSON


@pytest.mark.parametrize(
    ("schema", "kind", "texts"),
    [
        ({"type": "string", "default": "a"}, Kind.TEXT, {"default": "a"}),
        ({"type": "string", "default": ""}, Kind.TEXT, {"default": '""'}),
        ({"type": "string", "default": '"a'}, Kind.TEXT, {"default": '"\\"a"'}),
        ({"type": "string", "maxLength": 5}, Kind.TEXT, {"more": '{\n  "maxLength": 5\n}'}),
        ({"type": "string", "format": "textarea"}, Kind.LINES, {"more": ""}),
        ({"type": "integer", "minimum": 1, "x-unit": "s"}, Kind.INTEGER, {"minimum": "1", "unit": "s", "more": ""}),
        ({"type": "number", "default": 0.003}, Kind.NUMBER, {"default": "0.003"}),
        ({"type": "boolean", "default": False}, Kind.BOOLEAN, {"default": "false"}),
        ({"enum": ["a", "b c"], "default": "a"}, Kind.CHOICE, {"choices": "a\nb c", "default": "a"}),
        ({"type": "string", "enum": ["", "1", " a"]}, Kind.CHOICE, {"choices": '""\n"1"\n" a"'}),
        ({"type": "integer", "enum": [1, 2], "default": 1}, Kind.CHOICE, {"choices": "1\n2", "default": "1"}),
        ({"type": "array", "items": {"type": "string"}, "default": []}, Kind.LIST, {"default": "[]"}),
        ({"type": "array", "items": {"type": "string"}, "default": ["a", "b"]}, Kind.LIST, {"default": "a\nb"}),
        ({"type": "array", "items": {"type": "integer"}}, Kind.LIST, {"more": '{\n  "items": {\n    "type": "integer"\n  }\n}'}),
        ({"type": ["string", "null"]}, Kind.JSON, {"json": '{\n  "type": [\n    "string",\n    "null"\n  ]\n}'}),
        ({}, Kind.JSON, {"json": "{}"}),
        (True, Kind.JSON, {"json": "true"}),
    ],
)
def test_a_schema_stands_in_the_simplest_kind(schema, kind, texts):
    made = Row.of("0", "a", schema, is_required=False)
    assert made.kind == kind and {name: made.texts[name] for name in texts} == texts


@pytest.mark.parametrize(
    ("typed", "schema"),
    [
        ({}, {"type": "string"}),
        ({"kind": "nonsense"}, {"type": "string"}),
        ({"kind": "integer", "default": "many", "minimum": "1.5"}, {"type": "integer", "default": "many", "minimum": 1.5}),
        ({"kind": "boolean", "default": "yes"}, {"type": "boolean", "default": "yes"}),
        ({"kind": "choice", "choices": "a\r\n\r\n1\r\nnull\r\n"}, {"enum": ["a", 1, None]}),
        ({"kind": "text", "choices": "a", "minimum": "1", "json": "{"}, {"type": "string"}),
        ({"kind": "lines", "default": "a\r\nb"}, {"type": "string", "format": "textarea", "default": "a\nb"}),
        ({"kind": "text", "more": '{"type": "integer"}'}, {"type": "integer"}),
        ({"kind": "json"}, {}),
        ({"kind": "json", "json": "[1"}, "[1"),
    ],
)
def test_what_is_typed_makes_a_schema_right_or_wrong(typed, schema):
    assert row(**typed).schema() == schema


def test_what_is_no_json_is_told_with_its_line():
    assert row(more='{"a": 1,\n}').unread == {"more": "line 2: The comma before } is one too many."}
    assert row(more="[1]").unread == {"more": "an object is needed"}
    assert row(kind="json", json="{", more="{").unread == {"json": "line 1: A name in double quotes is needed."}
    assert row(kind="json", more="{").unread == {}


def test_a_row_is_blank_until_something_is_typed():
    assert Row("0", {"kind": "integer", "name": " "}).is_blank
    assert not row().is_blank and not Row("0", {"default": "3"}).is_blank


@pytest.mark.parametrize(
    ("kind", "keyword", "field"),
    [
        ("text", "default", "default"),
        ("text", "minimum", "more"),
        ("text", "pattern", "more"),
        ("integer", "minimum", "minimum"),
        ("number", "x-unit", "unit"),
        ("choice", "enum", "choices"),
        ("json", "default", "json"),
    ],
)
def test_a_keyword_has_its_field(kind, keyword, field):
    assert row(kind=kind).field_of(keyword) == field
