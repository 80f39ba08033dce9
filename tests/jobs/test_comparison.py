"""Jobs side by side."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from jobs import comparison
from jobs.models import Job
from monitoring import metrics
from monitoring.metric_chunks import Columns
from projects.actors import Actor
from projects.errors import Invalid, NotFound
from tests.factories import NOON, a_job, a_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(vision):
    """Two of the same definition that differ in their command, a label and what they measured; both ran on nothing yet."""
    one = a_job(project=vision.project, by=vision.member, command="train --lr 1", labels={"sweep": "a", "lr": "1"})
    two = a_job(project=vision.project, by=vision.member, command="train --lr 2", labels={"sweep": "a"})
    Job.objects.filter(pk=one.pk).update(state="succeeded", started_at=NOON, ended_at=NOON + timedelta(seconds=60))
    for job, loss in ((one, 0.25), (two, float("nan"))):
        metrics.append(
            job.subject, {"loss": Columns([1], [0], [loss]), "system.cpu": Columns([1], [0], [1.0])}, workload_id=job.workload_id
        )
    return one, two


@pytest.fixture
def browser(vision):
    client = Client(raise_request_exception=False)
    client.force_login(vision.viewer)
    return client


def by_title(sections):
    return {section.title: {row.title: row for row in section.rows} for section in sections}


def test_it_says_what_differs_and_what_is_the_same(vision, pair):
    jobs, missing = comparison.get_jobs(Actor(vision.viewer), [pair[1].pk, pair[0].pk, 999])
    assert ([job.pk for job in jobs], missing) == ([pair[1].pk, pair[0].pk], [999])
    found = by_title(comparison.sections(jobs, now=NOON + timedelta(seconds=90)))
    assert found["Parameters"]["command"].values == ["train --lr 2", "train --lr 1"]
    assert found["Labels"]["lr"].values == ["", "1"] and found["Labels"]["sweep"].is_same
    assert found["Last measured"]["loss"].values == ["NaN", "0.25"] and list(found["Last measured"]) == ["loss"]
    went = found["How it went"]
    assert (went["State"].values, went["Ran"].values, went["Waited"].values) == (["queued", "succeeded"], ["", 60.0], [90.0, 0.0])
    assert found["Code and place"]["Definition"].is_same


def test_what_is_no_finite_number_is_told_as_it_is(vision, pair):
    values = {"up": [1.0, float("inf")], "down": [float("-inf")], "whole": [float("inf"), 2.0]}
    for job, metric in zip((pair[0],) * 3, values, strict=True):
        count = len(values[metric])
        columns = Columns(list(range(count)), [0] * count, values[metric])
        metrics.append(job.subject, {metric: columns}, workload_id=job.workload_id)
    rows = by_title(comparison.sections(comparison.get_jobs(Actor(vision.viewer), [pair[0].pk])[0], now=NOON))["Last measured"]
    assert {name: row.values for name, row in rows.items()} == {"up": ["∞"], "down": ["-∞"], "whole": ["2"], "loss": ["0.25"]}


@pytest.mark.parametrize(
    ("texts", "numbers"), [(["1,2"], [1, 2]), (["1", "2", "1"], [1, 2]), (["#3, 4", ""], [3, 4]), (["7"], [7])]
)
def test_numbers_are_read_as_people_write_them(texts, numbers):
    assert comparison.read_numbers(texts) == numbers


@pytest.mark.parametrize("texts", [[], [""], ["1,x"], ["-1"], ["9" * 30], [",".join(map(str, range(9)))]])
def test_what_are_no_numbers_is_told(texts):
    with pytest.raises(Invalid) as refused:
        comparison.read_numbers(texts)
    assert list(refused.value.fields) == ["jobs"]


def test_a_strangers_job_is_not_found(vision, pair):
    theirs = a_job(project=a_project(), by=vision.stranger)
    with pytest.raises(NotFound):
        comparison.get_jobs(Actor(vision.viewer), [theirs.pk])
    jobs, missing = comparison.get_jobs(Actor(vision.viewer), [theirs.pk, pair[0].pk])
    assert ([job.pk for job in jobs], missing) == ([pair[0].pk], [theirs.pk])


@pytest.mark.parametrize("count", [2, 8])
def test_a_page_takes_eight_queries_at_most_however_many_are_compared(vision, browser, count, django_assert_num_queries):
    jobs = [a_job(project=vision.project, by=vision.member, command=f"echo {n}") for n in range(count)]
    # session, user; jobs, hosts, measurements, candidates (none are asked for beside eight); conditions, navigation
    with django_assert_num_queries(8 if count < 8 else 7):
        answer = browser.get("/jobs/compare", {"jobs": ",".join(str(job.pk) for job in jobs)})
    text = answer.content.decode()
    assert f"Compare {count} jobs" in text and "echo 0" in text


def test_the_page_offers_others_of_the_definition_and_says_what_is_missing(vision, browser, pair):
    text = browser.get(f"/jobs/compare?jobs={pair[0].pk},999").content.decode()
    assert "Compare a job" in text and "Job 999 is not there, or not in a team of yours." in text
    assert f'name="job" value="{pair[1].pk}"' in text
    text = browser.get(f"/jobs/compare?jobs={pair[0].pk}&job={pair[1].pk}").content.decode()
    assert "Compare 2 jobs" in text and "train --lr 1" in text and f'href="?jobs={pair[1].pk}"' in text


@pytest.mark.parametrize(("count", "is_on_top"), [(1, True), (2, False)])
def test_one_job_alone_has_the_choice_of_others_on_top(browser, pair, count, is_on_top):
    text = browser.get("/jobs/compare", {"jobs": ",".join(str(job.pk) for job in pair[:count])}).content.decode()
    assert (text.index('class="pane add"') < text.index("data-charts")) is is_on_top


def test_each_job_is_a_source_of_the_charts_and_tells_them_of_news(browser, pair):
    text = browser.get("/jobs/compare", {"jobs": ",".join(str(job.pk) for job in pair)}).content.decode()
    for job in pair:
        assert f'data-chart-source="/api/v1/jobs/{job.pk}/metrics" data-word="{job.name} #{job.pk}"' in text
    assert f'data-live="{pair[0].subject.address} {pair[1].subject.address} "' in text


def test_nonsense_is_one_clear_answer(browser):
    assert browser.get("/jobs/compare").status_code == 422
    assert browser.get("/jobs/compare?jobs=1,two").status_code == 422
    answer = browser.get("/jobs/compare?jobs=998,999")
    assert answer.status_code == 404 and "There is no job 998, 999" in answer.content.decode()


def test_a_name_in_every_script_and_a_parameter_that_turns_text_stay_what_they_are(vision, browser):
    jobs = [
        a_job(project=vision.project, by=vision.member, name=name, command=c)
        for name, c in (("名字 اسم <b>", "a\u202eb"), ("न", "c"))
    ]
    text = browser.get("/jobs/compare", {"jobs": ",".join(str(job.pk) for job in jobs)}).content.decode()
    assert "名字 اسم &lt;b&gt;" in text and "<b>\u202e" not in text and "\\u202e" in text
