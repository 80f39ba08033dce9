"""`-p name=value` is read as the definition's schema says, and what cannot be meant is told by name."""

from __future__ import annotations

import io
import sys

import pytest

from tpu_panel.cli.parameters import pairs, parse
from tpu_panel.cli.statuses import UsageError

SCHEMA = {
    "type": "object",
    "properties": {
        "epochs": {"type": "integer", "minimum": 1},
        "rate": {"type": "number"},
        "compile": {"type": "boolean"},
        "text": {"type": "string"},
        "layers": {"type": "array", "items": {"type": "integer"}},
        "arguments": {"type": "array", "items": {"type": "string"}},
        "options": {"type": "object"},
        "maybe": {"type": ["integer", "null"]},
        "either": {"type": ["string", "number"]},
        "kind": {"enum": ["adam", "sgd", 3]},
        "archive": {"type": "string", "format": "archive"},
    },
    "additionalProperties": False,
}


def read(*texts, schema=SCHEMA, upload=None):
    return parse(texts, schema, "digits", upload or (lambda path: f"digest of {path}"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("epochs=3", 3),
        ("epochs=-7", -7),
        ("epochs= +3 ", 3),
        ("rate=1e-3", 0.001),
        ("rate=2", 2),
        ("rate=.5", 0.5),
        ("compile=true", True),
        ("compile=No", False),
        ("compile=1", True),
        ("text=", ""),
        ("text=a=b", "a=b"),
        ("text= kept ", " kept "),
        ("text=7", "7"),
        ("text=@@home", "@home"),
        ("text=模型", "模型"),
        ("layers=64,32", [64, 32]),
        ("layers=64, 32,", [64, 32]),
        ("layers=[1, 2]", [1, 2]),
        ("layers=", []),
        ("arguments=a,b", ["a,b"]),
        ('arguments=["a", "b"]', ["a", "b"]),
        ("arguments=--seed=7", ["--seed=7"]),
        ('options={"a": [1, null]}', {"a": [1, None]}),
        ("maybe=null", None),
        ("maybe=5", 5),
        ("either=5", 5),
        ("either=five", "five"),
        ("kind=adam", "adam"),
        ("kind=3", 3),
        ("archive=sha-of-one-that-is-there", "sha-of-one-that-is-there"),
    ],
)
def test_a_value_has_the_type_of_its_parameter(text, value):
    found = read(text)[text.partition("=")[0]]
    assert (found, type(found)) == (value, type(value))


def test_an_item_each_makes_a_list():
    assert read("arguments=--seed", "arguments=7", "layers=1,2", "layers=3") == {
        "arguments": ["--seed", "7"],
        "layers": [1, 2, 3],
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("epochs=ten", "epochs: a whole number is needed, not 'ten'"),
        ("epochs=1.5", "epochs: a whole number is needed, not '1.5'"),
        ("epochs=", "epochs: a whole number is needed, not ''"),
        ("rate=fast", "rate: a number is needed, not 'fast'"),
        ("rate=nan", "rate: a number is needed, not 'nan'"),
        ("rate=inf", "rate: a number is needed, not 'inf'"),
        ("compile=maybe", "compile: true or false is needed, not 'maybe'"),
        ("layers=1,x", "layers: a whole number is needed, not 'x'"),
        ("layers=[1", "layers: a list (JSON, or -p again for each item) is needed: "),
        ("options=[]", "options: a JSON object is needed"),
        ("options={", "options: a JSON object is needed: "),
        ("maybe=x", "maybe: a whole number or null is needed, not 'x'"),
        ("epoch=3", "epoch: digits has no such parameter; do you mean epochs? (it has epochs, rate,"),
        ("zzz=3", "zzz: digits has no such parameter (it has epochs,"),
        ("epochs", "-p epochs: write it as name=value."),
        ("=3", "-p =3: write it as name=value."),
        ("text=@/no/such/file", "text: /no/such/file cannot be read: No such file or directory"),
        ("epochs=" + "x" * 99, "epochs: a whole number is needed, not '" + "x" * 40 + "...'"),
    ],
)
def test_what_cannot_be_meant_is_told_by_name(text, words):
    with pytest.raises(UsageError) as raised:
        read(text)
    assert raised.value.message.startswith(words)


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(UsageError) as raised:
        read("epochs=x", "rate=1", "compile=y z", "text=a", "text=b")
    assert raised.value.message.splitlines() == [
        "epochs: a whole number is needed, not 'x'",
        "compile: true or false is needed, not 'y z'",
        "text: it is given more than once, and is no list",
    ]


def test_a_file_or_the_standard_input_is_a_value(tmp_path, monkeypatch):
    (tmp_path / "script.py").write_text("print('größer')\n")
    (tmp_path / "epochs").write_text("5\n")
    (tmp_path / "bytes").write_bytes(b"\xff")
    assert read(f"text=@{tmp_path}/script.py", f"epochs=@{tmp_path}/epochs") == {"text": "print('größer')\n", "epochs": 5}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"piped")))
    assert read("text=@-") == {"text": "piped"}
    with pytest.raises(UsageError, match="is no UTF-8 text"):
        read(f"text=@{tmp_path}/bytes")


def test_an_archive_is_brought_and_named(tmp_path):
    assert read(f"archive=@{tmp_path}/code") == {"archive": f"digest of {tmp_path}/code"}


def test_a_definition_that_takes_anything_takes_it_as_it_looks():
    assert read("n=3", "t=three", "b=true", schema={}) == {"n": 3, "t": "three", "b": True}


def test_pairs_are_read_and_told():
    assert pairs("--label", ["a=b", "c=d=e", "f="]) == {"a": "b", "c": "d=e", "f": ""}
    with pytest.raises(UsageError, match="--label a: write it as name=value"):
        pairs("--label", ["a"])
