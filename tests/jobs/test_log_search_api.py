"""Searching a job's log over HTTP."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest

from jobs import log_search_api
from monitoring import logs, segments
from monitoring.log_turns import Turns
from monitoring.models import Log
from tests.factories import NOON, a_job

from .conftest import body

pytestmark = pytest.mark.django_db
TEXT = b"step 1\nValueError: shapes differ\n\x1b[31mred\x1b[0m STEP 3\n 10 %\r 20 %\r\nlast step"


@pytest.fixture
def job(vision):
    return a_job(project=vision.project, by=vision.member)


@pytest.fixture
def ask(script, vision, job):
    """ask(q, **query): what the search answers; the body of an error as it is, else without what the log is."""
    viewer = script(vision.viewer, scope="read")

    def search(q=None, *, path="search", **query):
        given = {name.rstrip("_"): value for name, value in query.items()} | ({} if q is None else {"q": q})
        return viewer.get(f"/api/v1/jobs/{job.pk}/log/{path}?{urlencode(given)}")

    return search


def printed(job, data=TEXT, *, rank=0, part="output", is_sealed=False):
    log = logs.open_log(subject=job.subject, workload_id=job.workload_id, rank=rank, part=part)
    logs.append(log, offset=Log.objects.get(pk=log.pk).head_offset, data=data, now=NOON)
    if is_sealed:
        segments.seal(log.pk)
    return log


def lines(answer):
    assert answer.status_code == 200, answer.content
    return [hit["line"] for hit in answer.json()["results"]]


def test_a_hit_says_where_it_stands_and_what_is_around_it(job, ask):
    log = printed(job)
    logs.finish(log, len(TEXT))
    assert ask("shapes", context=1).json() == {
        "results": [
            {
                "line": 1,
                "offset": 7,
                "text": "ValueError: shapes differ",
                "end": 33,
                "text_spans": [[12, 18]],
                "spans": [[12, 18]],
                "cut_before": 0,
                "cut_after": 0,
                "is_overwritten": False,
                "before": [{"line": 0, "offset": 0, "text": "step 1"}],
                "after": [{"line": 2, "offset": 33, "text": "red STEP 3"}],
            }
        ],
        "next_cursor": None,
        "resume_cursor": None,
        "count": 1,
        "is_exact": True,
        "reached": len(TEXT),
        "head": len(TEXT),
        "workload": str(job.workload_id),
    }


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "step"}, [0, 2, 4]),
        ({"q": "step", "case": "true"}, [0, 4]),
        ({"q": "step", "direction": "backward"}, [4, 2, 0]),
        ({"q": "step", "from": 7}, [2, 4]),
        ({"q": "step", "from": 8, "direction": "backward"}, [0]),
        ({"q": "step", "until": 33}, [0]),
        ({"q": "red STEP"}, [2]),
        ({"q": "s.*p", "mode": "regex"}, [0, 1, 2, 4]),
        ({"q": r"\d$", "mode": "regex"}, [0, 2]),
        ({"mode": "errors"}, [1]),
        ({"mode": "errors", "q": "ignored"}, [1]),
        ({"q": "nowhere"}, []),
        ({"q": "s\0p"}, []),
        ({"q": "s" * 400}, []),
        ({"q": "(a+)+$", "mode": "regex"}, []),
    ],
)
@pytest.mark.parametrize("is_sealed", [False, True])
def test_lines_are_found(job, ask, query, found, is_sealed):
    printed(job, TEXT[:40])
    printed(job, TEXT[40:], is_sealed=is_sealed)
    assert lines(ask(**query)) == found


def test_what_was_overwritten_is_found_and_says_so(job, ask):
    printed(job)
    (hit,) = ask("10 %").json()["results"]
    assert (hit["text"], hit["text_spans"], hit["is_overwritten"]) == (" 10 %", [[1, 5]], True)
    (hit,) = ask("20 %").json()["results"]
    assert (hit["text"], hit["text_spans"], hit["is_overwritten"]) == (" 20 %", [[1, 5]], False)


def test_pages_go_on_from_their_cursors_and_the_last_count_is_exact(job, ask):
    printed(job, b"needle\n" * 5, is_sealed=True)
    answers = [ask("needle", limit=2).json()]
    while answers[-1]["next_cursor"]:
        answers.append(ask("needle", limit=2, cursor=answers[-1]["next_cursor"]).json())
    assert [([hit["line"] for hit in one["results"]], one["count"], one["is_exact"]) for one in answers] == [
        ([0, 1], 2, False),
        ([2, 3], 4, False),
        ([4], 5, True),
    ]
    counted = ask("needle", limit=0).json()
    assert (counted["results"], counted["count"], counted["is_exact"]) == ([], 5, True)


def test_an_answer_whose_time_is_over_says_at_least_how_many_and_where_to_go_on(job, ask, monkeypatch):
    printed(job, b"needle\n" * 200_000, is_sealed=True)
    monkeypatch.setattr(log_search_api, "searching", Turns(answer_s=0))
    answer = ask("needle", limit=0).json()
    assert 0 < answer["count"] < 200_000 and not answer["is_exact"]
    for _ in range(20):
        if answer["next_cursor"] is None:
            break
        answer = ask("needle", limit=0, cursor=answer["next_cursor"]).json()
    assert (answer["count"], answer["is_exact"], answer["reached"]) == (200_000, True, 1_400_000)


def test_a_search_goes_on_while_its_log_grows(job, ask):
    printed(job, b"needle\nneed")
    first = ask("needle").json()
    printed(job, b"le")
    second = ask("needle", cursor=first["resume_cursor"]).json()
    printed(job, b"\nneedle\n")
    third = ask("needle", cursor=second["resume_cursor"]).json()
    assert [[hit["line"] for hit in one["results"]] for one in (first, second, third)] == [[0], [1], [1, 2]]
    assert [one["count"] for one in (first, second, third)] == [1, 2, 3]


def test_nothing_printed_yet_has_no_hits(job, ask):
    assert ask("x").json() == {
        "results": [],
        "next_cursor": None,
        "resume_cursor": None,
        "count": 0,
        "is_exact": True,
        "reached": 0,
        "head": 0,
        "workload": str(job.workload_id),
    }


def test_each_part_and_rank_is_searched_for_itself(job, ask):
    printed(job, b"needle\n")
    printed(job, b"\nneedle\n", rank=1)
    printed(job, b"\n\nneedle\n", part="prepare")
    assert [lines(ask("needle", **query)) for query in ({}, {"rank": 1}, {"part": "prepare"}, {"attempt": 1})] == [
        [0],
        [1],
        [2],
        [0],
    ]


def test_only_some_fields_are_told_when_asked(job, ask):
    printed(job)
    assert ask("shapes", fields="line,offset").json()["results"] == [{"line": 1, "offset": 7}]


# -- Wrong input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({}, "q"),
        ({"q": ""}, "q"),
        ({"q": "x" * 1001}, "q"),
        ({"q": "a\nb"}, "q"),
        ({"q": "(", "mode": "regex"}, "q"),
        ({"q": "x{1001}", "mode": "regex"}, "q"),
        ({"q": r"\pL{0,30}", "mode": "regex"}, "q"),
        ({"q": "x", "mode": "glob"}, "mode"),
        ({"q": "x", "case": "yes"}, "case"),
        ({"q": "x", "direction": "up"}, "direction"),
        ({"q": "x", "from": "-1"}, "from"),
        ({"q": "x", "until": "x"}, "until"),
        ({"q": "x", "limit": "x"}, "limit"),
        ({"q": "x", "context": "-1"}, "context"),
        ({"q": "x", "rank": "x"}, "rank"),
        ({"q": "x", "part": "x"}, "part"),
        ({"q": "x", "cursor": "x"}, "cursor"),
    ],
)
def test_wrong_input_is_told_at_its_field(job, ask, query, field):
    printed(job)
    answer = ask(**query)
    assert (answer.status_code, list(answer.json()["details"])) == (422, [field])


def test_what_re2_refuses_is_told_in_its_words(job, ask):
    assert ask("(ab", mode="regex").json()["details"] == {"q": "missing ): (ab"}


@pytest.mark.parametrize(
    "query",
    [{"q": "other"}, {"case": "true"}, {"mode": "regex"}, {"direction": "backward"}, {"from": 3}, {"until": 9}, {"rank": 1}],
)
def test_a_cursor_of_another_search_is_refused(job, ask, query):
    printed(job, b"needle\n" * 5)
    printed(job, b"needle\n" * 5, rank=1)
    cursor = ask("needle", limit=1).json()["next_cursor"]
    answer = ask(**({"q": "needle", "limit": 1, "cursor": cursor} | query))
    assert (answer.status_code, list(answer.json()["details"])) == (422, ["cursor"])


def test_a_cursor_beyond_the_log_is_refused(job, ask):
    log = printed(job, b"needle\n" * 5)
    cursor = ask("needle", limit=4).json()["next_cursor"]
    Log.objects.filter(pk=log.pk).delete()
    printed(job, b"needle\n")
    assert ask("needle", cursor=cursor).status_code == 422


def test_with_all_turns_taken_one_is_told_when_to_come_back(job, ask, monkeypatch):
    printed(job)
    turns = Turns(most=1, wait_s=0.01)
    monkeypatch.setattr(log_search_api, "searching", turns)
    with turns.take("somebody else"):
        answer = ask("step")
    assert (answer.status_code, answer["Retry-After"], answer.json()["code"]) == (429, "1", "throttled")


@pytest.mark.parametrize("path", ["search", "matching-lines", "place", "times"])
def test_a_stranger_may_not_know_that_there_is_a_log(script, vision, job, path):
    printed(job)
    answer = script(vision.stranger).get(f"/api/v1/jobs/{job.pk}/log/{path}?q=step&line=1")
    assert (answer.status_code, answer.json()["code"]) == (404, "no-such-job")


@pytest.mark.parametrize("path", ["search", "matching-lines", "place", "times"])
def test_whoever_is_not_signed_in_is_asked_to(client, job, path):
    assert client.get(f"/api/v1/jobs/{job.pk}/log/{path}?q=step").status_code == 401


# -- The lines as a file -----------------------------------------------------------------------------------


def test_matching_lines_come_as_they_were_printed(job, ask, monkeypatch):
    printed(job, TEXT[:40])
    printed(job, TEXT[40:], is_sealed=True)
    answer = ask("step", path="matching-lines")
    assert body(answer) == b"step 1\n\x1b[31mred\x1b[0m STEP 3\nlast step\n"
    assert answer["Content-Disposition"] == f'attachment; filename="job-{job.pk}-matching.log"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    monkeypatch.setattr(log_search_api, "searching", Turns(answer_s=0))
    assert body(ask("step", path="matching-lines", from_=7)) == b"\x1b[31mred\x1b[0m STEP 3\nlast step\n"


def test_a_file_of_many_lines_is_whole_and_comes_in_steps(job, ask):
    text = b"".join(b"needle %d\nother\n" % number for number in range(200_000))
    printed(job, text, is_sealed=True)
    answer = ask("needle", path="matching-lines")
    assert body(answer) == b"".join(b"needle %d\n" % number for number in range(200_000))


def test_a_file_of_what_cannot_be_looked_for_is_refused_before_it_begins(job, ask):
    printed(job)
    assert (ask("(", path="matching-lines", mode="regex").status_code, ask("", path="matching-lines").status_code) == (422, 422)


def test_a_file_of_a_log_that_is_none_yet_is_empty(job, ask):
    assert body(ask("x", path="matching-lines")) == b""


def test_a_file_waits_for_its_turn(job, ask, monkeypatch):
    printed(job)

    class Busy(Turns):
        refused = 0

        def take(self, who):
            if self.refused < 2:
                self.refused += 1
                raise log_search_api.NoTurn
            return super().take(who)

    busy = Busy()
    monkeypatch.setattr(log_search_api, "searching", busy)
    monkeypatch.setattr(log_search_api, "AGAIN_S", 0)
    assert (body(ask("shapes", path="matching-lines")), busy.refused) == (b"ValueError: shapes differ\n", 2)


# -- Places and times --------------------------------------------------------------------------------------


def at(ms):
    return f"2026-03-01T12:00:00.{ms:03}Z"


@pytest.fixture
def timed(job):
    """Three lines, of which the second was printed 100 ms after noon and the third 200."""
    log = logs.open_log(subject=job.subject, workload_id=job.workload_id, rank=0, part="output")
    noon = int(NOON.timestamp() * 1000)
    logs.append(log, offset=0, data=b"one\ntwo\nthree\n", times=[(0, noon), (4, noon + 100), (8, noon + 200)], now=NOON)
    return noon


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ({"line": 0}, (0, 0, 0)),
        ({"line": 1}, (1, 4, 100)),
        ({"line": 2}, (2, 8, 200)),
        ({"line": 99}, (2, 8, 200)),
        ({"at": at(0)}, (0, 0, 0)),
        ({"at": at(99)}, (0, 0, 0)),
        ({"at": at(100)}, (1, 4, 100)),
        ({"at": "2026-03-02T00:00:00+08:00"}, (2, 8, 200)),
        ({"at": "1999-01-01T00:00:00Z"}, (0, 0, 0)),
    ],
)
def test_a_line_and_a_moment_have_a_place(timed, ask, query, place):
    line, offset, after_noon_ms = place
    assert ask(path="place", **query).json() == {"line": line, "offset": offset, "ms": timed + after_noon_ms}


def test_a_log_that_is_none_yet_has_the_place_of_its_first_line(job, ask):
    assert ask(path="place", line=7).json() == {"line": 0, "offset": 0, "ms": None}
    assert ask(path="place", at=at(0)).json() == {"line": 0, "offset": 0, "ms": None}
    assert ask(path="times").json() == {"first_ms": None, "times": []}


@pytest.mark.parametrize(
    "query", [{}, {"line": 1, "at": at(0)}, {"line": "x"}, {"at": "noon"}, {"at": "2026-02-31T00:00:00Z"}, {"at": ""}]
)
def test_a_place_that_is_none_is_told(timed, ask, query):
    answer = ask(path="place", **query)
    assert answer.status_code == 422 and len(answer.json()["details"]) == 1


def test_times_of_a_stretch_begin_with_the_one_before_it(timed, ask):
    assert ask(path="times").json() == {"first_ms": timed, "times": [[0, timed], [4, timed + 100], [8, timed + 200]]}
    assert ask(path="times", offset=5, limit=2).json() == {"first_ms": timed, "times": [[4, timed + 100]]}
    assert ask(path="times", offset="x").status_code == 422


def test_the_answers_are_json_a_browser_can_read(job, ask):
    printed(job, b"\xff\xfe\x00 needle \xed\xa0\x80\n")
    (hit,) = json.loads(ask("needle").content)["results"]
    assert hit["text"] == "\ufffd\ufffd needle \ufffd\ufffd\ufffd"
