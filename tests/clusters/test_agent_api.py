"""The HTTP door of the hosts, as an agent comes through it."""

from __future__ import annotations

import io
import uuid

import pytest
from django.test import Client
from django.utils import timezone

from agent.protocol import FETCH_PIECE_BYTES
from clusters import enrolment, pieces, runtimes, sources, wheel, workloads
from clusters.models import EnrolmentToken, Host
from clusters.states import HostState
from projects.actors import Actor
from tests.clusters import steps
from tests.factories import NOON, a_cluster, a_host, a_token, a_user, token_of

pytestmark = pytest.mark.django_db


class Agent:
    def __init__(self, token: str | None, session: object = None) -> None:
        self.client = Client(raise_request_exception=False)
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        if session is not None:
            self.headers["X-Agent-Session"] = str(session)

    def post(self, path, body=None):
        return self.client.post(f"/agent/v1/{path}", body or {}, content_type="application/json", headers=self.headers)

    def put(self, path, data):
        return self.client.put(f"/agent/v1/{path}", data, content_type="application/octet-stream", headers=self.headers)

    def get(self, path):
        return self.client.get(f"/agent/v1/{path}", headers=self.headers)


def told(answer):
    """(status, code) of an error in the panel's words."""
    body = answer.json()
    assert sorted(body) == ["code", "details", "message"] and body["message"]
    return answer.status_code, body["code"]


@pytest.fixture
def host(db):
    return a_host()


@pytest.fixture
def agent(host):
    return Agent(token_of(host), session=1)


# -- Who is it -----------------------------------------------------------------------------------------------


def test_who_is_not_known_gets_nothing(host):
    workload = steps.ordered(host)
    user_token = a_token(user=a_user(is_superuser=True))[1]
    for agent, code in ((Agent(None), "no-token"), (Agent("wrong"), "host-unknown"), (Agent(user_token), "host-unknown")):
        for answer in (
            agent.post("session", {"instance_id": "i", "boot_id": "b"}),
            agent.post(f"workloads/{workload.pk}/ranks/0/claim"),
            agent.get("runtimes/x"),
            agent.get("sources/x"),
            agent.put("fetches/1?offset=0&size=1", b"x"),
            agent.post("fetches/1/failure"),
        ):
            assert told(answer) == (401, code)
            assert answer["WWW-Authenticate"].startswith("Bearer")
    assert steps.ranks_of(workload) == [("ordered", "")]


def test_a_retired_host_is_not_known_any_more(host, agent):
    Host.objects.update(state=HostState.RETIRED)
    assert told(agent.post("session", {"instance_id": "instance-1", "boot_id": "boot-1"})) == (401, "host-unknown")


def test_a_hosts_token_opens_no_door_of_people(host):
    client = Client()
    for path in ("/api/v1/hosts", "/api/v1/jobs"):
        assert client.get(path, headers={"Authorization": f"Bearer {token_of(host)}"}).status_code == 401


# -- Enrolment -----------------------------------------------------------------------------------------------


def test_a_machine_enrols_over_http():
    token = enrolment.issue(cluster=a_cluster(), by=Actor(user=a_user()), now=timezone.now())
    answer = Agent(token).post("enrolment", {"machine_id": "m1", "name": "tpu-1", "chips": 4})
    host = Host.objects.get()
    assert answer.status_code == 201
    assert sorted(answer.json()) == ["host_id", "redis_url", "token"] and answer.json()["host_id"] == str(host.pk)
    assert Agent(answer.json()["token"]).post("session", {"instance_id": "i", "boot_id": "b"}).json() == {"session": 1}
    host.refresh_from_db()
    assert (host.state, host.name, host.chips.count()) == ("ready", "tpu-1", 4)
    assert told(Agent(token).post("enrolment", {"machine_id": "m1", "name": "tpu-1", "chips": 4})) == (403, "enrolment-used")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "n", "chips": 1}, "machine_id"),
        ({"machine_id": "m" * 65, "name": "n", "chips": 1}, "machine_id"),
        ({"machine_id": "m", "name": 7, "chips": 1}, "name"),
        ({"machine_id": "m", "name": "n\0", "chips": 1}, "name"),
        ({"machine_id": "m", "name": "n\ud800", "chips": 1}, "name"),
        ({"machine_id": "m", "name": "n", "chips": "1"}, "chips"),
        ({"machine_id": "m", "name": "n", "chips": True}, "chips"),
        ({"machine_id": "m", "name": "n", "chips": 0}, "chips"),
    ],
)
def test_a_wrong_field_of_an_enrolment_is_named_and_spends_no_token(body, field):
    token = enrolment.issue(cluster=a_cluster(), by=Actor(user=a_user()), now=timezone.now())
    answer = Agent(token).post("enrolment", body)
    assert (told(answer), list(answer.json()["details"])) == ((422, "invalid"), [field])
    assert (Host.objects.count(), EnrolmentToken.objects.get().used_at) == (0, None)


# -- Session -------------------------------------------------------------------------------------------------


def test_the_same_agent_gets_its_session_again_and_another_is_told_of_it(host, agent):
    Host.objects.update(heard_at=None)
    assert agent.post("session", {"instance_id": "instance-1", "boot_id": "boot-1", "agent_version": "2"}).json() == {
        "session": 1
    }
    answer = agent.post("session", {"instance_id": "instance-2", "boot_id": "boot-1"})
    assert told(answer) == (409, "second-agent")
    assert Host.objects.values_list("session", "instance_id", "agent_version").get() == (1, "instance-1", "2")


@pytest.mark.parametrize("body", ["[]", "{", "7", '{"instance_id": "i"}', '{"instance_id": "", "boot_id": "b"}'])
def test_a_body_that_says_nothing_is_refused(agent, body):
    answer = agent.client.post("/agent/v1/session", body, content_type="application/json", headers=agent.headers)
    assert told(answer)[0] == 422
    assert Host.objects.get().session == 1


# -- Claim ---------------------------------------------------------------------------------------------------


def test_a_claim_answers_with_the_spec_and_counts_as_heard(host, agent):
    workload = steps.ordered(host, command=["echo", "hello"])
    answer = agent.post(f"workloads/{workload.pk}/ranks/0/claim")
    assert (answer.status_code, answer.json()["command"], answer.json()["chips"]) == (200, ["echo", "hello"], [0])
    assert steps.ranks_of(workload) == [("claimed", "")]
    assert Host.objects.get().heard_at > NOON
    assert agent.post(f"workloads/{workload.pk}/ranks/0/claim").json() == answer.json()


@pytest.mark.parametrize("session", [None, 0, 2, "", "1.0"])
def test_a_claim_of_another_session_is_refused(host, session):
    workload = steps.ordered(host)
    answer = Agent(token_of(host), session=session).post(f"workloads/{workload.pk}/ranks/0/claim")
    assert told(answer) == (409, "session-over")
    assert steps.ranks_of(workload) == [("ordered", "")]
    assert Host.objects.get().heard_at == NOON


def test_a_claim_of_what_is_not_its_own_does_not_exist(host, agent):
    elsewhere = steps.ordered(a_host())
    for path in (f"{elsewhere.pk}/ranks/0", f"{elsewhere.pk}/ranks/{10**30}", f"{uuid.uuid4()}/ranks/0"):
        assert told(agent.post(f"workloads/{path}/claim")) == (404, "not-yours")
    assert steps.ranks_of(elsewhere) == [("ordered", "")]


def test_a_claim_of_what_is_to_stop_is_gone(host, agent):
    workload = steps.ordered(host)
    workloads.want_stop(workload.pk, code="canceled", grace_s=0, now=NOON, by="ada")
    assert told(agent.post(f"workloads/{workload.pk}/ranks/0/claim")) == (410, "workload-ended")


def test_a_claim_by_another_session_of_the_same_host_is_a_conflict(host, agent):
    workload = steps.ordered(host)
    agent.post(f"workloads/{workload.pk}/ranks/0/claim")
    Host.objects.update(session=2)
    assert told(Agent(token_of(host), session=2).post(f"workloads/{workload.pk}/ranks/0/claim")) == (409, "claimed")


def test_a_claim_is_not_looked_at(host, agent):
    workload = steps.ordered(host)
    assert agent.get(f"workloads/{workload.pk}/ranks/0/claim").status_code == 405
    assert steps.ranks_of(workload) == [("ordered", "")]


# -- Files ---------------------------------------------------------------------------------------------------


def test_a_runtime_is_read_by_its_digest(agent, tmp_path, monkeypatch):
    monkeypatch.setattr(runtimes, "FOLDER", tmp_path)
    (tmp_path / "torch.txt").write_text("torch==2.9.0\n")
    runtime = runtimes.pin("torch")
    assert agent.get(f"runtimes/{runtime.digest}").json() == {"name": "torch", "requirements": "torch==2.9.0\n"}
    assert told(agent.get("runtimes/unknown")) == (404, "no-such-runtime")


def test_a_source_is_read_by_the_host_that_runs_it_and_no_other(host, agent, settings, tmp_path):
    settings.STORAGES = settings.STORAGES | {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": tmp_path}}
    }
    source = sources.keep(io.BytesIO(b"an archive"), title="t")
    steps.ordered(host, source={"kind": "archive", "digest": source.digest, "title": "t"})
    answer = agent.get(f"sources/{source.digest}")
    assert (b"".join(answer.streaming_content), answer["Content-Type"]) == (b"an archive", "application/gzip")
    assert told(Agent(token_of(a_host())).get(f"sources/{source.digest}")) == (404, "no-such-source")
    assert told(agent.get("sources/unknown")) == (404, "no-such-source")


@pytest.fixture
def wheels(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    wheel.folder().mkdir()
    (wheel.folder() / "agent-1.0-py3-none-any.whl").write_bytes(b"a wheel")
    (tmp_path / "other.whl").write_bytes(b"secret")


def test_everybody_may_have_the_agents_wheel(wheels):
    answer = Agent(None).get("wheels/agent-1.0-py3-none-any.whl")
    assert b"".join(answer.streaming_content) == b"a wheel"
    assert answer["Content-Disposition"] == 'attachment; filename="agent-1.0-py3-none-any.whl"'


@pytest.mark.parametrize(
    "name", ["../other.whl", "..%2Fother.whl", "%2e%2e/other.whl", "%2e%2e%2fother.whl", "agent-2.0.whl", "x%00.whl"]
)
def test_no_path_leads_out_of_the_wheels(wheels, name):
    answer = Agent(None).get(f"wheels/{name}")
    assert answer.status_code == 404 and b"secret" not in answer.content


# -- Files ---------------------------------------------------------------------------------------------------


@pytest.fixture
def fetch(host):
    return steps.a_fetch(steps.a_file(steps.running(host, **steps.PLACED)))


def test_a_host_brings_a_file_piece_by_piece(host, agent, fetch):
    size = FETCH_PIECE_BYTES + 4
    Host.objects.update(heard_at=None)
    first, rest = bytes(FETCH_PIECE_BYTES), b"rest"
    path = f"fetches/{fetch.pk}?size={size}&offset="
    answers = [agent.put(f"{path}0", first), agent.put(f"{path}7", rest), agent.put(f"{path}{FETCH_PIECE_BYTES}", rest)]
    assert [(answer.status_code, answer.json()) for answer in answers] == [
        (200, {"offset": FETCH_PIECE_BYTES, "complete": False}),
        (200, {"offset": FETCH_PIECE_BYTES, "complete": False}),
        (200, {"offset": size, "complete": True}),
    ]
    assert pieces.read(fetch.pk, FETCH_PIECE_BYTES - 1) == b"\0"
    assert pieces.read(fetch.pk, FETCH_PIECE_BYTES) == b"rest"
    assert Host.objects.get().heard_at is not None
    assert told(agent.put(f"{path}{FETCH_PIECE_BYTES}", rest)) == (410, "fetch-over")


def test_no_other_host_and_no_other_session_brings_it(host, agent, fetch):
    stranger = Agent(token_of(a_host()), session=1)
    body = {"sentence": "It is gone.", "gone": True}
    for path in (f"fetches/{fetch.pk}", f"fetches/{10**17}", f"fetches/{10**30}"):
        assert told(stranger.put(f"{path}?offset=0&size=1", b"x")) == (404, "no-such-fetch")
        assert told(stranger.post(f"{path}/failure", body)) == (404, "no-such-fetch")
    for former in (Agent(token_of(host), session=0), Agent(token_of(host))):
        assert told(former.put(f"fetches/{fetch.pk}?offset=0&size=1", b"x")) == (409, "session-over")
        assert told(former.post(f"fetches/{fetch.pk}/failure", body)) == (409, "session-over")
    fetch.refresh_from_db()
    assert (fetch.state, fetch.received_bytes, fetch.file.gone, pieces.all_fetches()) == ("wanted", 0, False, [])


@pytest.mark.parametrize(
    ("query", "field"), [("size=1", "offset"), ("offset=0", "size"), ("offset=-1&size=1", "offset"), ("offset=0&size=x", "size")]
)
def test_a_piece_says_where_it_stands(agent, fetch, query, field):
    answer = agent.put(f"fetches/{fetch.pk}?{query}", b"x")
    assert (told(answer), list(answer.json()["details"])) == ((422, "invalid"), [field])


def test_a_piece_that_is_too_long_is_not_read(agent, fetch):
    size = 2 * FETCH_PIECE_BYTES
    assert agent.put(f"fetches/{fetch.pk}?offset=0&size={size}", bytes(FETCH_PIECE_BYTES + 1)).status_code >= 400
    assert pieces.all_fetches() == []


def test_a_host_says_that_it_cannot_bring_a_file(agent, fetch):
    path = f"fetches/{fetch.pk}/failure"
    assert agent.post(path, {"sentence": "The file is no longer there.", "gone": True}).status_code == 201
    fetch.refresh_from_db()
    assert (fetch.state, fetch.detail, fetch.file.gone) == ("failed", "The file is no longer there.", True)
    assert told(agent.post(path, {"sentence": "again"})) == (410, "fetch-over")


def test_a_piece_is_put_and_nothing_else(agent, fetch):
    assert agent.get(f"fetches/{fetch.pk}").status_code == 405
    assert agent.post(f"fetches/{fetch.pk}").status_code == 405
