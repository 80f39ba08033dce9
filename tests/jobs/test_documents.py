"""What people type as YAML or JSON: read with the line of everything, written so that it is read again; nothing explodes."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import documents
from jobs.documents import MOST_BYTES, Unreadable

STORABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False) | STORABLE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(STORABLE, inner, max_size=4),
    max_leaves=12,
)
WORDS = "no yes on off y n ~ null True 1 1.5 1e3 .5 0x1f 0o17 1_000 12:30 2026-03-01 .inf <<"
MARKS = "= - ? | > & * ! % @ ` # { [ , : ' \" a:b a#b"
LOOKALIKES = st.sampled_from([*WORDS.split(), *MARKS.split(), ""])


def value(text, format="yaml"):
    return documents.read(text, format).value


def refused(text, format="yaml"):
    with pytest.raises(Unreadable) as found:
        documents.read(text, format)
    return found.value.line, found.value.sentence


@given(VALUES, st.sampled_from(documents.FORMATS))
def test_what_is_written_is_read_again(said, format):
    assert value(documents.write(said, format), format) == said


@given(st.lists(LOOKALIKES, max_size=3).map(" ".join) | LOOKALIKES, st.sampled_from(["", "\n", "\n\n", "\n b", " \n", "\n\tx"]))
def test_a_text_that_looks_like_something_else_stays_a_text(text, end):
    said = {"a": text + end, text: [text]}
    assert value(documents.write(said, "yaml")) == said


def test_a_program_is_written_as_it_is_read():
    said = {"text": "import sys\n\nif True:\n    print('a: b # c')\n", "ref": "main"}
    assert documents.write(said, "yaml") == "text: |\n  import sys\n\n  if True:\n      print('a: b # c')\nref: main\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no", "no"),
        ("12:30", "12:30"),
        ("2026-03-01", "2026-03-01"),
        ("1_000", "1_000"),
        ("0x1f", "0x1f"),
        ("'1'", "1"),
        ('"\\u00e9"', "é"),
        ("True", True),
        ("~", None),
        ("", None),
        ("-7", -7),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("007", 7),
    ],
)
def test_a_plain_word_is_what_json_has(text, said):
    found = value(f"a: {text}")["a"]
    assert (found, type(found)) == (said, type(said))


def test_names_are_texts_whatever_they_look_like():
    assert value("1: a\ntrue: b\nno: c\n") == {"1": "a", "true": "b", "no": "c"}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: &x 2\n", 2, "Anchors"),
        ("a: 1\nb: *x\n", 2, "Anchors"),
        ("a: !!python/object:os.system {}\n", 1, "Tags"),
        ("a: !!str 1\n", 1, "Tags"),
        ("a: 1\nb: 2\na: 3\n", 3, "a stands here for the second time."),
        ("a: 1\n---\nb: 2\n", 2, "second document"),
        ("a: 1\n\tb: 2\n", 2, "No YAML"),
        ("a: b: c\n", 1, "mapping values are not allowed"),
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "No YAML"),
        ("a: 1\n? [b]\n: 2\n", 2, "A name is needed"),
        ("a: 1\nb: .inf\n", 2, "no number .inf"),
        ("a: 1\nb: 1e999\n", 2, "too large"),
        (f"a: {'9' * 5000}\n", 1, "too large"),
        ("a: 1\nb: \x07\n", 2, "control character"),
        ("a: 1\nb: x\0y\n", 2, "NUL"),
        ('a: 1\nb: "x\\0y"\n', 2, "NUL"),
        ("", 1, "nothing in it"),
        ("# only a comment\n", 1, "nothing in it"),
        ("a: '\ud800'\n", 1, "half a character"),
        ("[" * 60, 1, "nested too deeply"),
    ],
)
def test_what_is_no_definition_is_told_with_its_line(text, line, words):
    found = refused(text)
    assert found[0] == line and words in found[1], found


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{"a": 1,\n "a": 2}', 2, "a stands here for the second time."),
        ('{"a": 1,\n}', 2, "one too many"),
        ("[1,\n2,\n]", 3, "one too many"),
        ('{"a": 1\n "b": 2}', 2, "A comma or } is needed."),
        ('{"a" 1}', 1, "A colon"),
        ("{a: 1}", 1, "A name in double quotes"),
        ('{"a":\n NaN}', 2, "A value is needed"),
        ('{"a":\n 1e999}', 2, "too large"),
        ('{"a": "b\nc"}', 1, "broken"),
        ('{"a": "\\ud800"}', 1, "half a character"),
        ('{"a": "\\u0000"}', 1, "NUL"),
        ('{"a": 1} x', 1, "Nothing may follow"),
        ('{"a": 1', 1, "A comma or }"),
        ("{", 1, "A name in double quotes"),
        ("", 1, "nothing in it"),
        ("[" * 60, 1, "nested too deeply"),
    ],
)
def test_broken_json_is_told_with_its_line(text, line, words):
    found = refused(text, "json")
    assert found[0] == line and words in found[1], found


def test_a_pair_of_halves_is_a_character_and_tabs_are_blanks():
    assert value('{\n\t"a": "\\ud83d\\ude00"\r\n}', "json") == {"a": "😀"}


YAML = """\
title: T
template:
  command:
    - python
    - train.py
  source: {kind: git,
           ref: x}
"""
JSON = """\
{"title": "T",
 "template": {
  "command": ["python",
    "train.py"]
 }}
"""


@pytest.mark.parametrize(
    ("format", "path", "line"),
    [
        ("yaml", "title", 1),
        ("yaml", "template", 2),
        ("yaml", "template.command", 3),
        ("yaml", "template.command.1", 5),
        ("yaml", "template.command.7", 3),
        ("yaml", "template.source.ref", 7),
        ("yaml", "template.runtime.name", 2),
        ("yaml", "parameters", 1),
        ("yaml", "", 1),
        ("json", "template", 2),
        ("json", "template.command.0", 3),
        ("json", "template.command.1", 4),
        ("json", "template.runtime", 2),
    ],
)
def test_a_path_has_the_line_of_what_stands_there_or_would_stand_in_it(format, path, line):
    assert documents.read(YAML if format == "yaml" else JSON, format).line_of(path) == line


HUGE = {
    "lists": "[" * MOST_BYTES,
    "objects": "{a: " * (MOST_BYTES // 4),
    "dashes": "- " * (MOST_BYTES // 2),
    "questions": "? " * (MOST_BYTES // 2),
    "names": "".join(f"n{number}: 1\n" for number in range(40_000)),
    "one line": "a: " + "x" * (MOST_BYTES - 10),
    "quotes": "a: '" + "''" * (MOST_BYTES // 2 - 10),
    "colons": "a:" * (MOST_BYTES // 2),
    "commas": "[" + "a," * (MOST_BYTES // 2 - 10) + "]",
    "flow names": "{" + "a: 1, " * (MOST_BYTES // 6 - 10) + "}",
    "comments": "# \n" * (MOST_BYTES // 3),
    "anchors": "".join(f"a{number}: &a{number} [*a{max(0, number - 1)}, *a{max(0, number - 1)}]\n" for number in range(10_000)),
    "blanks": " " * (MOST_BYTES - 1),
    "json": '{"a":' * (MOST_BYTES // 5),
    "json numbers": "[" + "1," * (MOST_BYTES // 2 - 10) + "1]",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", HUGE)
@pytest.mark.parametrize("format", documents.FORMATS)
def test_whatever_is_typed_is_answered_soon(name, format):
    began = time.process_time()
    with suppress(Unreadable):
        documents.read(HUGE[name], format)
    assert time.process_time() - began < 3


def test_what_is_larger_is_refused_unread():
    assert refused("a: " + "x" * MOST_BYTES) == (1, "It is larger than 512 KiB.")
