from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from tests.factories import a_member, a_project, a_team, a_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return a_team()


@pytest.fixture
def script(team):
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {a_token(user=a_member(team=team))[1]}")
    return client


def test_what_has_not_changed_is_not_sent_again(script, team):
    a_project(team=team, slug="vision")
    first = script.get("/api/v1/projects")
    again = script.get("/api/v1/projects", headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])


def test_what_has_changed_is_sent(script, team):
    first = script.get("/api/v1/projects")
    a_project(team=team, slug="speech")
    again = script.get("/api/v1/projects", headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, [one["slug"] for one in again.json()["results"]]) == (200, ["speech"])


def test_other_fields_are_another_answer(script, team):
    a_project(team=team)
    first = script.get("/api/v1/projects")
    again = script.get("/api/v1/projects?fields=slug", headers={"If-None-Match": first["ETag"]})
    assert again.status_code == 200


def test_only_the_asker_keeps_it_and_asks_each_time(script):
    answer = script.get("/api/v1/projects")
    assert answer["Cache-Control"] == "private, no-cache"
    assert {"Authorization", "Cookie"} <= set(answer["Vary"].split(", "))


def test_an_error_is_never_not_modified(script):
    answer = script.get("/api/v1/tokens/999", headers={"If-None-Match": "*"})
    assert (answer.status_code, answer.has_header("ETag")) == (405, False)


def test_pages_have_no_etag(script, client):
    assert not client.get("/sign-in").has_header("ETag")
