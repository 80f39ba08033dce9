"""What a shell is told to offer, from the parser itself and from the panel."""

from __future__ import annotations

import pytest

from tpu_panel.cli import completion, options
from tpu_panel.errors import Unreachable


class FakePanel:
    def __init__(self, *, patience_s: float) -> None:
        assert patience_s <= 2

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def jobs(self, **_):
        return iter([type("Job", (), {"number": number})() for number in (128, 17, 12)])

    def definitions(self):
        return [
            {"slug": "digits", "parameters": {"properties": {"epochs": {}, "rate": {}}}},
            {"slug": "command", "parameters": {}},
        ]

    def projects(self):
        return [{"slug": "first-project"}]


@pytest.fixture(autouse=True)
def panel(monkeypatch):
    monkeypatch.setattr(completion, "Panel", FakePanel)


def offered(*words: str) -> list[str]:
    return completion.candidates(options.parser(), words)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["la"], ["launch"]),
        (["lo"], ["login", "logs"]),
        (["--ver"], ["--version"]),
        (["logs", ""], ["128", "17", "12"]),
        (["logs", "1"], ["128", "17", "12"]),
        (["wait", "17", "12"], ["128", "12"]),
        (["logs", "17", "--t"], ["--tail"]),
        (["logs", "17", "--part", ""], ["output", "prepare"]),
        (["logs", "17", "--tail", ""], []),
        (["jobs", "--state", "s"], ["starting", "stopping", "succeeded"]),
        (["jobs", "--project", ""], ["first-project"]),
        (["launch", ""], ["command", "digits"]),
        (["launch", "digits", "-p", ""], ["epochs=", "rate="]),
        (["launch", "digits", "-p", "e"], ["epochs="]),
        (["launch", "digits", "-p", "script=@"], ["::files"]),
        (["launch", "--file", ""], ["::files"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["hosts", ""], []),
        (["nonsense", "x"], []),
    ],
)
def test_what_may_stand_there_is_offered(words, found):
    assert offered(*words) == [one for one in found if one.startswith(words[-1]) or one == "::files"]


def test_every_command_is_offered_and_nothing_else():
    assert [name for name in offered("") if not name.startswith("-")] == list(options.COMMANDS)


def test_a_panel_that_is_away_offers_nothing(monkeypatch):
    def away(self, **_):
        raise Unreachable("unreachable", "away")

    monkeypatch.setattr(FakePanel, "jobs", away)
    assert offered("logs", "") == []
