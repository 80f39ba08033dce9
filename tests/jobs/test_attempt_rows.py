"""The attempts of a job beside one another, on its page and by the API."""

from __future__ import annotations

import pytest
from django.test import Client

from agent import protocol
from clusters import scheduling, sweep
from jobs import attempt_rows, attempts
from jobs.models import Job
from monitoring import metrics
from monitoring.metric_chunks import Columns
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import a_host, a_job

pytestmark = pytest.mark.django_db


@pytest.fixture
def host(vision):
    return a_host(name="tpu-1", heard_at=after(10_000))


def tried(job, *, at: int, steps_: range, **end) -> None:
    """One attempt: placed after 5 s, running after 7, at its end after 67."""
    scheduling.schedule(now=after(at + 5))
    workload = Job.objects.for_display().get(pk=job.pk).workload
    steps.claim(workload, now=after(at + 6))
    steps.says(workload, state=protocol.RUNNING, now=after(at + 7))
    attempts.follow(now=after(at + 7))
    if steps_:
        points = Columns(list(steps_), [at * 1000 + n for n in steps_], [float(n) for n in steps_])
        metrics.append(job.subject, {"progress/step": points}, workload_id=workload.pk)
    if end:
        steps.says(workload, now=after(at + 67), **end)
    attempts.follow(now=after(at + 67))
    attempts.begin_due(now=after(at + 80))


def rows_of(job):
    return attempt_rows.of_job(job, list(job.attempts.select_related("workload")))


def test_each_says_why_it_was_made_where_it_ran_and_how_far_it_came(script, vision, host):
    job = a_job(project=vision.project, by=vision.member, retries={"user_code": {"times": 2, "delay_s": 1}})
    tried(job, at=0, steps_=range(1, 121), **steps.FAILED)
    tried(job, at=100, steps_=range(101, 151), **steps.FAILED)
    tried(job, at=200, steps_=range(0))
    found = script(vision.viewer, scope="read").get(f"/api/v1/jobs/{job.pk}/attempts").json()["results"]
    told = ("number", "why", "hosts", "exit_code", "signal", "first_step", "last_step", "retried_as", "placed_at", "ended_at")
    assert [tuple(one[name] for name in told) for one in found] == [
        (1, "the launch", ["tpu-1"], 7, None, 1, 120, "user_code", "2026-03-01T12:00:05Z", "2026-03-01T12:01:07Z"),
        (2, "tried again: user code", ["tpu-1"], 7, None, 101, 150, "user_code", "2026-03-01T12:01:45Z", "2026-03-01T12:02:47Z"),
        (3, "tried again: user code", ["tpu-1"], None, None, None, None, None, "2026-03-01T12:03:25Z", None),
    ]
    assert [row.resumed for row in rows_of(job)] == [False, True, False]


def test_a_page_shows_them_when_there_are_several_the_newest_on_top(vision, host):
    job = a_job(project=vision.project, by=vision.member, retries={"user_code": {"times": 1, "delay_s": 1}})
    browser = Client()
    browser.force_login(vision.viewer)
    assert f'data-refresh="/jobs/{job.pk}" hidden' in browser.get(f"/jobs/{job.pk}").content.decode()
    tried(job, at=0, steps_=range(1, 11), **steps.FAILED)
    tried(job, at=100, steps_=range(6, 21), **steps.FAILED)
    text = browser.get(f"/jobs/{job.pk}").content.decode()
    table = text[text.index('id="job-attempts"') : text.index("</table>")]
    assert table.index('href="#2.0.output:end"') < table.index('href="#1.0.output:end"')
    assert "It went on at step 6, so it had a checkpoint." in table
    assert "1 min 00 s" in table and "tried again: user code" in table


def test_one_that_no_host_took_has_no_log_and_says_why_the_next_was_made(vision, host):
    job = a_job(project=vision.project, by=vision.member)
    scheduling.schedule(now=after(0))
    sweep.end_unclaimed({}, now=after(60))
    attempts.follow(now=after(61))
    first, second = rows_of(job)
    assert (first.why, first.log_link, first.hosts, first.last_step) == ("the launch", "", ["tpu-1"], None)
    assert (second.why, second.log_link, second.hosts) == ("no host had taken the one before", "", [])


def test_a_relaunch_says_of_what(vision):
    job = a_job(project=vision.project, by=vision.member)
    again = a_job(project=vision.project, by=vision.member)
    Job.objects.filter(pk=again.pk).update(relaunch_of=job)
    assert rows_of(Job.objects.get(pk=again.pk))[0].why == f"relaunch of #{job.pk}"


def test_they_take_three_queries_however_many_they_are(vision, host, django_assert_num_queries):
    job = a_job(project=vision.project, by=vision.member, retries={"user_code": {"times": 5, "delay_s": 1}})
    for number in range(4):
        tried(job, at=100 * number, steps_=range(1, 3), **steps.FAILED)
    tries = list(job.attempts.select_related("workload"))
    assert len(tries) == 5
    with django_assert_num_queries(3):
        found = attempt_rows.of_job(job, tries)
    assert [row.resumed for row in found] == [False] * 5, "all began anew"
