import math
import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.specs import Spec
from jobs import parameters
from projects.errors import Invalid

SCHEMA = {
    "type": "object",
    "properties": {
        "epochs": {"type": "integer", "minimum": 1, "default": 3},
        "name": {"type": "string", "maxLength": 5},
        "optimizer": {
            "type": "object",
            "properties": {"rate": {"type": "number", "exclusiveMinimum": 0}, "kind": {"enum": ["adam", "sgd"]}},
            "required": ["rate"],
            "additionalProperties": False,
        },
        "layers": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def wrong(**given):
    with pytest.raises(Invalid) as refused:
        parameters.check(SCHEMA, given)
    return refused.value.fields


def test_defaults_are_filled_in_and_what_is_given_counts():
    assert parameters.check(SCHEMA, {"name": "vit"}) == {"epochs": 3, "name": "vit"}
    assert parameters.check(SCHEMA, {"name": "vit", "epochs": 9})["epochs"] == 9
    assert parameters.check({}, {"anything": 1}) == {"anything": 1}


def test_what_is_given_is_not_changed():
    given = {"name": "vit"}
    parameters.check(SCHEMA, given)
    assert given == {"name": "vit"} and SCHEMA["properties"]["epochs"]["default"] == 3


def test_each_wrong_field_is_named_by_its_path():
    assert wrong(name="too long", epochs=0, layers=[1, "two", 3.5]) == {
        "parameters.name": "'too long' is too long",
        "parameters.epochs": "0 is less than the minimum of 1",
        "parameters.layers.1": "a whole number is needed",
        "parameters.layers.2": "a whole number is needed",
    }


@pytest.mark.parametrize(
    ("type", "value", "sentence"),
    [
        ("integer", 0.5, "a whole number is needed"),
        ("number", "0,01", "a number is needed, written like 0.01"),
        ("boolean", 1, "true or false is needed"),
        ("string", 1, "a text is needed"),
        ("array", "a", "a list is needed"),
        ("object", [], "an object is needed"),
        (["number", "array"], "a", "a number is needed, written like 0.01 or a list is needed"),
    ],
)
def test_another_type_than_the_needed_one_is_told_in_words(type, value, sentence):
    with pytest.raises(Invalid) as refused:
        parameters.check({"properties": {"a": {"type": type}}}, {"a": value})
    assert refused.value.fields == {"parameters.a": sentence}


def test_a_missing_one_is_named_by_its_own_path():
    assert wrong(optimizer={}) == {"parameters.name": "is needed", "parameters.optimizer.rate": "is needed"}


def test_an_unknown_one_is_named_with_those_that_there_are():
    assert wrong(name="vit", epoch=1, optimizer={"rate": 1, "decay": 2}) == {
        "parameters.epoch": "there is no such parameter; known are epochs, layers, name, optimizer",
        "parameters.optimizer.decay": "there is no such parameter; known are kind, rate",
    }
    with pytest.raises(Invalid) as refused:
        parameters.check({"additionalProperties": False}, {"x": 1})
    assert refused.value.fields == {"parameters.x": "there is no such parameter; known are none"}


def test_true_is_no_number():
    assert list(wrong(name="vit", epochs=True)) == ["parameters.epochs"]


@pytest.mark.parametrize(
    "value",
    [
        math.inf,
        -math.inf,
        math.nan,
        2**64,
        -(2**63) - 1,
        10**5000,
        "nul\0",
        "half \ud800",
        {"half \ud800": 1},
        [[{"a": math.inf}]],
    ],
    ids=["inf", "-inf", "nan", "65-bit", "-65-bit", "5000-digits", "nul", "surrogate", "name", "within"],
)
def test_what_no_database_keeps_is_refused_at_its_parameter(value):
    with pytest.raises(Invalid) as refused:
        parameters.check({}, {"a": value, "b": [2**64 - 1, -(2**63), 1e308, "é"]})
    assert list(refused.value.fields) == ["parameters.a"] and "too large" in refused.value.fields["parameters.a"]


# -- Put into the template -----------------------------------------------------------------------------------


def filled(command, values, **template):
    return parameters.fill({"command": command} | template, values)


def test_values_become_text_where_their_names_stand():
    values = {"a": "x y", "n": 3, "f": 0.1, "yes": True, "no": False}
    assert filled(["run", "--a=${a}", "${n}/${f}", "${yes}", "${no}", "${a}"], values).command == [
        "run",
        "--a=x y",
        "3/0.1",
        "true",
        "false",
        "x y",
    ]


def test_an_item_that_is_a_list_becomes_that_many_items():
    assert filled(["run", "${layers}", "--end"], {"layers": [1, True, "a b"]}).command == ["run", "1", "true", "a b", "--end"]
    assert filled(["run", "${layers}"], {"layers": []}).command == ["run"]


def test_a_list_within_a_text_is_no_list():
    assert filled(["--layers=${layers}"], {"layers": [1, 2]}).command == ["--layers=[1, 2]"]


def test_a_value_is_never_read_as_a_template():
    """What a person types can name no other parameter and no variable of the shell."""
    values = {"a": "${b} $HOME `id`", "b": "secret"}
    assert filled(["echo", "${a}"], values).command == ["echo", "${b} $HOME `id`"]


@pytest.mark.parametrize("text", ["${unknown}", "$HOME", "${HOME}", "${}", "$${a", "${a-b}", "${1}"])
def test_what_names_no_parameter_stays(text):
    assert filled([text], {"b": 1}).command == [text]


def test_the_environment_is_filled_and_the_rest_of_the_spec_stays():
    spec = filled(["run"], {"n": 3}, environment={"N": "${n}", "M": "1"}, stop_grace_s=7, timeout_s=60, secrets=["KEY"])
    assert spec == Spec(command=["run"], environment={"N": "3", "M": "1"}, stop_grace_s=7, timeout_s=60, secrets=["KEY"])


@given(st.text(), st.lists(st.text(), max_size=4))
def test_any_text_arrives_as_it_is(text, items):
    assert filled(["sh", "-c", "${a}", "${list}"], {"a": text, "list": items}).command == ["sh", "-c", text, *items]


# -- What Linux does not start -------------------------------------------------------------------------------

LONGEST = 128 * 1024 - 1


@pytest.mark.parametrize(
    ("command", "values", "field"),
    [
        (["run", "${a}"], {"a": "x" * (LONGEST + 1)}, "parameters.a"),
        (["run", "${a}"], {"a": "é" * (LONGEST // 2 + 1)}, "parameters.a"),
        (["run", "${b} ${a}"], {"a": "x" * LONGEST, "b": "y"}, "parameters.a"),
        (["run", "${list}"], {"list": ["a", "x" * (LONGEST + 1)]}, "parameters.list"),
        (["run", "${a}" * 25_000], {"a": "x" * 1_000_000}, "parameters.a"),
    ],
    ids=["characters", "bytes", "together", "list", "bomb"],
)
def test_a_word_that_is_longer_than_linux_takes_is_refused_at_its_parameter(command, values, field):
    with pytest.raises(Invalid) as refused:
        filled(command, values)
    assert list(refused.value.fields) == [field] and "131071 bytes" in refused.value.fields[field]


def test_a_variable_that_is_longer_than_linux_takes_is_refused_at_its_parameter():
    with pytest.raises(Invalid) as refused:
        filled(["run"], {"a": "x" * (LONGEST - 1)}, environment={"A": "${a}"})
    assert list(refused.value.fields) == ["parameters.a"]


def test_what_linux_just_takes_is_taken():
    """Held to the real thing: one more byte, and the kernel says E2BIG."""
    spec = filled(["true", "${a}"], {"a": "x" * LONGEST, "b": "x" * (LONGEST - 2)}, environment={"B": "${b}"})
    subprocess.run(spec.command, env=spec.environment | {"PATH": os.defpath}, check=True)
    with pytest.raises(OSError, match="Argument list too long"):
        subprocess.run([*spec.command[:-1], spec.command[-1] + "x"], env={"PATH": os.defpath}, check=True)
    assert parameters.start_bytes(spec) == 2 * LONGEST - 2 + len("true") + len("B") + 4 * 9
