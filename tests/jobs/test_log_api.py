"""The log of a job over HTTP: bytes exactly as they were printed, and headers that say where they stand."""

from __future__ import annotations

import json

import pytest
from asgiref.sync import async_to_sync

from agent.protocol import Gap
from clusters import sweep
from clusters.scheduling import schedule
from jobs import attempts
from monitoring import lines, logs
from tests.clusters.steps import after
from tests.factories import NOON, a_host, a_job

pytestmark = pytest.mark.django_db
TEXT = b"one\ntwo\r\xff\x00\nthree"  # 16 bytes, two line ends


@pytest.fixture
def job(vision):
    return a_job(project=vision.project, by=vision.member)


@pytest.fixture
def read(script, vision, job):
    """read(**query): (body, headers without X-Log-)"""
    viewer = script(vision.viewer, scope="read")

    def ask(**query):
        path = f"/api/v1/jobs/{job.pk}/log?" + "&".join(f"{name}={value}" for name, value in query.items())
        answer = viewer.get(path)
        if not answer.streaming:
            return answer.status_code, answer.json()
        headers = {name.removeprefix("X-Log-"): text for name, text in answer.headers.items() if name.startswith("X-Log-")}
        body = async_to_sync(_all)(answer)
        assert (answer.status_code, int(answer["Content-Length"])) == (200, len(body))
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Content-Disposition"] == f'attachment; filename="job-{job.pk}.log"'
        return body, headers

    return ask


async def _all(answer):
    return b"".join([part async for part in answer])


def printed(job, data=TEXT, *, offset=0, part="output", rank=0, gaps=(), workload=None):
    log = logs.open_log(subject=job.subject, workload_id=(workload or job.workload).pk, rank=rank, part=part)
    logs.append(log, offset=offset, data=data, gaps=gaps, now=NOON)
    return log


def headers(job, **change):
    return {
        "Offset": "0",
        "Next": str(len(TEXT)),
        "Line": "0",
        "Gaps": "[]",
        "Head": str(len(TEXT)),
        "Complete": "false",
        "Workload": str(job.workload_id),
    } | change


def test_a_log_is_read_as_it_was_printed(job, read):
    log = printed(job)
    assert read() == (TEXT, headers(job))
    logs.finish(log, len(TEXT))
    assert read() == (TEXT, headers(job, Complete="true"))


def test_nothing_printed_yet_is_an_empty_log(job, read):
    assert read() == (b"", headers(job, Next="0", Head="0"))


@pytest.mark.parametrize(
    ("query", "piece", "line"),
    [
        ({"offset": 4}, (4, 16), 1),
        ({"offset": 4, "limit": 3}, (4, 7), 1),
        ({"limit": 0}, (0, 0), 0),
        ({"tail": 5}, (11, 16), 2),
        ({"tail": 999}, (0, 16), 0),
        ({"tail": 5, "limit": 2}, (11, 13), 2),
        ({"offset": 999}, (16, 16), 2),
        ({"line": 1}, (4, 16), 1),
        ({"line": 0, "lines": 1}, (0, 4), 0),
        ({"line": 1, "lines": 1}, (4, 11), 1),
        ({"line": 1, "lines": 9}, (4, 16), 1),
        ({"line": 1, "lines": 1, "limit": 3}, (4, 7), 1),
        ({"line": 9}, (16, 16), 2),
        ({"lines": 0}, (0, 0), 0),
        ({"offset": 5, "lines": 1}, (5, 11), 1),
        ({"offset": 5, "lines": 0}, (5, 5), 1),
        ({"tail_lines": 1}, (11, 16), 2),
        ({"tail_lines": 2}, (4, 16), 1),
        ({"tail_lines": 2, "lines": 1}, (4, 11), 1),
        ({"tail_lines": 99}, (0, 16), 0),
        ({"tail_lines": 0}, (16, 16), 2),
        ({"tail_lines": 2, "offset": 12}, (12, 16), 2),
    ],
)
def test_a_piece_says_where_it_stands(job, read, query, piece, line):
    printed(job)
    start, end = piece
    assert read(**query) == (TEXT[start:end], headers(job, Offset=str(start), Next=str(end), Line=str(line)))


def test_the_last_lines_of_a_log_that_grows_are_those_when_it_was_looked_at(job, read, monkeypatch):
    """It grows by more than is asked for between the read of its head and the look for its lines."""
    log, tail_offset = printed(job), lines.tail_offset

    def grown(*args):
        logs.append(log, offset=16, data=b"\n" * 50, now=NOON)
        return tail_offset(*args)

    monkeypatch.setattr(lines, "tail_offset", grown)
    body, found = read(tail_lines=2)
    assert (body, found["Offset"], found["Next"], found["Head"]) == (b"\n\n", "64", "66", "66")


def test_what_the_host_had_to_drop_is_told_within_the_piece(job, read):
    printed(job, gaps=[Gap(4, 500, 1000, 2000)])
    gap = {"offset": 4, "dropped_bytes": 500, "from_ms": 1000}
    assert [json.loads(read(**query)[1]["Gaps"]) for query in ({}, {"limit": 3}, {"offset": 5})] == [[gap], [], []]


def test_each_part_and_rank_has_its_own(job, read):
    printed(job, b"output of 1", rank=1)
    printed(job, b"preparing", part="prepare")
    assert [read(**query)[0] for query in ({}, {"rank": 1}, {"part": "prepare"}, {"rank": 7})] == [
        b"",
        b"output of 1",
        b"preparing",
        b"",
    ]


def test_an_attempt_is_chosen_by_number_or_workload_and_the_last_is_shown_unasked(job, read):
    a_host()
    first = job.workload
    schedule(now=NOON)
    sweep.end_unclaimed({}, now=after(60))
    attempts.follow(now=after(61))
    job.refresh_from_db()
    assert job.workload != first
    printed(job, b"of the first", workload=first)
    printed(job, b"of the second")
    assert [read(**query)[0] for query in ({}, {"attempt": 1}, {"attempt": 2}, {"workload": first.pk})] == [
        b"of the second",
        b"of the first",
        b"of the second",
        b"of the first",
    ]


@pytest.mark.parametrize(
    "query", [{"attempt": 2}, {"attempt": "x"}, {"attempt": ""}, {"workload": "x"}, {"workload": ""}, {"workload": "other"}]
)
def test_an_attempt_of_another_job_is_not_found(job, read, query, vision):
    other = a_job(project=vision.project, by=vision.member)
    printed(other, b"of another job")
    query = {name: str(other.workload_id) if value == "other" else value for name, value in query.items()}
    status, body = read(**query)
    assert (status, body["code"], body["details"]) == (404, "no-such-attempt", {"attempts": [1]})


FIELDS = ["offset", "limit", "tail", "rank", "line", "lines", "tail_lines"]


@pytest.mark.parametrize("is_printed", [False, True])
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", ["-1", "x", "1.5", "9" * 19])
def test_a_place_that_is_no_number_is_told(job, read, field, value, is_printed):
    if is_printed:
        printed(job)
    status, body = read(**{field: value})
    assert (status, list(body["details"])) == (422, [field])


@pytest.mark.parametrize("part", ["secrets", "", "nul%00"])
def test_a_part_that_no_log_has_is_told(job, read, part):
    status, body = read(part=part)
    assert (status, list(body["details"])) == (422, ["part"])
