"""The API of jobs as scripts use it; the log has a file of its own."""

from __future__ import annotations

import pytest
from django.test import Client

from clusters import scheduling
from clusters.models import Workload
from jobs import urls
from jobs.listing import Page
from jobs.models import Job
from projects.models import AuditEntry
from projects.paging import Cursor
from tests.clusters import steps
from tests.factories import NOON, a_host, a_job, a_project, a_token

pytestmark = pytest.mark.django_db
JOBS = "/api/v1/jobs"
BODY = {"project": "vit", "definition": "command", "parameters": {"command": "echo hello"}}


def told(answer):
    """(status, code) of an error in the panel's words."""
    body = answer.json()
    assert sorted(body) == ["code", "details", "message"] and body["message"]
    return answer.status_code, body["code"]


def nested(levels):
    return [nested(levels - 1)] if levels else "x"


def numbers(answer):
    return [job["number"] for job in answer.json()["results"]]


# -- Launch --------------------------------------------------------------------------------------------------


def test_a_launch_answers_with_the_job_and_where_it_is(script, vision):
    answer = script(vision.member, scope="launch").post(JOBS, BODY | {"name": "vit-b16", "labels": {"a": "b"}})
    job = Job.objects.get()
    assert (answer.status_code, answer["Location"]) == (201, f"/api/v1/jobs/{job.pk}")
    body = answer.json()
    assert body == {
        "created_at": job.created_at.isoformat().replace("+00:00", "Z"),
        "number": job.pk,
        "name": "vit-b16",
        "project": "vit",
        "definition": "command",
        "version": 1,
        "state": "queued",
        "reason": {"code": "no-pass-yet", "sentence": "The scheduler has not looked at it yet."},
        "progress": None,
        "parameters": {"command": "echo hello", "runtime": ""},
        "resources": {"accelerator": "cpu", "chips": 1, "cluster": ""},
        "source": {"kind": "none"},
        "labels": {"a": "b"},
        "environment": {},
        "secrets": [],
        "retries": {"user_code": {"times": 0, "delay_s": 10}, "host_lost": {"times": 0, "delay_s": 10}},
        "notify": {},
        "retry_at": None,
        "relaunch_of": None,
        "checkpoints_of": None,
        "created_by": "member",
        "started_at": None,
        "ended_at": None,
        "subject": f"job:{job.pk}",
        "workload": str(job.workload_id),
        "link": f"/jobs/{job.pk}",
    }
    assert script(vision.viewer, scope="read").get(f"{JOBS}/{job.pk}").json() == answer.json()


def test_the_same_launch_with_the_same_key_launches_once(script, vision):
    member = script(vision.member)
    first, second = (member.post(JOBS, BODY, **{"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status_code, second.status_code, second["Idempotent-Replayed"]) == (201, 201, "true")
    assert (first.json(), first["Location"]) == (second.json(), second["Location"])
    assert (Job.objects.count(), Workload.objects.count()) == (1, 1)


@pytest.mark.parametrize(
    ("who", "scope", "refused"),
    [
        ("viewer", "admin", (403, "role")),
        ("member", "read", (403, "token-scope")),
        ("stranger", "admin", (404, "no-such-project")),
    ],
)
def test_who_may_not_launch_launches_nothing(script, vision, who, scope, refused):
    assert told(script(getattr(vision, who), scope=scope).post(JOBS, BODY)) == refused
    assert not Job.objects.exists() and not AuditEntry.objects.filter(verb="job.launch").exists()


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ([], [""]),
        ({}, ["definition", "project"]),
        (BODY | {"project": 7, "parameters": [], "resources": "all"}, ["parameters", "project", "resources"]),
        (BODY | {"labels": {"a": 1}, "environment": ["A"], "secrets": "KEY"}, ["environment", "labels", "secrets"]),
        (BODY | {"params": {}}, ["params"]),
        (BODY | {"name": "x" * 101}, ["name"]),
        (BODY | {"labels": {"x" * 64: "y"}}, ["labels"]),
        (
            BODY | {"environment": {"PANEL_RANK": "7", "A=B": "", "": ""}},
            ["environment.", "environment.A=B", "environment.PANEL_RANK"],
        ),
        (BODY | {"environment": {"VIRTUAL_ENV": "/", "PATH": "/bin", "LD_PRELOAD": "a.so"}}, ["environment.VIRTUAL_ENV"]),
        (BODY | {"parameters": {"command": ""}}, ["parameters.command"]),
        (BODY | {"resources": {"chips": 0}}, ["resources.chips"]),
        (BODY | {"resources": {"cluster": []}}, ["resources.cluster"]),
        (BODY | {"resources": {"cluster": {}}}, ["resources.cluster"]),
        (BODY | {"resources": {"accelerator": []}}, ["resources.accelerator"]),
        (BODY | {"parameters": {"command": nested(60)}}, ["parameters"]),
        (BODY | {"environment": {"A": "x" * 100_001}}, ["environment.A"]),
        (BODY | {"environment": {str(i): "x" * 99_000 for i in range(6)}}, ["environment"]),
        (BODY | {"secrets": ["NONE"]}, ["secrets.NONE"]),
        (BODY | {"environment": {"A": "nul\0"}}, ["environment"]),
        (BODY | {"name": "nul\0"}, ["name"]),
        (BODY | {"name": "half \ud800"}, ["name"]),
        (BODY | {"labels": {"nul\0": "x"}}, ["labels"]),
        (BODY | {"name": "two\nlines"}, ["name"]),
        (BODY | {"name": "x\u202egnp.exe"}, ["name"]),
        (BODY | {"name": "\u200fx", "labels": {"a": "\x1b[31m"}}, ["labels", "name"]),
        (BODY | {"labels": {"a\u2066": "x"}}, ["labels"]),
        (BODY | {"labels": {"a": "tab\tbed"}}, ["labels"]),
        (BODY | {"parameters": {"command": "echo nul\0"}}, ["parameters"]),
        (BODY | {"parameters": {"command": ["half \ud800"]}}, ["parameters"]),
        (BODY | {"secrets": ["nul\0"]}, ["secrets"]),
        (BODY | {"project": "nul\0"}, ["project"]),
        (BODY | {"parameters": {"command": "echo", "n": 2**64}}, ["parameters"]),
    ],
)
def test_wrong_fields_of_a_launch_are_named(script, vision, body, fields):
    answer = script(vision.member).post(JOBS, body)
    assert (told(answer), sorted(answer.json()["details"])) == ((422, "invalid"), fields)
    assert not Job.objects.exists()


def test_what_cannot_be_read_is_answered_as_json(script, vision):
    member = script(vision.member)
    answer = member.get(f"{JOBS}?{'&'.join(f'label=a%3D{number}' for number in range(1500))}")
    assert told(answer) == (400, "too-many-fields")
    answer = member.post(JOBS, BODY | {"name": "x" * 5_000_000}, **{"Idempotency-Key": "k"})
    assert told(answer) == (413, "request-too-large")


def test_names_and_labels_of_any_script_are_taken(script, vision):
    words = {"name": "Größe 模型 شبكة \N{SNOWMAN}", "labels": {"דגם": "ё́ 👩‍🔬"}}
    answer = script(vision.member).post(JOBS, BODY | words)
    assert (answer.status_code, {name: answer.json()[name] for name in words}) == (201, words)


@pytest.mark.parametrize("body", ["[" * 100_000, '{"a":' * 100_000, "{", "\x00"])
def test_what_is_no_json_or_never_ends_is_refused(vision, client, body):
    _token, text = a_token(user=vision.member)
    answer = client.post(JOBS, body, content_type="application/json", headers={"Authorization": f"Bearer {text}"})
    assert answer.status_code in (400, 422)
    assert answer.json()["code"]


def test_an_unknown_definition_is_named_with_those_that_there_are(script, vision):
    answer = script(vision.member).post(JOBS, BODY | {"definition": "train"})
    assert (told(answer), answer.json()["details"]) == ((404, "no-such-definition"), {"known": ["command"]})


# -- Look ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_a_list_takes_three_queries_however_many_there_are(script, vision, count, django_assert_num_queries):
    for _ in range(count):
        a_job(project=vision.project, by=vision.member)
    Job.objects.update(state="running", started_at=NOON)
    viewer = script(vision.viewer)
    viewer.get(JOBS)  # notes the token's use
    with django_assert_num_queries(3):  # token, jobs, progress
        assert len(viewer.get(JOBS).json()["results"]) == count


def test_fields_that_are_asked_for_are_all_that_is_answered(script, vision):
    job = a_job(project=vision.project, by=vision.member)
    viewer = script(vision.viewer)
    assert viewer.get(f"{JOBS}?fields=state,number,reason").json() == {
        "results": [
            {
                "number": job.pk,
                "state": "queued",
                "reason": {"code": "no-pass-yet", "sentence": "The scheduler has not looked at it yet."},
            }
        ],
        "next_cursor": None,
    }
    assert viewer.get(f"{JOBS}/{job.pk}?fields=number").json() == {"number": job.pk}
    assert viewer.get(f"{JOBS}/{job.pk}?fields=,").json() == viewer.get(f"{JOBS}/{job.pk}").json()
    Job.objects.filter(pk=job.pk).update(project=a_project(team=vision.team))
    assert told(viewer.get(f"{JOBS}?project=vit&fields=colour")) == (422, "invalid")  # of an empty list, too


def test_a_list_is_newest_first_and_goes_on_at_its_cursor(script, vision):
    made = [a_job(project=vision.project, by=vision.member).pk for _ in range(5)][::-1]
    member, seen, cursor = script(vision.member), [], ""
    while cursor is not None:
        page = member.get(f"{JOBS}?limit=2&cursor={cursor}")
        seen.append(numbers(page))
        cursor = page.json()["next_cursor"]
    assert seen == [made[:2], made[2:4], made[4:]]
    cursor = member.get(f"{JOBS}?limit=2").json()["next_cursor"]
    a_job(project=vision.project, by=vision.member)  # what is launched meanwhile moves no page
    assert numbers(member.get(f"{JOBS}?limit=2&cursor={cursor}")) == made[2:4]
    assert numbers(member.get(f"{JOBS}?limit=0"))[1:] == []


def test_a_list_is_filtered_by_project_and_state(script, vision):
    other = a_project(team=vision.team, slug="bert")
    one, two = a_job(project=vision.project, by=vision.member), a_job(project=other, by=vision.member)
    Job.objects.filter(pk=one.pk).update(state="running")
    member = script(vision.member)
    assert numbers(member.get(JOBS)) == [two.pk, one.pk]
    assert numbers(member.get(f"{JOBS}?project=bert")) == [two.pk]
    assert numbers(member.get(f"{JOBS}?state=running")) == [one.pk]
    assert numbers(member.get(f"{JOBS}?state=running&project=bert")) == []


@pytest.mark.parametrize(
    ("query", "refused", "fields"),
    [
        ("state=asleep", (422, "invalid"), ["state"]),
        ("sort=x&limit=-1", (422, "invalid"), ["limit", "sort"]),
        ("cursor=x", (422, "invalid"), ["cursor"]),
        (f"cursor={10**19}", (422, "invalid"), ["cursor"]),
        ("fields=number,colour", (422, "invalid"), ["fields"]),
        ("project=none", (404, "no-such-project"), ["project"]),
        ("project=nul%00", (422, "invalid"), ["project"]),
    ],
)
def test_a_wrong_query_is_told(script, vision, query, refused, fields):
    answer = script(vision.member).get(f"{JOBS}?{query}")
    assert (told(answer), sorted(answer.json()["details"])) == (refused, fields)


def test_a_cursor_of_another_list_is_told(script, vision):
    member, own = script(vision.member), str(Cursor((7,), Page().query))
    assert own == str(Cursor((7,), Page().query))
    assert member.get(f"{JOBS}?cursor={own}").status_code == 200
    for query in (
        f"cursor={Cursor((7,), 'another list')}",
        f"sort=started&cursor={own}",
        f"state=queued&cursor={own}",
        f"cursor={own[:-1]}",
        f"cursor={'W' * 100_000}",
    ):
        answer = member.get(f"{JOBS}?{query}")
        assert (told(answer), list(answer.json()["details"])) == ((422, "invalid"), ["cursor"]), query


def paths_of(job):
    """Every address of a job, of pages and of the API, as its own table has them."""
    of_one = "<int:number>"
    pages = [f"/{found.pattern}" for found in urls.urlpatterns if of_one in str(found.pattern)]
    api = [f"/api/v1/{found.pattern}" for found in urls.api_urlpatterns if of_one in str(found.pattern)]
    assert len(pages) >= 2 and len(api) >= 4
    return [path.replace(of_one, str(job.pk)) for path in [*pages, *api]]


def test_a_stranger_finds_a_job_at_none_of_its_addresses(script, vision):
    job = a_job(project=vision.project, by=vision.member)
    stranger, visitor = script(vision.stranger), Client()
    visitor.force_login(vision.stranger)
    for path in paths_of(job):
        client = stranger if path.startswith("/api/") else visitor
        answers = [client.get(path), client.post(path, {})]
        assert sorted(answer.status_code for answer in answers) in ([404, 404], [404, 405]), path
    assert (Job.objects.get().state, steps.state(job.workload)[:2]) == ("queued", ("waiting", "run"))


def test_a_stranger_lists_nothing(script, vision):
    a_job(project=vision.project, by=vision.member)
    stranger = script(vision.stranger)
    assert numbers(stranger.get(JOBS)) == []
    assert stranger.get("/api/v1/definitions").json() == {"results": [], "next_cursor": None}
    for path in (f"{JOBS}?project=vit", "/api/v1/definitions?project=vit"):
        assert told(stranger.get(path)) == (404, "no-such-project")


def test_nobody_finds_nothing_either(client, vision):
    job = a_job(project=vision.project, by=vision.member)
    for path in (JOBS, f"{JOBS}/{job.pk}", f"{JOBS}/{job.pk}/events", f"{JOBS}/{job.pk}/log", "/api/v1/definitions"):
        assert told(client.get(path)) == (401, "not-signed-in")
    for path in (JOBS, f"{JOBS}/{job.pk}/cancellation"):
        assert told(client.post(path)) == (401, "not-signed-in")
    assert (Job.objects.count(), Job.objects.get().state) == (1, "queued")


@pytest.mark.parametrize("number", [0, 10**30])
def test_a_number_of_no_job_is_not_found(script, vision, number):
    assert told(script(vision.operator).get(f"{JOBS}/{number}")) == (404, "no-such-job")


def test_events_come_in_order_from_a_position(script, vision):
    job = a_job(project=vision.project, by=vision.member)
    a_host(name="tpu-1")
    scheduling.schedule(now=NOON)
    viewer = script(vision.viewer)
    answer = viewer.get(f"{JOBS}/{job.pk}/events").json()
    assert [(event["seq"], event["code"]) for event in answer["results"]] == [(1, "job.queued"), (2, "workload.ordered")]
    assert answer["head"] == 2
    assert viewer.get(f"{JOBS}/{job.pk}/events?since=1").json() == answer | {"results": answer["results"][1:]}
    assert viewer.get(f"{JOBS}/{job.pk}/events?since=9").json() == {"results": [], "head": 2}
    assert told(viewer.get(f"{JOBS}/{job.pk}/events?since=-1")) == (422, "invalid")


# -- Cancel --------------------------------------------------------------------------------------------------


def test_a_cancellation_is_accepted_and_asked_again_too(script, vision):
    job = a_job(project=vision.project, by=vision.member)
    member = script(vision.member, scope="launch")
    for _ in range(2):
        answer = member.post(f"{JOBS}/{job.pk}/cancellation", {})
        assert (answer.status_code, answer.json()["state"]) == (202, "stopping")
        assert answer.json()["reason"] == {"code": "canceled", "sentence": "Canceled by member."}
    assert steps.state(job.workload) == ("exited", "stop", "stopped", "canceled")


def test_a_forced_cancellation_leaves_no_grace(script, vision):
    host = a_host()
    job = a_job(project=vision.project, by=vision.member)
    scheduling.schedule(now=NOON)
    steps.claim(job.workload)
    assert script(vision.member).post(f"{JOBS}/{job.pk}/cancellation", {"force": True}).status_code == 202
    assert steps.open_orders(host) == [("stop", {"grace_s": 0})]


@pytest.mark.parametrize(
    ("who", "scope", "refused"), [("viewer", "admin", (403, "role")), ("member", "read", (403, "token-scope"))]
)
def test_who_may_not_cancel_stops_nothing(script, vision, who, scope, refused):
    job = a_job(project=vision.project, by=vision.member)
    assert told(script(getattr(vision, who), scope=scope).post(f"{JOBS}/{job.pk}/cancellation")) == refused
    assert (Job.objects.get().state, steps.state(job.workload)[:2]) == ("queued", ("waiting", "run"))


def test_what_cannot_be_canceled_says_so(script, vision):
    job = a_job(project=vision.project, by=vision.member)
    member = script(vision.member)
    for body in ({"force": "yes"}, {"force": 1}, []):
        assert told(member.post(f"{JOBS}/{job.pk}/cancellation", body)) == (422, "invalid")
    Job.objects.filter(pk=job.pk).update(state="failed", ended_at=NOON)
    answer = member.post(f"{JOBS}/{job.pk}/cancellation", {})
    assert (told(answer), answer.json()["details"]) == ((409, "job-ended"), {"job": job.pk})
    assert steps.state(job.workload)[:2] == ("waiting", "run")


def test_a_body_that_is_no_json_is_refused(script, vision):
    member = script(vision.member)
    answer = member.client.post(JOBS, "{", content_type="application/json", headers=member.headers)
    assert told(answer) == (400, "parse-error")
    assert not Job.objects.exists()
