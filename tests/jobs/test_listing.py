"""The order of a list of jobs, and its pages."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from jobs.listing import Page, jobs_of_page
from jobs.models import Job
from projects.actors import Actor
from projects.errors import Invalid
from tests.factories import NOON, a_job

pytestmark = pytest.mark.django_db

MOMENTS = [None, NOON, NOON, NOON + timedelta(seconds=1), None, NOON - timedelta(days=1)]
NAMES = ["b", "a", "b", "c", "a", "ä"]


@pytest.fixture
def jobs(vision):
    """Six jobs, some with the same name or moment, some without."""
    made = [a_job(project=vision.project, by=vision.member, name=name) for name in NAMES]
    for job, moment in zip(made, MOMENTS, strict=True):
        Job.objects.filter(pk=job.pk).update(started_at=moment, state="running" if moment else "queued")
    return [job.pk for job in made]


def walked(by, query):
    """The numbers of each page."""
    pages, cursor = [], ""
    while cursor is not None:
        page = Page.from_query(QueryDict(f"{query}&cursor={cursor}"))
        shown, after = jobs_of_page(page, by, now=NOON)
        pages.append([job.pk for job in shown])
        cursor = str(after) if after else None
    return pages


@pytest.mark.parametrize(
    ("sort", "places"),
    [
        ("-number", [5, 4, 3, 2, 1, 0]),
        ("number", [0, 1, 2, 3, 4, 5]),
        ("name", [4, 1, 2, 0, 3, 5]),
        ("-name", [5, 3, 2, 0, 4, 1]),
        ("started", [5, 2, 1, 3, 4, 0]),
        ("-started", [3, 2, 1, 5, 4, 0]),
        ("ended", [5, 4, 3, 2, 1, 0]),
    ],
)
def test_pages_in_any_order_show_each_job_once(vision, jobs, sort, places):
    for limit in (1, 2, 5, 6, 7):
        pages = walked(Actor(vision.viewer), f"sort={sort}&limit={limit}")
        assert [number for page in pages for number in page] == [jobs[place] for place in places]
        assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)


@pytest.fixture
def lives(vision):
    """Eight jobs in each stage of life: (started, ended) in seconds after NOON, when all were launched."""
    moments = [(None, None), (5, 65), (10, 20), (20, None), (None, 7), (2, None), (10, 20), (None, None)]
    states = ["queued", "succeeded", "failed", "running", "canceled", "stopping", "failed", "queued"]
    people = [
        vision.member,
        vision.viewer,
        vision.member,
        vision.member,
        vision.viewer,
        vision.member,
        vision.viewer,
        vision.member,
    ]
    made = [a_job(project=vision.project, by=vision.member) for _ in moments]
    for job, (started, ended), state, person in zip(made, moments, states, people, strict=True):
        Job.objects.filter(pk=job.pk).update(
            state=state,
            created_by=person,
            created_at=NOON + timedelta(milliseconds=job.pk),
            started_at=None if started is None else NOON + timedelta(seconds=started),
            ended_at=None if ended is None else NOON + timedelta(seconds=ended),
        )
    Job.objects.filter(pk=made[0].pk).update(created_by=None)
    return [job.pk for job in made]


@pytest.mark.parametrize(
    ("sort", "places"),
    [
        ("state", [7, 0, 3, 5, 6, 2, 4, 1]),
        ("-state", [1, 4, 6, 2, 5, 3, 7, 0]),
        ("owner", [7, 5, 3, 2, 6, 4, 1, 0]),
        ("-owner", [6, 4, 1, 7, 5, 3, 2, 0]),
        ("run", [6, 2, 1, 3, 5, 7, 4, 0]),  # 10 s, 10 s, 60 s; since 20 and 2 s after noon; never
        ("-run", [5, 3, 1, 6, 2, 7, 4, 0]),
        ("wait", [5, 1, 4, 6, 2, 3, 7, 0]),
        ("-wait", [0, 7, 3, 2, 6, 4, 1, 5]),
    ],
)
def test_pages_by_state_owner_run_and_wait_show_each_job_once(vision, lives, sort, places):
    for limit in (1, 3, 8):
        pages = walked(Actor(vision.viewer), f"sort={sort}&limit={limit}")
        assert [lives.index(number) for page in pages for number in page] == places
        assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)


def test_a_job_that_begins_meanwhile_is_on_no_page_twice(vision, jobs):
    first = Page.from_query(QueryDict("sort=started&limit=4"))
    shown, after = jobs_of_page(first, Actor(vision.viewer), now=NOON)
    Job.objects.filter(pk=shown[0].pk).update(started_at=NOON + timedelta(days=1))
    Job.objects.filter(started_at=None).update(started_at=NOON + timedelta(days=2), state="running")
    rest, _after = jobs_of_page(Page.from_query(QueryDict(f"sort=started&cursor={after}")), Actor(vision.viewer), now=NOON)
    assert [jobs.index(job.pk) for job in shown] == [5, 2, 1, 3]
    assert [jobs.index(job.pk) for job in rest] == [5, 4, 0]  # the first one has moved behind this place itself


def test_jobs_are_found_by_when_they_were_launched(vision, jobs):
    for number, age_h in zip(jobs, [0, 1, 24, 25, 200, 800], strict=True):
        Job.objects.filter(pk=number).update(created_at=NOON - timedelta(hours=age_h))

    def found(query):
        pages = walked(Actor(vision.viewer), f"sort=number&{query}")
        return [jobs.index(number) for page in pages for number in page]

    assert found("since=90m") == [0, 1]
    assert found("since=1d") == [0, 1, 2]
    assert found("since=4w") == [0, 1, 2, 3, 4]
    assert found("created_before=2026-02-28") == [4, 5]
    assert found("created_after=2026-02-28T11:00&created_before=2026-03-01T12:00Z") == [1, 2, 3]


@given(text=st.text(max_size=40), sort=st.sampled_from(["", "-started", "name"]))
def test_a_cursor_that_somebody_made_up_is_refused_or_of_this_query(text, sort):
    query = QueryDict(mutable=True)
    query.update({"cursor": text, "sort": sort})
    try:
        page = Page.from_query(query)
    except Invalid as refused:
        assert list(refused.fields) == ["cursor"]
    else:
        assert page.cursor is None and text == ""
