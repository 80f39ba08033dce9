"""What the first page says of jobs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs import home
from jobs.models import Job
from projects.actors import Actor
from tests.factories import NOON, a_definition, a_job, a_project

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def a_job_of(vision, state, *, by=None, ended_at=None):
    job = a_job(project=vision.project, by=by or vision.member)
    Job.objects.filter(pk=job.pk).update(state=state, ended_at=ended_at)
    return job.pk


def numbers(section):
    return [row.job.pk for row in section.rows]


def test_what_runs_stands_before_what_waits_and_each_is_counted(vision):
    waits, runs, older = (a_job_of(vision, state) for state in ("queued", "running", "running"))
    a_job_of(vision, "running", by=vision.operator)
    a_job_of(vision, "failed", ended_at=NOON)
    mine = home.open_jobs_of(Actor(vision.member))
    assert (numbers(mine), mine.counts, mine.more) == ([older, runs, waits], {"queued": 1, "running": 2}, 0)


def test_of_many_the_rest_is_a_number(vision):
    for _ in range(home.SHOWN + 2):
        a_job_of(vision, "queued")
    mine, waiting = home.open_jobs_of(Actor(vision.member)), home.waiting_in([vision.project], Actor(vision.operator))
    assert (len(mine.rows), mine.more) == (home.SHOWN, 2)
    assert (len(waiting.rows), waiting.more) == (home.SHOWN, 2)


def test_what_waits_in_my_projects_is_others_and_the_oldest_is_first(vision):
    first, second = a_job_of(vision, "queued"), a_job_of(vision, "queued")
    a_job_of(vision, "running")
    elsewhere = a_project()
    a_job(project=elsewhere, by=vision.stranger)
    assert numbers(home.waiting_in([vision.project], Actor(vision.operator))) == [first, second]
    assert numbers(home.waiting_in([vision.project], Actor(vision.member))) == []


def test_what_ended_badly_stands_first_and_is_gone_once_it_is_marked(vision):
    by = Actor(vision.member)
    failed = a_job_of(vision, "failed", ended_at=NOON - 3 * HOUR)
    fine = a_job_of(vision, "succeeded", ended_at=NOON - HOUR)
    canceled = a_job_of(vision, "canceled", ended_at=NOON - 2 * HOUR)
    a_job_of(vision, "failed", ended_at=NOON - 25 * HOUR)
    ended = home.ended_since(by, now=NOON)
    assert (numbers(ended.section), ended.is_marked, ended.until) == ([failed, fine, canceled], False, NOON - HOUR)
    home.mark_seen(by, until=ended.until)
    home.mark_seen(by, until=NOON - 5 * HOUR)  # of a page that was drawn long ago
    later = a_job_of(vision, "failed", ended_at=NOON)
    ended = home.ended_since(by, now=NOON)
    assert (numbers(ended.section), ended.since, ended.is_marked) == ([later], NOON - HOUR, True)


def test_who_left_the_team_no_longer_sees_what_they_launched(vision):
    a_job_of(vision, "running")
    vision.member.memberships.all().delete()
    assert (home.open_jobs_of(Actor(vision.member)).rows, home.has_any_job(Actor(vision.member))) == ([], False)


def test_whether_there_is_something_to_launch(vision):
    empty = a_project(team=vision.team)
    assert (home.has_any_definition([empty]), home.has_any_definition([empty, vision.project])) == (False, True)
    a_definition(project=empty, by=vision.member)
    assert home.has_any_definition([empty])
