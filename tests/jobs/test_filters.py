"""The filters of a list of jobs: the same address at the page and at the API."""

from __future__ import annotations

import html
import re
from types import SimpleNamespace
from urllib.parse import quote

import pytest
from django.http import QueryDict
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from clusters import scheduling
from jobs.filters import Filter
from jobs.models import Job
from tests.factories import NOON, a_cluster, a_definition, a_host, a_job, a_member, a_project, a_team, a_user

JOBS = "/api/v1/jobs"


@pytest.fixture
def jobs(vision) -> SimpleNamespace:
    """Three of the team's jobs that differ in everything, and one of strangers."""
    other = a_project(team=vision.team, slug="bert")
    colleague = a_member(team=vision.team, username="colleague")
    a_host(cluster=a_cluster(name="west"), name="west-1", chips=4)
    one = a_job(project=vision.project, by=vision.member, name="train-vit", labels={"sweep": "a", "2024": "x"})
    two = a_job(
        project=other, by=colleague, name="train-bert", labels={"sweep": "a", 'odd"key': "ü'"}, resources={"cluster": "local"}
    )
    three = a_job(project=vision.project, by=colleague, name="TRAIN 1 of 2", labels={"sweep": "b"})
    Job.objects.filter(pk=one.pk).update(state="running", started_at=NOON)
    Job.objects.filter(pk=two.pk).update(state="failed", ended_at=NOON)
    theirs = a_job(
        project=a_project(team=a_team(), slug="theirs"), by=a_user(username="other"), name="train-theirs", labels={"sweep": "a"}
    )
    assert [one.pk, two.pk, three.pk, theirs.pk] == sorted([one.pk, two.pk, three.pk, theirs.pk])
    return SimpleNamespace(one=one.pk, two=two.pk, three=three.pk, theirs=theirs.pk)


@pytest.fixture
def listed(vision, script):
    """listed(query): the numbers that the API lists to the team's viewer; the page has the same."""
    api, page = script(vision.viewer), Client()
    page.force_login(vision.viewer)

    def look(query: str) -> list[int]:
        found = [job["number"] for job in api.get(f"{JOBS}?{query}").json()["results"]]
        answer = page.get(f"/jobs?{query}")
        assert [job.pk for job in answer.context["jobs"]] == found
        assert answer.content.decode().count('<tr id="job-') == len(found)
        return found

    return look


pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["three", "two", "one"]),
        ("state=running", ["one"]),
        ("state=running&state=failed", ["two", "one"]),
        ("state=canceled", []),
        ("project=bert", ["two"]),
        ("owner=member", ["one"]),
        ("owner=colleague", ["three", "two"]),
        ("owner=me", []),
        ("definition=command", ["three", "two", "one"]),
        ("accelerator=cpu", ["three", "two", "one"]),
        ("cluster=local", ["two"]),
        ("cluster=west", []),
        ("label=sweep%3Da", ["two", "one"]),
        ("label=sweep%3Da&label=2024%3Dx", ["one"]),
        ("label=2024%3Dx", ["one"]),
        ("label=" + quote("odd\"key=ü'"), ["two"]),
        ("label=sweep%3D", []),
        ("label=none%3Da", []),
        ("text=TRAIN-", ["two", "one"]),
        ("text=of", ["three"]),
        ("text=train&state=running&label=sweep%3Da&project=vit&owner=member", ["one"]),
        ("text=train&state=running&label=sweep%3Db", []),
        ("project=bert&owner=member&definition=command", []),  # each is known, if not there
        ("project=&state=&owner=&text=+&label=", ["three", "two", "one"]),
    ],
)
def test_a_list_is_narrowed(listed, jobs, query, found):
    assert listed(query) == [getattr(jobs, name) for name in found]


def test_a_list_is_searched_by_number(listed, jobs):
    Job.objects.filter(pk=jobs.three).update(name="other")
    assert listed(f"text={jobs.three}") == [jobs.three]
    assert listed(f"text=%23{jobs.two}") == [jobs.two]
    assert listed(f"text={jobs.theirs}") == []
    assert listed(f"text={10**30}") == []


def test_a_cluster_has_what_was_placed_there(listed, jobs):
    scheduling.schedule(now=NOON)
    assert jobs.three in listed("cluster=west") and jobs.two not in listed("cluster=west")


def test_me_is_who_asks(vision, script, jobs):
    answer = script(vision.member).get(f"{JOBS}?owner=me").json()
    assert [job["number"] for job in answer["results"]] == [jobs.one]


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("state=asleep", ["state"]),
        ("state=running&state=asleep", ["state"]),
        ("owner=nobody", ["owner"]),
        ("owner=other", ["owner"]),  # a stranger is nobody
        ("definition=none", ["definition"]),
        ("accelerator=v9", ["accelerator"]),
        ("cluster=none", ["cluster"]),
        ("label=sweep", ["label"]),
        ("text=nul%00", ["text"]),
        (f"text={'a' * 60_000}", ["text"]),
        (f"label=a%3D{'a' * 400}", ["label"]),
        ("owner=nul%00&cluster=nul%00&label=a%3Dnul%00", ["cluster", "label", "owner"]),
        ("state=asleep&sort=x&limit=y&label=a", ["label", "limit", "sort", "state"]),
        ("since=1y", ["since"]),
        ("since=-1d", ["since"]),
        ("created_after=monday&created_before=2026-13-01", ["created_after", "created_before"]),
        ("created_after=0001-01-01T00:00%2B14:00", ["created_after"]),
        ("created_before=9999-12-31T23:59-14:00", ["created_before"]),
    ],
)
def test_what_no_job_could_be_is_told(vision, script, jobs, query, fields):
    answer = script(vision.viewer).get(f"{JOBS}?{query}")
    assert (answer.status_code, sorted(answer.json()["details"])) == (422, fields)
    browser = Client()
    browser.force_login(vision.viewer)
    assert browser.get(f"/jobs?{query}").status_code == 422


@pytest.mark.parametrize(
    ("query", "details"),
    [
        (f"text={'a' * 301}", {"text": "at most 300 characters"}),
        ("text=nul%00", {"text": "there is nothing of this name"}),
        (f"label=a%3D{'a' * 300}", {"label": "at most 300 characters"}),
        ("label=a%3D1&" * 51, {"label": "at most 50 labels"}),
        ("label=a", {"label": "a label is written key=value"}),
    ],
)
def test_what_cannot_be_looked_for_says_why(vision, script, query, details):
    assert script(vision.viewer).get(f"{JOBS}?{query}").json()["details"] == details


def test_a_text_of_the_longest_that_is_looked_for_may_find_nothing(listed, jobs):
    assert listed(f"text={'a' * 300}") == []


def test_a_filtered_list_goes_on_at_its_cursor(vision, script, listed):
    made = [a_job(project=vision.project, by=vision.member, labels={"odd": str(number % 2)}).pk for number in range(8)]
    odd = made[1::2][::-1]
    seen, cursor = [], ""
    while cursor is not None:
        answer = script(vision.viewer).get(f"{JOBS}?label=odd%3D1&limit=2&cursor={cursor}").json()
        seen.append([job["number"] for job in answer["results"]])
        cursor = answer["next_cursor"]
    assert seen == [odd[:2], odd[2:]]
    browser = Client()
    browser.force_login(vision.viewer)
    text = browser.get("/jobs?label=odd%3D1&limit=2&state=queued").content.decode()
    (older,) = re.findall(r'href="([^"]+cursor=[^"]+)"', text)
    assert older.startswith("?state=queued&amp;label=odd%3D1&amp;limit=2&amp;cursor=")
    assert [job.pk for job in browser.get(f"/jobs{html.unescape(older)}").context["jobs"]] == odd[2:]
    assert 'data-refresh="/jobs?state=queued&amp;label=odd%3D1&amp;limit=2"' in text


def test_what_the_form_has_no_field_for_is_kept_and_said(vision, jobs):
    browser = Client()
    browser.force_login(vision.viewer)
    text = browser.get("/jobs?since=4w&created_before=2100-01-01&sort=-ended&limit=7").content.decode()
    for name, value in (("since", "4w"), ("created_before", "2100-01-01"), ("limit", "7")):
        assert f'<input type="hidden" name="{name}" value="{value}">' in text
    assert "launched within 4w" in text and 'href="?created_before=2100-01-01&amp;sort=-ended&amp;limit=7"' in text


ALL = "state=queued&owner=member&definition=command&accelerator=cpu&cluster=local&label=a%3D1&text=train&project=vit"


@pytest.mark.parametrize("count", [1, 3])
def test_a_filtered_list_takes_as_many_queries_however_much_there_is(vision, script, count, django_assert_num_queries):
    for number in range(count):
        a_job(project=vision.project, by=vision.member, name="train", labels={"a": "1", "b": "2"}, resources={"cluster": "local"})
        a_definition(project=vision.project, slug=f"train-{number}")
        a_member(team=vision.team)
        a_cluster()
    viewer, browser = script(vision.viewer), Client()
    browser.force_login(vision.viewer)
    viewer.get(JOBS)  # notes the token's use
    with django_assert_num_queries(7):  # token, project, role; definition, cluster, owner; jobs
        assert len(viewer.get(f"{JOBS}?{ALL}").json()["results"]) == count
    # session, user, projects; project, role; definition, cluster, owner; jobs; right to launch; the three choices; navigation;
    # saved views; what was measured
    with django_assert_num_queries(17):
        assert len(browser.get(f"/jobs?{ALL}").context["jobs"]) == count
    with django_assert_num_queries(14):  # what refreshes a list reads no choices
        answer = browser.get(f"/jobs?{ALL}", headers={"HX-Request": "true"})
    assert "HX-Request" in answer["Vary"]
    assert answer.content.decode().count('<tr id="job-') == count and 'id="filter-active"' in answer.content.decode()


# -- What the page shows of it ---------------------------------------------------------------------------------


def test_the_page_shows_what_is_asked_for_and_how_to_ask_no_longer(vision, jobs):
    browser = Client()
    browser.force_login(vision.viewer)
    answer = browser.get("/jobs?label=sweep%3Da&label=2024%3Dx&state=running&owner=&text=train")
    text = answer.content.decode()
    assert answer["HX-Push-Url"] == "/jobs?text=train&state=running&label=sweep%3Da&label=2024%3Dx"
    assert 'href="?text=train&amp;state=running&amp;label=2024%3Dx"' in text  # without sweep=a
    assert 'value="running" checked' in text and 'value="failed" checked' not in text
    assert 'name="text" value="train"' in text and "Clear filters" in text
    assert browser.get("/jobs")["HX-Push-Url"] == "/jobs" and "Clear filters" not in browser.get("/jobs").content.decode()


def test_a_label_on_a_row_narrows_to_it(vision, jobs):
    browser = Client()
    browser.force_login(vision.viewer)
    text = browser.get("/jobs?state=running").content.decode()
    assert 'href="?state=running&amp;label=sweep%3Da" title="sweep=a"' in text
    Job.objects.filter(pk=jobs.one).update(labels={str(number): "x" for number in range(5)})
    row = browser.get("/jobs?state=running").context["rows"][0]
    assert ([label.text for label in row.labels], row.more_labels) == (["0=x", "1=x", "2=x"], "3=x, 4=x")


def test_an_empty_result_says_that_the_filters_did_it(vision, jobs):
    browser = Client()
    browser.force_login(vision.viewer)
    text = browser.get("/jobs?state=canceled").content.decode()
    assert "No job matches" in text and "No jobs yet" not in text and 'href="/jobs?view=all">Clear filters' in text
    Job.objects.all().delete()
    assert "No jobs yet" in browser.get("/jobs").content.decode()


def test_a_choice_is_offered_where_there_is_one(vision, jobs):
    browser = Client()
    browser.force_login(vision.viewer)
    text = browser.get("/jobs").content.decode()
    assert 'name="project"' in text and 'name="cluster"' in text and 'name="definition"' not in text
    assert ">colleague</option>" in text and ">other</option>" not in text


# -- The address --------------------------------------------------------------------------------------------------

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8).map(str.strip)


@given(
    st.builds(
        Filter,
        project=NAMES,
        states=st.lists(st.sampled_from(["queued", "failed"]), unique=True).map(tuple),
        owner=NAMES,
        text=NAMES,
        labels=st.lists(st.tuples(NAMES.filter(lambda key: "=" not in key), NAMES), unique=True).map(tuple),
    )
)
def test_an_address_says_the_same_again(wanted):
    assert Filter.from_query(QueryDict(wanted.address()[1:])) == wanted
