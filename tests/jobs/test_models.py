"""What must hold in the data, and a way to break each of it."""

import pytest
from django.apps import apps
from django.db.models import ProtectedError
from uuid6 import uuid7

from jobs.models import Attempt, DefinitionVersion, Job, JobDefinition, Notice, SavedView
from monitoring.models import Event
from tests.clusters import constraints
from tests.factories import NOON, a_definition, a_job, a_user, a_workload

pytestmark = pytest.mark.django_db
MODELS = list(apps.get_app_config("jobs").get_models())


def another_attempt(**change):
    job = a_job()
    values = {"job": job, "number": 2, "workload": a_workload(project=job.project), "created_at": NOON} | change
    return Attempt.objects.create(**values)


def changed(**change):
    Job.objects.filter(pk=a_job().pk).update(**change)


def the_same_version_twice():
    version = a_definition()
    version.pk = None
    version.save(force_insert=True)


def the_same_definition_twice():
    one = a_definition().definition
    JobDefinition.objects.create(project=one.project, slug=one.slug, title="x", created_at=NOON)


def the_same_view_twice():
    owner = a_user()
    for _time in range(2):
        SavedView.objects.create(owner=owner, name="failed", query="?state=failed", created_at=NOON)


def a_notice(**change):
    job = a_job()
    event = Event.objects.get(subject=job.subject)
    values = {"user": job.created_by, "event": event, "job": job, "kind": "fails", "channel": "mail", "due_at": NOON}
    return Notice.objects.create(**values | {"give_up_at": NOON, "created_at": NOON, "moved_at": NOON} | change)


def the_same_notice_twice():
    one = a_notice()
    one.pk = uuid7()
    one.save(force_insert=True)


CASES = {
    "saved_view_name_once_a_person": the_same_view_twice,
    "notice_once_a_channel": the_same_notice_twice,
    "notice_state_known": lambda: a_notice(state="lost", due_at=None),
    "notice_open_has_deadline": lambda: a_notice(due_at=None),
    "attempt.workload": lambda: another_attempt(workload=a_job().workload),
    "definition_once_a_project": the_same_definition_twice,
    "version_once_a_definition": the_same_version_twice,
    "job_state_known": lambda: changed(state="asleep"),
    "job_ended_has_moment": lambda: changed(state="failed"),
    "job_retry_waits_in_line": lambda: changed(state="running", retry_at=NOON),
    "attempt_once_a_job": lambda: another_attempt(number=1),
}


def test_every_constraint_has_a_case():
    assert set(CASES) == constraints.named(MODELS)


@pytest.mark.parametrize("name", CASES)
def test_a_constraint_holds(name):
    constraints.broken(name, CASES, MODELS)


def test_a_moment_of_the_end_without_an_end_is_refused_too():
    constraints.broken("job_ended_has_moment", {"job_ended_has_moment": lambda: changed(ended_at=NOON)}, MODELS)


def test_what_the_constraints_allow():
    assert another_attempt().number == 2


def test_what_others_hang_from_stays():
    job = a_job()
    for row in (job.workload, job.subject, job.version, job.version.definition, job.project, job.created_by):
        if row == job.created_by:
            row.delete()
            continue
        with pytest.raises(ProtectedError):
            row.delete()
    job.refresh_from_db()
    assert (job.created_by, DefinitionVersion.objects.count()) == (None, 1)
