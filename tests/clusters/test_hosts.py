import uuid

import pytest
from django.contrib.auth.models import AnonymousUser

from clusters import hosts, workloads
from clusters.models import Host
from clusters.states import HostState
from projects.actors import Actor
from projects.errors import Conflict, Forbidden, NotFound
from projects.models import AuditEntry
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_host, a_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(db):
    return Actor(user=a_user(username="operator", is_superuser=True))


def row(host):
    return Host.objects.values_list("state", "cordon_reason").get(pk=host.pk)


def told(host):
    return list(host.subject.events.order_by("seq").values_list("code", "sentence", "by_name"))


def audited():
    return list(AuditEntry.objects.order_by("pk").values_list("verb", "subject_title"))


# -- Looked up -----------------------------------------------------------------------------------------------


def test_every_signed_in_user_sees_a_host_and_only_an_operator_changes_it(operator):
    host, somebody = a_host(), a_user()
    assert hosts.get_host(Actor(user=somebody), str(host.pk)) == host
    assert hosts.get_host(operator, str(host.pk), edit=True) == host
    for actor in (Actor(user=somebody), Actor(user=operator.user, scope="launch")):
        with pytest.raises(Forbidden):
            hosts.get_host(actor, str(host.pk), edit=True)


def test_what_is_not_there_or_asked_by_nobody_is_not_found(operator):
    host = a_host()
    for actor, pk in ((operator, str(uuid.uuid4())), (operator, "tpu-1"), (Actor(user=AnonymousUser()), str(host.pk))):
        with pytest.raises(NotFound) as refused:
            hosts.get_host(actor, pk)
        assert refused.value.code == "no-such-host"


# -- Changed -------------------------------------------------------------------------------------------------


def test_a_cordon_keeps_what_runs(operator):
    host = a_host(name="tpu-1")
    workload = steps.running(host)
    hosts.cordon(host=host, reason="noisy fan", by=operator, now=after(1))
    assert row(host) == ("cordoned", "noisy fan")
    assert (steps.state(workload)[0], steps.held_chips(workload)) == ("running", 1)
    assert told(host) == [("host.cordoned", "Cordoned: noisy fan", "operator")]
    assert audited() == [("host.cordon", "tpu-1")]


def test_an_uncordon_takes_the_reason_away(operator):
    host = a_host(state=HostState.CORDONED)
    Host.objects.update(cordon_reason="noisy fan")
    hosts.uncordon(host=host, by=operator, now=NOON)
    assert (row(host), told(host)) == (("ready", ""), [("host.ready", "Uncordoned.", "operator")])


@pytest.mark.parametrize("state", [HostState.CORDONED, HostState.RETIRED])
def test_a_move_that_the_table_does_not_have_is_refused(operator, state):
    host = a_host(state=state)
    with pytest.raises(Conflict) as refused:
        hosts.cordon(host=host, reason="x", by=operator, now=NOON)
    assert (refused.value.code, refused.value.data) == ("host-state", {"state": state})
    assert (row(host), told(host), audited()) == ((state, ""), [], [])


def test_of_two_who_change_a_host_one_wins(operator):
    host = a_host()
    seen_by_other = Host.objects.get(pk=host.pk)
    hosts.cordon(host=host, reason="mine", by=operator, now=NOON)
    with pytest.raises(Conflict):
        hosts.cordon(host=seen_by_other, reason="mine too", by=operator, now=NOON)
    assert (row(host), len(told(host))) == (("cordoned", "mine"), 1)


def test_a_host_in_use_is_not_retired(operator):
    host = a_host(chips=3)
    workloads_here = [steps.ordered(host), steps.running(host)]
    for workload in workloads_here:
        with pytest.raises(Conflict) as refused:
            hosts.retire(host=host, by=operator, now=NOON)
        assert (refused.value.code, row(host)[0]) == ("host-in-use", "ready")
        workloads.want_stop(workload.pk, code="canceled", grace_s=0, now=NOON, by="ada")
    with pytest.raises(Conflict):
        hosts.retire(host=host, by=operator, now=NOON)  # it still has to say that nothing is left
    steps.says(workloads_here[1], **steps.STOPPED)
    hosts.retire(host=host, by=operator, now=NOON)
    assert (row(host)[0], told(host)) == ("retired", [("host.retired", "Retired.", "operator")])


def test_a_drain_cordons_and_asks_all_that_runs_to_stop(operator):
    host, other = a_host(name="tpu-1", chips=2), a_host(name="tpu-2", chips=2)
    here, there, ordered = steps.running([host]), steps.running([other]), steps.ordered([host])
    assert hosts.drain(host=host, reason="new disk", by=operator, now=after(5)) == 2
    assert row(host) == ("cordoned", "new disk")
    assert [workload.wanted for workload in map(steps.fresh, (here, there, ordered))] == ["stop", "run", "stop"]
    assert steps.fresh(here).stop_grace_s == here.spec.stop_grace_s
    assert steps.fresh(here).reason == "Host tpu-1 is being drained (new disk): it goes back to its place in the line."
    assert steps.state(ordered)[0] == "exited"  # nobody had claimed it
    assert told(host)[-1] == ("host.drain", "Drained: 2 pieces of work are to stop.", "operator")


def test_a_drain_asked_again_asks_nothing_anew(operator):
    host = a_host()
    steps.running([host])
    hosts.drain(host=host, reason="new disk", by=operator, now=after(5))
    assert hosts.drain(host=host, reason="another", by=operator, now=after(6)) == 0
    assert row(host) == ("cordoned", "new disk")


def test_retiring_a_host_frees_the_chips_of_its_lost_work(operator):
    host, other = a_host(), a_host()
    workload = steps.running([host, other])
    workloads.lose(workload, host=host.name, silent_s=900, now=after(900))
    hosts.retire(host=host, by=operator, now=after(1000))
    assert (row(host)[0], steps.state(workload)) == ("retired", ("lost", "stop", "", "host-lost"))
    assert steps.ranks_of(workload) == [("ended", "host-state-lost"), ("running", "")]
    assert (steps.held_chips(workload), steps.leases(workload)) == (1, [(1, 0, 1000), (1, 0, None)])
