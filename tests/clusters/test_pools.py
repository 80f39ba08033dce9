"""All chips of an accelerator as one bar, and the hosts that are in trouble."""

from __future__ import annotations

from datetime import timedelta

import pytest

from clusters import occupancy
from clusters.models import Host, Loop
from clusters.pools import Part, Pool, pools, troubles
from clusters.states import HostState
from projects.actors import Actor
from projects.models import Role
from tests.clusters import steps
from tests.factories import NOON, a_cluster, a_host, a_member, a_project, a_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def looker():
    return a_member(team=a_team(slug="vision"), role=Role.VIEWER)


def listened(*, until=NOON):
    Loop.objects.create(name="inbox", holder="x", until=until, reading_since=NOON - timedelta(hours=1), read_at=until)


def seen_by(user):
    return occupancy.clusters(Actor(user))


def test_a_bar_tells_apart_what_ours_others_and_hosts_out_of_service_hold(looker):
    cluster = a_cluster(name="local")
    steps.running(a_host(cluster=cluster, chips=4), project=a_project(team=looker.memberships.get().team))
    steps.running(a_host(cluster=cluster, chips=4), project=a_project())
    a_host(cluster=a_cluster(name="other"), chips=2, state=HostState.CORDONED)
    [pool] = pools(seen_by(looker))
    assert pool == Pool("cpu", ours=1, others=1, out=2, free=6, hosts=3, out_hosts=1)
    assert pool.parts == [Part("ours", 0, 10.0), Part("others", 10.0, 10.0), Part("out", 80.0, 20.0)]
    assert (pool.free_words, pool.host_words) == ("6 of 10 slots free", "3 hosts, 1 of them out of service")


def test_a_cluster_without_hosts_has_an_empty_bar(looker):
    a_cluster(name="local")
    [pool] = pools(seen_by(looker))
    assert (pool.parts, pool.free_words) == ([], "no host yet")


def test_hosts_in_trouble_come_with_why_and_the_worst_first(looker):
    a_host(name="well", heard_at=NOON)
    a_host(name="resting", state=HostState.CORDONED)
    a_host(name="late", heard_at=NOON - timedelta(minutes=30))
    a_host(name="unheard", heard_at=None, created_at=NOON - timedelta(minutes=30))
    a_host(name="deaf")
    a_host(name="fast")
    Host.objects.filter(name="resting").update(cordon_reason="new disk")
    Host.objects.filter(name="deaf").update(unclaimed_at=NOON)
    Host.objects.filter(name="fast").update(clock_offset_ms=5000)
    listened()
    assert [(one.view.host.name, one.sentence) for one in troubles(seen_by(looker))] == [
        ("late", "Its agent is not heard. What runs there goes on, as far as anyone knows."),
        ("unheard", "Its agent has never been heard."),
        ("deaf", "It is heard but takes no orders."),
        ("fast", "Its clock is off by +5.0 s: times in its logs are, too."),
        ("resting", "new disk"),
    ]
