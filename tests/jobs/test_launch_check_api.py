"""A launch that is only asked about: the same words as a launch has, and nothing is made."""

from __future__ import annotations

import pytest

from clusters.models import Source
from jobs import shipped
from jobs.models import Job
from projects.models import AuditEntry
from tests.factories import a_definition, a_host

pytestmark = pytest.mark.django_db

PATH = "/api/v1/launch-checks"
ASKED = {"project": "vit", "definition": "command", "parameters": {"command": "true"}}


@pytest.fixture
def ask(script, vision):
    def post(who=vision.member, **changed):
        return script(who).post(PATH, ASKED | changed)

    return post


def test_it_says_where_it_would_start(ask, vision):
    a_host(name="tpu-1", chips=4)
    assert ask(resources={"chips": 2}).json() == {
        "starts": "now",
        "sentence": "Starts now on tpu-1.",
        "code": "",
        "hosts": ["tpu-1"],
        "version": vision.version.number,
        "resources": {"accelerator": "cpu", "chips": 2, "cluster": ""},
    }


def test_it_says_what_it_would_wait_for(ask):
    found = ask().json()
    assert (found["starts"], found["code"], found["hosts"]) == ("waits", "no-host", [])
    a_host(name="tpu-1", chips=2)
    found = ask(resources={"chips": 9}).json()
    assert (found["starts"], found["code"]) == ("never", "too-large")
    assert found["sentence"] == "It would wait: no host has 9 slots of cpu; the largest has 2."


def test_nothing_is_made_not_even_of_a_typed_script(ask, vision, script):
    a_definition(project=vision.project, **shipped.script())
    client = script(vision.member)
    audited = AuditEntry.objects.count()
    answer = client.post(PATH, ASKED | {"definition": "script", "parameters": {"script": "print(1)"}})
    assert (answer.status_code, answer.json()["starts"]) == (200, "waits")
    assert (Job.objects.count(), Source.objects.count(), AuditEntry.objects.count()) == (0, 0, audited)


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"parameters": {"command": 7}}, "parameters.command"),
        ({"resources": {"chips": 0}}, "resources.chips"),
        ({"secrets": ["NONE"]}, "secrets.NONE"),
        ({"retries": {"user_code": {"times": -1}}}, "retries.user_code.times"),
        ({"colour": "red"}, "colour"),
        ({"name": "a\nb"}, "name"),
    ],
)
def test_what_a_launch_refuses_is_refused_in_the_same_words(ask, script, vision, changed, path):
    checked = ask(**changed)
    launched = script(vision.member).post("/api/v1/jobs", ASKED | changed)
    assert checked.status_code == launched.status_code == 422
    assert checked.json() == launched.json()
    assert path in checked.json()["details"]


@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("stranger", 404)])
def test_who_may_not_launch_may_not_ask(ask, vision, who, status):
    assert ask(getattr(vision, who)).status_code == status


def test_eight_queries_however_many_hosts(script, vision, django_assert_num_queries):
    client = script(vision.member)
    client.post(PATH, ASKED)  # the token's first use is noted
    for number in range(3):
        a_host(name=f"tpu-{number}")
    with django_assert_num_queries(8):
        client.post(PATH, ASKED)
