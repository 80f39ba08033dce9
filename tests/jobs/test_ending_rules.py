"""What is said of ends: a line for each rule, and the order in which they speak."""

from __future__ import annotations

import pytest

from clusters import reasons
from jobs.ending_rules import RULES, judge

RAN = {"exit_code": 1, "host": "tpu-1", "rank": 0}
SAID = {
    "chip-memory": "jaxlib.XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 17.2G of 15.5G hbm.",
    "chips-held": "RuntimeError: The TPU is already in use by process with pid 4711",
    "no-chip": "RuntimeError: Unable to initialize backend 'tpu': INTERNAL",
    "no-module": "ModuleNotFoundError: No module named 'einops'",
    "disk-full": "OSError: [Errno 28] No space left on device: '/tmp/x'",
    "shared-memory": "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Bus error.",
    "host-memory": "MemoryError",
    "not-a-number": "ValueError: loss is NaN at step 12",
    "indivisible": "ValueError: batch 130 is not divisible by 8",
    "port-taken": "OSError: [Errno 98] Address already in use",
    "no-access": "huggingface_hub.errors.GatedRepoError: 401 Client Error.",
    "no-network": "socket.gaierror: [Errno -3] Temporary failure in name resolution",
    "checkpoint-unfit": "\tsize mismatch for head.weight: copying a param with shape",
    "no-file": "FileNotFoundError: [Errno 2] No such file or directory: 'data/train.csv'",
    "no-permission": "PermissionError: [Errno 13] Permission denied: '/data'",
    "wrong-arguments": "train.py: error: unrecognized arguments: --epoch 3",
    "syntax": "SyntaxError: invalid syntax",
    "unfit-library": "ImportError: /x/_XLAC.so: undefined symbol: _ZN5torch",
    "raised": "KeyError: 'labels'",
}


@pytest.mark.parametrize("name", SAID)
def test_a_rule_knows_its_words(name):
    verdict = judge("exit-code", RAN, ["before", SAID[name], "after"])
    assert (verdict.rule.name, verdict.line) == (name, 1)
    assert "%(" not in verdict.cause + verdict.advice and "?" not in verdict.cause


def test_what_the_words_name_is_in_the_cause():
    assert judge("exit-code", RAN, [SAID["no-module"]]).cause == "Python found no module einops."
    assert judge("exit-code", RAN, [SAID["no-file"]]).cause == "It found no file data/train.csv."
    missing_script = "python3: can't open file '/code/train.py': [Errno 2] No such file or directory"
    assert judge("exit-code", RAN, [missing_script]).cause == "It found no file /code/train.py."
    assert judge("exit-code", RAN, [SAID["raised"]]).cause == "It raised KeyError: 'labels'"


@pytest.mark.parametrize(
    ("data", "name", "signal_name"),
    [
        ({"exit_code": 137}, "killed", ""),
        ({"signal": 9}, "killed", ""),
        ({"exit_code": 139}, "crashed", "SIGSEGV"),
        ({"signal": 6}, "crashed", "SIGABRT"),
        ({"exit_code": 143}, "asked-to-end", "SIGTERM"),
        ({"exit_code": 127}, "no-such-command", ""),
        ({"exit_code": 126}, "not-executable", ""),
        ({"exit_code": 3}, "unknown", ""),
        ({"exit_code": 255}, "unknown", ""),
        ({"signal": 63}, "unknown", ""),
        ({}, "unknown", ""),
    ],
)
def test_an_exit_code_of_a_shell_is_a_signal_and_what_nothing_explains_is_unknown(data, name, signal_name):
    verdict = judge("exit-code", data, ["epoch 3 of 10", "done"])
    assert verdict.rule.name == name
    assert signal_name in verdict.cause
    assert verdict.line is None


def test_what_the_program_said_counts_more_than_its_exit_code():
    assert judge("exit-code", {"exit_code": 137}, [SAID["no-module"]]).rule.name == "no-module"
    assert judge("signal", {"signal": 9}, ["MemoryError"]).rule.name == "host-memory"


def test_of_two_lines_of_one_rule_the_last_tells():
    verdict = judge("exit-code", RAN, ["No module named 'one'", "x", "No module named 'two'"])
    assert (verdict.cause, verdict.line) == ("Python found no module two.", 2)


@pytest.mark.parametrize(
    "words",
    [
        "0 errors, 0 warnings",
        "the loss is now 0.3",
        "Epoch 3: loss: 0.4, nan_count: 0",
        "divisible by 3 numbers",
        "Errors are counted",
        "val/loss=0.31 port 80",
    ],
)
def test_harmless_words_tell_nothing(words):
    assert judge("exit-code", {"exit_code": 3}, [words]).rule.name == "unknown"


def test_every_reason_of_an_end_has_a_rule_of_its_own():
    """What a job can be failed or canceled with; the others tell of what waits or goes on."""
    on_the_way = {
        *(
            "no-pass-yet",
            "no-host",
            "hosts-silent",
            "hosts-cordoned",
            "too-large",
            "chips-busy",
            "retrying",
            "placed",
            "preparing",
            "waits-long",
        ),
        *("unclaimed", "host-silent-at-start", "drained"),  # it goes back to the line
        *("exit-code", "signal"),  # judged by what was said
    }
    for code in reasons.SENTENCES.keys() - on_the_way:
        assert judge(code, {"by": "ann"}, []).rule.name != "unknown", code
    known = {code for rule in RULES for code in rule.codes}
    assert known <= reasons.SENTENCES.keys()


def test_a_reason_of_a_newer_panel_is_unknown():
    assert judge("eaten-by-bears", {}, []).rule.name == "unknown"


def test_words_of_preparing_are_read_for_what_failed_there():
    assert judge("prepare-failed", {}, ["Because x was not found in the package registry"]).rule.name == "runtime-unsolvable"
    assert judge("prepare-failed", {}, ["error: dns error"]).rule.name == "prepare-unreachable"
    assert judge("prepare-failed", {}, ["KeyError: 'x'"]).rule.name == "prepare-failed"


def test_a_cause_whose_data_lacks_a_word_still_reads():
    assert judge("canceled", {}, []).cause == "Canceled by ?."


def test_the_worst_line_takes_no_time():
    """No row's expression may explode: a log is anybody's text."""
    worst = ["A" * 2000, "a." * 1000, "No module named " + "." * 1980, "TPU initialization failed: No " * 60, "loss " * 400]
    assert judge("exit-code", {"exit_code": 3}, worst * 40).rule.name in ("no-module", "unknown")
