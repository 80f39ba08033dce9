"""A host that turns bad stops itself and no other: whatever it puts into its own keys in Redis, with its own user."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from agent import protocol
from tests.road.test_agent_faults import redis_of
from tests.road.world import Agent, World, a_world, until


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Iterator[World]:
    with a_world(tmp_path_factory.mktemp("world"), environment={"PLACE_SILENT_S": "6"}) as world:
        yield world


@pytest.fixture(scope="module")
def good(world: World) -> Agent:
    return world.add_agent("good", slots=8).wait_ready()


@pytest.fixture
def bad(world: World, good: Agent, request) -> Iterator[Agent]:
    """A host whose agent is gone and whose credentials somebody has; it stands before the good one in every order."""
    bad = world.add_agent(f"bad-{request.node.callspec.id if hasattr(request.node, 'callspec') else 'host'}").wait_ready()
    bad.kill()
    yield bad
    until(lambda: world.client.get(f"hosts/{bad.host_id}").json()["free_chips"] == 4, 60, "chips are free")
    world.client.post(f"hosts/{bad.host_id}/retirement").raise_for_status()


def report(bad: Agent, connection: redis.Redis, **fields: object) -> None:
    entry = {"v": 1, "s": 1, "k": "log", "f": "x", "o": 0, "d": b"x"} | fields
    connection.xadd(protocol.reports_key(bad.host_id), entry)


ATTACKS: dict[str, Callable[[Agent, redis.Redis], object]] = {
    "a report nested too deep": lambda bad, own: report(bad, own, t="[" * 100_000),
    "a report with a huge number": lambda bad, own: report(bad, own, o="9" * 5000),
    "a set for its reports": lambda bad, own: own.sadd(protocol.reports_key(bad.host_id), "x"),
    "a stream for its acks": lambda bad, own: own.xadd(protocol.acks_key(bad.host_id), {"x": "y"}),
    "a stream for its orders": lambda bad, own: own.xadd(protocol.orders_key(bad.host_id), {"x": "y"}),
    "a hundred megabytes": lambda bad, own: [report(bad, own, d=b"x" * 2_000_000, s=99) for _ in range(25)],
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=[name.replace(" ", "-") for name in ATTACKS])
def test_what_a_bad_host_writes_stops_no_other(world, good, bad, attack):
    world.redis().delete(protocol.reports_key(bad.host_id), protocol.acks_key(bad.host_id), protocol.orders_key(bad.host_id))
    attack(bad, redis_of(bad))
    number = world.launch("echo fine", resources={"accelerator": "cpu", "chips": 8})
    assert world.wait(number, within_s=20)["state"] == "succeeded"
    assert world.complete_log(number) == b"fine\n"


def test_an_order_for_a_bad_host_holds_up_no_other(world, good, bad):
    world.client.post(f"hosts/{good.host_id}/cordon", json={"reason": "the bad one first"}).raise_for_status()
    redis_of(bad).xadd(protocol.orders_key(bad.host_id), {"x": "y"})
    number = world.launch("true")
    until(lambda: world.job(number)["state"] != "queued", what="ordered to the bad one")
    world.client.delete(f"hosts/{good.host_id}/cordon").raise_for_status()
    other = world.launch("echo fine", resources={"accelerator": "cpu", "chips": 8})
    assert world.wait(other, within_s=20)["state"] == "succeeded"
    assert world.wait(number, within_s=60)["state"] == "succeeded"  # on the good one, once the bad one did not take it


def test_a_host_whose_keys_are_of_a_wrong_kind_is_shut_out_and_an_event_says_so(world, good, bad):
    own = redis_of(bad)
    world.redis().delete(protocol.acks_key(bad.host_id))
    own.xadd(protocol.acks_key(bad.host_id), {"x": "y"})
    report(bad, own, k="states", f="01900000-0000-7000-8000-000000000000/0/states", d=b"{}\n")  # is answered by an ack
    until(lambda: is_shut_out(bad), what="shut out")
    said = world.manage(
        "shell",
        "-v0",
        "-c",
        f"from clusters.models import Host; print(Host.objects.get(pk='{bad.host_id}').subject.events.last().code)",
    )
    assert said == "host.shut-out\n"


def is_shut_out(bad: Agent) -> bool:
    try:
        redis_of(bad).ping()
    except (redis.exceptions.AuthenticationError, redis.exceptions.NoPermissionError):
        return True
    return False
