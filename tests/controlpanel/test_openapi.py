"""openapi.yaml tells the truth: it is complete, its examples fit, and nothing is answered that it does not tell of."""

from __future__ import annotations

import random

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.urls import get_resolver
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, settings
from openapi_schema_validator import OAS30Validator
from openapi_spec_validator import validate
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from clusters import scheduling
from jobs import log_stream, notice_settings, waiting_api
from projects.actors import Actor
from tests.clusters import steps
from tests.factories import NOON, a_host, a_job, a_token
from tests.jobs.conftest import vision  # noqa: F401  a fixture

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]
SCHEMA = SchemaGenerator().get_schema(public=True)
OPERATIONS = [(method, path, found) for path, item in SCHEMA["paths"].items() for method, found in item.items()]
API = schemathesis.openapi.from_dict(SCHEMA)
NAMES = [f"{method} {path}" for method, path, _found in OPERATIONS]


def validator(schema):
    """Of a part of the document, with the components that it points to."""
    return OAS30Validator({"allOf": [schema], "components": SCHEMA["components"]})


def bodies(operation):
    found = [operation.get("requestBody", {}), *operation["responses"].values()]
    return [media for body in found for media in body.get("content", {}).values()]


def test_it_is_an_openapi_document():
    validate(SCHEMA)


def test_it_has_every_address_of_the_api():
    routes = {
        "/" + str(one.pattern).replace("<int:", "{").replace("<str:", "{").replace("<uuid:", "{").replace(">", "}")
        for api in get_resolver("controlpanel.urls").url_patterns
        if str(api.pattern) == "api/v1/"
        for one in api.url_patterns
        if getattr(one.callback, "view_class", None)
    }
    assert set(SCHEMA["paths"]) == routes and len(routes) > 20


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS, ids=NAMES)
def test_an_operation_has_words_and_examples_that_fit(method, path, operation):
    assert operation["summary"] and operation["operationId"].count("_") >= 1
    for media in bodies(operation):
        examples = [one["value"] for one in media.get("examples", {}).values()] or [media["example"]]
        for example in examples:
            if media["schema"].get("format") != "binary":
                validator(media["schema"]).validate(example)


@pytest.fixture
def _kept_connection():
    """A request's end must not close the connection that the test's transaction is on, as Django's own test client sees to."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def world(vision, _kept_connection):  # noqa: F811
    """One thing of each kind, and the operator's token."""
    host = a_host(name="tpu-1")
    job = a_job(project=vision.project, by=vision.member)
    scheduling.schedule(now=NOON)
    steps.claim(job.workload)
    file = steps.a_file(job.workload, "a/b.bin", size=7)
    by = Actor(user=vision.operator)
    notice_settings.change(user=vision.operator, wanted={"webhook_url": "https://hooks.example/panel"}, by=by, now=NOON)
    token, text = a_token(user=vision.operator)
    return {
        "number": job.pk,
        "file_id": file.pk,
        "host_id": str(host.pk),
        "name": host.slice.cluster.name,
        "slug": vision.project.slug,
        "token_id": token.pk + 1,
        "workload_id": str(job.workload_id),
        "text": text,
        "of_teams": {"slug": "vision", "username": "viewer"},
    }


@pytest.fixture
def _answers_end(monkeypatch):
    """What is followed or waited for ends at once: in this process nothing else can happen meanwhile."""

    async def no_events(scope, wanted):
        yield b": none\n\n"

    monkeypatch.setattr(log_stream, "events", no_events)
    monkeypatch.setattr(waiting_api, "LONGEST_S", 0)
    monkeypatch.setattr(waiting_api, "USUAL_S", 0)


@pytest.mark.thorough
@pytest.mark.usefixtures("_answers_end")
@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume:Warning")
@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _found in OPERATIONS], ids=NAMES)
def test_whatever_is_asked_gets_an_answer_that_is_documented(world, method, path):
    API.app = get_wsgi_application()
    operation = API[path][method.upper()]
    chooser = random.Random(7)
    known = world | (world["of_teams"] if path.startswith("/teams") else {})

    @settings(
        max_examples=8,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def ask(case):
        if chooser.random() < 0.8:  # of something that is there
            case.path_parameters = {name: known.get(name, value) for name, value in (case.path_parameters or {}).items()}
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {world['text']}"}
        is_sparse = "fields" in (case.query or {})  # fields that are left out are no fault
        checks = [one for one in CHECKS if not (is_sparse and one is response_schema_conformance)]
        case.call_and_validate(checks=checks)

    ask()
