from __future__ import annotations

import logging
from pathlib import Path

import pytest

from agent import self_account
from agent.protocol import BuiltRuntime
from agent.self_account import SelfAccount, end_of, keep_log

RUNTIME = BuiltRuntime("a" * 64, 5, 1000)


@pytest.fixture
def log(tmp_path: Path):
    """The file of a log that is kept for this test alone."""
    root = logging.getLogger()
    before = list(root.handlers)
    yield tmp_path / "agent.log"
    for handler in set(root.handlers) - set(before):
        root.removeHandler(handler)
        handler.close()


def test_what_is_logged_stands_in_the_file_and_survives(log):
    log.write_text("an agent before\n")
    keep_log(log)
    logging.getLogger("agent.session").warning("not confirmed: %s", "x")
    before, line = end_of(log).splitlines()
    assert before == "an agent before"
    assert line.endswith("WARNING agent.session not confirmed: x")


def test_a_long_log_is_told_from_a_whole_line_on(log, monkeypatch):
    monkeypatch.setattr(self_account, "TOLD_BYTES", 20)
    log.write_text("one two three\nfour five\nsix\n")
    assert end_of(log) == "four five\nsix\n"


def test_behind_a_file_that_has_just_begun_the_one_before_is_told(log, monkeypatch):
    monkeypatch.setattr(self_account, "TOLD_BYTES", 20)
    log.with_name("agent.log.1").write_text("a long time ago\njust before\n")
    log.write_text("now\n")
    assert end_of(log) == "just before\nnow\n"


def test_no_log_says_nothing_and_broken_bytes_are_told(log):
    assert end_of(log) == ""
    log.write_bytes(b"\xff\n")
    assert end_of(log) == "\N{REPLACEMENT CHARACTER}\n"


def test_an_account_is_given_when_something_is_new(log):
    runtimes = []
    account = SelfAccount(log, runtimes=lambda: runtimes)
    assert account.report().log == ""
    assert account.report() is None
    log.write_text("new\n")
    assert account.report().log == "new\n"
    runtimes.append(RUNTIME)
    assert account.report().runtimes == (RUNTIME,)
    assert account.report() is None


def test_an_account_is_given_again_since_it_may_be_lost(log, monkeypatch):
    account = SelfAccount(log, runtimes=list)
    assert account.report() and account.report() is None
    monkeypatch.setattr(self_account, "AGAIN_AFTER_S", 0)
    assert account.report()
