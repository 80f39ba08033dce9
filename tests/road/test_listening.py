"""Who listens to a log over the websocket has what the store has, however often the line drops, and no longer than they may."""

from __future__ import annotations

import random
import time

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.road.listener import LogListener
from tests.road.world import until

CHECKED_WITHIN_S = 12  # a socket asks each 10 s who is there
NO_LONGER_ADMITTED = 4403


def test_a_line_that_drops_twenty_times_brings_every_byte_once(world, agent, tmp_path):
    go = tmp_path / "go"
    number = world.launch(f"i=0; while [ ! -e {go} ]; do seq $i $((i+=200)); sleep 0.02; done; echo end")
    world.wait(number, "running")
    moments, listener = random.Random(17), LogListener(world, number)
    for i in range(20):
        listener.connect()
        listener.hear_until(len(listener.data) + moments.randrange(1, 20_000))
        listener.drop(rudely=i % 2 == 0)
    go.touch()
    with listener:
        text = listener.hear_all()
    assert text == world.complete_log(number)
    assert text.endswith(b"\nend\n")
    assert len(text) > 20_000
    assert listener.gaps == []


def test_a_listener_without_output_is_told_the_end_of_a_job_in_order(world, agent):
    number = world.launch("sleep 0.3")
    with LogListener(world, number) as listener:
        until(lambda: (listener.hear() or {}).get("code") == "job.succeeded", what="the end")
    told = [message["seq"] for message in listener.messages if message["type"] == "event"]
    assert told == list(range(1, len(told) + 1))


def test_a_token_that_is_revoked_brings_nothing_after_the_next_look(world, agent, tmp_path):
    token = world.manage("issue_token", "admin", "--name", "short-lived").strip()
    number = world.launch(f"i=0; while [ ! -e {tmp_path}/go ]; do i=$((i+1)); echo line $i; sleep 0.05; done")
    world.wait(number, "running")
    with LogListener(world, number, token=token) as listener:
        listener.hear_until(30)
        world.manage(
            "shell",
            "-v0",
            "-c",
            "from django.utils import timezone; from projects.models import ApiToken\n"
            "assert ApiToken.objects.filter(name='short-lived').update(revoked_at=timezone.now()) == 1",
        )
        with pytest.raises(ConnectionClosed) as closed:
            listener.hear_for(CHECKED_WITHIN_S)
    assert closed.value.rcvd and closed.value.rcvd.code == NO_LONGER_ADMITTED
    with pytest.raises(InvalidStatus) as refused:
        LogListener(world, number, token=token).connect()
    assert refused.value.response.status_code == 403
    assert world.client_of(token).get(f"jobs/{number}/log").status_code == 401
    (tmp_path / "go").touch()
    assert world.wait(number)["state"] == "succeeded"


def test_a_quiet_job_is_heard_beside_a_noisy_one(world, agent, tmp_path):
    noisy = world.launch(f"while [ ! -e {tmp_path}/go ]; do seq 1 5000; sleep 0.05; done")
    world.wait(noisy, "running")
    with LogListener(world, noisy) as listener:
        listener.hear_until(200_000)
        quiet = world.launch("echo quiet")
        with LogListener(world, quiet) as other:
            assert other.hear_all(10) == b"quiet\n"
        assert world.wait(quiet, within_s=10)["state"] == "succeeded"
        before = len(listener.data)
        listener.hear_until(before + 100_000)
    assert world.job(noisy)["state"] == "running"
    (tmp_path / "go").touch()
    assert world.wait(noisy)["state"] == "succeeded"


def test_any_stretch_of_a_long_log_is_exact(world, agent):
    number = world.launch("seq 1 1000000; head -c 1000000 /dev/zero | tr '\\0' x; echo; printf 'last'")
    assert world.wait(number)["state"] == "succeeded"
    lines = b"".join(b"%d\n" % i for i in range(1, 1_000_001))
    text = lines + b"x" * 1_000_000 + b"\nlast"
    assert world.complete_log(number) == text
    offsets = random.Random(14)
    for offset in [0, len(lines) - 10, len(lines) + 500_000, len(text) - 5, *(offsets.randrange(len(lines)) for _ in range(20))]:
        answer = world.client.get(f"jobs/{number}/log", params={"offset": offset, "limit": 5000}).raise_for_status()
        assert answer.content == text[offset : offset + 5000]
        assert int(answer.headers["X-Log-Line"]) == text.count(b"\n", 0, offset)
        assert int(answer.headers["X-Log-Next"]) == min(offset + 5000, len(text))
    assert world.log(number, tail=1_000_100) == text[-1_000_100:]


def test_a_job_that_prints_nothing_for_long_goes_on_and_its_host_is_heard(world, agent, tmp_path):
    """For longer than its host may be silent; the seconds are few, as the deadlines are."""
    number = world.launch(f"while [ ! -e {tmp_path}/go ]; do sleep 0.2; done; echo spoke")
    world.wait(number, "running")
    world.manage("shell", "-v0", "-c", "from clusters.models import Cluster; Cluster.objects.update(lost_after_s=4)")
    with LogListener(world, number) as listener:
        until(lambda: (listener.hear() or {}).get("type") == "subscribed", what="subscribed")
        beats, deadline = set(), time.monotonic() + 6
        while time.monotonic() < deadline:
            host = world.host(agent.host_id)
            assert host["silent_s"] < 4
            assert world.job(number)["state"] == "running"
            beats.add(host["heard_at"])
            time.sleep(0.1)
        assert len(beats) >= 2
        (tmp_path / "go").touch()
        assert listener.hear_all() == b"spoke\n"
    assert world.wait(number)["state"] == "succeeded"
    world.manage("shell", "-v0", "-c", "from clusters.models import Cluster; Cluster.objects.update(lost_after_s=None)")
