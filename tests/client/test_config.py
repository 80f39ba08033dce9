"""Which panel and which token: what goes before what, and who may read it."""

from __future__ import annotations

import json
import stat

import pytest

from tpu_panel import config
from tpu_panel.config import Account
from tpu_panel.errors import PanelError

KEPT = Account("https://panel.example", "tpu_kept")


@pytest.fixture
def environ(tmp_path):
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


def test_what_is_kept_is_for_its_owner_alone_and_found_again(environ, tmp_path):
    place = config.save(KEPT, environ)
    assert place == tmp_path / "config" / "tpu-panel" / "config.json"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    assert config.load(environ) == KEPT
    assert list(place.parent.iterdir()) == [place]


def test_a_file_that_others_could_read_is_replaced_by_one_they_cannot(environ):
    place = config.save(KEPT, environ)
    place.chmod(0o644)
    config.save(KEPT, environ)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("given", "more", "found"),
    [
        ((None, None), {}, KEPT),
        (("https://panel.example/", None), {}, KEPT),
        (("https://other.example", None), {}, Account("https://other.example", "")),
        ((None, "tpu_mine"), {}, Account("https://panel.example", "tpu_mine")),
        ((None, None), {"PANEL_URL": "https://other.example"}, Account("https://other.example", "")),
        ((None, None), {"PANEL_URL": "https://panel.example"}, KEPT),
        ((None, None), {"PANEL_TOKEN": " tpu_env\n"}, Account("https://panel.example", "tpu_env")),
        (
            ("a.example", "tpu_mine"),
            {"PANEL_URL": "b.example", "PANEL_TOKEN": "tpu_env"},
            Account("http://a.example", "tpu_mine"),
        ),
    ],
)
def test_a_kept_token_goes_to_its_own_panel_and_to_no_other(environ, given, more, found):
    config.save(KEPT, environ)
    assert config.account(*given, environ | more) == found


def test_with_nothing_kept_it_is_the_panel_of_this_machine(environ):
    assert config.account(environ=environ) == Account("http://127.0.0.1:8000", "")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '"x"', '{"url": "https://a"}', '{"url": 7, "token": "x"}', '{"url": "", "token": "x"}']
)
def test_a_broken_file_is_told_and_not_needed_when_all_else_is_said(environ, text):
    place = config.save(KEPT, environ)
    place.write_text(text)
    with pytest.raises(PanelError, match="is not what `tpu-panel login` writes"):
        config.account(environ=environ)
    assert config.account("a.example", "x", environ) == Account("http://a.example", "x")


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PanelError, match="cannot be written"):
        config.save(KEPT, {"PANEL_CONFIG": str(tmp_path / "file" / "config.json")})


def test_another_place_may_be_named(tmp_path):
    place = config.save(KEPT, {"PANEL_CONFIG": str(tmp_path / "mine.json")})
    assert (
        json.loads((tmp_path / "mine.json").read_text()) == {"url": KEPT.url, "token": KEPT.token} and place.name == "mine.json"
    )
