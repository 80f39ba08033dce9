"""The door from Python: launches, lists page by page, uploads."""

from __future__ import annotations

import json
import subprocess
import sys

import httpx
import pytest

from tests.client.fakes import Script, a_job, error
from tpu_panel import Invalid, Panel


def a_panel(script: Script) -> Panel:
    return Panel("http://panel.example", "tpu_x", transport=script.transport)


def page(*numbers: int, cursor: str | None = None) -> httpx.Response:
    return httpx.Response(200, json={"results": [a_job(number=number) for number in numbers], "next_cursor": cursor})


def test_a_launch_says_what_was_said_and_no_more():
    script = Script(httpx.Response(201, json=a_job(state="queued")))
    job = a_panel(script).launch(project="p", definition="d", parameters={"epochs": 3}, labels={"a": "b"}, key="once")
    assert (job.number, job.state) == (17, "queued")
    assert json.loads(script.requests[0].content) == {
        "project": "p",
        "definition": "d",
        "parameters": {"epochs": 3},
        "labels": {"a": "b"},
    }
    assert script.requests[0].headers["Idempotency-Key"] == "once"


def test_a_launch_that_is_refused_says_which_field():
    refused = error(
        422, "invalid", "parameters.epochs: a whole number is needed", **{"parameters.epochs": "a whole number is needed"}
    )
    with pytest.raises(Invalid) as raised:
        a_panel(Script(refused)).launch(project="p", definition="d")
    assert raised.value.details == {"parameters.epochs": "a whole number is needed"}


def test_jobs_are_read_page_by_page_as_they_are_taken():
    script = Script(page(9, 8, cursor="c1"), page(7, 6, cursor="c2"))
    found = a_panel(script).jobs(state="failed", labels={"a": "b"}, owner="me")
    assert len(script.requests) == 0
    assert [next(found).number for _ in range(3)] == [9, 8, 7]
    assert script.asked == [
        "GET /api/v1/jobs?state=failed&label=a%3Db&owner=me",
        "GET /api/v1/jobs?state=failed&label=a%3Db&owner=me&cursor=c1",
    ]


def test_no_more_is_asked_for_than_is_wanted():
    script = Script(page(9, 8, cursor="c1"), page(7, cursor="c2"))
    assert [job.number for job in a_panel(script).jobs(limit=3)] == [9, 8, 7]
    assert script.asked == ["GET /api/v1/jobs?limit=3", "GET /api/v1/jobs?limit=1&cursor=c1"]
    assert list(a_panel(Script()).jobs(limit=0)) == []


def test_hosts_have_their_chips():
    data = {"name": "tpu-1", "cluster": "local", "state": "ready", "is_silent": False, "chips": 4, "free_chips": 3}
    (host,) = a_panel(Script(httpx.Response(200, json={"results": [data]}))).hosts()
    assert (host.name, host.cluster, host.state, host.is_silent, host.chips, host.free_chips) == (
        "tpu-1",
        "local",
        "ready",
        False,
        4,
        3,
    )


def test_an_upload_that_is_cut_is_sent_again_whole(tmp_path):
    (tmp_path / "train.py").write_text("print()")
    script = Script(httpx.WriteError("cut"), httpx.Response(201, json={"digest": "d1"}))
    panel = a_panel(script)
    panel._connection.sleep = script.slept.append
    assert panel.upload(tmp_path, project="p") == "d1"
    assert script.asked == ["POST /api/v1/projects/p/sources"] * 2
    first, second = (request.content.split(b"\r\n\r\n", 1)[1].rsplit(b"\r\n", 2)[0] for request in script.requests)
    assert first == second and len(first) > 50


def test_the_client_knows_no_django_and_nothing_of_the_panel():
    words = "import sys, tpu_panel.cli.main; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", words], env={"PYTHONPATH": "client"}, capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout.replace("'", '"')))
    assert "httpx" in loaded
    assert not loaded & {"django", "rest_framework", "controlpanel", "jobs", "clusters", "monitoring", "projects", "agent"}
