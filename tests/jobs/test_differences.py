"""What two wordings differ in, as a person reads it, and what becomes of one that two people changed."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import differences
from jobs.differences import MISSING, Line, compared
from jobs.wording import read

TRAIN = {
    "title": "Train",
    "template": {"command": ["python", "train.py", "${epochs}"], "environment": {"A": "1"}},
    "parameters": {"properties": {"epochs": {"type": "integer", "default": 3}, "rate": {"type": "number"}}},
    "resources": {"accelerator": "cpu", "chips": 1},
}


def wording(**changed):
    return read(TRAIN | changed)


def told(before, after):
    return [(one.title, one.kind, one.before_text, one.after_text) for one in differences.between(before, after)]


def lines(before, after):
    return [(line.sign, line.text) for one in differences.between(before, after) for line in one.lines]


def test_the_same_differs_in_nothing():
    assert told(wording(), wording()) == []


def test_each_field_is_told_in_the_words_of_the_form():
    properties = {"epochs": {"type": "integer", "default": 10}, "rate": {"type": "number", "maximum": 1}}
    after = wording(
        title="Train ViT",
        template={"command": TRAIN["template"]["command"], "environment": {"B": "2"}, "runtime": {"name": "torch_xla"}},
        parameters={"properties": properties, "required": ["rate"]},
        resources={"accelerator": "cpu", "chips": 4},
        retries={"host_lost": {"times": 3}},
    )
    assert told(wording(), after) == [
        ("Title", "changed", "Train", "Train ViT"),
        ("Variable B", "added", "", "2"),
        ("Variable A", "removed", "1", ""),
        ("Runtime", "added", "", '{"name": "torch_xla"}'),
        ("Parameter epochs: default", "changed", "3", "10"),
        ("Parameter rate: maximum", "added", "", "1"),
        ("Parameters: required", "added", "", '["rate"]'),
        ("Chips", "changed", "1", "4"),
        ("Retries", "added", "", '{"host_lost": {"times": 3, "delay_s": 10}}'),
    ]


def test_parameters_in_another_order_are_told_once():
    properties = TRAIN["parameters"]["properties"]
    turned = wording(parameters={"properties": {name: properties[name] for name in ("rate", "epochs")}})
    assert [(one.path, one.title) for one in differences.between(wording(), turned)] == [
        ("parameters.properties", "Order of parameters")
    ]
    assert lines(wording(), turned) == [("+", "rate"), (" ", "epochs"), ("−", "rate")]
    more = wording(parameters={"properties": {"new": {}, **properties}})
    assert [one.title for one in differences.between(wording(), more)] == ["Parameter new"]


def test_a_command_is_told_line_by_line():
    after = wording(template=TRAIN["template"] | {"command": ["python", "train.py", "--epochs", "${epochs}"]})
    assert lines(wording(), after) == [(" ", "python"), (" ", "train.py"), ("+", "--epochs"), (" ", "${epochs}")]


def test_a_shell_command_is_told_by_its_own_lines():
    def shell(text):
        return wording(template={"command": ["/bin/sh", "-c", text]})

    assert lines(shell("set -e\npython a.py\n"), shell("set -e\npython b.py\n")) == [
        (" ", "set -e"),
        ("−", "python a.py"),
        ("+", "python b.py"),
        (" ", ""),
    ]


def test_a_long_text_shows_what_changed_and_some_around_it():
    old = [f"line {number}" for number in range(100)]
    new = [*old[:50], "another", *old[51:]]
    assert compared(old, new) == [
        Line("skipped", "47 lines as before"),
        *[Line("same", f"line {number}") for number in (47, 48, 49)],
        Line("removed", "line 50"),
        Line("added", "another"),
        *[Line("same", f"line {number}") for number in (51, 52, 53)],
        Line("skipped", "46 lines as before"),
    ]


@given(st.lists(st.sampled_from("abc"), max_size=30), st.lists(st.sampled_from("abc"), max_size=30))
def test_a_comparison_has_all_that_went_and_came(old, new):
    found = compared(old, new)
    assert [line.text for line in found if line.kind == "removed"] == sorted_out(old, found, "removed")
    kept_old = sum(line.kind in ("same", "removed") for line in found) + skipped(found)
    kept_new = sum(line.kind in ("same", "added") for line in found) + skipped(found)
    if old != new:
        assert (kept_old, kept_new) == (len(old), len(new))
    else:
        assert found in ([], [Line("skipped", f"{len(old)} lines as before")])


def sorted_out(old, found, kind):
    return [line.text for line in found if line.kind == kind]


def skipped(found):
    return sum(int(line.text.split()[0]) for line in found if line.kind == "skipped")


def test_texts_that_would_take_for_ever_are_compared_soon():
    chooser = random.Random(7)
    texts = [[str(chooser.randrange(300)) for _ in range(40_000)] for _ in range(2)]
    began = time.process_time()
    found = compared(*texts)
    assert time.process_time() - began < 2 and len(found) == differences.MOST_SHOWN + 1
    close = [[str(chooser.randrange(40)) for _ in range(2000)] for _ in range(2)]
    began = time.process_time()
    compared(*close)
    assert time.process_time() - began < 6


# -- Two people ----------------------------------------------------------------------------------------------


def merged(mine, theirs):
    found = differences.merge(wording(), mine, theirs)
    return read(found.document), found.both


def test_what_each_has_changed_is_in_what_they_have_together():
    mine, theirs = wording(title="Mine"), wording(resources={"accelerator": "cpu", "chips": 4})
    assert merged(mine, theirs) == (wording(title="Mine", resources={"accelerator": "cpu", "chips": 4}), [])


def test_within_an_object_too():
    def of(**parameters):
        return wording(parameters={"properties": TRAIN["parameters"]["properties"] | parameters})

    mine = of(epochs={"type": "integer", "default": 5})
    theirs = of(epochs={"type": "integer", "default": 3, "minimum": 1}, seed={"type": "integer"})
    assert merged(mine, theirs) == (of(epochs={"type": "integer", "default": 5, "minimum": 1}, seed={"type": "integer"}), [])


@pytest.mark.parametrize(
    ("mine", "theirs", "kept", "both"),
    [
        ({"title": "Mine"}, {"title": "Theirs"}, "Mine", ["title"]),
        ({"title": "Same"}, {"title": "Same"}, "Same", []),
        ({}, {"title": "Theirs"}, "Theirs", []),
        ({"title": "Mine"}, {}, "Mine", []),
    ],
)
def test_what_both_have_changed_stays_mine_and_is_named(mine, theirs, kept, both):
    found, named = merged(wording(**mine), wording(**theirs))
    assert (found.title, named) == (kept, both)


def test_what_one_took_away_and_the_other_changed_is_named():
    without = wording(template={"command": TRAIN["template"]["command"]})
    changed = wording(template=TRAIN["template"] | {"environment": {"A": "2"}})
    assert merged(without, changed) == (without, ["template.environment"])
    assert merged(changed, without) == (changed, ["template.environment"])
    assert merged(without, wording()) == (without, [])


def test_another_order_of_theirs_is_taken_where_mine_is_the_old_one():
    properties = TRAIN["parameters"]["properties"]
    theirs = wording(parameters={"properties": {name: properties[name] for name in ("rate", "epochs")}})
    found, both = merged(wording(title="Mine"), theirs)
    assert (found.parameters["x-order"], found.title, both) == (["rate", "epochs"], "Mine", [])


def test_a_value_that_is_not_there_has_no_text():
    found = differences.between(wording(), wording(description="x"))
    assert [(one.before is MISSING, one.before_text, one.kind) for one in found] == [(True, "", "added")]


def test_true_is_not_one_and_one_is_one():
    def of(default):
        return wording(parameters={"properties": TRAIN["parameters"]["properties"] | {"a": {"default": default}}})

    assert told(of(1), of(True)) == [("Parameter a: default", "changed", "1", "true")]
    assert told(of(1), of(1.0)) == [] and of(1) == of(1.0) and of(1) != of(True)
