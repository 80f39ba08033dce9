"""What `jobs`, `hosts` and `metrics` print, for people and for programs."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.client.fakes import Script, a_job, a_terminal
from tpu_panel import Panel
from tpu_panel.cli import listing, options
from tpu_panel.cli.statuses import UsageError

BUCKETS = [{"x": 1, "count": 1, "nan_count": 0, "least": 0.5, "greatest": 0.5, "mean": 0.5, "last": 0.5}] + [
    {"x": 2, "count": 2, "nan_count": 2, "least": None, "greatest": None, "mean": None, "last": None}
]
SERIES = {"name": "loss", "attempt": 1, "rank": 0, "points": 3, "last_step": 2, "last_ms": 5, "last_value": None}
HOST = {
    "name": "host-a",
    "cluster": "local",
    "accelerator": "cpu",
    "state": "ready",
    "is_silent": True,
    "chips": 4,
    "free_chips": 0,
    "heard_at": None,
    "disk_free_bytes": 5 * 1024**3,
    "cordon_reason": "",
}


def run(script: Script, *written: str):
    """The terminal after this command; its own errors are raised."""
    arguments, terminal = options.parser().parse_args(written), a_terminal()
    panel = Panel("http://panel.example", "tpu_x", transport=script.transport)
    assert getattr(listing, arguments.command)(panel, terminal, arguments) == 0
    return terminal


def page(*results: object, cursor: str | None = None) -> httpx.Response:
    return httpx.Response(200, json={"results": results, "next_cursor": cursor})


def test_jobs_are_asked_for_as_written_and_no_more_than_are_wanted():
    script = Script(page(a_job(state="failed", reason={"code": "x", "sentence": "It broke\x1b[2J."}), cursor="more"))
    shown = run(script, "jobs", "--mine", "--state", "failed", "--label", "sweep=a", "--limit", "1", "--sort=-ended")
    assert script.asked == ["GET /api/v1/jobs?state=failed&label=sweep%3Da&owner=me&sort=-ended&limit=1"]
    row = shown.out.shown.decode().splitlines()[1]
    assert row.split()[:5] == ["17", "✗", "failed", "digits", "first-project"]
    assert row.endswith("It broke\ufffd[2J.")
    assert shown.err.shown == b"These are the first 1; --limit and --all show more.\n"


def test_all_jobs_are_read_page_by_page():
    script = Script(page(a_job(number=2), cursor="c"), page(a_job(number=1)))
    assert [job["number"] for job in json.loads(run(script, "jobs", "--all", "--json").out.shown)] == [2, 1]
    assert script.asked == ["GET /api/v1/jobs", "GET /api/v1/jobs?cursor=c"]


def test_no_job_is_an_empty_list_for_programs_and_a_sentence_for_people():
    assert run(Script(page()), "jobs", "--json").out.shown == b"[]\n"
    shown = run(Script(page()), "jobs")
    assert (shown.out.shown, shown.err.shown) == (b"", b"No job is like that.\n")


def test_mine_and_an_owner_contradict_each_other():
    with pytest.raises(UsageError, match="Either --mine or --owner"):
        run(Script(), "jobs", "--mine", "--owner", "ada")


def test_a_silent_host_says_so_whatever_its_state():
    head, row = run(Script(page(HOST)), "hosts").out.shown.decode().splitlines()
    assert head.split() == ["host", "state", "cluster", "accelerator", "free", "chips", "disk", "free"]
    assert row.split() == ["host-a", "◌", "silent", "local", "cpu", "0", "4", "5.0", "GiB"]


def job_then(**body: object) -> Script:
    return Script(httpx.Response(200, json=a_job()), httpx.Response(200, json=body))


def test_series_are_shown_with_their_last_value():
    head, row = run(job_then(metrics=[SERIES]), "metrics", "17").out.shown.decode().splitlines()
    assert row.split() == ["loss", "1", "0", "3", "2", "NaN"]


def test_series_are_read_page_by_page():
    script = job_then(metrics=[SERIES], next_cursor="c")
    script.answers.append(httpx.Response(200, json={"metrics": [SERIES | {"name": "lr"}], "next_cursor": None}))
    found = json.loads(run(script, "metrics", "17", "--json").out.shown)
    assert [one["name"] for one in found] == ["loss", "lr"]
    assert script.asked[1:] == ["GET /api/v1/jobs/17/metrics", "GET /api/v1/jobs/17/metrics?cursor=c"]


def test_a_metric_as_csv_has_what_the_panel_has():
    script = job_then(lines=[{"attempt": 1, "rank": 0, "buckets": BUCKETS}])
    assert run(script, "metrics", "17", "loss", "--csv").out.shown.decode().splitlines() == [
        "attempt,rank,x,count,nan_count,least,greatest,mean,last",
        "1,0,1,1,0,0.5,0.5,0.5,0.5",
        "1,0,2,2,2,,,,",
    ]
    assert script.asked[1] == "GET /api/v1/jobs/17/metrics/lines?name=loss&by=step&buckets=2000"


def test_a_metric_that_is_none_names_those_that_are():
    script = job_then(lines=[])
    script.answers.append(httpx.Response(200, json={"metrics": [SERIES]}))
    with pytest.raises(UsageError, match="Job 17 has no metric lost; it has loss"):
        run(script, "metrics", "17", "lost")
