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


@pytest.mark.parametrize("limit", [1, 2, 5, 6, 7])
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
def test_pages_in_any_order_show_each_job_once(vision, jobs, sort, places, limit):
    pages = walked(Actor(vision.viewer), f"sort={sort}&limit={limit}")
    assert [number for page in pages for number in page] == [jobs[place] for place in places]
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)


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
