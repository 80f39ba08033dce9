import threading

import pytest

from agent import protocol
from clusters import sessions, sweep, workloads
from clusters.models import Host
from clusters.states import HostState
from projects.errors import Conflict
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_host
from tests.monitoring.threads import at_once

pytestmark = pytest.mark.django_db


def open_session(host, *, instance="instance-1", boot="boot-1", now=NOON, version="1.0"):
    return sessions.open_session(host, instance_id=instance, boot_id=boot, agent_version=version, now=now)


def row(host):
    return Host.objects.values_list("session", "instance_id", "boot_id", "state", "heard_at").get(pk=host.pk)


def codes(host):
    return list(host.subject.events.order_by("seq").values_list("code", flat=True))


def test_the_first_session_makes_a_host_ready():
    host = a_host(state=HostState.ENROLLED, heard_at=None)
    Host.objects.update(session=0, instance_id="", boot_id="")
    assert open_session(host, now=after(5), version="2.1") == 1
    assert row(host) == (1, "instance-1", "boot-1", "ready", after(5))
    assert Host.objects.get().agent_version == "2.1"
    assert codes(host) == ["host.session"]


def test_an_agent_that_was_restarted_keeps_its_session_and_its_ranks():
    host = a_host()
    workload = steps.running(host)
    for second in (1, 2):
        assert open_session(host, now=after(second)) == 1
    assert row(host) == (1, "instance-1", "boot-1", "ready", after(2))
    assert (steps.state(workload)[0], steps.held_chips(workload), codes(host)) == ("running", 1, [])


@pytest.mark.parametrize("other", [{"instance": "instance-2"}, {"boot": "boot-2"}])
def test_a_second_agent_is_refused_while_the_first_was_heard_lately(other):
    host = a_host(heard_at=NOON)
    workload = steps.running(host)
    with pytest.raises(Conflict) as refused:
        open_session(host, now=after(59.9), **other)
    assert refused.value.code == "second-agent" and "heard 59 s ago" in refused.value.sentence
    assert row(host) == (1, "instance-1", "boot-1", "ready", NOON)
    assert (steps.state(workload)[0], codes(host)) == ("running", ["host.second-agent"])
    assert open_session(host, now=after(60), **other) == 2


def test_a_second_agent_that_asks_on_is_an_event_a_minute():
    host = a_host()
    for second in (10, 20, 50, 71):
        Host.objects.update(heard_at=after(second))
        with pytest.raises(Conflict):
            open_session(host, instance="instance-2", now=after(second))
    assert codes(host) == ["host.second-agent"] * 2


@pytest.mark.parametrize(
    ("other", "cause", "sentence"),
    [
        ({"boot": "boot-2"}, protocol.CAUSE_HOST_REBOOTED, "Host tpu-1 was rebooted."),
        ({"boot": "boot-2", "instance": "instance-2"}, protocol.CAUSE_HOST_REBOOTED, "Host tpu-1 was rebooted."),
        (
            {"instance": "instance-2"},
            protocol.CAUSE_HOST_STATE_LOST,
            "The agent on tpu-1 lost its state folder, so the processes there were ended.",
        ),
    ],
)
def test_a_new_boot_or_instance_ends_the_ranks_of_the_old_one(other, cause, sentence):
    host, bystander = a_host(name="tpu-1", chips=4), a_host()
    running, claimed, ordered = steps.running(host), steps.claimed(host), steps.ordered(host)
    elsewhere = steps.running(bystander)
    assert open_session(host, now=after(100), **other) == 2
    for workload in (running, claimed):
        assert steps.ranks_of(workload) == [("ended", cause)]
        assert steps.state(workload) == ("exited", "run", "failed", cause)
        assert (steps.fresh(workload).reason, steps.leases(workload)) == (sentence, [(1, 0, 100)])
    assert (steps.ranks_of(ordered), steps.held_chips(ordered)) == ([("ordered", "")], 1)  # the new session may claim it
    assert (steps.state(elsewhere)[0], steps.held_chips()) == ("running", 2)
    assert steps.claim(ordered, host=Host.objects.get(pk=host.pk), now=after(101)).workload_id == str(ordered.pk)


def test_a_reboot_of_one_host_stops_the_rest_of_its_gang():
    host, other = a_host(), a_host()
    workload = steps.running([host, other])
    open_session(host, boot="boot-2", now=after(100))
    assert steps.ranks_of(workload) == [("ended", "host-rebooted"), ("running", "")]
    assert steps.state(workload) == ("stopping", "stop", "", "rank-ended")
    assert (steps.open_orders(other), steps.held_chips(workload)) == ([("stop", {"grace_s": 30})], 1)


def test_a_reboot_frees_the_chips_of_lost_work():
    host = a_host()
    workload = steps.running(host)
    steps.the_inbox_has_read(until=after(900))
    sweep.sweep(now=after(900))
    assert (steps.state(workload)[0], steps.held_chips(workload)) == ("lost", 1)
    open_session(host, boot="boot-2", now=after(2000))
    assert (steps.state(workload)[0], steps.held_chips(), steps.leases(workload)) == ("lost", 0, [(1, 0, 2000)])


def test_a_cordon_outlives_a_session():
    host = a_host(state=HostState.CORDONED)
    open_session(host, boot="boot-2", now=after(100))
    assert row(host)[3] == "cordoned"


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_reboot_while_its_work_is_being_stopped_locks_nobody_out():
    """Both want the workload and the host's row: fifty times, and neither ends in a deadlock."""
    host, rounds = a_host(chips=50), 50
    placed = [steps.running(host) for _ in range(rounds)]
    gate = threading.Barrier(2)

    def stops() -> None:
        for workload in placed:
            gate.wait(30)
            workloads.want_stop(workload.pk, code="canceled", grace_s=5, now=after(100), by="ada")

    def reboots() -> None:
        for number in range(rounds):
            gate.wait(30)
            open_session(host, boot=f"boot-{number + 2}", now=after(1000 * (number + 1)))

    at_once(stops, reboots)
    assert {steps.state(workload)[0] for workload in placed} == {"exited"}
    assert (steps.held_chips(), Host.objects.get().session) == (0, rounds + 1)
