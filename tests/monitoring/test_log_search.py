"""Lines are found wherever they stand: in segments, in pieces, over their borders, while the log grows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from monitoring import log_blocks, log_search, logs, segments
from monitoring.log_patterns import Matcher, Mode, Pattern
from monitoring.log_search import Found, Hit, Start
from monitoring.models import Log, LogPiece, LogSegment

from .conftest import NOON

Seen = list[tuple[int, int, int]]  # of each line its number, where it begins, and where the next one does


def never() -> bool:
    return False


def always() -> bool:
    return True


def stored(log: Log, chunks: list[tuple[bytes, bool]]) -> Log:
    """A log of these bytes; what was stored by then is sealed after each chunk that says so."""
    for data, is_sealed in chunks:
        head = Log.objects.get(pk=log.pk).head_offset
        logs.append(log, offset=head, data=data, now=NOON)
        if is_sealed:
            segments.seal(log.pk)
    log.refresh_from_db()
    return log


def found(
    log: Log,
    matcher: Matcher,
    *,
    start: int | None = None,
    until: int | None = None,
    is_upwards: bool = False,
    limit: int = 100,
    context: int = 0,
    is_over: Callable[[], bool] = never,
) -> tuple[list[Hit], int, Found]:
    """What a chain of answers finds: all hits, the count of the last answer, and that answer."""
    log.refresh_from_db()
    asked = log_search.range_of(log, start=start, until=until, is_upwards=is_upwards)
    here: Start | None = log_search.beginning(log, asked)
    hits: list[Hit] = []
    for _ in range(10_000):
        assert here is not None
        answer = log_search.search(log, matcher, asked, here, limit=limit, context=context, is_over=is_over)
        assert len(answer.hits) <= limit
        hits += answer.hits
        if answer.next is None:
            return hits, answer.count, answer
        assert answer.next != here, "each answer comes further"
        here = answer.next
    raise AssertionError("it comes to no end")


def seen(hits: list[Hit]) -> Seen:
    return [(hit.number, hit.offset, hit.end) for hit in hits]


def matching(data: bytes, is_hit: Callable[[bytes], bool]) -> Seen:
    lines = enumerate(re.finditer(rb"[^\n]*\n|[^\n]+", data))
    return [(number, *line.span()) for number, line in lines if is_hit(read(line.group().removesuffix(b"\n")))]


def read(line: bytes) -> bytes:
    """A line without escape sequences and last carriage returns, said as simply as can be."""
    return re.sub(rb"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\))", b"", line).rstrip(b"\r")


# -- Against Python's own search ---------------------------------------------------------------------------

PIECES = [
    b"a",
    b"b",
    b"needle",
    b"nee",
    b"dle",
    b"\n",
    b"\n",
    b"\r",
    b"\r\n",
    b"\x1b[31m",
    b"\x1b[0m",
    b"\x1b]0;t\x07",
    b"\xff",
    b"\x00",
    b"0",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join)
CHUNKS = st.lists(st.tuples(TEXTS.filter(bool), st.booleans()), max_size=12)
LOOKED_FOR = [
    (Pattern("needle"), lambda line: b"needle" in line),
    (Pattern("NEEDLE"), lambda line: b"needle" in line),
    (Pattern("NEEDLE", has_case=True), lambda line: False),
    (Pattern("a", has_case=True), lambda line: b"a" in line),
    (Pattern("ba", Mode.REGEX), lambda line: b"ba" in line),
    (Pattern("^a", Mode.REGEX), lambda line: line.startswith(b"a")),
    (Pattern("b$", Mode.REGEX), lambda line: line.endswith(b"b")),
    (Pattern("^$", Mode.REGEX), lambda line: line == b""),
    (Pattern("x*", Mode.REGEX), lambda line: True),
    (Pattern("a[^b]*b", Mode.REGEX), lambda line: re.search(rb"a[^b\xff]*b", line) is not None),  # \xff is no character
    (Pattern(r"\bb\b", Mode.REGEX), lambda line: re.search(rb"(?a)\bb\b", line) is not None),
    (Pattern(r"\Aa", Mode.REGEX), lambda line: line.startswith(b"a")),
    (Pattern(r"(?-m:b$)", Mode.REGEX), lambda line: line.endswith(b"b")),
    (Pattern(r"a\C+b", Mode.REGEX), lambda line: re.search(rb"(?s)a.+b", line) is not None),
    (Pattern(r"a\sb", Mode.REGEX), lambda line: re.search(rb"a[\r\x0c\t\v ]b", line) is not None),
    (Pattern("", Mode.ERRORS), lambda line: False),
]


@dataclass(frozen=True)
class How:
    is_upwards: bool
    limit: int
    sizes: tuple[int, int]
    window: int
    is_over: Callable[[], bool]
    start: int | None
    until: int | None


HOWS = st.builds(
    How,
    is_upwards=st.booleans(),
    limit=st.sampled_from([1, 2, 100]),
    sizes=st.sampled_from([(1, 400), (7, 400), (64, 400), (256 * 1024, 2 * 1024 * 1024)]),
    window=st.sampled_from([401, 1000, 4 * 1024 * 1024]),
    is_over=st.sampled_from([never, always]),
    start=st.none() | st.integers(0, 400),
    until=st.none() | st.integers(0, 400),
)


@pytest.mark.thorough
@given(chunks=CHUNKS, looked_for=st.sampled_from(LOOKED_FOR), how=HOWS)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
def test_it_equals_a_search_over_the_whole_bytes(world, chunks, looked_for, how):
    log = world.open_log()
    pattern, is_hit = looked_for
    start, until, is_upwards = how.start, how.until, how.is_upwards
    data = b"".join(piece for piece, _is_sealed in chunks)
    stored(log, chunks)
    matcher = pattern.matcher()
    matcher.block_bytes, matcher.line_bytes = how.sizes
    lines = matching(data, is_hit)
    if is_upwards:
        below = len(data) if start is None else start
        wanted = [line for line in lines[::-1] if (until or 0) <= line[1] < below]
    else:
        open_start = data.rfind(b"\n") + 1  # of the line that is being written: whatever comes belongs to it
        wanted = [line for line in lines if line[2] > (start or 0) or line[1] == open_start]
        wanted = [line for line in wanted if until is None or line[1] < until]
    asked = {"start": start, "until": until, "is_upwards": is_upwards, "is_over": how.is_over}
    with patch.object(log_blocks, "WINDOW_BYTES", how.window):
        hits, count, _last = found(log, matcher, limit=how.limit, **asked)
        counted = found(log, matcher, limit=0, **asked)
    assert (seen(hits), count) == (wanted, len(wanted))
    assert (counted[0], counted[1]) == ([], len(wanted))


# -- Where it stands ---------------------------------------------------------------------------------------


def the_hit(log: Log, pattern: Pattern, context: int = 0) -> Hit:
    hits, _count, _last = found(log, pattern.matcher(), context=context)
    (hit,) = hits
    return hit


def test_a_hit_over_the_border_of_two_segments_and_of_two_pieces_is_found(log):
    stored(log, [(b"one nee", True), (b"dle\ntwo need", True), (b"le\nthree ne", False), (b"edle", False)])
    assert (LogSegment.objects.count(), LogPiece.objects.count()) == (2, 2)
    hits, count, _last = found(log, Pattern("needle").matcher())
    assert [(hit.number, hit.offset, hit.end, hit.spans, hit.shown.text) for hit in hits] == [
        (0, 0, 11, [(4, 10)], "one needle"),
        (1, 11, 22, [(4, 10)], "two needle"),
        (2, 22, 34, [(6, 12)], "three needle"),
    ]
    assert count == 3


def test_escape_sequences_are_read_over_and_counted_in_the_bytes(log):
    stored(log, [(b"x\n\x1b[1mEr\x1b[31mror\x1b[0m: \x1b]8;;http://a\x1b\\none\x07\n", False)])
    hit = the_hit(log, Pattern("error: none"))
    line = b"\x1b[1mEr\x1b[31mror\x1b[0m: \x1b]8;;http://a\x1b\\none\x07"
    assert (hit.number, hit.offset, hit.shown.text, hit.shown.spans) == (1, 2, "Error: none", [(0, 11)])
    assert [line[start:end] for start, end in hit.spans] == [line[4:-1]]


def test_lines_around_a_hit_come_with_it_from_other_segments_too(log):
    stored(log, [(b"%d\n" % number, number % 2 == 0) for number in range(6)])
    hit = the_hit(log, Pattern("3"), context=2)
    assert [(line.number, line.offset, line.shown.text) for line in hit.before] == [(1, 2, "1"), (2, 4, "2")]
    assert [(line.number, line.offset, line.shown.text) for line in hit.after] == [(4, 8, "4"), (5, 10, "5")]
    first, last = the_hit(log, Pattern("0"), context=1), the_hit(log, Pattern("5"), context=1)
    assert ([line.number for line in first.before], [line.number for line in first.after]) == ([], [1])
    assert ([line.number for line in last.before], [line.number for line in last.after]) == ([4], [])


def test_context_leaves_out_a_line_that_is_too_long_and_what_is_behind_it(log):
    stored(log, [(b"a\nb\n" + b"x" * 70_000 + b"\nc\nneedle\nd\n" + b"y" * 70_000 + b"\n", True)])
    with patch.object(log_blocks, "WINDOW_BYTES", 71_000):
        matcher = Pattern("needle").matcher()
        matcher.block_bytes, matcher.line_bytes = 10, 70_999
        ((hit,), _count, _last) = found(log, matcher, context=5)
    assert ([line.shown.text for line in hit.before], [line.shown.text for line in hit.after]) == (["c"], ["d"])


def test_of_a_long_line_the_text_around_the_hit_is_shown(log):
    stored(log, [(b"x" * 500_000 + b"needle" + b"y" * 500_000 + b"\n", False)])
    hit = the_hit(log, Pattern("needle"))
    assert (len(hit.shown.text), hit.shown.cut_before, hit.shown.cut_after) == (2000, 499_800, 498_206)
    assert [hit.shown.text[start:end] for start, end in hit.shown.spans] == ["needle"]
    assert (hit.spans, hit.end) == ([(500_000, 500_006)], 1_000_007)


def test_a_line_tells_of_a_hundred_matches_at_most(log):
    stored(log, [(b"ab" * 200, False)])
    hit = the_hit(log, Pattern("a"))
    assert (len(hit.spans), hit.spans[-1], len(hit.shown.spans)) == (100, (198, 199), 100)


@pytest.mark.parametrize("is_upwards", [False, True])
@pytest.mark.parametrize("is_over", [never, always])
def test_a_line_longer_than_is_searched_at_once_is_one_hit_with_its_number(log, is_upwards, is_over):
    line = b"x" * 95 + b"needle" + b"x" * 100 + b"needle" + b"x" * 90 + b"\n"  # the first over the border of two parts
    stored(log, [(b"needle 0\n" + line[:150], True), (line[150:] + b"no\nneedle 3\n", False), (line[:-1], False)])
    matcher = Pattern("needle").matcher()
    matcher.block_bytes, matcher.line_bytes = 20, 50
    with patch.object(log_blocks, "WINDOW_BYTES", 120):
        hits, count, _last = found(log, matcher, is_upwards=is_upwards, is_over=is_over)
        assert found(log, matcher, is_upwards=is_upwards, is_over=is_over, limit=0)[1] == 4
        assert seen(found(log, matcher, is_upwards=is_upwards, is_over=is_over, limit=1)[0]) == seen(hits)
    wanted = [(0, 0, 9), (1, 9, 307), (3, 310, 319), (4, 319, 616)]
    assert (seen(hits), count) == (wanted[::-1] if is_upwards else wanted, 4)
    assert [line[start:end] for start, end in {hit.number: hit for hit in hits}[1].spans] == [b"needle"]


# -- A log that is being written ---------------------------------------------------------------------------


def test_the_line_that_is_being_written_is_found_and_counted_once_when_it_has_grown(log):
    stored(log, [(b"needle 1\nneed", False)])
    matcher = Pattern("needle").matcher()
    hits, count, last = found(log, matcher)
    assert ([hit.number for hit in hits], count) == ([0], 1)
    for more, number_of_hits, counted in [(b"le 2", [1], 2), (b" more\n", [1], 2), (b"no", [], 2), (b"\nneedle", [3], 3)]:
        stored(log, [(more, counted == 3)])
        asked = log_search.range_of(log, start=None, until=None, is_upwards=False)
        assert last.resume is not None
        last = log_search.search(log, matcher, asked, last.resume, limit=100, context=0, is_over=never)
        assert ([hit.number for hit in last.hits], last.count, last.next) == (number_of_hits, counted, None)
    logs.finish(log, log.head_offset)
    assert found(log, matcher)[2].resume is None


def test_an_answer_goes_on_in_what_was_sealed_and_written_meanwhile(log):
    stored(log, [(b"needle %d\n" % number, False) for number in range(4)])
    asked = log_search.range_of(log, start=None, until=None, is_upwards=False)
    matcher = Pattern("needle").matcher()
    first = log_search.search(log, matcher, asked, Start(log_blocks.line_at(log, 0)), limit=2, context=0, is_over=never)
    stored(log, [(b"needle 4\n", True)])
    assert first.next is not None
    asked = log_search.range_of(log, start=None, until=None, is_upwards=False)
    second = log_search.search(log, matcher, asked, first.next, limit=9, context=0, is_over=never)
    assert ([hit.number for hit in first.hits + second.hits], second.count) == ([0, 1, 2, 3, 4], 5)


def test_newest_first_stays_with_what_was_there_when_it_began(log):
    stored(log, [(b"needle 0\nneedle 1\n", True), (b"needle 2", False)])
    asked = log_search.range_of(log, start=None, until=None, is_upwards=True)
    matcher = Pattern("needle").matcher()
    first = log_search.search(log, matcher, asked, log_search.beginning(log, asked), limit=1, context=0, is_over=never)
    stored(log, [(b"\nneedle 3\n", True)])
    assert first.next is not None
    second = log_search.search(log, matcher, asked, first.next, limit=9, context=0, is_over=never)
    assert [hit.number for hit in first.hits + second.hits] == [2, 1, 0]


def test_an_empty_log_has_no_hits_and_can_be_gone_on_with(log):
    hits, count, last = found(log, Pattern("x*", Mode.REGEX).matcher())
    assert (hits, count, last.next, last.resume) == ([], 0, None, Start(log_blocks.Place(0, 0, 0)))
    assert found(log, Pattern("a").matcher(), is_upwards=True)[:2] == ([], 0)
