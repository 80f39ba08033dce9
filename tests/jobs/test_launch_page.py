"""The launch form: who may open it, what it is filled with, what it tells, and one job for two clicks."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from clusters import scheduling
from clusters.models import Chip, Host
from jobs import shipped
from jobs.models import Job
from jobs.retries import Budget, Policy
from projects import secrets
from projects.actors import Actor
from projects.models import IdempotencyKey, Membership, Role
from tests.clusters.test_archives import a_zip
from tests.factories import NOON, a_cluster, a_definition, a_host, a_job, a_project, a_team, a_user

pytestmark = pytest.mark.django_db
NEW, PREVIEW = "/jobs/new", "/jobs/new/preview"
SENT = {
    "project": "vit",
    "definition": "command",
    "version": "1",
    "key": "a-key",
    "resources.accelerator": "cpu",
    "resources.chips": "1",
    "resources.cluster": "",
    "parameters.command": "echo hello",
    "name": "",
    "labels": "",
    "environment": "",
}
TRAIN = {
    "slug": "train",
    "title": "Train",
    "template": {"command": ["train", "${epochs}"]},
    "parameters": {
        "properties": {"epochs": {"type": "integer", "minimum": 1, "default": 3}, "notes": {"type": "string"}},
        "required": ["epochs"],
        "additionalProperties": False,
    },
}


@pytest.fixture
def as_(db):
    """as_(user): a browser in which that user is signed in."""

    def sign_in(user) -> Client:
        browser = Client(raise_request_exception=False)
        browser.force_login(user)
        return browser

    return sign_in


def form_of(answer):
    return answer.context["form"]


def errors(answer):
    return {field.path: sentence for field, sentence in form_of(answer).faults}


# -- Opening it ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_the_form_takes_seventeen_queries_however_much_there_is(as_, vision, count, django_assert_num_queries):
    for number in range(count):
        a_definition(project=vision.project, slug=f"train-{number}")
        a_project(team=vision.team, slug=f"project-{number}")
        a_host(cluster=a_cluster(name=f"cluster-{number}"))
        secrets.put(project=vision.project, name=f"KEY_{number}", value="long enough", by=Actor(user=vision.member))
    browser = as_(vision.member)
    # session, user, project, role; definitions, version; chips, listening, hosts, clusters; the version's definition;
    # accelerators and clusters that the check asks for; secrets; projects to choose from, the version's author,
    # projects of the navigation, definitions to choose from
    with django_assert_num_queries(17):
        answer = browser.get(f"{NEW}?project=vit&definition=command")
    assert (answer.status_code, len(answer.context["rooms"])) == (200, count + 1)
    with django_assert_num_queries(10):
        assert browser.post(PREVIEW, SENT).status_code == 200


def test_it_opens_with_the_first_project_and_definition_in_which_one_may_launch(as_, vision):
    a_definition(project=vision.project, **TRAIN)
    a_project(team=a_team(), slug="a-strangers")
    answer = as_(vision.member).get(NEW)
    assert (answer.status_code, form_of(answer).project, form_of(answer).version) == (200, vision.project, vision.version)
    text = answer.content.decode()
    assert "Launch Command" in text and "a-strangers" not in text and ">Train</option>" in text
    assert answer["Cache-Control"] == "max-age=0, no-cache, no-store, must-revalidate, private"


def test_a_definition_that_the_project_has_not_is_its_first(as_, vision):
    answer = as_(vision.member).get(f"{NEW}?project=vit&definition=none")
    assert (answer.status_code, form_of(answer).version) == (200, vision.version)


@pytest.mark.parametrize(
    ("who", "path", "refused"),
    [
        ("viewer", NEW, (403, "that needs the role member")),
        ("viewer", f"{NEW}?project=vit", (403, "You are viewer in this team; this needs the role member.")),
        ("stranger", f"{NEW}?project=vit", (404, "There is no project vit")),
        ("member", f"{NEW}?project=nul%00", (404, "There is nothing of this name.")),
        ("member", f"{NEW}?from=99999", (404, "There is no job 99999")),
        ("member", f"{NEW}?from=x", (404, "There is no job x")),
    ],
)
def test_who_may_not_launch_gets_a_page_that_says_so(as_, vision, who, path, refused):
    answer, (status, words) = as_(getattr(vision, who)).get(path), refused
    assert (answer.status_code, words in answer.content.decode()) == (status, True)


def test_who_is_in_no_project_is_told_the_next_step(as_, db):
    answer = as_(a_user()).get(NEW)
    assert answer.status_code == 200 and "You are in no project yet" in answer.content.decode()


def test_a_project_without_definitions_teaches_where_they_come_from(as_, vision):
    a_project(team=vision.team, slug="empty")
    answer = as_(vision.member).get(f"{NEW}?project=empty")
    text = answer.content.decode()
    assert answer.status_code == 200 and "empty has no definitions yet" in text and "manage.py prepare" in text
    assert 'name="key"' not in text


def test_who_is_not_signed_in_is_asked_to(client, vision):
    assert client.get(NEW)["Location"] == f"/sign-in?next={NEW}"
    assert (client.post(NEW, SENT).status_code, client.post(PREVIEW, SENT).status_code) == (302, 302)
    assert not Job.objects.exists()


# -- Launching -----------------------------------------------------------------------------------------------


def test_what_is_filled_in_is_launched(as_, vision):
    secrets.put(project=vision.project, name="TOKEN", value="long enough", by=Actor(user=vision.member))
    sent = SENT | {"name": "vit-b16", "labels": "sweep=a", "environment": "A=1", "secrets": ["TOKEN"], "resources.chips": "2"}
    answer = as_(vision.member).post(NEW, sent)
    job = Job.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/jobs/{job.pk}")
    assert (job.project, job.version, job.created_by, job.state) == (vision.project, vision.version, vision.member, "queued")
    assert (job.name, job.labels, job.parameters) == ("vit-b16", {"sweep": "a"}, {"command": "echo hello", "runtime": ""})
    assert (job.request.chips, job.spec.environment, job.spec.secrets) == (2, {"A": "1"}, ["TOKEN"])


def test_two_clicks_are_one_job_and_both_lead_to_it(as_, vision):
    browser = as_(vision.member)
    answers = [browser.post(NEW, SENT) for _ in range(2)]
    job = Job.objects.get()
    assert {answer["Location"] for answer in answers} == {f"/jobs/{job.pk}"}
    by_htmx = browser.post(NEW, SENT, headers={"HX-Request": "true"})
    assert (by_htmx.status_code, by_htmx["HX-Redirect"], by_htmx.content) == (200, f"/jobs/{job.pk}", b"")
    assert Job.objects.count() == 1


def test_a_form_that_was_changed_or_drawn_anew_is_another_job(as_, vision):
    browser = as_(vision.member)
    for sent in (SENT, SENT | {"parameters.command": "echo other"}, SENT | {"key": "another"}):
        browser.post(NEW, sent)
    assert Job.objects.count() == 3
    keys = [re.search(r'name="key" value="([^"]+)"', browser.get(NEW).content.decode())[1] for _ in range(2)]
    assert keys[0] != keys[1]


def test_wrong_values_stand_at_their_fields_and_all_that_was_typed_stays(as_, vision):
    a_definition(project=vision.project, **TRAIN)
    sent = SENT | {
        "definition": "train",
        "parameters.epochs": "many",
        "parameters.notes": "a <b>",
        "resources.chips": "0",
        "labels": "a",
        "environment": "PANEL_X=1",
    }
    answer = as_(vision.member).post(NEW, sent)
    assert (answer.status_code, Job.objects.count(), IdempotencyKey.objects.count()) == (422, 0, 0)
    assert errors(answer) == {
        "labels": "line 1 has no “=”",
        "environment": "PANEL_X: not a name for a variable; VIRTUAL_ENV and those with PANEL_ are the panel's",
    }
    answer = as_(vision.member).post(NEW, sent | {"labels": "", "environment": ""})
    assert errors(answer) == {
        "resources.chips": "a whole number from 1 is needed",
        "parameters.epochs": "a whole number is needed",
    }
    text = answer.content.decode()
    assert 'value="many"' in text and 'value="a &lt;b&gt;"' in text and '<a href="#parameter-0">Epochs</a>' in text
    assert 'value="a-key"' in text and "data-posted" in text
    assert as_(vision.member).post(
        NEW, sent | {"parameters.epochs": "4", "resources.chips": "1", "labels": "", "environment": ""}
    )
    assert Job.objects.get().parameters == {"epochs": 4, "notes": "a <b>"}


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"parameters.command": "nul\0"}, None),
        ({"secrets": ["NONE"]}, "secrets"),
        ({"resources.cluster": "none"}, "resources.cluster"),
        ({"resources.accelerator": "v9"}, "resources.accelerator"),
        ({"name": "x" * 101}, "name"),
        ({"version": "7"}, None),
    ],
)
def test_what_is_refused_launches_nothing(as_, vision, changed, path):
    answer = as_(vision.member).post(NEW, SENT | changed)
    assert (answer.status_code, path in errors(answer) or form_of(answer).general != []) == (422, True)
    assert not Job.objects.exists()


def test_a_launch_is_of_the_version_that_was_seen(as_, vision):
    newest = a_definition(project=vision.project, resources={"accelerator": "cpu", "chips": 2})
    answer = as_(vision.member).post(NEW, SENT)
    assert (answer.status_code, len(form_of(answer).general)) == (422, 1)
    assert f'name="version" value="{newest.number}"' in answer.content.decode()


@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("stranger", 404)])
def test_who_may_not_launch_launches_nothing(as_, vision, who, status):
    browser = as_(getattr(vision, who))
    assert (browser.post(NEW, SENT).status_code, browser.post(PREVIEW, SENT).status_code) == (status, status)
    assert not Job.objects.exists()


def test_a_foreign_form_launches_nothing(vision):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(vision.member)
    assert strict.post(NEW, SENT).status_code == 403
    assert not Job.objects.exists()


def test_a_broken_form_is_not_found(as_, vision):
    for changed in ({"project": ""}, {"project": "nul\0"}, {"definition": "none"}, {"definition": "nul\0"}):
        assert as_(vision.member).post(NEW, SENT | changed).status_code == 404
    assert as_(vision.member).get(PREVIEW).status_code == 405


def test_retries_are_launched_and_wrong_ones_stand_at_their_fields(as_, vision):
    sent = SENT | {"retries.user_code.times": "3", "retries.user_code.delay_s": "60", "retries.host_lost.times": "many"}
    answer = as_(vision.member).post(NEW, sent)
    assert errors(answer) == {"retries.host_lost.times": "a whole number from 0 to 100 is needed"}
    as_(vision.member).post(NEW, sent | {"retries.host_lost.times": ""})
    assert Job.objects.get().retries == Policy(user_code=Budget(3, 60), host_lost=Budget(0, 10))


def test_an_archive_that_is_sent_along_is_launched_and_a_broken_one_is_told_at_its_field(as_, vision, settings, tmp_path):
    location = {"location": tmp_path / "files"}
    storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": location}
    settings.STORAGES = settings.STORAGES | {"default": storage}
    a_definition(project=vision.project, **shipped.archive())
    sent = SENT | {"definition": "archive", "parameters.command": "sh run.sh"}
    broken = SimpleUploadedFile("code.zip", b"no archive")
    answer = as_(vision.member).post(NEW, sent | {"parameters.archive": broken})
    assert list(errors(answer)) == ["parameters.archive"]
    code = SimpleUploadedFile("code.zip", a_zip({"run.sh": b"echo hello"}).getvalue())
    assert as_(vision.member).post(NEW, sent | {"parameters.archive": code}).status_code == 302
    job = Job.objects.get()
    assert job.spec.source == {"kind": "archive", "digest": job.parameters["archive"], "title": "code.zip"}


def test_what_is_wrong_with_an_address_is_told_at_its_parameter(as_, vision):
    a_definition(project=vision.project, **shipped.git())
    sent = SENT | {"definition": "git", "parameters.address": "file:///etc", "parameters.ref": "a b"}
    assert errors(as_(vision.member).post(NEW, sent)) == {
        "parameters.address": "an address of one of these kinds is needed: https://, ssh:// or git@host:path",
        "parameters.ref": "a branch, a tag or a full commit is needed",
    }


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("https://git.example.org/code.git?token=secret", "nor ? nor # may be in it"),
        ("https://git.example.org:99999/code.git", "its port cannot be"),
        ("https://user:secret@git.example.org/code.git", "a password or token"),
    ],
)
def test_an_address_with_a_token_or_without_a_port_is_refused_by_the_api_too(vision, script, address, why):
    a_definition(project=vision.project, **shipped.git())
    parameters = {"address": address, "command": "true"}
    answer = script(vision.member).post("/api/v1/jobs", {"project": "vit", "definition": "git", "parameters": parameters})
    assert (answer.status_code, list(answer.json()["details"]), Job.objects.count()) == (422, ["parameters.address"], 0)
    assert why in answer.json()["message"] and "secret" not in answer.content.decode()


def test_a_scheme_in_capitals_reaches_git_in_small_letters(as_, vision):
    a_definition(project=vision.project, **shipped.git())
    sent = SENT | {"definition": "git", "parameters.command": "true", "parameters.address": "HTTPS://git.example.org/Code"}
    assert as_(vision.member).post(NEW, sent | {"parameters.ref": "main"}).status_code == 302
    assert Job.objects.get().spec.source["address"] == "https://git.example.org/Code"


# -- As an old job was launched --------------------------------------------------------------------------------


def test_it_is_filled_in_as_a_job_was_launched(as_, vision):
    job = a_job(
        project=vision.project,
        by=vision.member,
        command="echo a\necho b",
        name="vit",
        labels={"sweep": "a"},
        resources={"chips": 2},
        retries={"user_code": {"times": 2}},
    )
    answer = as_(vision.member).get(f"{NEW}?from={job.pk}")
    form = form_of(answer)
    assert answer.status_code == 200
    assert form.body == {
        "project": "vit",
        "definition": "command",
        "parameters": {"command": "echo a\necho b", "runtime": ""},
        "resources": {"accelerator": "cpu", "chips": 2},
        "name": "vit",
        "labels": {"sweep": "a"},
        "environment": {},
        "secrets": [],
        "retries": {"user_code": {"times": 2, "delay_s": 10}, "host_lost": {"times": 0, "delay_s": 10}},
    }
    assert f'name="from" value="{job.pk}"' in answer.content.decode()


def test_it_is_filled_in_with_the_newest_version_and_says_what_that_no_longer_has(as_, vision):
    a_definition(project=vision.project, **TRAIN)
    as_(vision.member).post(NEW, SENT | {"definition": "train", "parameters.epochs": "8", "parameters.notes": "x"})
    job = Job.objects.get()
    shorter = {
        "properties": {"epochs": {"type": "integer"}, "seed": {"type": "integer", "default": 1}},
        "additionalProperties": False,
    }
    newest = a_definition(project=vision.project, **TRAIN | {"parameters": shorter})
    form = form_of(as_(vision.member).get(f"{NEW}?from={job.pk}"))
    assert (form.version, form.body["parameters"], form.dropped) == (newest, {"epochs": 8}, ["notes"])
    assert form.texts["name"] == ""  # it was the definition's


def test_environment_and_secrets_of_a_job_are_filled_in_too(as_, vision):
    secrets.put(project=vision.project, name="TOKEN", value="long enough", by=Actor(user=vision.member))
    job = a_job(project=vision.project, by=vision.member, environment={"A": "1", "B": "two\nlines"}, secrets=["TOKEN"])
    form = form_of(as_(vision.member).get(f"{NEW}?from={job.pk}"))
    assert (form.body["environment"], form.body["secrets"], form.has_more) == ({"A": "1", "B": "two\nlines"}, ["TOKEN"], True)


def test_a_strangers_job_fills_nothing_in(as_, vision):
    job = a_job(project=vision.project, by=vision.member)
    assert as_(vision.stranger).get(f"{NEW}?from={job.pk}").status_code == 404
    assert as_(vision.viewer).get(f"{NEW}?from={job.pk}").status_code == 403
    Membership.objects.filter(user=vision.viewer).update(role=Role.MEMBER)
    assert as_(vision.viewer).get(f"{NEW}?from={job.pk}").status_code == 200


# -- What it tells -------------------------------------------------------------------------------------------------


def outlook(answer):
    found = answer.context["outlook"]
    return found.state, found.sentence


def test_it_tells_whether_it_would_start_and_what_is_free(as_, vision):
    browser = as_(vision.member)
    assert outlook(browser.get(NEW)) == ("waits", "No host has cpu: enrol one, and it starts.")
    a_host(name="tpu-1", chips=4)
    a_host(name="tpu-2", chips=4, state="cordoned")
    answer = browser.get(NEW)
    assert outlook(answer) == ("now", "Starts now on tpu-1.")
    text = answer.content.decode()
    assert "4 of 4 slots free" in text and "1 host cordoned" in text and "Launch on 1 slot<" in text
    a_job(project=vision.project, by=vision.member, resources={"chips": 3})
    scheduling.schedule(now=NOON)
    answer = browser.post(PREVIEW, SENT | {"resources.chips": "2"})
    assert outlook(answer)[0] == "waits" and "It needs 2 slots of cpu on one host; 1 of 4 are free." in outlook(answer)[1]
    text = answer.content.decode()
    assert "1 of 4 slots free" in text and "Launch on 2 slots" in text and text.count('hx-swap-oob="true"') == 5
    answer = browser.post(PREVIEW, SENT | {"resources.chips": "9"})
    assert outlook(answer) == ("never", "It would wait: no host has 9 slots of cpu; the largest has 4.")
    assert 'data-state="failed"' not in answer.content.decode()  # it can be launched


def test_a_preview_says_nothing_when_nothing_has_changed(as_, vision):
    a_host(name="tpu-1")
    browser = as_(vision.member)
    seen = browser.post(PREVIEW, SENT).context["seen"]
    assert browser.post(PREVIEW, SENT | {"seen": seen}).status_code == 204
    Host.objects.update(state="cordoned")
    assert browser.post(PREVIEW, SENT | {"seen": seen}).status_code == 200
    Host.objects.update(state="ready")
    Chip.objects.filter(number=0).delete()
    assert "1 of 1 slot free" in browser.post(PREVIEW, SENT | {"seen": seen}).content.decode()


def test_a_preview_names_what_is_wrong_already(as_, vision):
    a_definition(project=vision.project, **TRAIN)
    answer = as_(vision.member).post(PREVIEW, SENT | {"definition": "train", "parameters.epochs": "0", "parameters.notes": ""})
    assert [(field.title, sentence) for field, sentence in answer.context["problems"]] == [
        ("Epochs", "0 is less than the minimum of 1")
    ]
    assert not Job.objects.exists()


def test_the_request_that_is_shown_launches_the_same(as_, vision, script):
    sent = SENT | {"parameters.command": "echo 'it''s'", "labels": "a=b", "resources.chips": "2"}
    [(_kind, _title, curl), *_others] = as_(vision.member).post(PREVIEW, sent).context["scripts"]
    assert "$TOKEN" in curl
    (body,) = shlex.split(curl.partition("--json ")[2])
    number = script(vision.member).post("/api/v1/jobs", json.loads(body)).json()["number"]
    as_(vision.member).post(NEW, sent)
    one, other = Job.objects.get(pk=number), Job.objects.exclude(pk=number).get()
    assert (one.spec, one.request, one.parameters, one.labels) == (other.spec, other.request, other.parameters, other.labels)


@pytest.mark.parametrize("number", ["9" * 5000, "-1", "x", "\u0663", "99999999999999999999"])
def test_what_is_no_jobs_number_is_not_found(as_, vision, number):
    assert as_(vision.member).get(NEW, {"from": number}).status_code == 404
