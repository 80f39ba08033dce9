from __future__ import annotations

import base64
import json
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.masking import Masker, forms_of

SECRET = 'hunter2/pa ss+wörd"?'
LETTERS = "abAB/ +="  # few, so that secrets overlap, repeat and stand in each other's forms
secrets = st.lists(st.text(LETTERS, min_size=8, max_size=14), min_size=1, max_size=4)


def masked(text: bytes, *values: str, cuts: list[int] | None = None) -> bytes:
    masker = Masker(values)
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts or []), len(text)]
    pieces = [masker.feed(text[start:end]) for start, end in zip(places, places[1:], strict=False)]
    return b"".join([*pieces, masker.flush()])


@pytest.mark.parametrize(
    "form",
    [
        SECRET.encode(),
        base64.b64encode(SECRET.encode()),
        base64.b64encode(SECRET.encode()).rstrip(b"="),
        base64.urlsafe_b64encode(SECRET.encode()),
        quote(SECRET).encode(),
        quote(SECRET, safe="").encode(),
        quote_plus(SECRET).encode(),
        json.dumps(SECRET)[1:-1].encode(),
        json.dumps(SECRET, ensure_ascii=False)[1:-1].encode(),
    ],
)
def test_each_form_is_masked_whole(form):
    assert masked(b"token=" + form + b";", SECRET) == b"token=[masked];"


@pytest.mark.parametrize("before", range(4))
def test_base64_is_masked_inside_a_longer_base64_text(before):
    text = base64.b64encode(b"x" * before + SECRET.encode() + b"tail")
    assert b"[masked]" in masked(text, SECRET)
    kept = masked(text, SECRET).split(b"[masked]")
    assert sum(map(len, kept)) <= len(text) - (len(SECRET.encode()) * 8 // 6 - 1)


def test_lines_of_a_secret_are_masked_alone_and_its_short_ones_are_not():
    key = "-----BEGIN KEY-----\n  line one of it  \nshort\n-----END KEY-----\n"
    assert masked(b"> line one of it\n> short\n", key) == b"> [masked]\n> short\n"
    assert masked(key.encode(), key) == b"[masked]"


def test_the_longer_of_two_secrets_that_begin_alike_wins_across_a_cut():
    assert masked(b"abcdefgh-more!", "abcdefgh", "abcdefgh-more", cuts=[8]) == b"[masked]!"
    assert masked(b"abcdefgh-mere!", "abcdefgh", "abcdefgh-more", cuts=[8]) == b"[masked]-mere!"


def test_only_the_longest_tail_that_begins_a_form_is_withheld():
    masker = Masker(["secret-value"])
    assert masker.feed(b"a line\nsecr") == b"a line\n"
    assert masker.feed(b"et of mine\nsecret-val") == b"secret of mine\n"
    assert masker.flush() == b"secret-val"


def test_a_secret_under_8_bytes_is_refused():
    with pytest.raises(ValueError, match="under 8 bytes"):
        Masker(["seven77"])
    assert Masker(["ö" * 4]).feed(b"8 bytes are enough") == b"8 bytes are enough"


def test_without_secrets_the_very_bytes_pass():
    data = b"x" * 100
    assert Masker([]).feed(data) is data
    assert Masker([]).flush() == b""


@given(secrets, st.data())
def test_any_cut_gives_what_the_whole_gives(values, data):
    forms = sorted({form for value in values for form in forms_of(value)})
    parts = st.one_of(st.sampled_from(forms), st.binary(max_size=4), st.text(LETTERS, max_size=9).map(str.encode))
    text = b"".join(data.draw(st.lists(parts, max_size=8)))
    cuts = data.draw(st.lists(st.integers(0, 10_000), max_size=12))
    whole = masked(text, *values)
    assert masked(text, *values, cuts=cuts) == whole
    assert masked(text, *values, cuts=list(range(len(text)))) == whole
    assert not [form for form in forms if form in whole]


def test_log_text_passes_at_more_than_50_megabytes_a_second():
    lines = b"".join(b"2024-05-01 12:00:00 INFO step=%d loss=0.4312 tokens/s=12345.6\n" % step for step in range(1000))
    chunk = lines[:65536]
    masker = Masker(["hf_kQ3vWzYx81LmNoPq", "wandb-0123456789abcdef", "AKIAIOSFODNN7EXAMPLE"])
    best = min(_seconds(masker, chunk) for _ in range(20))
    assert len(chunk) / best > 50e6


def _seconds(masker: Masker, chunk: bytes) -> float:
    began = time.perf_counter()
    masker.feed(chunk)
    return time.perf_counter() - began
