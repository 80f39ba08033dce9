import uuid

import pytest

from clusters import workloads
from clusters.models import AgentReport, EnrolmentToken, Host
from clusters.states import HostState
from projects.models import AuditEntry, Role
from tests.clusters import steps
from tests.factories import NOON, a_cluster, a_host, a_member, a_project, a_team, a_user
from tests.projects.conftest import Script

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(db):
    return Script(a_user(username="operator", is_superuser=True))


@pytest.fixture
def admin(db):
    """Of a team, which is no operator of hosts."""
    return Script(a_member(team=a_team(), role=Role.ADMIN))


def told(answer):
    body = answer.json()
    assert sorted(body) == ["code", "details", "message"]
    return answer.status_code, body["code"]


def test_everybody_sees_clusters_and_hosts(admin):
    steps.the_inbox_has_read(until=steps.after(20))
    host = a_host(cluster=a_cluster(name="local", lost_after_s=None), name="tpu-1", chips=3)
    a_host(state=HostState.RETIRED)
    steps.running(host)
    assert admin.get("/api/v1/clusters").json() == {"results": [{"name": "local", "accelerator": "cpu", "lost_after_s": None}]}
    shape = {
        "id": str(host.pk),
        "name": "tpu-1",
        "cluster": "local",
        "accelerator": "cpu",
        "state": "ready",
        "is_silent": True,
        "silent_s": 20.0,
        "cordon_reason": "",
        "chips": 3,
        "free_chips": 2,
        "heard_at": "2026-03-01T12:00:00Z",
        "agent_version": "",
        "clock_offset_ms": None,
        "disk_free_bytes": None,
    }
    assert admin.get("/api/v1/hosts").json() == {"results": [shape]}
    assert admin.get(f"/api/v1/hosts/{host.pk}").json() == shape


@pytest.mark.parametrize("count", [1, 3])
def test_hosts_take_four_queries_however_many_there_are(admin, count, django_assert_num_queries):
    for _ in range(count):
        a_host()
    admin.get("/api/v1/hosts")  # notes the token's use
    with django_assert_num_queries(4):  # token, loop, hosts, chips
        assert len(admin.get("/api/v1/hosts").json()["results"]) == count


def test_nobody_sees_nothing(client):
    host = a_host()
    for path in ("clusters", "hosts", f"hosts/{host.pk}"):
        assert told(client.get(f"/api/v1/{path}"))[0] == 401


@pytest.mark.parametrize("name", ["tpu-1", str(uuid.uuid5(uuid.NAMESPACE_DNS, "x"))])
def test_a_host_that_is_not_there_is_not_found(operator, name):
    for answer in (
        operator.get(f"/api/v1/hosts/{name}"),
        operator.post(f"/api/v1/hosts/{name}/cordon", {"reason": "x"}),
        operator.post(f"/api/v1/hosts/{name}/retirement"),
    ):
        assert told(answer) == (404, "no-such-host")


def test_a_cordon_is_made_and_taken_away(operator):
    host = a_host()
    path = f"/api/v1/hosts/{host.pk}/cordon"
    assert operator.post(path, {"reason": "noisy fan"}).status_code == 204
    assert Host.objects.values_list("state", "cordon_reason").get() == ("cordoned", "noisy fan")
    assert told(operator.post(path, {"reason": "again"})) == (409, "host-state")
    assert operator.delete(path).status_code == 204
    assert Host.objects.values_list("state", "cordon_reason").get() == ("ready", "")
    assert list(AuditEntry.objects.order_by("pk").values_list("verb", flat=True))[-2:] == ["host.cordon", "host.uncordon"]


def test_an_agent_tells_of_itself_and_operators_read_its_log(admin, operator):
    host = a_host()
    path = f"/api/v1/hosts/{host.pk}/agent-report"
    assert operator.get(path).json() == {"at": None, "log": "", "runtimes": []}
    digest = "a" * 64
    AgentReport.objects.create(
        host=host, at=NOON, log="session=3\n", runtimes=[{"digest": digest, "size_bytes": 5, "used_ms": 1000}]
    )
    runtimes = [{"name": "", "digest": digest, "size_bytes": 5, "used_at": "1970-01-01T00:00:01Z"}]
    assert operator.get(path).json() == {"at": "2026-03-01T12:00:00Z", "log": "session=3\n", "runtimes": runtimes}
    assert admin.get(path).json()["log"] is None


@pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": 7}, {"reason": "x" * 301}, []])
def test_a_cordon_needs_a_reason(operator, body):
    host = a_host()
    answer = operator.post(f"/api/v1/hosts/{host.pk}/cordon", body)
    assert (told(answer), list(answer.json()["details"])) == ((422, "invalid"), ["reason"])
    assert Host.objects.get().state == "ready"


def test_a_host_in_use_is_not_retired_and_an_idle_one_is(operator):
    busy, idle = a_host(), a_host()
    steps.running(busy)
    assert told(operator.post(f"/api/v1/hosts/{busy.pk}/retirement")) == (409, "host-in-use")
    assert operator.post(f"/api/v1/hosts/{idle.pk}/retirement").status_code == 204
    assert [Host.objects.get(pk=host.pk).state for host in (busy, idle)] == ["ready", "retired"]


def test_an_enrolment_token_comes_with_the_command_that_uses_it(operator, settings):
    settings.PUBLIC_URL = "https://panel.example.org"
    a_cluster(name="local")
    answer = operator.post("/api/v1/clusters/local/enrolment-tokens")
    token = answer.json()["token"]
    assert answer.status_code == 201
    assert answer["Cache-Control"] == "no-store"
    command = f"curl -fsSL https://panel.example.org/agent/v1/install | PANEL_ENROLMENT_TOKEN={token} sh"
    assert answer.json()["command"] == command
    row = EnrolmentToken.objects.get()
    assert (row.cluster.name, row.created_by.username, row.used_at) == ("local", "operator", None)
    assert told(operator.post("/api/v1/clusters/other/enrolment-tokens")) == (404, "no-such-cluster")


def test_stopping_work_is_ended_without_its_host_and_nothing_else_is(operator):
    workload = steps.running(project=a_project())
    path = f"/api/v1/workloads/{workload.pk}/abandonment"
    assert told(operator.post(path)) == (409, "not-stopping")
    assert steps.state(workload)[0] == "running"
    workloads.want_stop(workload.pk, code="canceled", grace_s=0, now=NOON, by="ada")
    assert operator.post(path).status_code == 204
    assert (steps.state(workload), steps.held_chips()) == (("exited", "stop", "stopped", "abandoned"), 0)
    entry = AuditEntry.objects.get(verb="workload.abandon")
    assert (entry.user_name, entry.project, entry.data) == ("operator", workload.project, {"workload": str(workload.pk)})
    assert told(operator.post(f"/api/v1/workloads/{uuid.uuid4()}/abandonment")) == (404, "no-such-workload")


@pytest.mark.parametrize("who", ["viewer", "team admin", "operator's launching token"])
def test_only_an_operator_changes_anything(who):
    host, workload = a_host(), steps.running(a_host())
    workloads.want_stop(workload.pk, code="canceled", grace_s=0, now=NOON, by="ada")
    asker = {
        "viewer": lambda: Script(a_member(team=workload.project.team, role=Role.VIEWER)),
        "team admin": lambda: Script(a_member(team=workload.project.team, role=Role.ADMIN)),
        "operator's launching token": lambda: Script(a_user(is_superuser=True), scope="launch"),
    }[who]()
    for answer in (
        asker.post(f"/api/v1/hosts/{host.pk}/cordon", {"reason": "x"}),
        asker.delete(f"/api/v1/hosts/{host.pk}/cordon"),
        asker.post(f"/api/v1/hosts/{host.pk}/retirement"),
        asker.post(f"/api/v1/clusters/{host.slice.cluster.name}/enrolment-tokens"),
        asker.post(f"/api/v1/workloads/{workload.pk}/abandonment"),
    ):
        assert told(answer) == (403, "role")
    assert Host.objects.get(pk=host.pk).state == "ready"
    assert (steps.state(workload)[0], steps.held_chips(workload)) == ("stopping", 1)
    assert not EnrolmentToken.objects.exists() and not AuditEntry.objects.filter(verb__startswith="host.").exists()
