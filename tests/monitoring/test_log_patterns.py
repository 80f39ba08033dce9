"""What can be looked for: texts, expressions that stay linear, and what tells of an error."""

from __future__ import annotations

import time

import pytest

from monitoring.log_patterns import ERRORS, MOST_INSTRUCTIONS, Mode, Pattern
from projects.errors import Invalid


def spans(text: str, line: str, *, mode: Mode = Mode.PLAIN, has_case: bool = False) -> list[str]:
    data = line.encode()
    return [data[start:end].decode() for start, end in Pattern(text, mode, has_case).matcher().spans(data)]


def numbers(pattern: Pattern, data: bytes) -> list[int]:
    return [data.count(b"\n", 0, place) for place in pattern.matcher().hits(data)]


def test_a_text_is_looked_for_as_it_stands():
    assert spans("a.b*", "axb a.b* A.B*") == ["a.b*", "A.B*"]
    assert spans("a.b*", "axb a.b* A.B*", has_case=True) == ["a.b*"]
    assert spans("größe", "Größe GRÖSSE größe") == ["Größe", "größe"]
    assert spans("温度", "当前温度过高") == ["温度"]


def test_small_letters_are_capitals_in_lines_of_any_script():
    data = "größe\nplain\nGRÖẞE K\n".encode()
    assert numbers(Pattern("GRÖß"), data) == [0, 2]
    assert numbers(Pattern("PLAIN"), data) == [1]
    assert numbers(Pattern("k"), data) == [2]


def test_an_expression_stays_within_its_line():
    data = b"one\ntwo\n\nthree\n"
    assert numbers(Pattern(r"o\s", Mode.REGEX), data) == []
    assert numbers(Pattern(r"[^x]+e$", Mode.REGEX), data) == [0, 3]
    assert numbers(Pattern(r"^", Mode.REGEX), data) == [0, 1, 2, 3]
    assert numbers(Pattern(r"(?s)two.*three", Mode.REGEX), data) == []
    assert numbers(Pattern(r"\Atwo\z", Mode.REGEX), data) == [1]
    assert numbers(Pattern(r"two\C+", Mode.REGEX), data) == []


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("(", "missing ): ("),
        ("a)", "unexpected ): a)"),
        ("[z-a]", "invalid character class range: z-a"),
        ("a{1001}", "invalid repetition size: {1001}"),
        ("((a{100}){100}){100}", "invalid repetition size: {100}"),
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("(?=a)", "invalid perl operator: (?="),
        ("*", "no argument for repetition operator: *"),
        ("(?i", "invalid perl operator: (?i"),
    ],
)
def test_what_re2_refuses_is_told_in_its_words(expression, words):
    with pytest.raises(Invalid) as refused:
        Pattern(expression, Mode.REGEX).matcher()
    assert refused.value.fields == {"q": words}


@pytest.mark.parametrize("text", ["", "x" * 1001, "two\nlines"])
@pytest.mark.parametrize("mode", [Mode.PLAIN, Mode.REGEX])
def test_what_no_line_can_have_is_refused(text, mode):
    with pytest.raises(Invalid) as refused:
        Pattern(text, mode).matcher()
    assert list(refused.value.fields) == ["q"]


def test_an_expression_that_is_too_large_is_refused():
    with pytest.raises(Invalid):
        Pattern(r"\pL{0,30}", Mode.REGEX).matcher()
    assert Pattern(r"\pL{1,3} \pN", Mode.REGEX).matcher()


@pytest.mark.parametrize("expression", ["(a+)+$", "(a|aa)+$", "(a*)*b", "(?:a|b)*a(?:a|b){900}c", "(a?){30}a{30}b", "(x+x+)+y"])
def test_no_expression_explodes(expression):
    """Python's own search would not come back from most of these."""
    matcher = Pattern(expression, Mode.REGEX).matcher()
    line = b"ax" * 20_000 + b"a" * 40_000
    began = time.monotonic()
    matcher.spans(line[: matcher.block_bytes])
    list(matcher.hits(line[: matcher.block_bytes]))
    assert time.monotonic() - began < 5


def test_the_larger_an_expression_the_less_is_searched_without_a_pause():
    small, large = Pattern("a", Mode.REGEX).matcher(), Pattern("(?:a|b)*a(?:a|b){900}c(?:a|b){900}", Mode.REGEX).matcher()
    assert (small.block_bytes, small.line_bytes) == (256 * 1024, 2 * 1024 * 1024)
    assert 16 * 1024 <= large.block_bytes < 64 * 1024 <= large.line_bytes < 1024 * 1024
    assert large.block_bytes < large.line_bytes
    assert MOST_INSTRUCTIONS * 64 * 1024 * 4e-9 < 5, "seconds that nothing could stop"


def test_a_line_of_many_errors_tells_of_a_hundred():
    assert len(Pattern("a").matcher().spans(b"a" * 300)) == 100


# -- What tells of an error: one of each kind ------------------------------------------------------------------

TELLING = [
    "Traceback (most recent call last):",
    "ValueError: shapes differ",
    "jax.errors.JaxRuntimeError: INTERNAL: failed",
    'Exception in thread "main" java.lang.NullPointerException: x',
    "KeyboardInterrupt",
    "subprocess.CalledProcessError:",
    "pip: Error: no such option",
    "error: externally-managed-environment",
    "error[E0425]: cannot find value",
    "main.c:3:5: error: expected ';'",
    "fatal: not a git repository",
    "panic: runtime error",
    "2026-03-01 12:00:00 ERROR trainer: it broke",
    "[CRITICAL] disk",
    "F0301 12:00:00.123 77 tpu.cc:12] check failed",
    "FAILED tests/test_x.py::test_y",
    "3 FAILED",
    "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 123 bytes",
    "OOM when allocating tensor",
    "terminate called after throwing an instance of 'std::bad_alloc'",
    "Killed",
    "bash: line 1:  4711 Killed                  python train.py",
    "Out of memory: Killed process 123 (python)",
    "Segmentation fault (core dumped)",
    "Fatal Python error: Aborted",
    "bash: foo: command not found",
    "cat: x: No such file or directory",
    "OSError: [Errno 28] No space left on device",
    "epoch 3 error: 0.123, ERROR: worker 2 is gone",
]
HARMLESS = [
    "0 errors",
    "0 ERRORS, 3 warnings",
    "no errors found",
    "finished without errors",
    "Mean Squared Error: 0.123",
    "error: 0.001 loss: 0.2",
    "val error = 1e-3",
    "errors: 0",
    '{"errors": 0, "failed": false}',
    "FAILED: 0",
    "FAILED=0 PASSED=12",
    "0 FAILED",
    "error: none",
    "loading terror_dataset",
    "E0301 12:00:00.1 77 cuda_dnn.cc:10] Unable to register cuDNN factory",
    "step 1,224 loss 1.8",
    "class MyError(Exception):",
    "skilled workers",
    "roommate",
]


@pytest.mark.parametrize("line", TELLING)
def test_a_line_that_tells_of_an_error_is_found(line):
    assert spans("", line, mode=Mode.ERRORS) != []


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_that_only_speaks_of_errors_is_not(line):
    assert spans("", line, mode=Mode.ERRORS) == []


@pytest.mark.parametrize("expression", ERRORS)
def test_each_sign_of_an_error_is_needed(expression):
    """One that finds nothing among the examples could as well be left out."""
    assert [line for line in TELLING if spans(expression, line, mode=Mode.REGEX, has_case=True)]


def test_lines_of_errors_are_found_among_others():
    data = "\n".join(["step 1", "0 errors", "ValueError: x", "step 2", "Killed", ""]).encode()
    assert numbers(Pattern("", Mode.ERRORS), data) == [2, 4]
