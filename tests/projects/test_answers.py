import logging
import re

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from projects.answers import page_500
from tests.factories import a_user

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.projects.doors")]

ID = r"[A-Za-z0-9_-]{12}"


@pytest.fixture
def visitor():
    return Client(raise_request_exception=False)


@pytest.mark.parametrize("path", ["/api/fail/conflict", "/agent/fail/conflict"])
def test_scripts_and_hosts_get_json(visitor, path):
    answer = visitor.get(path)
    assert (answer.status_code, answer["Content-Type"]) == (409, "application/json")
    assert answer.json() == {"code": "job-ended", "message": "Job 17 has ended.", "details": {"job": 17}}


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}, {"Accept": "application/json"}])
def test_a_page_gets_a_page(visitor, headers):
    answer = visitor.get("/fail/conflict", headers=headers)
    assert (answer.status_code, answer["Content-Type"]) == (409, "text/html; charset=utf-8")
    assert answer.content.decode() == f"409|job-ended|Job 17 has ended.|{answer['X-Request-Id']}"


def test_wrong_fields_may_have_any_name(visitor):
    assert visitor.get("/agent/fail/invalid").json() == {
        "code": "invalid",
        "message": "code: too long; odd",
        "details": {"code": "too long", "": "odd"},
    }


@pytest.mark.parametrize("path", ["/agent/fail/half", "/api/fail/half", "/fail/half"])
def test_an_error_that_quotes_half_a_character_can_be_sent(visitor, path):
    answer = visitor.get(path)
    assert answer.status_code == 422 and b"odd ?: odd ?" in answer.content


@pytest.mark.parametrize("path", ["/agent/fail/unknown", "/api/fail/unknown", "/fail/unknown"])
def test_who_is_unknown_is_told_how_to_be_known(visitor, path):
    answer = visitor.get(path)
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(
    ("error", "status", "body"),
    [
        ("http404", 404, {"code": "not-found", "message": "No such thing.", "details": {}}),
        ("denied", 403, {"code": "forbidden", "message": "You may not do this.", "details": {}}),
        (
            "django-invalid",
            422,
            {"code": "invalid", "message": "slug: Small letters. Too long.", "details": {"slug": "Small letters. Too long."}},
        ),
        (
            "drf-invalid",
            422,
            {
                "code": "invalid",
                "message": "labels.a: too long; ranks.1.chips: none; x: odd",
                "details": {"labels.a": "too long", "ranks.1.chips": "none", "x": "odd"},
            },
        ),
        ("drf-parse", 400, {"code": "parse-error", "message": "JSON parse error", "details": {}}),
    ],
)
def test_the_api_says_every_error_in_the_panels_words(visitor, error, status, body):
    answer = visitor.get(f"/api/fail/{error}")
    assert (answer.status_code, answer.json()) == (status, body)


def test_the_api_says_when_to_come_back_and_what_it_does_not_do(visitor):
    answer = visitor.get("/api/fail/drf-throttled")
    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (429, "throttled", "30")
    answer = visitor.post("/api/fail/conflict")
    assert (answer.status_code, answer.json()["code"], answer["Allow"]) == (405, "method-not-allowed", "GET, HEAD, OPTIONS")


def test_a_body_that_is_no_json_is_refused(visitor):
    visitor.force_login(a_user())
    answer = visitor.post("/api/v1/tokens", "{", content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "parse-error")
    answer = visitor.post("/api/v1/tokens", {"name": "x"})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported-media-type")


MANY = "&".join(f"a{number}=1" for number in range(1500))


@pytest.mark.parametrize("path", ["/api/v1/me", "/agent/fail/conflict"])
def test_a_host_name_that_is_not_ours_is_answered_as_json(visitor, path):
    answer = visitor.get(path, headers={"Host": "evil.example"})
    assert (answer.status_code, answer.json()["code"], answer.json()["details"]) == (400, "unknown-host", {})
    assert "evil" not in answer.json()["message"]


@pytest.mark.parametrize("path", ["/api/fail/reads", "/agent/fail/reads"])
def test_more_parameters_than_are_read_are_answered_as_json(visitor, path):
    answer = visitor.get(f"{path}?{MANY}")
    assert (answer.status_code, answer.json()["code"]) == (400, "too-many-fields")
    assert answer.json()["message"] == "The request has more than 1000 parameters or fields."


@pytest.mark.parametrize("path", ["/api/fail/reads", "/agent/fail/reads"])
def test_a_larger_body_than_is_read_is_answered_as_json(visitor, path):
    answer = visitor.generic("GET", path, b"x" * (4 * 1024**2 + 1), content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (413, "request-too-large")
    assert answer.json()["message"] == "The body is larger than 4 MiB."


def test_a_request_that_cannot_be_read_gets_a_page_where_pages_are(visitor):
    answer = visitor.get("/", headers={"Host": "evil.example"})
    assert (answer.status_code, answer.content.decode().split("|")[:2]) == (400, ["400", "unknown-host"])
    answer = visitor.get(f"/fail/reads?{MANY}")
    assert (answer.status_code, answer.content.decode().split("|")[:2]) == (400, ["400", "too-many-fields"])


def test_an_address_of_nothing_is_answered_in_the_askers_way(visitor):
    answer = visitor.get("/nothing")
    assert (answer.status_code, answer.content.decode().split("|")[:2]) == (404, ["404", "not-found"])
    answer = visitor.get("/api/nothing")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    assert visitor.get("/fail/http404").status_code == 404


def test_what_django_denies_is_answered_in_the_askers_way(visitor):
    answer = visitor.get("/fail/denied")
    assert (answer.status_code, answer.content.decode().split("|")[:2]) == (403, ["403", "forbidden"])
    assert visitor.get("/agent/fail/denied").json()["code"] == "forbidden"


def test_a_form_that_is_not_ours_is_refused_in_the_askers_way():
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post("/posts")
    assert (answer.status_code, answer.content.decode().split("|")[:2]) == (403, ["403", "no-cookie"])
    strict.cookies["csrftoken"] = "x" * 32
    answer = strict.post("/posts")
    assert (answer.status_code, answer.content.decode().split("|")[:2]) == (403, ["403", "csrf"])
    answer = strict.post("/api/posts")
    assert (answer.status_code, answer.json()["code"]) == (403, "csrf")


def test_a_page_of_ours_that_calls_the_api_needs_its_csrf_token_and_a_script_none(script, vision):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(vision.member)
    answer = strict.post("/api/v1/tokens", {"name": "x", "scope": "read"}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "permission-denied")
    member = script(vision.member)
    member.client = strict
    assert member.post("/api/v1/tokens", {"name": "x", "scope": "read"}).status_code == 201


# -- Ids of requests -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/nothing", "/fail/bug", "/api/v1/me", "/agent/fail/conflict"])
def test_each_answer_has_an_id_of_its_own(visitor, path):
    ids = [visitor.get(path, headers={"X-Request-Id": "mine"})["X-Request-Id"] for _ in range(2)]
    assert all(re.fullmatch(ID, one) for one in ids) and ids[0] != ids[1]


def test_under_asgi_too(vision):
    @async_to_sync
    async def answers():
        client = AsyncClient(raise_request_exception=False)
        return [await client.get(path) for path in ("/", "/agent/fail/conflict", "/fail/bug", "/api/v1/me")]

    assert [answer.status_code for answer in answers()] == [200, 409, 500, 401]
    assert all(re.fullmatch(ID, answer["X-Request-Id"]) for answer in answers())


# -- Bugs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/api/fail/bug", "/agent/fail/bug"])
def test_a_bug_tells_its_requests_id_and_nothing_else(visitor, path, caplog):
    with caplog.at_level(logging.ERROR):
        answer = visitor.get(path)
    body = answer.json()
    assert (answer.status_code, body["code"], body["details"]) == (500, "internal", {"request_id": answer["X-Request-Id"]})
    assert "a bug" not in answer.content.decode()
    assert f"request failed request={answer['X-Request-Id']} path={path}" in caplog.text
    assert "ZeroDivisionError: a bug" in caplog.text


def test_a_bugs_page_asks_nothing_of_database_and_context(visitor, django_assert_num_queries, monkeypatch):
    visitor.force_login(a_user())
    monkeypatch.setattr("django.contrib.auth.context_processors.auth", lambda request: 1 / 0)
    with django_assert_num_queries(0):
        answer = visitor.get("/fail/bug")
    assert answer.content.decode() == (
        "500|internal|Something is wrong in the panel itself. The log has it under this request&#x27;s id.|"
        + answer["X-Request-Id"]
    )


def test_an_error_page_that_cannot_be_rendered_still_answers(visitor, settings, caplog):
    settings.TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates"}]
    answer = visitor.get("/fail/conflict")
    assert (answer.status_code, "<p>Job 17 has ended.</p>" in answer.content.decode()) == (409, True)
    assert answer["X-Request-Id"] in answer.content.decode()
    assert f"error page cannot be rendered request={answer['X-Request-Id']}" in caplog.text


def test_a_request_that_failed_before_it_had_an_id_is_answered(rf):
    assert page_500(rf.get("/x")).content.decode().endswith("id.|")


def test_an_address_with_a_nul_does_not_exist(visitor):
    response = visitor.get("/api/v1/clusters/a%00b")
    assert (response.status_code, response.json()["code"]) == (404, "no-such-page")
