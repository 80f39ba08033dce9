"""Many jobs by API and on their pages: canceled, launched again, labeled."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs.models import Job
from monitoring.models import Event
from projects.models import AuditEntry, Role
from tests.factories import NOON, a_job, a_member, a_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def three(vision):
    """One that waits, one that has ended, and one of another team."""
    waits, ended = (a_job(project=vision.project, by=vision.member, labels={"sweep": "a"}) for _ in range(2))
    Job.objects.filter(pk=ended.pk).update(state="failed", ended_at=NOON)
    return waits, ended, a_job(project=a_project(), by=vision.stranger)


@pytest.fixture
def browser(vision):
    client = Client(raise_request_exception=False)
    client.force_login(vision.member)
    return client


def numbers(jobs):
    return [job.pk for job in jobs]


def states():
    return dict(Job.objects.values_list("pk", "state"))


# -- By API ----------------------------------------------------------------------------------------------------


def test_a_script_cancels_some_and_is_told_of_the_others(script, vision, three):
    waits, ended, theirs = three
    answer = script(vision.member, scope="launch").post("/api/v1/jobs/cancellations", {"jobs": numbers(three)})
    assert answer.status_code == 202
    assert answer.json() == {
        "done": 1,
        "refused": 2,
        "results": [
            {
                "number": ended.pk,
                "outcome": "refused",
                "code": "job-ended",
                "message": f"Job {ended.pk} has ended already.",
                "made": None,
            },
            {
                "number": theirs.pk,
                "outcome": "refused",
                "code": "no-such-job",
                "message": f"Job {theirs.pk} is not there, or not in a team of yours.",
                "made": None,
            },
            {"number": waits.pk, "outcome": "done", "code": "", "message": "", "made": None},
        ],
        "left_out": 0,
    }
    assert states() == {waits.pk: "canceled", ended.pk: "failed", theirs.pk: "queued"}
    again = script(vision.member).post("/api/v1/jobs/cancellations", {"jobs": [waits.pk]}).json()
    assert (again["done"], again["results"][0]["code"]) == (0, "job-ended")


def test_a_script_cancels_what_a_filter_lets_through(script, vision, three):
    waits, ended, theirs = three
    answer = script(vision.operator).post("/api/v1/jobs/cancellations", {"filter": "project=vit"})
    assert (answer.json()["done"], answer.json()["refused"]) == (1, 1)
    assert states() == {waits.pk: "canceled", ended.pk: "failed", theirs.pk: "queued"}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "jobs"),
        ({"jobs": []}, "jobs"),
        ({"jobs": "all"}, "jobs"),
        ({"jobs": ["1"]}, "jobs.0"),
        ({"jobs": [1], "filter": "state=queued"}, "filter"),
        ({"filter": "state=lost"}, "state"),
        ({"filter": "project=nowhere"}, None),
        ({"filter": "colour=red"}, "filter"),
        ({"jobs": [1], "all": True}, "all"),
    ],
)
def test_nonsense_is_told_at_its_place(script, vision, body, path):
    answer = script(vision.member).post("/api/v1/jobs/cancellations", body)
    assert answer.status_code == (404 if path is None else 422)
    assert path is None or list(answer.json()["details"]) == [path]


def test_a_viewer_and_a_token_to_read_change_nothing(script, vision, three):
    waits, *_others = three
    for who, scope in ((vision.viewer, "admin"), (vision.member, "read")):
        for verb, more in (("cancellations", {}), ("relaunches", {}), ("labels", {"labels": {"a": "b"}})):
            answer = script(who, scope=scope).post(f"/api/v1/jobs/{verb}", {"jobs": [waits.pk]} | more).json()
            assert (answer["done"], answer["refused"]) == (0, 1)
    assert Job.objects.get(pk=waits.pk).labels == {"sweep": "a"} and Job.objects.count() == 3
    assert states()[waits.pk] == "queued"


def test_a_script_relaunches_what_has_ended_and_once_a_key(script, vision, three):
    waits, ended, _theirs = three
    body, key = {"jobs": [waits.pk, ended.pk]}, {"Idempotency-Key": "k1"}
    client = script(vision.member)
    first = client.post("/api/v1/jobs/relaunches", body, **key)
    again = client.post("/api/v1/jobs/relaunches", body, **key)
    assert (first.status_code, again.status_code, again["Idempotent-Replayed"]) == (201, 201, "true")
    assert first.json() == again.json()
    refused, done = first.json()["results"]
    assert (refused["number"], refused["code"]) == (waits.pk, "job-not-ended")
    made = Job.objects.get(pk=done["made"])
    assert (made.relaunch_of_id, made.labels, made.state) == (ended.pk, {"sweep": "a"}, "queued")
    assert Job.objects.count() == 4


def test_a_script_labels_some_and_takes_labels_away(script, vision, three):
    waits, ended, theirs = three
    body = {"jobs": numbers(three), "labels": {"sweep": None, "kind": "b"}}
    answer = script(vision.member).post("/api/v1/jobs/labels", body)
    assert (answer.status_code, answer.json()["done"], answer.json()["refused"]) == (200, 2, 1)
    assert list(Job.objects.order_by("pk").values_list("labels", flat=True)) == [{"kind": "b"}, {"kind": "b"}, {}]
    assert Event.objects.filter(code="job.labeled").order_by("pk").values_list("sentence", "by_name")[0] == (
        "Labels set: kind=b. Labels taken away: sweep.",
        "member",
    )
    assert AuditEntry.objects.filter(verb="job.label").count() == 2
    script(vision.member).post("/api/v1/jobs/labels", body)
    assert Event.objects.filter(code="job.labeled").count() == 2  # nothing has changed, so nothing is told


def test_one_job_is_labeled_by_patch(script, vision, three):
    waits, _ended, theirs = three
    client = script(vision.member)
    answer = client.patch(f"/api/v1/jobs/{waits.pk}", {"labels": {"sweep": None, "note": "best so far"}})
    assert (answer.status_code, answer.json()["labels"]) == (200, {"note": "best so far"})
    assert client.patch(f"/api/v1/jobs/{theirs.pk}", {"labels": {"a": "b"}}).status_code == 404
    assert script(vision.viewer).patch(f"/api/v1/jobs/{waits.pk}", {"labels": {"a": "b"}}).status_code == 403
    many = {f"label-{n}": "x" for n in range(50)}
    too_many = client.patch(f"/api/v1/jobs/{waits.pk}", {"labels": many})
    assert (too_many.status_code, too_many.json()["code"]) == (409, "too-many-labels")
    assert Job.objects.get(pk=waits.pk).labels == {"note": "best so far"}


@pytest.mark.parametrize(
    ("labels", "path"),
    [
        ({}, "labels"),
        ({"a": 1}, "labels"),
        ({"": "b"}, "labels."),
        ({"a" * 64: "b"}, f"labels.{'a' * 64}"),
        ({"a": "b" * 201}, "labels.a"),
        ({"a": "b\nc"}, "labels.a"),
        ({"a\u202e": "b"}, "labels.a\u202e"),
        ({"a": "\0"}, "labels.a"),
    ],
    ids=str,
)
def test_what_no_label_can_be_is_told(script, vision, three, labels, path):
    answer = script(vision.member).patch(f"/api/v1/jobs/{three[0].pk}", {"labels": labels})
    assert answer.status_code == 422 and list(answer.json()["details"]) == [path]


# -- On the pages ------------------------------------------------------------------------------------------------


def test_a_person_is_asked_first_and_told_what_is_left_alone(browser, three):
    waits, ended, theirs = three
    text = browser.get("/jobs/cancellations", {"job": numbers(three)}).content.decode()
    assert "Cancel 1 job?" in text
    assert "1 job is left alone: it has ended already." in text
    assert f'<input type="hidden" name="job" value="{waits.pk}">' in text
    assert f'name="job" value="{ended.pk}"' not in text and f'name="job" value="{theirs.pk}"' not in text
    assert states()[waits.pk] == "queued"


def test_a_person_cancels_some_and_comes_back_to_the_list(browser, three):
    waits, ended, _theirs = three
    form = {"job": [waits.pk, ended.pk], "back": "/jobs?state=queued"}
    answer = browser.post("/jobs/cancellations", form)
    assert (answer.status_code, answer["Location"]) == (302, "/jobs?state=queued")
    assert states()[waits.pk] == "canceled"
    text = browser.get("/jobs").content.decode()
    assert "1 job is canceled." in text and "1 job was left alone: it has ended already." in text


def test_all_that_match_are_those_that_were_there_when_asked(browser, vision, three):
    waits, *_others = three
    text = browser.get("/jobs/cancellations", {"filter": "?state=queued"}).content.decode()
    assert "Cancel 1 job?" in text and f'<input type="hidden" name="until" value="{waits.pk}">' in text
    newer = a_job(project=vision.project, by=vision.member)
    browser.post("/jobs/cancellations", {"filter": "?state=queued", "until": waits.pk})
    assert states()[waits.pk] == "canceled" and states()[newer.pk] == "queued"


def test_nobody_is_led_elsewhere(browser, three):
    for back in ("https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"):
        answer = browser.post("/jobs/labels", {"job": three[0].pk, "labels": "a=b", "back": back})
        assert answer["Location"] == "/jobs"


@pytest.mark.parametrize("verb", ["cancellations", "relaunches", "labels"])
@pytest.mark.parametrize("query", ["", "job=x", "job=99999", "filter=state%3Dnowhere", "filter=state%3Drunning"])
def test_an_empty_or_wrong_selection_is_one_clear_answer(browser, three, verb, query):
    answer = browser.get(f"/jobs/{verb}?{query}")
    assert answer.status_code in (200, 422)
    assert "There is nothing to do" in answer.content.decode() or "That cannot be done" in answer.content.decode()
    assert browser.post(f"/jobs/{verb}?{query}", {}).status_code == 422


def test_a_dialog_has_no_frame_and_is_drawn_whatever_is_wrong(browser, three):
    for query in (f"job={three[0].pk}", "job=x"):
        answer = browser.get(f"/jobs/labels?{query}", HTTP_HX_REQUEST="true")
        assert answer.status_code == 200 and "<html" not in answer.content.decode()


def test_a_person_relaunches_once_with_two_clicks(browser, three):
    form = {"job": three[1].pk, "key": "drawn-once"}
    for _ in range(2):
        assert browser.post("/jobs/relaunches", form).status_code == 302
    assert Job.objects.filter(relaunch_of=three[1]).count() == 1


def test_a_person_labels_and_is_told_what_is_no_label(browser, three):
    waits, ended, _theirs = three
    wrong = browser.post("/jobs/labels", {"job": waits.pk, "labels": "no equals sign"})
    assert wrong.status_code == 422 and "line 1 has no “=”" in wrong.content.decode()
    assert "no equals sign" in wrong.content.decode()  # what was typed stays
    assert browser.post("/jobs/labels", {"job": waits.pk, "labels": ""}).status_code == 422
    browser.post("/jobs/labels", {"job": numbers([waits, ended]), "labels": "kind = b\nnote=a=b", "remove": "sweep"})
    assert {job.pk: job.labels for job in (Job.objects.get(pk=waits.pk), Job.objects.get(pk=ended.pk))} == {
        waits.pk: {"kind": "b", "note": "a=b"},
        ended.pk: {"kind": "b", "note": "a=b"},
    }


def test_a_viewer_is_offered_nothing_and_told_why(vision, three):
    browser = Client()
    browser.force_login(vision.viewer)
    assert "/jobs/cancellations" not in browser.get("/jobs").content.decode().replace('action="/jobs/cancellations"', "")
    text = browser.get("/jobs/cancellations", {"job": three[0].pk}).content.decode()
    assert "There is nothing to do" in text and "is of a project in which you may not do this" in text


def test_rights_are_those_of_each_project(script, vision, three):
    other = a_project(slug="other")
    member_here_viewer_there = a_member(team=vision.team, username="both")
    a_member_there = other.team.memberships.create(user=member_here_viewer_there, role=Role.VIEWER)
    there = a_job(project=other, by=vision.operator)
    answer = script(member_here_viewer_there).post("/api/v1/jobs/cancellations", {"filter": "state=queued"}).json()
    assert (answer["done"], [one["code"] for one in answer["results"]]) == (1, ["role", ""])
    assert a_member_there and states()[there.pk] == "queued"
