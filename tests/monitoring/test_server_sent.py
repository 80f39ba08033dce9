"""How events stand on the line, and how bytes of a log become text without loss."""

from __future__ import annotations

import base64
import json

from hypothesis import given
from hypothesis import strategies as st

from monitoring import server_sent

ODD = "a\nb\r\nc\u2028d\x85e\x0bf\x00"


def test_an_event_has_its_id_its_name_and_one_line_of_data():
    text = server_sent.event("log", {"text": ODD}, id="1:17").decode()
    assert text.endswith("\n\n")
    head, name, data = text[:-2].splitlines()
    assert (head, name) == ("id: 1:17", "event: log")
    assert json.loads(data.removeprefix("data: ")) == {"text": ODD}


def test_an_event_without_an_id_leaves_the_last_one_standing():
    assert server_sent.event("gap", {"offset": 1}) == b'event: gap\ndata: {"offset": 1}\n\n'


def test_bytes_that_are_text_come_as_text_alone():
    assert server_sent.text_of("Größe 模型\n".encode()) == {"text": "Größe 模型\n"}


def test_bytes_that_are_no_text_come_as_they_are_besides():
    data = b"\xff\x00ok"
    assert server_sent.text_of(data) == {"text": "\ufffd\x00ok", "base64": base64.b64encode(data).decode()}


def test_a_character_is_not_cut():
    characters = server_sent.Characters()
    whole = "模型😀é".encode()
    parts = [characters.take(whole[i : i + 1]) for i in range(len(whole))]
    assert [part.decode() for part in parts if part] == ["模", "型", "😀", "é"]
    assert characters.rest() == b""


def test_the_beginning_of_a_character_that_never_ends_is_the_rest():
    characters = server_sent.Characters()
    assert characters.take(b"ok\xe6\xa8") == b"ok"
    assert (characters.rest(), characters.rest()) == (b"\xe6\xa8", b"")


@given(st.lists(st.binary(max_size=9) | st.text(max_size=4).map(str.encode)))
def test_no_byte_is_lost_or_added(parts):
    characters = server_sent.Characters()
    handed_on = [characters.take(part) for part in parts]
    assert len(characters.held) <= 3
    assert b"".join([*handed_on, characters.rest()]) == b"".join(parts)


@given(st.text(), st.data())
def test_text_stays_text_wherever_it_is_cut(text, data):
    characters, whole = server_sent.Characters(), text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    parts = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    told = [server_sent.text_of(characters.take(part)) for part in parts]
    assert "".join(one["text"] for one in told) == text
    assert not any("base64" in one for one in told)
