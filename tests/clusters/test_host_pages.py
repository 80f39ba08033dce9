"""The pages of hosts: all of them, one, and adding one."""

from __future__ import annotations

import re
import socket
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.test import Client
from django.utils import timezone

from clusters import enrolment, reach
from clusters.models import AgentReport, Cluster, EnrolmentToken, Host, Runtime
from clusters.states import HostState
from monitoring import metrics
from monitoring.metric_chunks import Columns
from projects.actors import Actor
from projects.models import AuditEntry, Role
from tests.clusters import steps
from tests.factories import NOON, a_cluster, a_host, a_member, a_project, a_team, a_user
from tests.projects.conftest import Script

pytestmark = pytest.mark.django_db


@pytest.fixture
def vision(db) -> SimpleNamespace:
    team = a_team(slug="vision")
    return SimpleNamespace(
        project=a_project(team=team, slug="vit"),
        cluster=a_cluster(name="local"),
        viewer=a_member(team=team, role=Role.VIEWER, username="viewer"),
        stranger=a_member(team=a_team(slug="speech"), role=Role.ADMIN, username="stranger"),
        operator=a_user(username="operator", is_superuser=True),
    )


def as_(user) -> Client:
    browser = Client(raise_request_exception=False)
    browser.force_login(user)
    return browser


def running_on(host, project, title="secret-name"):
    workload = steps.running(host, project=project)
    workload.subject.title, workload.subject.link = title, "/jobs/17"
    workload.subject.save()
    return workload


def text_of(answer) -> str:
    return answer.content.decode()


# -- The list ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_a_list_takes_nine_queries_however_many_there_are(vision, count, django_assert_num_queries):
    for number in range(count):
        running_on(a_host(cluster=vision.cluster, name=f"tpu-{number}"), vision.project)
    browser = as_(vision.viewer)
    # session, user, hosts, loop, visible projects, chips, clusters; conditions; the navigation
    with django_assert_num_queries(9):
        answer = browser.get("/hosts")
    assert answer.status_code == 200 and text_of(answer).count('<tr id="host-') == count


def test_a_list_tells_of_each_host_how_it_is(vision):
    steps.the_inbox_has_read(until=steps.after(20))
    silent = a_host(cluster=vision.cluster, name="a-silent")
    cordoned = a_host(cluster=vision.cluster, name="b-cordoned", state=HostState.CORDONED, heard_at=steps.after(20))
    ready = a_host(cluster=vision.cluster, name="c-ready", chips=4, heard_at=steps.after(20))
    a_host(cluster=vision.cluster, name="d-retired", state=HostState.RETIRED)
    Host.objects.filter(pk=cordoned.pk).update(cordon_reason="noisy <fan>")
    Host.objects.filter(pk=ready.pk).update(agent_version="1.2", clock_offset_ms=-5200, disk_free_bytes=3 * 1024**3)
    (one,) = as_(vision.viewer).get("/hosts").context["clusters"]
    assert [(view.host.pk, view.states) for view in one.hosts] == [
        (silent.pk, ["silent"]),
        (cordoned.pk, ["cordoned"]),
        (ready.pk, ["ready"]),
    ]
    assert (one.room.free_words, one.room.apart_words) == ("4 of 4 slots free", "1 host cordoned, 1 host silent")
    text = text_of(as_(vision.viewer).get("/hosts"))
    assert "noisy &lt;fan&gt;" in text and "d-retired" not in text
    assert "-5.2 s" in text and "3.0 GiB" in text and ">1.2<" in text


def test_a_cordoned_host_that_is_silent_says_both(vision):
    steps.the_inbox_has_read(until=steps.after(20))
    a_host(cluster=vision.cluster, state=HostState.CORDONED)
    (one,) = as_(vision.viewer).get("/hosts").context["clusters"]
    assert one.hosts[0].states == ["cordoned", "silent"]
    assert one.room.apart_words == "1 host cordoned"


@pytest.mark.parametrize(("who", "sees"), [("viewer", True), ("operator", True), ("stranger", False)])
def test_work_of_a_project_that_one_may_not_see_is_another_team(vision, who, sees):
    host = a_host(cluster=vision.cluster, chips=4)
    done = running_on(host, vision.project, "past-name")
    steps.says(done, **steps.EXITED_WELL)
    running_on(host, vision.project)
    browser = as_(getattr(vision, who))
    for path, names in (("/hosts", ["secret-name"]), (f"/hosts/{host.pk}", ["secret-name", "past-name"])):
        text = text_of(browser.get(path))
        assert [name in text for name in names] == [sees] * len(names), path
        assert ('href="/jobs/17"' in text, "another team" in text) == (sees, not sees), path
        assert "3 of 4 free" in text, path


def test_an_empty_list_teaches_the_next_step(vision):
    assert "No host yet" in text_of(as_(vision.viewer).get("/hosts"))
    assert "An operator of the panel has that command." in text_of(as_(vision.viewer).get("/hosts"))
    assert 'href="/hosts/new"' in text_of(as_(vision.operator).get("/hosts"))
    Cluster.objects.all().delete()
    assert "manage.py prepare" in text_of(as_(vision.operator).get("/hosts"))


def test_the_navigation_leads_to_the_list(vision):
    text = text_of(as_(vision.viewer).get("/hosts"))
    assert re.search(r'<a class="item" href="/hosts" aria-current="page">', text)


def test_a_list_of_many_hosts_is_drawn_anew_more_rarely(vision):
    a_host(cluster=vision.cluster)
    assert as_(vision.viewer).get("/hosts").context["refresh_every_s"] == 5


# -- One host ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_a_host_takes_eleven_queries_however_much_runs_there(vision, count, django_assert_num_queries):
    host = a_host(cluster=vision.cluster, chips=6)
    for _ in range(count):
        steps.says(running_on(host, vision.project), **steps.EXITED_WELL)
        running_on(host, vision.project)
    browser = as_(vision.viewer)
    # session, user, host, loop, visible projects, chips; the past with its projects; events; what the agent says; the navigation
    with django_assert_num_queries(12):
        answer = browser.get(f"/hosts/{host.pk}")
    assert (len(answer.context["view"].occupants), len(answer.context["past"])) == (count, count)


def test_a_hosts_page_names_who_holds_each_chip(vision):
    host = a_host(cluster=vision.cluster, name="tpu-1", chips=3)
    one, two = running_on(host, vision.project, "one"), running_on(host, vision.project, "two")
    view = as_(vision.viewer).get(f"/hosts/{host.pk}").context["view"]
    assert [(number, occupant and occupant.letter) for number, occupant in view.chips] == [(0, "A"), (1, "B"), (2, None)]
    assert [(o.workload, o.title, o.chips, o.state) for o in view.occupants] == [
        (one.pk, "one", 1, "running"),
        (two.pk, "two", 1, "running"),
    ]


def test_a_host_that_let_its_last_order_pass_says_so(vision):
    host = a_host(cluster=vision.cluster)
    words = "It let its last order pass"
    assert words not in text_of(as_(vision.viewer).get(f"/hosts/{host.pk}"))
    Host.objects.update(unclaimed_at=timezone.now())
    assert words in text_of(as_(vision.viewer).get(f"/hosts/{host.pk}"))


def test_a_host_shows_what_its_agent_says_of_itself(vision):
    host = a_host(cluster=vision.cluster)
    assert "The agent has not said yet." in text_of(as_(vision.viewer).get(f"/hosts/{host.pk}"))
    Runtime.objects.create(digest="a" * 64, name="tensorflow", requirements="x==1\n")
    runtimes = [{"digest": name * 64, "size_bytes": 3 * 2**30, "used_ms": 0} for name in "ab"]
    AgentReport.objects.create(host=host, at=NOON, log="<b>session=3</b>\n", runtimes=runtimes)
    text = text_of(as_(vision.operator).get(f"/hosts/{host.pk}"))
    assert "<pre>&lt;b&gt;session=3&lt;/b&gt;\n</pre>" in text
    for words in ("tensorflow <span", "aaaaaaaa", "unknown to the panel", "bbbbbbbb", "6.0 GiB"):
        assert words in text


def test_an_agents_log_is_for_operators(vision):
    host = a_host(cluster=vision.cluster)
    AgentReport.objects.create(host=host, at=NOON, log="session=3\n")
    text = text_of(as_(vision.viewer).get(f"/hosts/{host.pk}"))
    assert "session=3" not in text and "The agent's log" not in text


def test_a_host_that_is_not_there_is_no_page(vision):
    for path in ("/hosts/01900000-0000-7000-8000-000000000000", "/hosts/tpu-1", "/hosts/17"):
        assert as_(vision.operator).get(path).status_code == 404


def test_who_is_not_signed_in_is_asked_to(client, vision):
    host = a_host(cluster=vision.cluster)
    for path in ("/hosts", f"/hosts/{host.pk}", "/hosts/new", "/hosts/new/reach", "/hosts/new/1"):
        answer = client.get(path)
        assert (answer.status_code, answer["Location"]) == (302, f"/sign-in?next={path}")


def test_an_operator_cordons_uncordons_and_retires(vision):
    host = a_host(cluster=vision.cluster)
    operator = as_(vision.operator)
    answer = operator.post(f"/hosts/{host.pk}/cordon", {"reason": " noisy fan "})
    assert (answer.status_code, answer["Location"]) == (302, f"/hosts/{host.pk}")
    assert Host.objects.values_list("state", "cordon_reason").get() == ("cordoned", "noisy fan")
    answer = operator.post(f"/hosts/{host.pk}/cordon/removal", headers={"HX-Request": "true"})
    assert (answer.status_code, text_of(answer).count('id="host-header"'), "<html" in text_of(answer)) == (200, 1, False)
    assert Host.objects.values_list("state", "cordon_reason").get() == ("ready", "")
    operator.post(f"/hosts/{host.pk}/retirement")
    assert Host.objects.get().state == "retired"
    assert [(e.code, e.by_name) for e in host.subject.events.order_by("seq")] == [
        ("host.cordoned", "operator"),
        ("host.ready", "operator"),
        ("host.retired", "operator"),
    ]
    assert "Retire" not in text_of(operator.get(f"/hosts/{host.pk}")).replace("Retired", "")


def test_a_cordon_without_a_reason_and_a_retirement_of_a_busy_host_are_refused_in_words(vision):
    host = a_host(cluster=vision.cluster)
    running_on(host, vision.project)
    operator = as_(vision.operator)
    for path, body, status in (("cordon", {"reason": " "}, 422), ("cordon", {}, 422), ("retirement", {}, 409)):
        answer = operator.post(f"/hosts/{host.pk}/{path}", body)
        assert answer.status_code == status and "data-error-sentence" in text_of(answer)
    assert Host.objects.get().state == "ready"


@pytest.mark.parametrize("who", ["viewer", "stranger"])
def test_nobody_else_changes_a_host_or_is_offered_to(vision, who):
    host = a_host(cluster=vision.cluster)
    browser = as_(getattr(vision, who))
    for path in ("cordon", "cordon/removal", "retirement"):
        assert browser.post(f"/hosts/{host.pk}/{path}", {"reason": "x"}).status_code == 403
        assert browser.get(f"/hosts/{host.pk}/{path}").status_code == 405
    assert Host.objects.get().state == "ready" and not AuditEntry.objects.exists()
    text = text_of(browser.get(f"/hosts/{host.pk}"))
    assert "Cordon" not in text and "Retire" not in text


def test_a_foreign_form_changes_nothing(vision):
    host = a_host(cluster=vision.cluster)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(vision.operator)
    assert strict.post(f"/hosts/{host.pk}/cordon", {"reason": "x"}).status_code == 403
    assert strict.post("/hosts/new", {"cluster": "local"}).status_code == 403
    assert Host.objects.get().state == "ready" and not EnrolmentToken.objects.exists()


# -- Its samples ---------------------------------------------------------------------------------------------


def test_a_hosts_samples_have_the_shape_of_a_jobs_metrics(vision):
    host = a_host(cluster=vision.cluster)
    metrics.append(host.subject, {"host.cpu_percent": Columns([1000, 2000], [1000, 2000], [10.0, 30.0])})
    script = Script(vision.viewer)
    assert script.get(f"/api/v1/hosts/{host.pk}/metrics").json() == {
        "metrics": [
            {
                "name": "host.cpu_percent",
                "workload": None,
                "rank": 0,
                "points": 2,
                "last_step": 2000,
                "last_ms": 2000,
                "last_value": 30.0,
                "attempt": None,
            }
        ],
        "next_cursor": None,
    }
    answer = script.get(f"/api/v1/hosts/{host.pk}/metrics/lines?name=host.cpu_percent&by=wall&start=1500").json()
    assert (answer["name"], answer["by"], len(answer["lines"])) == ("host.cpu_percent", "wall", 1)
    (line,) = answer["lines"]
    assert (line["attempt"], line["rank"], [(b["x"], b["last"]) for b in line["buckets"]]) == (None, 0, [(2000, 30.0)])


@pytest.mark.parametrize("query", ["by=x", "start=x", "start=-1", "buckets=1.5"])
def test_a_wrong_question_of_them_is_named(vision, query):
    host = a_host(cluster=vision.cluster)
    answer = Script(vision.viewer).get(f"/api/v1/hosts/{host.pk}/metrics/lines?name=x&{query}")
    assert (answer.status_code, list(answer.json()["details"])) == (422, [query.partition("=")[0]])
    assert Script(vision.viewer).get("/api/v1/hosts/x/metrics").status_code == 404


# -- Adding one ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["viewer", "stranger"])
def test_who_is_no_operator_reads_whom_to_ask(vision, who):
    browser = as_(getattr(vision, who))
    answer = browser.get("/hosts/new")
    assert answer.status_code == 403 and "Ask: operator." in text_of(answer)
    assert browser.post("/hosts/new", {"cluster": "local"}).status_code == 403
    assert browser.get("/hosts/new/reach").status_code == 403
    assert not EnrolmentToken.objects.exists()


def test_an_operator_gets_the_command_once(vision, settings):
    settings.PUBLIC_URL = "https://panel.example"
    operator = as_(vision.operator)
    assert "PANEL_ENROLMENT_TOKEN=" not in text_of(operator.get("/hosts/new"))
    answer = operator.post("/hosts/new", {"cluster": "local"})
    (row,) = EnrolmentToken.objects.all()
    command = answer.context["command"]
    assert (answer.status_code, "no-store" in answer["Cache-Control"], row.cluster.name) == (201, True, "local")
    token = re.fullmatch(
        r"curl -fsSL https://panel\.example/agent/v1/install \| PANEL_ENROLMENT_TOKEN=(enrol_\S+) sh", command
    ).group(1)
    assert row.token_hash == enrolment.hashed(token)
    assert token not in text_of(operator.get("/hosts/new")) + text_of(operator.get(f"/hosts/new/{row.pk}"))


def test_a_command_for_no_cluster_is_refused(vision):
    for name in ("other", "", "lo\0cal"):
        assert as_(vision.operator).post("/hosts/new", {"cluster": name}).status_code == 404
    assert not EnrolmentToken.objects.exists()


def test_an_invitation_tells_what_has_become_of_it(vision):
    operator = as_(vision.operator)
    token = enrolment.issue(cluster=vision.cluster, by=Actor(user=vision.operator), now=timezone.now())
    path = f"/hosts/new/{EnrolmentToken.objects.get().pk}"
    assert "Waiting for the machine" in text_of(operator.get(path))
    enrolment.enrol(token=token, machine_id="m", name="tpu-<2>", chips=4, now=timezone.now())
    text = text_of(operator.get(path))
    assert "tpu-&lt;2&gt; is here" in text and "its agent starts now" in text and f'href="/hosts/{Host.objects.get().pk}"' in text
    Host.objects.update(state=HostState.READY)
    assert "4 chips joined local." in text_of(operator.get(path))
    EnrolmentToken.objects.update(used_at=None, host=None, expires_at=timezone.now() - timedelta(seconds=1))
    assert "The command has expired" in text_of(operator.get(path))
    assert operator.get("/hosts/new/999").status_code == 404
    assert as_(vision.viewer).get(path).status_code == 403


# -- Its addresses -------------------------------------------------------------------------------------------


def tried() -> dict[str, reach.Tried]:
    return {one.setting: one for one in reach.try_all()}


def test_an_address_of_this_machine_alone_is_told_from_one_that_hosts_reach(settings, valkey, live_server):
    settings.PUBLIC_URL = live_server.url
    found = tried()
    assert [(one.state, "the machine's own" in one.sentence) for one in found.values()] == [("warn", True), ("warn", True)]
    assert "--host 0.0.0.0" in found["PUBLIC_URL"].advice and "REDIS_URL" in found["REDIS_URL"].advice
    password = settings.REDIS_URL.split(":")[2].split("@")[0]
    assert found["REDIS_URL"].address == f"redis://127.0.0.1:{settings.REDIS_URL.rsplit(':')[-1].split('/')[0]}"
    assert password not in str(found)


def test_the_redis_that_comes_with_the_panel_says_what_to_set(settings, valkey, tmp_path):
    settings.VAR_DIR = tmp_path
    (tmp_path / "redis_url").write_text(settings.REDIS_URL)
    advice = tried()["REDIS_URL"].advice
    assert "comes with the panel listens on this machine only. Set REDIS_URL" in advice
    settings.HOSTS_REDIS_URL = settings.REDIS_URL
    assert "comes with the panel" not in tried()["HOSTS_REDIS_URL"].advice


def test_what_does_not_answer_is_told_within_its_time(settings):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        port = taken.getsockname()[1]
        settings.PUBLIC_URL, settings.REDIS_URL = f"http://127.0.0.1:{port}", f"redis://u:secret@127.0.0.1:{port}/0"
        began = timezone.now()
        found = tried()
        assert timezone.now() - began < timedelta(seconds=4)
    assert [one.state for one in found.values()] == ["bad", "bad"]
    assert all(one.sentence.startswith("Nothing answers here") for one in found.values())
    assert "secret" not in str(found)


def test_what_holds_the_line_and_says_nothing_is_given_up(settings):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        settings.PUBLIC_URL, settings.REDIS_URL = f"http://127.0.0.1:{port}", f"redis://127.0.0.1:{port}/0"
        began = timezone.now()
        assert [one.sentence for one in reach.try_all()] == ["Nothing answers here within 2 s."] * 2
        assert timezone.now() - began < timedelta(seconds=4)


def test_something_else_is_not_taken_for_the_panel_or_for_redis(settings, valkey, live_server):
    settings.PUBLIC_URL, settings.REDIS_URL = f"{live_server.url}/elsewhere", live_server.url.replace("http", "redis")
    assert [one.state for one in reach.try_all()] == ["bad", "bad"]


def test_a_stranger_to_the_network_is_told_that_nothing_is_encrypted(settings, valkey, live_server, monkeypatch):
    settings.PUBLIC_URL = live_server.url
    monkeypatch.setattr(reach, "is_loopback", lambda name: False)
    assert [(one.state, "not encrypted" in one.sentence) for one in reach.try_all()] == [("warn", True), ("warn", True)]


@pytest.mark.parametrize(
    ("name", "is_so"), [("localhost", True), ("127.0.0.1", True), ("::1", True), ("0.0.0.0", True), ("192.0.2.1", False)]
)
def test_which_names_lead_a_machine_to_itself(name, is_so):
    assert reach.is_loopback(name) is is_so


def test_the_page_shows_what_was_tried(vision, settings, valkey):
    settings.PUBLIC_URL = "http://127.0.0.1:1"
    answer = as_(vision.operator).get("/hosts/new/reach", headers={"HX-Request": "true"})
    assert (answer.status_code, "<html" in text_of(answer), "Nothing answers here" in text_of(answer)) == (200, False, True)
    assert "<html" in text_of(as_(vision.operator).get("/hosts/new/reach"))
