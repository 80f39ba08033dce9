import re
from datetime import timedelta

import pytest

from clusters import enrolment, hosts, sessions
from clusters.models import Chip, EnrolmentToken, Host, Slice
from clusters.states import HostState
from projects.actors import Actor
from projects.errors import Conflict, Forbidden, Invalid
from projects.models import AuditEntry
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_cluster, a_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(db):
    return a_cluster(name="local")


def invite(cluster, **more):
    return enrolment.issue(cluster=cluster, by=Actor(user=a_user()), now=NOON, **more)


def enrol(token, *, machine_id="m1", name="tpu-1", chips=4, now=NOON):
    return enrolment.enrol(token=token, machine_id=machine_id, name=name, chips=chips, now=now)


def test_a_token_is_kept_as_a_hash_only_and_audited(cluster):
    user = a_user(username="ada")
    token = enrolment.issue(cluster=cluster, by=Actor(user=user), now=NOON)
    row = EnrolmentToken.objects.get()
    assert (row.cluster, row.created_by, row.expires_at, row.used_at) == (cluster, user, after(3600), None)
    assert row.token_hash == enrolment.hashed(token) and len(token) > 32
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.subject_title, token in str(entry.data)) == ("host.invite", "local", False)


def test_a_machine_becomes_a_host_with_free_chips_and_an_identity_of_its_own(cluster):
    identity = enrol(invite(cluster), now=after(9))
    host = Host.objects.get()
    assert (str(host.pk), host.name, host.state, host.session, host.machine_id) == (
        identity.host_id,
        "tpu-1",
        "enrolled",
        0,
        "m1",
    )
    assert (host.slice.cluster, host.number, host.token_hash) == (cluster, 0, enrolment.hashed(identity.token))
    assert list(host.chips.order_by("number").values_list("number", "workload")) == [(n, None) for n in range(4)]
    (user, password) = re.match(r"redis://([^:]+):([^@]+)@127\.0\.0\.1:1/0", identity.redis_url).groups()
    assert (user, host.redis_password_hash) == (f"host-{host.pk}", enrolment.hashed(password))
    assert [(event.code, event.at) for event in host.subject.events.all()] == [("host.enrolled", after(9))]
    assert (host.subject.address, host.subject.project) == (f"host:{host.pk}", None)
    assert EnrolmentToken.objects.values_list("used_at", "host").get() == (after(9), host.pk)


@pytest.mark.parametrize(("now", "code"), [(3599, None), (3600, "enrolment-expired"), (9999, "enrolment-expired")])
def test_a_token_expires(cluster, now, code):
    token = invite(cluster, valid_for=timedelta(hours=1))
    if code is None:
        enrol(token, now=after(now))
        return
    with pytest.raises(Forbidden) as refused:
        enrol(token, now=after(now))
    assert (refused.value.code, Host.objects.count(), EnrolmentToken.objects.get().used_at) == (code, 0, None)


def test_a_token_enrols_one_machine_once(cluster):
    token = invite(cluster)
    enrol(token)
    for machine in ("m1", "m2"):
        with pytest.raises(Forbidden) as refused:
            enrol(token, machine_id=machine)
        assert refused.value.code == "enrolment-used"
    assert (Host.objects.count(), Chip.objects.count()) == (1, 4)


def test_an_unknown_token_enrols_nothing(cluster):
    with pytest.raises(Forbidden) as refused:
        enrol("enrol_unknown")
    assert (refused.value.code, Host.objects.count(), Slice.objects.count()) == ("enrolment-unknown", 0, 0)


@pytest.mark.parametrize("chips", [0, -1, 1025])
def test_a_host_has_some_chips_and_not_too_many(cluster, chips):
    token = invite(cluster)
    with pytest.raises(Invalid) as wrong:
        enrol(token, chips=chips)
    assert (list(wrong.value.fields), Host.objects.count(), EnrolmentToken.objects.get().used_at) == (["chips"], 0, None)


def test_a_machine_that_enrols_again_is_the_same_host_with_new_secrets(cluster):
    first = enrol(invite(cluster))
    second = enrol(invite(cluster), name="tpu-one", chips=6)
    host = Host.objects.get()
    assert first.host_id == second.host_id == str(host.pk)
    assert first.token != second.token and host.token_hash == enrolment.hashed(second.token)
    assert (host.name, host.subject.title) == ("tpu-one", "tpu-one")
    assert (Slice.objects.count(), host.chips.count()) == (1, 6)


def test_another_machine_of_the_same_name_is_another_host(cluster):
    assert enrol(invite(cluster)).host_id != enrol(invite(cluster), machine_id="m2").host_id
    assert Host.objects.filter(name="tpu-1").count() == 2


def test_the_same_machine_in_another_cluster_is_another_host(cluster):
    assert enrol(invite(cluster)).host_id != enrol(invite(a_cluster())).host_id


def test_a_retired_host_comes_back_when_its_machine_enrols(cluster):
    enrol(invite(cluster))
    Host.objects.update(state=HostState.RETIRED, cordon_reason="noisy fan")
    enrol(invite(cluster))
    assert Host.objects.values_list("state", "cordon_reason").get() == ("enrolled", "")


def test_a_cordon_outlives_a_second_enrolment(cluster):
    enrol(invite(cluster))
    Host.objects.update(state=HostState.CORDONED, cordon_reason="noisy fan")
    enrol(invite(cluster))
    assert Host.objects.values_list("state", "cordon_reason").get() == ("cordoned", "noisy fan")


def test_a_host_that_comes_back_with_fewer_chips_keeps_those_that_are_held(cluster):
    host = Host.objects.get(pk=enrol(invite(cluster)).host_id)
    Host.objects.filter(pk=host.pk).update(state="ready")
    workload = steps.ordered(host)
    Chip.objects.filter(host=host, workload=workload).update(workload=None)
    Chip.objects.filter(host=host, number=3).update(workload=workload)
    enrol(invite(cluster), chips=2)
    assert list(host.chips.order_by("number").values_list("number", "workload")) == [(0, None), (1, None), (3, workload.pk)]


def test_a_machine_that_enrols_again_does_not_wait_for_its_own_silence(cluster):
    """Its state folder is gone, so it is another instance; the old one was last heard long ago."""
    host = Host.objects.get(pk=enrol(invite(cluster)).host_id)
    sessions.open_session(host, instance_id="i1", boot_id="b1", agent_version="1", now=NOON)
    enrol(invite(cluster), now=after(300))
    host.refresh_from_db()
    assert sessions.open_session(host, instance_id="i2", boot_id="b1", agent_version="1", now=after(301)) == 2


def test_a_machine_whose_agent_is_heard_keeps_its_place_and_the_token_stays_good(cluster):
    first = Host.objects.get(pk=enrol(invite(cluster)).host_id)
    sessions.open_session(first, instance_id="i1", boot_id="b1", agent_version="1", now=NOON)
    before, token = Host.objects.values().get(), invite(cluster)
    with pytest.raises(Conflict, match="host tpu-1 already"):
        enrol(token, name="second", now=after(59))
    assert Host.objects.values().get() == before
    assert enrol(token, machine_id="a-second", name="second", now=after(59)).host_id != str(first.pk)


def test_a_machine_enrols_again_at_once_after_its_host_was_retired(cluster):
    host = Host.objects.get(pk=enrol(invite(cluster)).host_id)
    sessions.open_session(host, instance_id="i1", boot_id="b1", agent_version="1", now=NOON)
    host.refresh_from_db()
    hosts.retire(host=host, by=Actor(user=a_user(is_superuser=True)), now=after(1))
    assert enrol(invite(cluster), now=after(2)).host_id == str(host.pk)


def test_a_new_host_is_no_silent_one(cluster):
    host = Host.objects.get(pk=enrol(invite(cluster), now=after(50)).host_id)
    steps.the_inbox_has_read(until=after(51))
    assert steps.silence_of(host) == 1
