import json

import pytest
from django.utils import translation

from clusters import runtimes, sources
from clusters.models import Order, Workload
from clusters.scheduling import schedule
from clusters.specs import Request, Spec
from jobs import attempts, services
from jobs.models import Attempt, Job
from monitoring.models import Event, Subject
from projects import secrets
from projects.actors import Actor
from projects.errors import Conflict, Forbidden, Invalid, NotFound
from projects.models import AuditEntry
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_definition, a_host, a_project

pytestmark = pytest.mark.django_db


def launch(vision, *, version=None, values=None, by=None, now=NOON, **more):
    return services.launch(
        project=vision.project,
        version=version or vision.version,
        values={"command": "echo hello"} if values is None else values,
        resources=more.pop("resources", {}),
        by=Actor(user=by or vision.member),
        now=now,
        **more,
    )


def cancel(job, by, *, now=NOON, **more):
    return services.cancel(job=job, by=Actor(user=by), now=now, **more)


def audited(job):
    return list(
        AuditEntry.objects.filter(subject_kind="job", subject_id=str(job.pk))
        .order_by("pk")
        .values_list("verb", "user_name", "data")
    )


def told(job):
    return list(job.subject.events.order_by("seq").values_list("code", "sentence", "by_name"))


# -- Looked up -----------------------------------------------------------------------------------------------


def test_lookup_and_right_are_one_call(vision):
    job = launch(vision)
    for who, may in ((vision.viewer, "jobs.view"), (vision.member, "jobs.cancel"), (vision.operator, "jobs.cancel")):
        assert services.get_job(Actor(user=who), job.pk, may=may) == job
    with pytest.raises(NotFound):
        services.get_job(Actor(user=vision.stranger), job.pk, may="jobs.view")
    with pytest.raises(NotFound):
        services.get_job(Actor(user=vision.operator), job.pk + 1, may="jobs.view")
    with pytest.raises(Forbidden):
        services.get_job(Actor(user=vision.viewer), job.pk, may="jobs.cancel")
    with pytest.raises(Forbidden):
        services.get_job(Actor(user=vision.member, scope="read"), job.pk, may="jobs.cancel")


# -- More than a command can be started with --------------------------------------------------------------------


def put_secrets(vision, count):
    for number in range(count):
        secrets.put(project=vision.project, name=f"KEY_{number}", value="x" * 64_000, by=Actor(user=vision.operator))
    return [f"KEY_{number}" for number in range(count)]


@pytest.mark.parametrize(("count", "field"), [(0, "parameters"), (22, "secrets")], ids=["parameters", "secrets"])
def test_more_than_linux_starts_is_refused_at_its_largest_part(vision, count, field):
    template = {"command": ["run", "${list}"]}
    schema = {"properties": {"list": {"type": "array"}}}
    version = a_definition(project=vision.project, template=template, parameters=schema)
    words = ["x" * 100_000] * (16 if count == 0 else 1)
    with pytest.raises(Invalid) as refused:
        launch(vision, version=version, values={"list": words}, secrets=put_secrets(vision, count))
    assert list(refused.value.fields) == [field] and "1500000 bytes together" in refused.value.fields[field]
    assert not Job.objects.exists()


def test_as_much_as_linux_starts_is_taken(vision):
    assert launch(vision, secrets=put_secrets(vision, 20)).spec.secrets[0] == "KEY_0"


# -- Launched ------------------------------------------------------------------------------------------------


def test_a_launch_makes_job_attempt_workload_event_and_audit(vision):
    made = launch(vision, name="vit-b16", labels={"owner": "ada"}, environment={"A": "1"}, now=after(5))
    job = Job.objects.for_display().get()
    assert (job.state, job.name, job.project, job.created_by, job.version) == (
        "queued",
        "vit-b16",
        vision.project,
        vision.member,
        vision.version,
    )
    assert (job.created_at, job.moved_at, job.started_at, job.ended_at) == (after(5), after(5), None, None)
    assert (job.parameters, job.labels) == ({"command": "echo hello", "runtime": ""}, {"owner": "ada"})
    assert job.spec == Spec(command=["/bin/sh", "-c", "echo hello"], environment={"A": "1"})
    assert (job.subject.address, job.subject.title, job.subject.project, job.subject.link) == (
        f"job:{made.pk}",
        "vit-b16",
        vision.project,
        f"/jobs/{made.pk}",
    )
    attempt = Attempt.objects.get()
    assert (attempt.job, attempt.number, attempt.counted, attempt.workload) == (job, 1, True, job.workload)
    workload = job.workload
    assert (workload.state, workload.queued_at, workload.subject, workload.owner_kind) == (
        "waiting",
        after(5),
        job.subject,
        "job",
    )
    assert workload.request == Request("cpu", 1)
    assert (workload.spec.output, workload.spec.checkpoints) == (f"vit/{job.pk}/1", f"vit/{job.pk}/checkpoints")
    assert told(job) == [("job.queued", "Launched by member.", "member")]
    assert audited(job) == [("job.launch", "member", {"definition": "command", "version": 1})]
    assert job.why == ("no-pass-yet", "The scheduler has not looked at it yet.")


def test_without_a_name_it_has_its_definitions(vision):
    assert launch(vision).name == "command"


def test_what_is_asked_for_counts_before_what_the_definition_says(vision):
    assert launch(vision, resources={"chips": 2, "cluster": "local"}).request == Request("cpu", 2, "local")


@pytest.mark.parametrize(
    ("resources", "wrong"),
    [
        ({"chips": 0}, {"resources.chips": "a whole number from 1 is needed"}),
        ({"chips": True}, {"resources.chips": "a whole number from 1 is needed"}),
        ({"chips": "2"}, {"resources.chips": "a whole number from 1 is needed"}),
        ({"chips": 10_001}, {"resources.chips": "a whole number from 1 is needed"}),
        ({"accelerator": "v5e"}, {"resources.accelerator": "no cluster has it; there is cpu"}),
        ({"accelerator": ["cpu"]}, {"resources.accelerator": "no cluster has it; there is cpu"}),
        ({"cluster": "moon"}, {"resources.cluster": "there is no such cluster; there is local"}),
        ({"cluster": 7}, {"resources.cluster": "there is no such cluster; there is local"}),
        ({"ram": 1}, {"resources.ram": "there is no such resource; known are accelerator, chips, cluster"}),
    ],
)
def test_a_request_that_nothing_can_meet_is_refused_at_once(vision, resources, wrong):
    with pytest.raises(Invalid) as refused:
        launch(vision, resources=resources)
    assert refused.value.fields == wrong
    assert not Job.objects.exists() and not Workload.objects.exists() and not Subject.objects.exists()


def test_wrong_parameters_launch_nothing(vision):
    with pytest.raises(Invalid) as refused:
        launch(vision, values={"comand": "x"})
    assert sorted(refused.value.fields) == ["parameters.comand", "parameters.command"]
    assert (Job.objects.count(), Event.objects.count(), AuditEntry.objects.filter(verb="job.launch").count()) == (0, 0, 0)


def test_secrets_are_named_and_must_exist(vision):
    by = Actor(user=vision.operator)
    secrets.put(project=vision.project, name="KEY", value="a-long-secret", by=by)
    secrets.put(project=a_project(), name="THEIRS", value="a-long-secret", by=by)
    job = launch(vision, secrets=["KEY", "KEY"])
    assert job.spec.secrets == ["KEY"]
    with pytest.raises(Invalid) as refused:
        launch(vision, secrets=["KEY", "THEIRS", "NONE"])
    assert list(refused.value.fields) == ["secrets.NONE", "secrets.THEIRS"]
    assert Job.objects.get() == job


def test_source_and_runtime_are_pinned_as_they_are_at_launch(vision, settings, tmp_path, monkeypatch):
    location = {"location": tmp_path / "files"}
    settings.STORAGES = settings.STORAGES | {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": location}
    }
    settings.BASE_DIR = tmp_path
    monkeypatch.setattr(runtimes, "FOLDER", tmp_path)
    (tmp_path / "torch.txt").write_text("torch==2.9.0\n")
    recipe = tmp_path / "recipes" / "digits"
    recipe.mkdir(parents=True)
    (recipe / "recipe.json").write_text(json.dumps({}))
    template = {"command": ["python"], "source": {"kind": "recipe", "name": "digits"}, "runtime": {"name": "torch"}}
    version = a_definition(project=vision.project, slug="my-digits", template=template, parameters={})
    first = launch(vision, version=version, values={})
    (recipe / "train.py").write_text("print()")
    (tmp_path / "torch.txt").write_text("torch==2.9.1\n")
    second = launch(vision, version=version, values={})
    assert first.spec.source == {"kind": "archive", "digest": first.spec.source["digest"], "title": "recipe digits"}
    assert first.spec.runtime["name"] == "torch"
    assert first.spec.source["digest"] != second.spec.source["digest"] == sources.of_recipe("digits").digest
    assert first.spec.runtime["digest"] != second.spec.runtime["digest"] == runtimes.pin("torch").digest


# -- Canceled ------------------------------------------------------------------------------------------------


def test_a_job_that_waits_is_canceled_without_a_host(vision):
    job = launch(vision)
    canceled = cancel(job, vision.member, now=after(2))
    assert canceled.state == "stopping"
    assert steps.state(job.workload) == ("exited", "stop", "stopped", "canceled")
    attempts.follow(now=after(3))
    job.refresh_from_db()
    assert (job.state, job.ended_at, job.why) == ("canceled", after(3), ("canceled", "Canceled by member."))
    assert told(job)[1:] == [
        ("job.stopping", "Canceled by member.", "member"),
        ("workload.exited", "Canceled by member.", ""),
        ("job.canceled", "Canceled by member.", ""),
    ]
    assert audited(job)[1:] == [("job.cancel", "member", {"force": False})]
    assert not Order.objects.exists() and Attempt.objects.count() == 1


def test_events_are_kept_in_english_whoever_acts(vision, languages):
    job = launch(vision)
    with translation.override("zh-hans"):
        cancel(job, vision.member, now=after(2))
        assert Job.objects.get(pk=job.pk).why == ("canceled", "由 member 取消。")
    attempts.follow(now=after(3))
    assert {sentence for _code, sentence, _by in told(job)[1:]} == {"Canceled by member."}


def test_canceled_before_the_claim_its_chips_are_free_at_once(vision):
    host = a_host()
    job = launch(vision)
    schedule(now=after(1))
    assert steps.held_chips(job.workload) == 1
    cancel(job, vision.member, now=after(2))
    assert (steps.held_chips(), steps.open_orders(host)) == (0, [])
    attempts.follow(now=after(3))
    job.refresh_from_db()
    assert (job.state, Attempt.objects.count()) == ("canceled", 1)


def running_job(vision):
    job = launch(vision)
    schedule(now=NOON)
    steps.claim(job.workload)
    steps.says(job.workload, state="running")
    attempts.follow(now=NOON)
    job.refresh_from_db()
    assert job.state == "running"
    return job


def test_a_running_job_is_stopping_until_nothing_of_it_is_left(vision):
    host = a_host()
    job = running_job(vision)
    cancel(job, vision.member, now=after(2))
    attempts.follow(now=after(2))
    job.refresh_from_db()
    assert (job.state, job.ended_at, steps.held_chips(job.workload)) == ("stopping", None, 1)
    assert steps.open_orders(host) == [("stop", {"grace_s": 30})]
    steps.says(job.workload, now=after(4), **steps.STOPPED)
    attempts.follow(now=after(5))
    job.refresh_from_db()
    assert (job.state, job.ended_at, job.started_at, steps.held_chips()) == ("canceled", after(5), NOON, 0)


def test_asked_again_nothing_changes_but_with_force_the_grace_is_over(vision):
    host = a_host()
    job = running_job(vision)
    for second in (1, 2):
        cancel(job, vision.member, now=after(second))
    job.refresh_from_db()
    assert (job.moved_at, [code for code, *_ in told(job)].count("job.stopping")) == (after(1), 1)
    assert steps.open_orders(host) == [("stop", {"grace_s": 30})]
    cancel(job, vision.operator, now=after(3), force=True)
    assert steps.open_orders(host) == [("stop", {"grace_s": 0})]
    job.refresh_from_db()
    assert (job.moved_at, job.why[1]) == (after(1), "Canceled by member.")
    assert [(verb, who, data) for verb, who, data in audited(job)[1:]] == [
        ("job.cancel", "member", {"force": False}),
        ("job.cancel", "member", {"force": False}),
        ("job.cancel", "operator", {"force": True}),
    ]


def test_there_is_nothing_to_cancel_of_a_job_that_has_ended(vision):
    a_host()
    job = running_job(vision)
    steps.says(job.workload, **steps.EXITED_WELL)
    attempts.follow(now=after(1))
    with pytest.raises(Conflict) as refused:
        cancel(job, vision.member, now=after(2))
    assert (refused.value.code, refused.value.data) == ("job-ended", {"job": job.pk})
    job.refresh_from_db()
    assert (job.state, len(audited(job)), steps.state(job.workload)[1]) == ("succeeded", 1, "run")


def test_a_command_that_ended_before_its_stop_came_is_what_its_exit_says(vision):
    a_host()
    job = running_job(vision)
    cancel(job, vision.member)
    steps.says(job.workload, now=after(1), **steps.EXITED_WELL)
    attempts.follow(now=after(1))
    job.refresh_from_db()
    assert (job.state, job.why[0]) == ("succeeded", "succeeded")
