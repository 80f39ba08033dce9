"""Saved views: lists of jobs under a name."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from jobs import saved_views
from jobs.models import DefaultView, SavedView
from projects.actors import Actor
from projects.errors import Conflict
from projects.models import AuditEntry, Role
from tests.factories import NOON, a_job, a_member
from tests.monitoring.threads import at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(vision):
    client = Client(raise_request_exception=False)
    client.force_login(vision.member)
    return client


def saved(by, name="failed", query="state=failed", project=""):
    return saved_views.save(name=name, query=query, project=project, by=Actor(by), now=NOON)


def names(by):
    return [view.name for view in saved_views.of(Actor(by))]


# -- By API ----------------------------------------------------------------------------------------------------


def test_a_script_saves_changes_and_deletes_a_view(script, vision):
    client = script(vision.member, scope="launch")
    body = {"name": " failed of mine ", "query": "?state=failed&owner=me&cursor=&limit=7&sort=-ended", "is_default": True}
    made = client.post("/api/v1/views", body)
    assert made.status_code == 201
    view = SavedView.objects.get()
    assert made.json() == {
        "id": view.pk,
        "name": "failed of mine",
        "query": "?owner=me&state=failed&sort=-ended",
        "project": None,
        "owner": "member",
        "is_default": True,
        "link": "/jobs?owner=me&state=failed&sort=-ended",
    }
    assert client.get("/api/v1/views").json() == {"results": [made.json()]}
    changed = client.patch(f"/api/v1/views/{view.pk}", {"name": "failures", "is_default": False}).json()
    assert (changed["name"], changed["query"], changed["is_default"]) == ("failures", view.query, False)
    assert client.delete(f"/api/v1/views/{view.pk}").status_code == 204
    assert not SavedView.objects.exists()


def test_a_view_is_made_once_a_key(script, vision):
    client = script(vision.member)
    for _ in range(2):
        answer = client.post("/api/v1/views", {"name": "a", "query": "state=failed"}, **{"Idempotency-Key": "k"})
        assert answer.status_code == 201
    assert SavedView.objects.count() == 1


def test_a_shared_view_is_seen_by_the_team_and_changed_by_its_owner_and_admins(script, vision):
    view = saved(vision.member, project="vit")
    own = saved(vision.member, name="mine")
    admin = a_member(team=vision.team, role=Role.ADMIN, username="boss")
    other = a_member(team=vision.team, username="other")
    assert names(vision.member) == ["failed", "mine"]
    assert names(vision.viewer) == names(other) == ["failed"] and names(vision.stranger) == []
    for who, status in ((vision.stranger, 404), (vision.viewer, 403), (other, 403), (admin, 200)):
        assert script(who).patch(f"/api/v1/views/{view.pk}", {"name": "renamed"}).status_code == status
        assert script(who).patch(f"/api/v1/views/{own.pk}", {"name": "x"}).status_code == 404
    assert script(vision.viewer).patch(f"/api/v1/views/{view.pk}", {"is_default": True}).json()["is_default"] is True
    assert names(vision.member) == ["mine", "renamed"]
    entries = AuditEntry.objects.order_by("pk").values_list("verb", flat=True)
    assert [verb for verb in entries if verb.startswith("view.")] == ["view.share", "view.change"]


def test_who_may_only_look_shares_nothing(script, vision):
    body = {"name": "a", "query": "state=failed", "project": "vit"}
    assert script(vision.viewer).post("/api/v1/views", body).status_code == 403
    assert script(vision.stranger).post("/api/v1/views", body).status_code == 404
    assert script(vision.member, scope="read").post("/api/v1/views", body | {"project": ""}).status_code == 403
    assert script(vision.viewer).post("/api/v1/views", body | {"project": ""}).status_code == 201


@pytest.mark.parametrize(
    ("change", "status", "path"),
    [
        ({"name": ""}, 422, "name"),
        ({"name": "a" * 61}, 422, "name"),
        ({"name": "a\nb"}, 422, "name"),
        ({"name": "\u202e"}, 422, "name"),
        ({"name": 7}, 422, "name"),
        ({"query": "state=lost"}, 422, "state"),
        ({"query": "sort=colour"}, 422, "sort"),
        ({"query": ""}, 422, "query"),
        ({"query": "a" * 9000}, 422, "query"),
        ({"colour": "red"}, 422, "colour"),
        ({"name": "taken"}, 409, None),
    ],
    ids=lambda value: None,
)
def test_what_is_no_view_is_told(script, vision, change, status, path):
    saved(vision.member, name="taken")
    answer = script(vision.member).post("/api/v1/views", {"name": "a", "query": "state=failed"} | change)
    assert answer.status_code == status
    assert path is None or list(answer.json()["details"]) == [path]
    assert SavedView.objects.count() == 1


def test_a_person_has_fifty_at_most(script, vision):
    for number in range(50):
        saved(vision.member, name=f"view {number}")
    answer = script(vision.member).post("/api/v1/views", {"name": "one more", "query": "state=failed"})
    assert (answer.status_code, answer.json()["code"]) == (409, "too-many-views")


def test_a_name_is_a_persons_own_once(vision):
    view = saved(vision.member, name="名字 اسم न")
    assert saved(vision.viewer, name="名字 اسم न").owner == vision.viewer
    with pytest.raises(IntegrityError), transaction.atomic():
        SavedView.objects.create(owner=vision.member, name=view.name, query="?text=a", created_at=NOON)


# -- On the page ---------------------------------------------------------------------------------------------------


def test_a_person_saves_what_is_shown_and_finds_it_as_a_tab(browser, vision):
    assert "Save view" not in browser.get("/jobs").content.decode()
    assert "Save this view" in browser.get("/jobs?state=failed&sort=-ended").content.decode()
    answer = browser.post("/jobs/views", {"name": "<b>failed", "query": "?state=failed&sort=-ended", "default": "on"})
    assert (answer.status_code, answer["Location"]) == (302, "/jobs?state=failed&sort=-ended")
    text = browser.get("/jobs?sort=-ended&state=failed").content.decode()
    assert "&lt;b&gt;failed" in text and 'aria-current="page" title="Your own, opens first"' in text
    assert "View &lt;b&gt;failed" in text and "Delete view" in text


def test_the_list_opens_with_the_default_and_all_jobs_stay_a_click_away(browser, vision):
    view = saved(vision.member)
    saved_views.make_default(view, by=Actor(vision.member))
    assert browser.get("/jobs")["Location"] == "/jobs?state=failed"
    assert browser.get("/jobs?view=all").status_code == 200
    assert browser.get("/jobs?", HTTP_HX_REQUEST="true")["HX-Push-Url"] == "/jobs?view=all"
    browser.post(f"/jobs/views/{view.pk}", {"name": "renamed"})
    assert SavedView.objects.get().name == "renamed" and not DefaultView.objects.exists()
    assert browser.get("/jobs").status_code == 200


def test_a_default_that_leads_nowhere_any_more_is_not_followed(browser, vision):
    a_job(project=vision.project, by=vision.member)
    view = saved(vision.member, query="definition=command")
    saved_views.make_default(view, by=Actor(vision.member))
    assert browser.get("/jobs").status_code == 302
    SavedView.objects.update(query="?definition=gone")
    assert browser.get("/jobs").status_code == 200
    assert browser.get("/jobs?definition=gone").status_code == 422


def test_a_person_deletes_a_view_that_was_somebodys_default(browser, vision):
    view = saved(vision.member, project="vit")
    saved_views.make_default(view, by=Actor(vision.viewer))
    assert browser.post(f"/jobs/views/{view.pk}/deletion")["Location"] == "/jobs?view=all"
    assert not SavedView.objects.exists() and not DefaultView.objects.exists()
    assert browser.post(f"/jobs/views/{view.pk}/deletion").status_code == 404


def test_what_cannot_be_saved_is_said_above_the_list(browser, vision):
    saved(vision.member, name="taken")
    for name, said in (("taken", "You have a view taken already."), (" ", "name: 1 to 60 characters")):
        answer = browser.post("/jobs/views", {"name": name, "query": "?state=failed"})
        assert answer["Location"] == "/jobs?state=failed"
        assert f"The view was not saved: {said}" in browser.get("/jobs?state=failed").content.decode()


def test_ones_own_are_there_however_many_others_share(vision, monkeypatch):
    monkeypatch.setattr(saved_views, "MOST_A_PERSON", 1)  # four are shown
    for number in range(5):
        other = a_member(team=vision.team, role=Role.MEMBER)
        saved(other, name=f"a{number}", project="vit")
    saved(vision.member, name="z")
    assert names(vision.member) == ["z", "a0", "a1", "a2"]


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_two_that_are_saved_at_once_are_no_more_than_are_allowed(vision, monkeypatch):
    monkeypatch.setattr(saved_views, "MOST_A_PERSON", 1)
    for _round in range(20):
        refused = []

        def save(name: str, refused: list[str] = refused) -> None:
            try:
                saved(vision.member, name=name)
            except Conflict as error:
                refused.append(error.code)

        at_once(lambda: save("a"), lambda: save("b"))  # noqa: B023  of this round
        assert (SavedView.objects.count(), refused) == (1, ["too-many-views"])
        SavedView.objects.all().delete()
