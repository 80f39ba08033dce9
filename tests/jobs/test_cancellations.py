"""Many jobs canceled at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from clusters.models import Workload
from clusters.scheduling import schedule
from jobs import cancellations, selections
from jobs.attempts import follow
from jobs.models import Job
from jobs.selections import Selection
from monitoring.models import Event, Subject
from projects.actors import Actor
from projects.errors import Invalid
from projects.models import AuditEntry
from tests.clusters import steps
from tests.factories import NOON, a_host, a_job, a_project
from tests.monitoring.threads import at_once

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(seconds=1)


def copies(job: Job, count: int) -> list[int]:
    """As many more jobs that wait just as `job` does."""
    subjects = Subject.objects.bulk_create(
        Subject(kind="job", key=f"copy-{n}", title="copy", project=job.project, seq=3) for n in range(count)
    )
    like = Workload.objects.get(pk=job.workload_id)
    waiting = Workload.objects.bulk_create(
        Workload(
            **{name: getattr(like, name) for name in ("project", "owner_kind", "request_json", "spec_json", "reason_code")},
            subject=subject,
            queued_at=NOON,
            created_at=NOON,
            moved_at=NOON,
        )
        for subject in subjects
    )
    same = ("project", "version", "name", "parameters", "request_json", "spec_json", "created_by", "created_at", "moved_at")
    made = Job.objects.bulk_create(
        Job(**{name: getattr(job, name) for name in same}, subject=subject, workload=workload)
        for subject, workload in zip(subjects, waiting, strict=True)
    )
    return [one.pk for one in made]


def events_of(job: int) -> list[tuple[int, str, str]]:
    subject = Job.objects.get(pk=job).subject_id
    return list(Event.objects.filter(subject=subject).order_by("seq").values_list("seq", "code", "by_name"))


def test_events_are_kept_in_english_whoever_cancels(vision, languages):
    job = a_job(project=vision.project, by=vision.member)
    with translation.override("zh-hans"):
        cancellations.cancel([job.pk], by=Actor(vision.member), now=LATER)
    kept = Event.objects.filter(subject__kind="job", subject__key=str(job.pk)).order_by("seq").values_list("sentence", flat=True)
    assert list(kept) == ["Launched by member.", "Canceled by member.", "Canceled by member."]


def test_what_waits_is_canceled_at_once_as_if_one_by_one(vision):
    by = Actor(vision.member)
    one, other = (a_job(project=vision.project, by=vision.member) for _ in range(2))
    done, refused = cancellations.cancel([one.pk, other.pk], by=by, now=LATER)
    assert (done, refused) == ([one.pk, other.pk], [])
    for job in (one, other):
        found = Job.objects.get(pk=job.pk)
        assert (found.state, found.reason_code, found.why[1]) == ("canceled", "canceled", "Canceled by member.")
        assert (found.moved_at, found.ended_at) == (LATER, LATER)
        assert (found.workload.state, found.workload.outcome, found.workload.wanted) == ("exited", "stopped", "stop")
        assert (found.workload.version, found.workload.followed_version) == (2, 2)
        assert events_of(job.pk) == [(1, "job.queued", "member"), (2, "workload.exited", ""), (3, "job.canceled", "member")]
        assert Subject.objects.get(pk=found.subject_id).seq == 3
    entries = AuditEntry.objects.filter(verb="job.cancel").order_by("pk")
    assert [(entry.subject_id, entry.project, entry.user) for entry in entries] == [
        (str(one.pk), vision.project, vision.member),
        (str(other.pk), vision.project, vision.member),
    ]
    assert follow(now=LATER) == 0 and schedule(now=LATER) == 0


def test_each_state_gets_what_is_right_for_it(vision):
    by = Actor(vision.member)
    host = a_host(chips=1)
    runs, ended, waits, retries = (a_job(project=vision.project, by=vision.member) for _ in range(4))
    schedule(now=NOON)
    steps.claim(runs.workload, host=host)
    follow(now=NOON)
    over = [ended.workload_id, retries.workload_id]
    Workload.objects.filter(pk__in=over).update(state="exited", ended_at=NOON)
    Job.objects.filter(pk=ended.pk).update(state="failed", ended_at=NOON)
    Job.objects.filter(pk=retries.pk).update(retry_at=LATER)
    done, refused = cancellations.cancel([runs.pk, ended.pk, waits.pk, retries.pk, 12345], by=by, now=LATER)
    assert done == [runs.pk, waits.pk, retries.pk]
    assert [(one.number, one.code) for one in refused] == [(ended.pk, "job-ended"), (12345, "job-ended")]
    states = dict(Job.objects.values_list("pk", "state"))
    assert states == {runs.pk: "stopping", ended.pk: "failed", waits.pk: "canceled", retries.pk: "canceled"}
    assert Job.objects.get(pk=retries.pk).retry_at is None
    assert [code for _seq, code, _by in events_of(retries.pk)][-1] == "job.canceled"
    assert host.orders.filter(kind="stop").count() == 1


@pytest.mark.thorough
def test_ten_thousand_take_fifteen_queries_a_thousand(vision):
    job = a_job(project=vision.project, by=vision.member)
    numbers = copies(job, 9_999) + [job.pk]
    with CaptureQueriesContext(connection) as queries:
        done, refused = cancellations.cancel(numbers, by=Actor(vision.member), now=LATER)
    assert (len(done), refused) == (10_000, [])
    assert Job.objects.filter(state="canceled").count() == 10_000
    assert Event.objects.filter(code="job.canceled").count() == 10_000
    assert Event.objects.filter(seq=5, code="job.canceled").count() == 9_999  # behind the three that were there
    assert len(queries) == 10 * 15


def test_a_git_job_that_is_not_followed_yet_is_canceled_all_the_same(vision):
    job = a_job(project=vision.project, by=vision.member)
    Job.objects.filter(pk=job.pk).update(spec_json=job.spec_json | {"source": {"kind": "git", "address": "a", "ref": "b"}})
    done, _refused = cancellations.cancel([job.pk], by=Actor(vision.member), now=LATER)
    assert done == [job.pk] and Job.objects.get(pk=job.pk).state == "stopping"
    follow(now=LATER)
    assert Job.objects.get(pk=job.pk).state == "canceled"


# -- What is selected ------------------------------------------------------------------------------------------


def test_a_plan_says_what_cannot_be_done_and_why(vision):
    mine, ended = (a_job(project=vision.project, by=vision.member) for _ in range(2))
    Job.objects.filter(pk=ended.pk).update(state="failed", ended_at=NOON)
    theirs = a_job(project=a_project(), by=vision.stranger)
    found = selections.plan(
        Selection.read([mine.pk, ended.pk, theirs.pk, 99999, str(mine.pk)], None),
        Actor(vision.member),
        may="jobs.cancel",
        now=NOON,
        ended=False,
    )
    assert found.able == [mine.pk]
    assert [(one.number, one.code) for one in found.refused] == [
        (ended.pk, "job-ended"),
        (theirs.pk, "no-such-job"),
        (99999, "no-such-job"),
    ]
    assert found.reasons == [(2, "is not there, or not in a team of yours"), (1, "has ended already")]


def test_a_viewer_may_do_it_with_none(vision):
    job = a_job(project=vision.project, by=vision.member)
    found = selections.plan(Selection.read([job.pk], None), Actor(vision.viewer), may="jobs.cancel", now=NOON)
    assert (found.able, [one.code for one in found.refused]) == ([], ["role"])


def test_a_filter_takes_what_it_lets_through_up_to_the_newest_that_was_there(vision):
    one, two, three = (a_job(project=vision.project, by=vision.member, name=name) for name in ("a", "b", "b"))
    newer = a_job(project=vision.project, by=vision.member, name="b")
    wanted = Selection.read([], "?text=b&sort=name", until=three.pk)
    found = selections.plan(wanted, Actor(vision.member), may="jobs.cancel", now=NOON)
    assert (found.able, found.until) == ([three.pk, two.pk], three.pk)
    assert one.pk and newer.pk not in found.able


@pytest.mark.parametrize(
    ("numbers", "text", "path"),
    [
        ([], None, "jobs"),
        (["x"], None, "jobs"),
        ([True], None, "jobs"),
        ([-1], None, "jobs"),
        (["9" * 40], None, "jobs"),
        ([1], "state=queued", "filter"),
        ([], "nonsense=1", "filter"),
        ([], "state=nowhere", "state"),
        (range(1, 10_002), None, "jobs"),
    ],
)
def test_a_selection_that_is_none_is_told(numbers, text, path):
    with pytest.raises(Invalid) as refused:
        Selection.read(numbers, text)
    assert list(refused.value.fields) == [path]


@pytest.mark.django_db(transaction=True)
def test_many_are_canceled_while_the_scheduler_places_and_the_follower_follows(shared_database):
    from tests.factories import a_user

    user, project = a_user(is_superuser=True), a_project()
    a_host(chips=10)
    jobs = [a_job(project=project, by=user).pk for _ in range(30)]
    found = []

    def cancel() -> None:
        found.append(cancellations.cancel(jobs, by=Actor(user), now=LATER))

    def place() -> None:
        for _ in range(5):
            schedule(now=NOON)
            follow(now=NOON)

    at_once(cancel, place)
    for _ in range(3):
        follow(now=LATER)
    assert found == [(jobs, [])]
    assert set(Job.objects.values_list("state", flat=True)) == {"canceled"}
    assert steps.held_chips() == 0
