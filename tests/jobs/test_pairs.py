"""Pairs as lines: what is shown and sent again is the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.pairs import pairs_of, text_of_pairs

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"))


@given(st.dictionaries(TEXTS, TEXTS), st.booleans())
def test_pairs_that_are_shown_and_sent_again_are_the_same(pairs, strip):
    assert pairs_of(text_of_pairs(pairs).replace("\n", "\r\n"), strip=strip) == (pairs, "")


@pytest.mark.parametrize(
    ("text", "pairs", "fault"),
    [
        ("", {}, ""),
        ("a=1\r\n\r\n b = x=y \n", {"a": "1", "b": " x=y "}, ""),
        ("a=1\nb\nc", {"a": "1", "b": "", "c": ""}, "line 2 has no “=”"),
        ("a=1\na=2", {"a": "2"}, "line 2 names a again"),
        ('{"a": "1"}', {"a": "1"}, ""),
        ("{a=1", {"{a": "1"}, ""),
    ],
)
def test_lines_are_pairs(text, pairs, fault):
    assert pairs_of(text, strip=False) == (pairs, fault)


def test_plain_pairs_are_plain_lines():
    assert text_of_pairs({"a": "1", "2024": "x=y"}) == "a=1\n2024=x=y"
