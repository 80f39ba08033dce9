"""Disks run full, the panel's and a host's: what runs goes on, and a log has no hole that it does not tell of."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import httpx

from tests.road.disks import fill, small_disk
from tests.road.world import World, a_world, until

MIB = 1024 * 1024
GUARD_PERCENT = 30


def signed_in(world: World) -> httpx.Client:
    """A browser of the first operator."""
    found = re.search(r"Sign in as (\S+) with the password (\S+)", world.said())
    assert found
    browser = httpx.Client(base_url=world.url, follow_redirects=True)
    browser.get("/sign-in").raise_for_status()
    form = {"username": found[1], "password": found[2], "csrfmiddlewaretoken": browser.cookies["csrftoken"]}
    assert browser.post("/sign-in", data=form).raise_for_status().url.path != "/sign-in"
    return browser


def test_with_its_disk_nearly_full_the_panel_holds_logs_and_has_them_all_once_there_is_room(tmp_path):
    (tmp_path / "world").mkdir()
    with (
        small_disk(tmp_path / "world" / "var", 256) as var,
        a_world(tmp_path / "world", environment={"DISK_GUARD_PERCENT": str(GUARD_PERCENT)}) as world,
    ):
        world.add_agent().wait_ready()
        browser = signed_in(world)
        go = tmp_path / "go"
        running = world.launch(f"echo before; while [ ! -e {go} ]; do sleep 0.05; done; seq 1 20000")
        until(lambda: world.log(running) == b"before\n", what="its first line")
        assert "% left" not in browser.get("/conditions").text
        ballast = fill(var, leave_bytes=40 * MIB)
        until(lambda: "% left, so it takes no logs" in banner(browser), what="the banner")
        go.touch()
        later = world.launch("echo later")
        assert world.wait(running)["state"] == "succeeded"
        assert world.wait(later)["state"] == "succeeded"
        assert (world.log(running), world.log(later)) == (b"before\n", b"")
        assert world.client.get(f"jobs/{running}/log").headers["X-Log-Complete"] == "false"
        ballast.unlink()
        assert world.complete_log(running) == b"before\n" + b"".join(b"%d\n" % i for i in range(1, 20_001))
        assert world.complete_log(later) == b"later\n"
        assert world.client.get(f"jobs/{running}/log").headers["X-Log-Gaps"] == "[]"
        until(lambda: "% left" not in banner(browser), what="no banner")


def banner(browser: httpx.Client) -> str:
    return re.sub(r"\s+", " ", browser.get("/conditions").raise_for_status().text).replace(" %", "%")


def test_with_the_disk_of_its_host_full_a_job_goes_on_and_its_log_says_what_is_missing(world: World, tmp_path: Path):
    """A hole within the log, and what comes after it when there is room again."""
    with small_disk(tmp_path / "state", 16) as state:
        agent = world.add_agent("small", state=state).wait_ready()
        try:
            full, room, go = (tmp_path / name for name in ("full", "room", "go"))
            wait = "while [ ! -e {} ]; do sleep 0.02; done"
            number = world.launch(
                f"echo first; {wait.format(full)}; head -c 3000000 /dev/zero | tr '\\0' a; echo; {wait.format(room)};"
                f" echo last; {wait.format(go)}; echo end"
            )
            until(lambda: world.log(number) == b"first\n", what="its first line")
            ballast = fill(state, leave_bytes=1 * MIB)
            full.touch()
            until(lambda: len(world.log(number)) > MIB // 2, what="what there was room for")
            assert world.job(number)["state"] == "running"
            ballast.unlink()
            room.touch()
            until(lambda: b"last\n" in world.log(number, tail=5), what="the log goes on")
            go.touch()
            assert world.wait(number)["state"] == "succeeded"
            text = world.complete_log(number)
            gaps = json.loads(world.client.get(f"jobs/{number}/log").headers["X-Log-Gaps"])
            assert len(gaps) == 1
            assert text.startswith(b"first\naaa")
            assert text[gaps[0]["offset"] :] == b"last\nend\n"
            assert len(text) + gaps[0]["dropped_bytes"] == len(b"first\n") + 3_000_000 + 1 + len(b"last\nend\n")
        finally:
            agent.kill()
            world.client.post(f"hosts/{agent.host_id}/retirement").raise_for_status()
            shutil.rmtree(state / "workloads", ignore_errors=True)
