"""openapi.yaml tells the truth: it is complete, its examples fit, and nothing is answered that it does not tell of."""

from __future__ import annotations

import copy
import json
import random
import re

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


def _content(operation):
    return operation.get("requestBody", {}).get("content", {})


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
        # Unpacking what comes compressed is a transport's, and here there is none.
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {world['text']}", "Accept-Encoding": "identity"}
        is_sparse = "fields" in (case.query or {})  # fields that are left out are no fault
        checks = [one for one in CHECKS if not (is_sparse and one is response_schema_conformance)]
        case.call_and_validate(checks=checks)

    ask()


ODD_TEXTS = ["half \ud800", "nul\0", "x" * 10_000, "\u202e\ufffe\U000e0001"]
ODD_VALUES = [*ODD_TEXTS, json.loads("1e999"), 10**400, -(2**70), [[[[]]]], {"half \ud800": "nul\0"}, None]
WRITTEN = [(method, path, found) for method, path, found in OPERATIONS if "application/json" in _content(found)]


def _oddly(example):
    """The example with something odd in place of each of its values, one after the other, and with an odd name."""
    for odd in ODD_VALUES:
        yield odd
        for place in _places(example):
            body = copy.deepcopy(example)
            inner = body
            for name in place[:-1]:
                inner = inner[name]
            inner[place[-1]] = odd
            yield body
    yield {**example, "half \ud800": 1}


def _places(value, before=()):
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield (*before, name)
        yield from _places(part, (*before, name))


def _as_sent(body):
    """As scripts of other makers would write it: Python has no word for an infinity that is a number."""
    return json.dumps(body).replace("Infinity", "1e999")


@pytest.mark.usefixtures("_answers_end")
@pytest.mark.parametrize(("method", "path", "operation"), WRITTEN, ids=[f"{method} {path}" for method, path, _ in WRITTEN])
def test_an_odd_body_is_no_fault_of_the_panel(world, client, method, path, operation):
    client.raise_request_exception = False
    media = _content(operation)["application/json"]
    [example, *_others] = [one["value"] for one in media.get("examples", {}).values()] or [media["example"]]
    sent = {"content_type": "application/json", "headers": {"Authorization": f"Bearer {world['text']}"}}
    answers = [(body, getattr(client, method)(_address(world, path), _as_sent(body), **sent)) for body in _oddly(example)]
    assert {answer.status_code for _body, answer in answers} - {200, 201, 202, 204} <= {400, 404, 409, 413, 422}, [
        (str(body)[:200], answer.status_code) for body, answer in answers if answer.status_code >= 500
    ]


@pytest.mark.usefixtures("_answers_end")
@pytest.mark.parametrize(
    "odd",
    ["%00", "x" * 10_000, "%F0%9F%98%80%EF%BF%BE%ED%A0%80", "%2E%2E", "9" * 400],
    ids=["nul", "long", "unicode", "dots", "digits"],
)
def test_an_odd_name_in_an_address_leads_nowhere(world, client, odd):
    client.raise_request_exception = False
    found = {}
    for method, path, _operation in OPERATIONS:
        for one in re.findall(r"{(\w+)}", path):
            address = _address(world, path, **{one: odd})
            answer = getattr(client, method)(address, headers={"Authorization": f"Bearer {world['text']}"})
            found[f"{method} {path} {one}"] = answer.status_code
    assert found and {name: status for name, status in found.items() if status not in (404, 415, 422)} == {}


ASKED = [(path, found.get("parameters", [])) for method, path, found in OPERATIONS if method == "get"]


@pytest.mark.usefixtures("_answers_end")
@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume:Warning")
@pytest.mark.parametrize(
    "odd",
    [
        *["\0", "x" * 10_000, "\U0001f600\ufffe\ufffd", "-1", "9" * 30, "1e999", "2020-02-30"],
        *["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"],
    ],
    ids=["nul", "long", "unicode", "minus", "digits", "infinite", "no-day", "before-time", "after-time"],
)
def test_an_odd_query_is_no_fault_of_the_panel(world, client, odd):
    client.raise_request_exception = False
    found = {}
    for path, parameters in ASKED:
        names = {one["name"]: one.get("required", False) for one in parameters if one["in"] == "query"}
        needed = {name: "1" for name, is_needed in names.items() if is_needed}
        for name in names:
            query = needed | {name: odd}
            answer = client.get(_address(world, path), query, headers={"Authorization": f"Bearer {world['text']}"})
            found[f"{path} {name}"] = answer.status_code
    assert found and {name: status for name, status in found.items() if status >= 500} == {}


def _address(world, path, **odd):
    known = world | (world["of_teams"] if path.startswith("/teams") else {})
    return "/api/v1" + path.format_map(dict.fromkeys(re.findall(r"{(\w+)}", path), "x") | known | odd)
