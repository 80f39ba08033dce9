from __future__ import annotations

import pytest
import yaml

from controlpanel.api_reference import document, operations
from tests.factories import a_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client):
    client.force_login(a_user())

    def get(query=""):
        return client.get(f"/api-reference{query}")

    return get


def test_every_operation_is_on_the_page(page):
    html = page().content.decode()
    told = {said["operationId"] for item in document()["paths"].values() for said in item.values()}
    assert {name for name in told if f'id="{name}"' in html} == told


def test_an_operation_has_a_command_with_its_example(settings):
    (launch,) = [one for one in operations() if one.id == "launch_job"]
    assert launch.curl.startswith(f'curl {settings.PUBLIC_URL}/api/v1/jobs -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key')
    assert '"definition": "digits-tensorflow"' in launch.curl
    assert launch.status == "201"
    assert '"number": 17' in launch.answer


def test_names_in_an_address_are_the_readers_to_fill_in():
    (cancel,) = [one for one in operations() if one.id == "cancel_job"]
    assert "/api/v1/jobs/{number}/cancellation'" in cancel.curl


def test_fields_say_their_type_and_whether_they_are_needed():
    (launch,) = [one for one in operations() if one.id == "launch_job"]
    fields = {field.name: (field.kind, field.is_needed) for field in launch.sent}
    assert fields["definition"] == ("string", True)
    assert fields["version"] == ("integer or null", False)
    assert fields["labels"] == ("object of string", False)
    assert fields["secrets"] == ("list of string", False)


def test_a_list_tells_what_one_of_its_results_has():
    (jobs,) = [one for one in operations() if one.id == "list_jobs"]
    assert {"number", "state", "progress"} <= {field.name for field in jobs.answered}


def test_it_can_be_searched(page):
    html = page("?q=Cancel+JOB").content.decode()
    assert ('id="cancel_job"' in html, 'id="list_hosts"' in html) == (True, False)


def test_a_search_without_a_hit_says_so(page):
    html = page("?q=%3Cb%3Enothing").content.decode()
    assert "No operation has “&lt;b&gt;nothing”" in html


def test_nobody_signs_in_first(client):
    assert client.get("/api-reference").url == "/sign-in?next=/api-reference"


def test_generators_of_clients_get_the_document_without_a_token(client):
    answer = client.get("/openapi.yaml")
    assert yaml.safe_load(answer.content)["openapi"] == "3.0.3"


def test_it_asks_the_database_no_more_than_any_page(page, django_assert_num_queries):
    page()
    with django_assert_num_queries(4):
        page()
