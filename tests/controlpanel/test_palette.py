from __future__ import annotations

import pytest
from django.test import Client

from controlpanel import palette
from projects.actors import Actor
from tests.factories import a_definition, a_host, a_job
from tests.jobs.conftest import vision  # noqa: F401  a fixture

pytestmark = pytest.mark.django_db


def found(user, sought, group=None):
    """(title, detail) of each line, of one group or of all."""
    groups = palette.groups(Actor(user=user), sought)
    return [(one.title, one.detail) for each in groups if group in (None, each.title) for one in each.found]


@pytest.fixture
def jobs(vision):  # noqa: F811
    return [a_job(project=vision.project, by=vision.member, name=name) for name in ("digits", "digits again", "vit")]


def test_a_job_is_found_by_a_part_of_its_name_the_newest_first(vision, jobs):  # noqa: F811
    assert found(vision.viewer, "DIGITS", "Jobs") == [("digits again", f"#{jobs[1].pk} vit"), ("digits", f"#{jobs[0].pk} vit")]


@pytest.mark.parametrize("mark", ["", "#"])
def test_a_job_is_found_by_its_number(vision, jobs, mark):  # noqa: F811
    assert found(vision.viewer, f"{mark}{jobs[2].pk}", "Jobs") == [("vit", f"#{jobs[2].pk} vit")]


def test_an_old_job_is_found_by_its_number_alone(vision, jobs, monkeypatch):  # noqa: F811
    monkeypatch.setattr(palette, "LOOKED_AT", 2)
    assert found(vision.viewer, "digits", "Jobs") == [("digits again", f"#{jobs[1].pk} vit")]
    assert found(vision.viewer, str(jobs[0].pk), "Jobs") == [("digits", f"#{jobs[0].pk} vit")]


def test_what_one_may_not_see_is_not_found(vision, jobs):  # noqa: F811
    assert found(vision.stranger, "digits") == []
    assert found(vision.stranger, str(jobs[0].pk)) == []
    assert found(vision.stranger, "vit") == []


def test_only_what_one_may_launch_is_offered(vision):  # noqa: F811
    a_definition(project=vision.project, slug="train", title="Train a model")
    assert found(vision.member, "train", "Launch") == [("Train a model", "vit")]
    assert found(vision.viewer, "train", "Launch") == []


def test_hosts_and_projects_are_found(vision):  # noqa: F811
    a_host(name="tpu-west-1")
    a_host(name="tpu-west-2", state="retired")
    assert found(vision.member, "WEST", "Hosts") == [("tpu-west-1", "")]
    assert found(vision.member, "vit", "Projects") == [("vit", "vision")]


def test_without_a_text_ones_own_last_jobs_and_all_pages(vision, jobs):  # noqa: F811
    assert [title for title, _detail in found(vision.member, "", "Jobs")] == ["vit", "digits again", "digits"]
    assert found(vision.viewer, "", "Jobs") == []
    assert ("API documentation", "") in found(vision.viewer, "", "Go to")


def test_only_operators_are_led_to_a_new_host(vision):  # noqa: F811
    assert found(vision.operator, "add host") == [("Add a host", "")]
    assert found(vision.member, "add host") == []


@pytest.mark.parametrize("sought", ["<script>alert(1)</script>", "%_\\", "9" * 100, "語 " * 40, "\x00", "a" * 5000])
def test_odd_texts_find_nothing_and_break_nothing(vision, sought):  # noqa: F811
    client = Client()
    client.force_login(vision.member)
    answer = client.get("/palette", {"q": sought})
    assert answer.status_code == 200
    assert "<script>alert" not in answer.content.decode()
    assert "Nothing by the name" in answer.content.decode()


def test_seven_queries_however_much_there_is(vision, jobs, django_assert_num_queries):  # noqa: F811
    for number in range(9):
        a_host(name=f"digits-{number}")
    client = Client()
    client.force_login(vision.member)
    with django_assert_num_queries(7):
        client.get("/palette", {"q": "digits"}, headers={"HX-Request": "true"})
