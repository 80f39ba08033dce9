"""Which JSON Schemas a definition may have: that launches are held to them, and nobody is asked and nothing runs for ever."""

from __future__ import annotations

import socket
import time

import pytest

from jobs import parameters, schemas, shipped
from projects.errors import Invalid

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def of(**properties):
    return {"properties": properties}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        of(a={"type": "integer", "minimum": 1, "maximum": 1, "default": 1}),
        of(a={"type": ["string", "null"], "default": None}),
        of(a={"enum": [1, "1", None], "default": "1"}),
        of(a={"pattern": "^é{2}$", "default": "éé"}),
        of(a={}, b={}) | {"x-order": ["b"], "required": ["a"], "$schema": DIALECT, "additionalProperties": False},
        of(a={"$ref": "#/$defs/rate", "default": 0.5}) | {"$defs": {"rate": {"type": "number"}}},
        of(a={"items": {"$ref": "#/definitions/n"}}) | {"definitions": {"n": True}},
        of(a={"description": "two\nlines", "title": "Größe", "x-unit": "s"}),
        {"if": {"required": []}, "then": {}, "propertyNames": {"pattern": "a"}, "dependentSchemas": {"a": {}}},
        *(one["parameters"] for one in shipped.shipped()),
    ],
)
def test_what_json_schema_knows_is_taken(schema):
    assert schemas.wrong(schema) == {}


@pytest.mark.parametrize(
    ("schema", "path", "words"),
    [
        ([], "", "an object is needed"),
        (None, "", "an object is needed"),
        ({"type": "array"}, ".type", "so it is object"),
        ({"properties": 3}, ".properties", "an object is needed"),
        ({"required": "a"}, ".required", "a list is needed"),
        ({"required": ["a"]}, ".required", "there is no parameter a"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, ".$schema", f"only {DIALECT} is known here"),
        ({"x-order": "a"}, ".x-order", "a list of names"),
        ({"x-order": ["a"]}, ".x-order", "a list of names"),
        (of(a={}) | {"x-order": ["a", "a"]}, ".x-order", "twice"),
        ({"$id": "http://x"}, ".$id", "stands alone"),
        ({"$dynamicRef": "#a"}, ".$dynamicRef", "stands alone"),
        ({"patternProperties": {"a": {}}}, ".patternProperties", "propertyNames"),
        (of(a={"type": "text"}), ".properties.a.type", "known are string, number, integer"),
        (of(a={"minimum": "1"}), ".properties.a.minimum", "a number is needed"),
        (of(a={"minLength": 3, "maxLength": 2}), ".properties.a.maxLength", "less than minLength"),
        (of(a=True), ".properties.a", "an object is needed"),
        (of(**{"Learning rate": {}}), ".properties.Learning rate", "begins with a letter"),
        (of(**{"a" * 64: {}}), f".properties.{'a' * 64}", "at most 63"),
        (of(**{"": {}}), ".properties.", "begins with a letter"),
        (of(**{f"a{number}": {} for number in range(201)}), ".properties", "at most 200 parameters"),
        (of(a={"enum": [0] * 6000}), "", "at most 5000 values"),
        (of(a={"title": "x" * 101}), ".properties.a.title", "at most 100 characters"),
        (of(a={"title": "two\nlines"}), ".properties.a.title", "a control character"),
        (of(a={"items": {"description": "\u202eevil"}}), ".properties.a.items.description", "turns the direction"),
        (of(a={"description": "x" * 1_000_000}), ".properties.a.description", "at most 2000 characters"),
        (of(a={"x-unit": 3}), ".properties.a.x-unit", "a text is needed"),
        (of(a={"pattern": "("}), ".properties.a.pattern", "missing )"),
        (of(a={"pattern": "(?=a)b"}), ".properties.a.pattern", "no look-ahead"),
        (of(a={"pattern": r"(a)\1"}), ".properties.a.pattern", "no back-references"),
        (of(a={"pattern": "a" * 1001}), ".properties.a.pattern", "at most 1000 characters"),
        (of(a={"pattern": "((a{100}){100}){100}"}), ".properties.a.pattern", "RE2"),
        (of(a={"allOf": [{}, {"not": {"pattern": "["}}]}), ".properties.a.allOf.1.not.pattern", "missing ]"),
        (of(a={"type": "integer", "default": "x"}), ".properties.a.default", "a whole number is needed"),
        (of(a={"items": {"type": "integer"}, "default": [1, "x"]}), ".properties.a.default.1", "a whole number is needed"),
        (of(a={"$ref": "#/$defs/n", "default": "x"}) | {"$defs": {"n": {"type": "integer"}}}, ".properties.a.default", "whole"),
    ],
)
def test_what_is_no_schema_of_parameters_is_told_at_its_place(schema, path, words):
    found = schemas.wrong(schema)
    assert list(found) == [f"parameters{path}"] and words in found[f"parameters{path}"]
    assert len(found[f"parameters{path}"]) < 500


@pytest.mark.parametrize("reference", ["http://127.0.0.1:1/x", "https://json-schema.org/x", "file:///etc/passwd", "x.json"])
def test_a_reference_elsewhere_is_refused_and_nobody_is_asked(reference, monkeypatch):
    monkeypatch.setattr(socket, "socket", lambda *_: pytest.fail("the network was asked"))
    schema = of(a={"$ref": reference})
    assert "asks no network" in schemas.wrong(schema)["parameters.properties.a.$ref"]
    with pytest.raises(Invalid) as refused:  # of one that was stored before
        parameters.check(schema, {"a": 1})
    assert list(refused.value.fields) == ["parameters"]


@pytest.mark.parametrize("reference", ["#", "#/properties/a", "#/$defs/b", "#a", "#/%24defs/n"])
def test_a_reference_is_to_a_part_below_defs(reference):
    found = schemas.wrong(of(a={"$ref": reference}) | {"$defs": {"n": {}}})
    assert "there is no such part" in found["parameters.properties.a.$ref"]


@pytest.mark.parametrize(
    "defs",
    [
        {"a": {"$ref": "#/$defs/a"}},
        {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#/$defs/a"}}},
        {"a": {"allOf": [{"$ref": "#/$defs/b0"}]}}
        | {f"b{n}": {"allOf": [{"$ref": f"#/$defs/b{n + 1}"}] * 2} for n in range(60)}
        | {"b60": {}},
    ],
)
def test_references_that_never_end_or_double_are_refused_soon(defs):
    began = time.process_time()
    found = schemas.wrong(of(a={"$ref": "#/$defs/a"}) | {"$defs": defs})
    assert "leads back to itself" in found["parameters.$defs"]
    assert time.process_time() - began < 2


def test_a_pattern_that_would_explode_elsewhere_takes_its_time_by_the_length(monkeypatch):
    schema = of(a={"type": "string", "pattern": "^(a+)+$"})
    assert schemas.wrong(schema) == {}
    began = time.process_time()
    with pytest.raises(Invalid) as refused:
        parameters.check(schema, {"a": "a" * 100_000 + "!"})
    assert refused.value.fields == {"parameters.a": "does not match the pattern ^(a+)+$"}
    assert time.process_time() - began < 2


@pytest.mark.parametrize(("text", "matches"), [("abc", True), ("xabcx", True), ("éb", False), ("", False)])
def test_a_pattern_is_looked_for_anywhere_in_the_text(text, matches):
    assert schemas.searches("ab+c", text) == matches


def test_a_message_does_not_repeat_a_megabyte():
    with pytest.raises(Invalid) as refused:
        parameters.check(of(a={"type": "string", "maxLength": 5}), {"a": "x" * 1_000_000})
    assert len(refused.value.fields["parameters.a"]) <= 301 and refused.value.fields["parameters.a"].endswith("is too long")


# -- What would take for ever --------------------------------------------------------------------------------


def nested(levels, kind):
    value = kind()
    for _ in range(levels):
        value = {"not": value} if kind is dict else [value]
    return value


MIXED = [value for number in range(1500) for value in (number, str(number), [number], {"a": number})]


@pytest.mark.parametrize(
    ("items", "is_unique"),
    [
        ([1, 1.0], False),
        ([1, True, "1", [1], [True], {"a": 1}, None], True),
        ([0, False, 0.5, ""], True),
        ([{"a": [1.0], "b": 2}, {"b": 2, "a": [1]}], False),
        ([2**53, 2**53 + 1], True),
        (MIXED, True),
        ([*MIXED, [7.0]], False),
    ],
    ids=["one", "kinds", "nothing", "objects", "large", "many", "many-and-one-again"],
)
def test_items_are_unique_as_json_schema_says_in_linear_time(items, is_unique):
    schema, began = of(a={"uniqueItems": True}), time.process_time()
    if is_unique:
        assert parameters.check(schema, {"a": items}) == {"a": items}
    else:
        with pytest.raises(Invalid) as refused:
            parameters.check(schema, {"a": items})
        assert refused.value.fields == {"parameters.a": "holds the same value twice"}
    assert time.process_time() - began < 1


def test_names_that_are_needed_are_held_to_their_schema_in_linear_time():
    began = time.process_time()
    assert len(schemas.wrong({"required": MIXED[:3000]})) > 1000
    assert time.process_time() - began < 1.5


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"items": {"enum": list(range(4900))}}, [4899] * 20_000),
        ({"items": {"allOf": [{"type": "integer"}] * 2000}}, [1] * 500),
        ({"contains": {"enum": list(range(4000))}}, [-1] * 10_000),
    ],
    ids=["enum", "allOf", "contains"],
)
def test_what_would_take_for_ever_is_refused_soon_in_a_sentence(part, value):
    began = time.process_time()
    with pytest.raises(Invalid) as refused:
        parameters.check(of(a=part), {"a": value})
    assert list(refused.value.fields) == ["parameters"] and "take too long" in refused.value.fields["parameters"]
    assert time.process_time() - began < 4


def test_defaults_that_take_for_ever_to_check_are_not_published():
    began = time.process_time()
    found = schemas.wrong(of(a={"items": {"allOf": [{"type": "integer"}] * 2000}, "default": [1] * 500}))
    assert list(found) == ["parameters"] and "its own defaults" in found["parameters"]
    assert time.process_time() - began < 6


def test_a_long_list_of_numbers_is_not_too_much():
    part = {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1e9}, "minItems": 1, "uniqueItems": True}
    values = list(range(50_000))
    assert parameters.check(of(a=part), {"a": values}) == {"a": values}


def test_what_is_nested_for_ever_is_refused_in_a_sentence():
    chain = {f"a{number}": {"not": {"$ref": f"#/$defs/a{number + 1}"}} for number in range(400)} | {"a400": {}}
    assert "nested too deeply" in schemas.wrong(of(a=nested(5000, dict)))["parameters"]
    assert "leads back" in schemas.wrong(of(a={"$ref": "#/$defs/a0"}) | {"$defs": chain})["parameters.$defs"]
    with pytest.raises(Invalid) as refused:  # of one that was stored before
        parameters.check(of(a={"$ref": "#/$defs/a0"}) | {"$defs": chain}, {"a": 1})
    assert "take too long" in refused.value.fields["parameters"]
    with pytest.raises(Invalid) as refused:
        parameters.check(of(a={}), {"a": nested(5000, list)})
    assert "nested too deeply" in refused.value.fields["parameters.a"]


def test_so_many_errors_are_told_and_no_more():
    with pytest.raises(Invalid) as refused:
        parameters.check(of(a={"items": {"type": "string"}}), {"a": [1] * 10_000})
    assert len(refused.value.fields) == schemas.MOST_FAULTS
