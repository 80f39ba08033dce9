"""The first page."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from clusters.models import Cluster, Host
from jobs.models import Job, JobDefinition
from projects.models import Membership, Profile, Role
from tests.factories import a_cluster, a_definition, a_host, a_job, a_member, a_project, a_team, a_user

pytestmark = pytest.mark.django_db


def as_(user) -> Client:
    browser = Client(raise_request_exception=False)
    browser.force_login(user)
    return browser


@pytest.fixture
def member():
    return a_member(team=a_team(slug="vision"), username="member")


@pytest.fixture
def project(member):
    a_cluster(name="local")
    project = a_project(team=member.memberships.get().team, slug="vit")
    a_definition(project=project, by=member)
    return project


def text_of(answer) -> str:
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_nobody_sees_it(client):
    assert client.get("/")["Location"] == "/sign-in?next=/"


@pytest.mark.parametrize("count", [2, 5])
def test_it_takes_as_many_queries_however_much_there_is(member, project, count, django_assert_num_queries):
    for number in range(count):
        a_host(name=f"tpu-{number}")
        for state in ("running", "queued"):
            Job.objects.filter(pk=a_job(project=project, by=member).pk).update(state=state)
        Job.objects.filter(pk=a_job(project=project, by=member).pk).update(state="failed", ended_at=timezone.now())
        a_job(project=project, by=a_user())
    browser = as_(member)
    # session, user; hosts, loop, visible projects, chips, clusters; projects, where one may launch, any job;
    # my counts, those that run, those that wait; others that wait; what I saw, its counts, the failed ones;
    # conditions, the navigation
    with django_assert_num_queries(19):
        text = text_of(browser.get("/"))
    assert (text.count("My jobs"), text.count("Others waiting in your projects"), text.count("Ended in the last 24 hours")) == (
        1,
        1,
        1,
    )


def test_on_a_new_panel_it_has_the_three_steps(member, project):
    text = text_of(as_(member).get("/"))
    assert "Three steps to the first launch" in text and "An operator of the panel sees to that." in text
    assert "Launch the first job" in text and "Add a host" not in text
    operator = as_(a_user(is_superuser=True))
    assert "Add a host" in text_of(operator.get("/"))
    a_host(name="tpu-0", heard_at=timezone.now())
    assert "1 host takes work." in text_of(operator.get("/"))


def test_who_is_in_no_team_is_told_what_to_do(project):
    text = text_of(as_(a_user()).get("/"))
    assert "You are in no team yet. An admin of a team makes you a member." in text and "Launch the first job" not in text


def test_a_viewer_is_not_offered_a_launch(member, project):
    viewer = a_member(team=project.team, role=Role.VIEWER)
    text = text_of(as_(viewer).get("/"))
    assert "You may look at jobs but not launch them" in text and "/jobs/new" not in text


def test_a_panel_without_anything_says_so():
    Cluster.objects.all().delete()
    JobDefinition.objects.all().delete()
    text = text_of(as_(a_user(is_superuser=True)).get("/"))
    assert "A host is a machine with an agent." in text and "home-chips" not in text


def test_what_is_marked_as_seen_is_gone_and_what_ended_since_is_not(member, project):
    ended, browser = timezone.now() - timedelta(minutes=5), as_(member)
    first = a_job(project=project, by=member, name="first-one")
    Job.objects.filter(pk=first.pk).update(state="failed", ended_at=ended)
    assert "first-one" in text_of(browser.get("/"))
    later = a_job(project=project, by=member, name="later-one")
    Job.objects.filter(pk=later.pk).update(state="failed", ended_at=ended + timedelta(seconds=1))
    assert browser.post("/seen", {"until": ended.isoformat()})["Location"] == "/"
    text = text_of(browser.get("/"))
    assert "first-one" not in text and "later-one" in text


@pytest.mark.parametrize("until", ["", "yesterday", "2026-13-01T00:00:00Z", "2026-03-01T12:00:00"])
def test_a_moment_that_is_none_marks_nothing(member, until):
    answer = as_(member).post("/seen", {"until": until})
    assert (answer.status_code, Profile.objects.count()) == (422, 0)


def test_nobody_marks_what_is_yet_to_come(member):
    before = timezone.now()
    as_(member).post("/seen", {"until": "9999-01-01T00:00:00Z"})
    assert before <= Profile.objects.get(user=member).seen_until <= timezone.now()


def test_other_teams_names_are_not_on_it(member, project):
    stranger = a_member(team=a_team(slug="speech"), role=Role.ADMIN)
    secret = a_project(team=stranger.memberships.get().team, slug="secret-project")
    a_definition(project=secret, by=stranger)
    a_job(project=secret, by=stranger, name="secret-job")
    a_job(project=project, by=member, name="ours")
    text = text_of(as_(member).get("/"))
    assert "ours" in text and "secret" not in text


def test_a_host_in_trouble_is_named_with_why(member, project):
    a_job(project=project, by=member)
    host = a_host(name="tpu-7")
    Host.objects.filter(pk=host.pk).update(state="cordoned", cordon_reason="new disk")
    text = text_of(as_(member).get("/"))
    assert "Hosts in trouble" in text and "new disk" in text and "1 of 1" in text


def test_who_lost_the_team_is_shown_the_steps_again(member, project):
    a_job(project=project, by=member)
    Membership.objects.all().delete()
    assert "Three steps to the first launch" in text_of(as_(member).get("/"))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "there"), [("/jobs/17/relaunch", "/jobs/17"), ("/jobs/views/3/deletion", "/jobs/views/3"), ("/language", "/")]
)
def test_the_address_of_a_button_says_where_the_button_is(path, there):
    browser = Client(raise_request_exception=False)
    browser.force_login(a_user())
    answer = browser.get(path)
    page = answer.content.decode()
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert "Nothing was done" in page and f'href="{there}"' in page and answer["X-Request-Id"] in page
    assert browser.get("/api/v1/jobs/17/relaunch").json()["code"] == "method-not-allowed"
