"""The same once more: what ran, to the commit and the package, whatever its definition says by now."""

from __future__ import annotations

import pytest
from django.test import Client

from clusters.models import Cluster, Workload
from jobs import definitions, services
from jobs.models import Job
from projects import secrets
from projects.actors import Actor
from projects.errors import Conflict, Invalid
from projects.models import AuditEntry
from tests.clusters.steps import after
from tests.factories import a_definition, a_job, a_member

pytestmark = pytest.mark.django_db
COMMIT = "0123456789abcdef" * 2 + "01234567"
GIT = {
    "slug": "code",
    "template": {
        "command": ["sh", "-c", "${command}"],
        "source": {"kind": "git", "address": "https://localhost/code", "ref": "main"},
    },
}


def again(job, *, by):
    return services.relaunch(job=Job.objects.for_display().get(pk=job.pk), by=Actor(user=by), now=after(60))


def test_a_relaunch_is_a_new_job_that_runs_the_same(vision):
    old = a_job(
        project=vision.project,
        by=vision.member,
        command="echo ${HOME}",
        name="vit",
        labels={"owner": "ada"},
        environment={"A": "1"},
        retries={"user_code": {"times": 2}},
    )
    new = again(old, by=vision.member)
    assert new.pk != old.pk
    for name in services.SAME:
        assert getattr(new, name) == getattr(old, name), name
    assert (new.relaunch_of, new.state, new.created_at) == (old, "queued", after(60))
    assert [event.sentence for event in new.subject.events.all()] == [f"Launched by member, as job {old.pk} was."]
    assert AuditEntry.objects.filter(verb="job.launch").latest("pk").data["relaunch_of"] == old.pk
    assert Workload.objects.get(pk=new.workload_id).spec.output == f"vit/{new.pk}/1"


def test_it_runs_the_wording_that_ran_and_not_the_newest(vision):
    old = a_job(project=vision.project, by=vision.member)
    a_definition(project=vision.project, template={"command": ["false"]})
    assert again(old, by=vision.member).spec.command == ["/bin/sh", "-c", "true"]


def test_it_runs_the_commit_that_ran_though_the_branch_went_on(vision):
    version = a_definition(project=vision.project, **GIT)
    old = services.launch(
        project=vision.project,
        version=version,
        values={"command": "true"},
        resources={},
        by=Actor(user=vision.member),
        now=after(0),
    )
    Job.objects.filter(pk=old.pk).update(spec_json=old.spec_json | {"source": old.spec_json["source"] | {"commit": COMMIT}})
    new = again(old, by=vision.member)
    assert (new.spec.source["commit"], Workload.objects.get(pk=new.workload_id).awaits_source) == (COMMIT, False)


def ended(job):
    Job.objects.filter(pk=job.pk).update(state="canceled", ended_at=after(1))
    return Job.objects.for_display().get(pk=job.pk)


def test_it_may_go_on_from_the_checkpoints_of_the_one_before(vision):
    by = Actor(user=vision.member)
    first = ended(a_job(project=vision.project, by=vision.member))
    second = services.relaunch(job=first, by=by, now=after(60), with_checkpoints=True)
    third = services.relaunch(job=ended(second), by=by, now=after(120), with_checkpoints=True)
    folders = [Workload.objects.get(pk=job.workload_id).spec.checkpoints for job in (first, second, third)]
    assert folders == [f"vit/{first.pk}/checkpoints"] * 3
    assert third.checkpoints_of == first
    assert [event.sentence for event in third.subject.events.all()] == [
        f"Launched by member, as job {second.pk} was, to go on from the checkpoints of job {first.pk}."
    ]
    anew = again(third, by=vision.member)
    assert Workload.objects.get(pk=anew.workload_id).spec.checkpoints == f"vit/{anew.pk}/checkpoints"


def test_no_two_jobs_write_to_the_same_checkpoints(vision):
    by = Actor(user=vision.member)
    first = a_job(project=vision.project, by=vision.member)
    with pytest.raises(Conflict, match=f"Job {first.pk} has not ended") as still_runs:
        services.relaunch(job=first, by=by, now=after(60), with_checkpoints=True)
    second = services.relaunch(job=ended(first), by=by, now=after(60), with_checkpoints=True)
    with pytest.raises(Conflict, match=f"Job {second.pk} has not ended"):
        services.relaunch(job=first, by=by, now=after(60), with_checkpoints=True)
    assert still_runs.value.code == "checkpoints-in-use" and Job.objects.count() == 2


def test_a_script_and_a_page_go_on_from_checkpoints(script, vision):
    first = ended(a_job(project=vision.project, by=vision.member))
    client, browser = script(vision.member, scope="launch"), Client()
    browser.force_login(vision.member)
    made = client.post(f"/api/v1/jobs/{first.pk}/relaunch", {"with_checkpoints": True})
    assert (made.status_code, made.json()["checkpoints_of"], made.json()["relaunch_of"]) == (201, first.pk, first.pk)
    assert client.post(f"/api/v1/jobs/{first.pk}/relaunch", {"with_checkpoints": 7}).status_code == 422
    refused = browser.post(f"/jobs/{first.pk}/relaunch", {"with_checkpoints": "yes"}, follow=True)
    assert f"Job {made.json()['number']} has not ended" in refused.content.decode()
    ended(Job.objects.get(pk=made.json()["number"]))
    page = browser.post(f"/jobs/{first.pk}/relaunch", {"with_checkpoints": "yes"}, follow=True).content.decode()
    assert f'with the checkpoints of <a href="/jobs/{first.pk}">' in page


def test_what_is_archived_is_not_launched_again(script, vision):
    first = ended(a_job(project=vision.project, by=vision.member))
    client, browser = script(vision.member, scope="launch"), Client()
    browser.force_login(vision.member)
    assert "relaunch" in browser.get(f"/jobs/{first.pk}").content.decode()
    definitions.archive(definition=first.version.definition, by=Actor(user=vision.operator), now=after(30))
    refused = client.post(f"/api/v1/jobs/{first.pk}/relaunch", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "definition-archived")
    of_many = client.post("/api/v1/jobs/relaunches", {"jobs": [first.pk]}).json()
    assert "The definition command is archived" in str(of_many)
    page = browser.get(f"/jobs/{first.pk}").content.decode()
    assert f'action="/jobs/{first.pk}/relaunch"' not in page and "so this job is not relaunched" in page
    assert Job.objects.count() == 1


def test_what_it_needs_and_is_gone_is_named(vision):
    operator = Actor(user=vision.operator)
    secrets.put(project=vision.project, name="TOKEN", value="a-long-secret", by=operator)
    old = a_job(project=vision.project, by=vision.member, secrets=["TOKEN"])
    secrets.remove(project=vision.project, name="TOKEN", by=operator)
    with pytest.raises(Invalid) as error:
        again(old, by=vision.member)
    assert set(error.value.fields) == {"secrets.TOKEN"}
    Cluster.objects.update(accelerator="v5e")
    with pytest.raises(Invalid, match=r"resources\.accelerator"):
        again(old, by=vision.member)
    assert Job.objects.count() == 1


def test_the_api_relaunches_once_a_key(script, vision):
    old = a_job(project=vision.project, by=vision.member)
    member = script(vision.member)
    first, second = (member.post(f"/api/v1/jobs/{old.pk}/relaunch", {}, **{"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status_code, second.status_code, Job.objects.count()) == (201, 201, 2)
    assert first.json() == second.json()
    assert (first.json()["relaunch_of"], first["Location"]) == (old.pk, f"/api/v1/jobs/{first.json()['number']}")


@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("stranger", 404)])
def test_others_may_not(script, vision, client, who, status):
    old = a_job(project=vision.project, by=vision.member)
    assert script(getattr(vision, who)).post(f"/api/v1/jobs/{old.pk}/relaunch").status_code == status
    client.force_login(getattr(vision, who))
    assert client.post(f"/jobs/{old.pk}/relaunch").status_code == status
    assert Job.objects.count() == 1


def test_the_page_leads_to_the_new_job(vision, client):
    old = a_job(project=vision.project, by=vision.member)
    client.force_login(a_member(team=vision.team))
    answer = client.post(f"/jobs/{old.pk}/relaunch")
    new = Job.objects.latest("pk")
    assert (answer.status_code, answer["Location"], new.relaunch_of_id) == (302, f"/jobs/{new.pk}", old.pk)


def test_the_api_tells_the_tries_of_a_job(script, vision):
    job = a_job(project=vision.project, by=vision.member)
    answer = script(vision.viewer, scope="read").get(f"/api/v1/jobs/{job.pk}/attempts").json()
    assert [(one["number"], one["state"], one["workload"], one["retried_as"]) for one in answer["results"]] == [
        (1, "waiting", str(job.workload_id), None)
    ]
    assert script(vision.stranger).get(f"/api/v1/jobs/{job.pk}/attempts").status_code == 404


def test_two_clicks_on_relaunch_are_one_job(vision, client):
    old = a_job(project=vision.project, by=vision.member)
    client.force_login(vision.member)
    answers = [client.post(f"/jobs/{old.pk}/relaunch", {"key": "a-key"}) for _ in range(2)]
    assert (len({answer["Location"] for answer in answers}), Job.objects.count()) == (1, 2)
