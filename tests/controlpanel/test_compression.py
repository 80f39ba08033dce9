"""What is sent compressed, and what never is."""

from __future__ import annotations

import gzip

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory

from controlpanel.compression import LEAST_BYTES, CompressionMiddleware
from tests.factories import a_job
from tests.jobs.conftest import vision  # noqa: F401  a fixture

LONG = "x" * LEAST_BYTES
HTML = "text/html; charset=utf-8"


def sent(response, **headers):
    request = RequestFactory().get("/", headers={"Accept-Encoding": "gzip", **headers})
    return CompressionMiddleware(lambda _request: response)(request)


@pytest.mark.parametrize("kind", [HTML, "application/json", "text/css", "text/javascript"])
def test_long_answers_of_text_are_compressed(kind):
    answer = sent(HttpResponse(LONG, content_type=kind))
    assert answer["Content-Encoding"] == "gzip" and int(answer["Content-Length"]) == len(answer.content) < LEAST_BYTES / 2
    assert gzip.decompress(answer.content).decode() == LONG and answer["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    ("response", "headers"),
    [
        pytest.param(lambda: HttpResponse(LONG[1:], content_type=HTML), {}, id="short"),
        pytest.param(lambda: HttpResponse(LONG, content_type="text/plain"), {}, id="a log"),
        pytest.param(lambda: HttpResponse(LONG, content_type="application/octet-stream"), {}, id="a file"),
        pytest.param(lambda: HttpResponse(LONG, content_type=HTML), {"Accept-Encoding": "identity"}, id="not asked for"),
        pytest.param(lambda: StreamingHttpResponse([LONG], content_type="text/event-stream"), {}, id="events"),
        pytest.param(lambda: StreamingHttpResponse([LONG], content_type=HTML), {}, id="a page that streams"),
        pytest.param(
            lambda: HttpResponse(LONG, content_type=HTML, headers={"Content-Range": "bytes 0-1023/4096"}), {}, id="a part"
        ),
    ],
)
def test_others_go_as_they_are(response, headers):
    answer = sent(response(), **headers)
    assert not answer.has_header("Content-Encoding")
    assert b"".join(answer).decode() in (LONG, LONG[1:])


def test_the_same_page_has_another_length_each_time():
    """Lengths tell less of what is inside."""
    assert len({len(sent(HttpResponse(LONG, content_type=HTML)).content) for _turn in range(50)}) > 5


@pytest.mark.django_db
def test_asked_again_with_its_etag_an_answer_is_304_compressed_or_not(vision):  # noqa: F811
    for n in range(4):
        a_job(project=vision.project, by=vision.member, command=f"echo {n}")
    client = Client(headers={"Accept-Encoding": "gzip"})
    client.force_login(vision.viewer)
    answer = client.get("/api/v1/jobs")
    assert answer["Content-Encoding"] == "gzip" and answer["ETag"].startswith('W/"')
    assert {"Accept-Encoding", "Authorization", "Cookie"} <= {name.strip() for name in answer["Vary"].split(",")}
    for encoding in ("gzip", "identity"):
        again = client.get("/api/v1/jobs", headers={"If-None-Match": answer["ETag"], "Accept-Encoding": encoding})
        assert (again.status_code, again.content) == (304, b"")
