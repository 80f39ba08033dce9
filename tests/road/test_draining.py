"""A host is drained: what ran there ends by itself within its grace, and goes on on another host."""

from __future__ import annotations

from tests.road.world import World, until

SAVES_WHEN_STOPPED = """
[ -e {saved} ] && {{ echo went on; exit 0; }}
trap 'touch {saved}; echo saved; exit 0' TERM
echo began
while true; do sleep 0.1; done
"""


def test_a_job_leaves_a_drained_host_and_goes_on_elsewhere(world: World, tmp_path):
    first = world.add_agent("tpu-1").wait_ready()
    number = world.launch(SAVES_WHEN_STOPPED.format(saved=tmp_path / "saved"))
    world.wait(number, "running")
    until(lambda: b"began" in world.log(number), what="it has begun")
    second = world.add_agent("tpu-2").wait_ready()
    answer = world.client.post(f"hosts/{first.host_id}/drain", json={"reason": "new disk"})
    assert (answer.status_code, answer.json()) == (202, {"stopping": 1})
    assert world.wait(number)["state"] == "succeeded"
    tries = world.client.get(f"jobs/{number}/attempts").json()["results"]
    assert [(one["hosts"], one["counted"]) for one in tries] == [(["tpu-1"], False), (["tpu-2"], True)]
    assert b"saved" in world.log(number, attempt=1)
    assert b"went on" in world.complete_log(number)
    hosts = {name: world.host(agent.host_id) for name, agent in (("tpu-1", first), ("tpu-2", second))}
    assert {name: (host["state"], host["free_chips"]) for name, host in hosts.items()} == {
        "tpu-1": ("cordoned", 4),
        "tpu-2": ("ready", 4),
    }
