import re
from pathlib import Path

import pytest

import clusters
from agent import protocol
from clusters import reasons


def test_a_sentence_is_made_of_its_code_and_data():
    assert reasons.sentence("exit-code", {"exit_code": 7, "host": "tpu-1"}) == "The command ended with exit code 7 on tpu-1."


def test_a_reason_of_a_newer_panel_speaks_for_itself():
    assert reasons.sentence("not-yet-known", {}) == "not-yet-known"
    assert reasons.sentence("exit-code", {}) == "The command ended with exit code %(exit_code)s on %(host)s."


@pytest.mark.parametrize("code", reasons.SENTENCES)
def test_every_sentence_can_be_filled(code):
    text = str(reasons.SENTENCES[code])
    names = re.findall(r"%\((\w+)\)s", text)
    said = reasons.sentence(code, dict.fromkeys(names, "x"))
    assert "%" not in said and said.endswith((".", ": x"))


def test_every_cause_of_an_end_has_a_sentence():
    told_by_their_exit = {protocol.CAUSE_EXITED, protocol.CAUSE_SIGNALED}
    causes = {value for name, value in vars(protocol).items() if name.startswith("CAUSE_")}
    assert causes - told_by_their_exit <= set(reasons.SENTENCES)


def test_every_code_that_is_written_has_a_sentence():
    written = set()
    for path in Path(clusters.__path__[0]).rglob("*.py"):
        written |= set(re.findall(r'(?:, code=|Refusal\(|Outcome\.\w+, )"([a-z-]+)"(?!\))', path.read_text()))
    assert len(written) > 8 and written <= set(reasons.SENTENCES)
