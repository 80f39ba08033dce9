"""The columns of a list of jobs, and what its rows tell of their parameters."""

from __future__ import annotations

import pytest
from django.http import QueryDict
from django.test import Client

from jobs import changed_parameters, columns
from jobs.listing import Page
from jobs.models import DefinitionVersion, Job
from monitoring.models import MetricSeries
from projects.errors import Invalid
from tests.factories import a_job

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(vision):
    client = Client(raise_request_exception=False)
    client.force_login(vision.member)
    return client


@pytest.fixture
def job(vision):
    """With parameters of its own, and a loss that was measured."""
    job = a_job(project=vision.project, by=vision.member, name="vit")
    for name, value in (("loss", 0.125), ("system.cpu", 1)):
        MetricSeries.objects.create(subject=job.subject, workload_id=job.workload_id, rank=0, name=name, last_value=value, head=1)
    Job.objects.filter(pk=job.pk).update(parameters={"command": "true", "lr": 0.1}, state="running")
    return job


def test_a_row_tells_what_its_launch_changed(browser, vision, job):
    page = browser.get("/jobs").content.decode()
    assert '<span class="changed">command=true lr=0.1</span>' in page


def test_what_is_as_its_definition_has_it_is_not_told():
    schema = {"type": "object", "properties": {"lr": {"default": 0.1}, "epochs": {"default": 5}, "note": {"default": "x"}}}
    version = DefinitionVersion(parameters=schema)
    job = Job(version=version, parameters={"note": "", "more": [1], "epochs": 6, "lr": 0.1, "script": "a = 1\nb = 2\n"})
    assert changed_parameters.of(job) == [("epochs", "6"), ("more", "[1]"), ("script", "a = 1…")]
    assert len(changed_parameters.short("x" * 500)) == changed_parameters.MOST_CHARACTERS


def test_any_parameter_and_measurement_is_a_column(browser, job):
    answer = browser.get("/jobs?column=m.loss&column=p.lr&column=owner&column=p.absent")
    page = answer.content.decode()
    heads = [column.title for column, _head in answer.context["bar"].columns]
    assert heads == ["Owner", "loss", "lr", "absent"]
    assert [text for _column, text in answer.context["rows"][0].cells] == ["member", "0.125", "0.1", ""]
    assert '<td class="number hide-narrow">0.125</td>' in page


def test_the_choice_offers_what_these_jobs_have(browser, job):
    choices = dict(browser.get("/jobs?column=p.absent&column=owner").context["column_choices"])
    named = {heading: [(column.name, is_on) for column, is_on in found] for heading, found in choices.items()}
    assert ("owner", True) in named["Columns"] and ("details", False) in named["Columns"]
    assert named["Parameters"] == [("p.absent", True), ("p.command", False), ("p.lr", False)]
    assert named["Last measured"] == [("m.loss", False)]


def test_nothing_is_offered_where_nothing_was_measured(browser, vision):
    a_job(project=vision.project, by=vision.member)
    assert dict(browser.get("/jobs").context["column_choices"])["Last measured"] == []


def test_the_usual_columns_are_not_in_the_address(browser, job):
    everything = "&".join(f"column={name}" for name in columns.USUAL)
    page = Page.from_query(QueryDict(f"{everything}&state=running"))
    assert (page.columns, page.more()) == ((), {})
    refreshed = browser.get("/jobs?column=owner&state=running", headers={"HX-Request": "true"})
    assert refreshed["HX-Push-Url"] == "/jobs?state=running&column=owner"


def test_a_view_keeps_its_columns(browser, job):
    browser.post("/jobs/views", {"name": "lr", "query": "?column=p.lr&column=m.loss"})
    shown = browser.get("/jobs?column=p.lr&column=m.loss")
    assert shown.context["current"].query == "?column=p.lr&column=m.loss"


@pytest.mark.parametrize("name", ["colour", "p.", "p." + "x" * 200, "m.\u202e", "m.\x00"], ids=range(5))
def test_a_column_that_cannot_be_is_refused(browser, job, name):
    with pytest.raises(Invalid) as refused:
        columns.read([name])
    assert "there is no column" in refused.value.fields["column"]
    assert browser.get("/jobs", {"column": name}).status_code == 422
