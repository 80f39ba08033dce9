"""Why a job ended: on its page and by the API."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from django.test import Client

from agent import protocol
from clusters import scheduling
from jobs import attempts, services
from jobs.models import Job
from monitoring import last_lines, logs
from projects.actors import Actor
from projects.errors import Gone
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_host, a_job

pytestmark = pytest.mark.django_db

TRACE = b"""\
epoch 1
\x1b[31mTraceback (most recent call last):\x1b[0m
  File "train.py", line 3, in <module>
ModuleNotFoundError: No module named 'einops'
"""


def running(vision, **launch) -> Job:
    job = a_job(project=vision.project, by=vision.member, **launch)
    goes_on(job, at=0)
    return job


def goes_on(job, *, at) -> None:
    scheduling.schedule(now=after(at))
    workload = fresh(job).workload
    steps.claim(workload, now=after(at))
    steps.says(workload, state=protocol.RUNNING, now=after(at))
    attempts.follow(now=after(at))


def ends(job, said: bytes = TRACE, *, at=60, part="output", **report) -> Job:
    """Its host's last word, `said` before that."""
    workload = fresh(job).workload
    log = logs.open_log(subject=job.subject, workload_id=workload.pk, rank=0, part=part)
    logs.append(log, offset=0, data=said, now=NOON)
    how = {"state": protocol.ENDED, "cause": protocol.CAUSE_EXITED, "exit_code": 1} | report
    steps.says(workload, now=after(at), **how)
    attempts.follow(now=after(at))
    return fresh(job)


def fresh(job) -> Job:
    return Job.objects.for_display().get(pk=job.pk)


def ending_of(script, vision, job, query=""):
    return script(vision.viewer, scope="read").get(f"/api/v1/jobs/{job.pk}/ending{query}")


def page_of(vision, job) -> str:
    browser = Client()
    browser.force_login(vision.viewer)
    return browser.get(f"/jobs/{job.pk}").content.decode()


@pytest.fixture
def host(vision):
    return a_host(name="tpu-1", heard_at=after(10_000))


def test_the_api_says_who_failed_where_why_and_what_to_do(script, vision, host):
    job = ends(running(vision))
    assert ending_of(script, vision, job).json() == {
        "attempt": 1,
        "reason": {"code": "exit-code", "sentence": "The command ended with exit code 1 on tpu-1."},
        "rule": "no-module",
        "cause": "Python found no module einops.",
        "advice": "Add it to the requirements of the definition's runtime, or ship it with the source; then edit and relaunch.",
        "is_worth_repeating": False,
        "rank": 0,
        "host": "tpu-1",
        "exit_code": 1,
        "signal": None,
        "ended_at": "2026-03-01T12:01:00Z",
        "part": "output",
        "last_words": [
            {"number": 1, "text": "epoch 1"},
            {"number": 2, "text": "Traceback (most recent call last):"},
            {"number": 3, "text": '  File "train.py", line 3, in <module>'},
            {"number": 4, "text": "ModuleNotFoundError: No module named 'einops'"},
        ],
        "told_by": {"number": 4, "text": "ModuleNotFoundError: No module named 'einops'"},
        "link": f"/jobs/{job.pk}#1.0.output:L2",
    }


def test_a_page_says_it_on_top_and_writes_words_of_a_log_as_text(vision, host):
    text = page_of(
        vision, ends(running(vision), b"::metric name=loss step=1::3\n<b>\x1b[31mAssertionError: x < y & z\x1b[0m</b>\n")
    )
    assert 'data-rule="unknown"' in text
    assert "and nothing that the panel knows says why" in text
    assert "&lt;b&gt;AssertionError: x &lt; y &amp; z&lt;/b&gt;" in text
    assert "<b>Ass" not in text
    assert "::metric" not in text, "what is said to the panel is nobody's last words"


def test_a_job_that_goes_on_or_went_well_has_no_card(script, vision, host):
    job = running(vision)
    assert ending_of(script, vision, job).json() == {
        "code": "not-ended",
        "message": "It has not ended.",
        "details": {"state": "running"},
    }
    assert 'class="ending"' not in page_of(vision, job)
    job = ends(job, b"done\n", exit_code=0)
    assert ending_of(script, vision, job).json()["rule"] == "succeeded"
    assert 'class="ending"' not in page_of(vision, job)


def test_a_canceled_job_says_by_whom_and_quotes_nothing(script, vision, host):
    job = running(vision)
    services.cancel(job=fresh(job), by=Actor(user=vision.member), now=NOON)
    job = ends(job, cause=protocol.CAUSE_STOPPED, exit_code=None, signal=15)
    found = ending_of(script, vision, job).json()
    assert (found["rule"], found["cause"], found["last_words"], found["link"]) == (
        "canceled",
        "Canceled by member.",
        [],
        f"/jobs/{job.pk}",
    )
    assert "Canceled by member." in page_of(vision, job)


def test_a_job_that_was_canceled_in_line_has_no_rank(script, vision):
    job = a_job(project=vision.project, by=vision.member)
    services.cancel(job=fresh(job), by=Actor(user=vision.member), now=NOON)
    attempts.follow(now=NOON)
    found = ending_of(script, vision, fresh(job)).json()
    assert (found["rule"], found["rank"], found["host"], found["exit_code"]) == ("canceled", None, "", None)


def test_what_failed_in_preparing_is_told_by_the_words_of_that(script, vision, host):
    job = a_job(project=vision.project, by=vision.member)
    scheduling.schedule(now=NOON)
    steps.claim(fresh(job).workload)
    ended = {"cause": protocol.CAUSE_PREPARE_FAILED, "exit_code": None, "detail": "it failed"}
    job = ends(job, b"No solution found when resolving\n", part="prepare", **ended)
    found = ending_of(script, vision, job).json()
    assert (found["rule"], found["part"], found["link"][-15:]) == ("runtime-unsolvable", "prepare", "#1.0.prepare:L1")


def test_without_a_log_the_words_of_the_host_tell(script, vision, host):
    job = a_job(project=vision.project, by=vision.member)
    scheduling.schedule(now=NOON)
    steps.claim(fresh(job).workload)
    ended = {"cause": protocol.CAUSE_PREPARE_FAILED, "exit_code": None, "detail": "No space left on device"}
    found = ending_of(script, vision, ends(job, b"", **ended)).json()
    assert (found["rule"], found["told_by"], found["last_words"]) == ("disk-full", None, [])


def test_a_log_that_the_store_has_lost_leaves_the_reason(script, vision, host):
    job = ends(running(vision))
    with patch.object(last_lines, "last_lines", side_effect=Gone("log-gone", "Gone.")):
        found = ending_of(script, vision, job).json()
    assert (found["rule"], found["last_words"], found["link"]) == ("unknown", [], f"/jobs/{job.pk}")


def test_each_attempt_has_its_own_ending(script, vision, host):
    job = running(vision, retries={"user_code": {"times": 1, "delay_s": 1}})
    ends(job)
    assert ending_of(script, vision, job).json()["code"] == "not-ended", "the job tries again"
    attempts.begin_due(now=after(70))
    goes_on(job, at=80)
    assert ending_of(script, vision, job, "?attempt=2").json()["code"] == "not-ended"
    ends(job, b"MemoryError\n", at=90)
    assert [ending_of(script, vision, job, f"?attempt={n}").json()["rule"] for n in (1, 2)] == ["no-module", "host-memory"]
    assert ending_of(script, vision, job).json()["attempt"] == 2
    assert ending_of(script, vision, job, "?attempt=3").json()["code"] == "no-such-attempt"
    assert "It was attempt 2." in page_of(vision, job)


def test_a_stranger_learns_nothing(script, vision, host):
    job = ends(running(vision))
    assert script(vision.stranger).get(f"/api/v1/jobs/{job.pk}/ending").status_code == 404


def test_an_ending_takes_the_same_queries_however_long_the_log_is(script, vision, host, django_assert_num_queries):
    short, long = ends(running(vision)), ends(running(vision), b"x\n" * 20_000 + TRACE, at=70)
    for job in (short, long):
        browser = script(vision.viewer, scope="read")
        with django_assert_num_queries(21):
            found = browser.get(f"/api/v1/jobs/{job.pk}/ending").json()
        assert found["rule"] == "no-module"
