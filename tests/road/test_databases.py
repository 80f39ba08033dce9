"""The database goes away and comes back: no byte of a log is dropped, no job ends wrongly, and everything goes on by itself."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests import postgresql
from tests.road.link import Link
from tests.road.world import World, a_world, until

AWAY_S = 10
COUNT = "i=0; while [ ! -e {go} ]; do i=$((i+1)); echo line $i; sleep 0.02; done; echo $i > {go}.last; exit {code}"


@pytest.fixture(scope="module")
def database() -> Iterator[postgresql.Server]:
    try:
        server = postgresql.Server(synchronous_commit="on")  # what was committed survives the process
    except FileNotFoundError as error:
        pytest.skip(str(error))
    try:
        yield server.create()
    finally:
        server.remove()


@pytest.fixture(scope="module")
def link(database: postgresql.Server) -> Iterator[Link]:
    """Between the panel and its database."""
    link = Link(database.port)
    yield link
    link.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory, database: postgresql.Server, link: Link) -> Iterator[World]:
    environment = {"DATABASE_URL": database.url.replace(f":{database.port}/", f":{link.port}/")}
    with a_world(tmp_path_factory.mktemp("world"), environment=environment) as world:
        yield world


def check_whole(world: World, number: int, last: int) -> None:
    assert world.complete_log(number) == b"".join(b"line %d\n" % i for i in range(1, last + 1))


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_of_the_database_costs_a_running_job_nothing(world, agent, database, tmp_path, mode):
    go = tmp_path / "go"
    number = world.launch(COUNT.format(go=go, code=0))
    world.wait(number, "running")
    database.stop(mode)
    database.start()
    world.wait_answers()
    held = len(world.log(number))
    until(lambda: len(world.log(number)) > held, what="the log goes on")
    go.touch()
    assert world.wait(number)["state"] == "succeeded"
    check_whole(world, number, int(go.with_suffix(".last").read_text()))
    assert world.codes(number).count("job.running") == 1


def test_what_ends_while_the_database_is_away_is_told_afterwards_as_it_ended(world, agent, database, tmp_path):
    good, bad, lasting = (tmp_path / name for name in ("good", "bad", "lasting"))
    jobs = {path: world.launch(COUNT.format(go=path, code=code)) for path, code in ((good, 0), (bad, 3), (lasting, 0))}
    for number in jobs.values():
        world.wait(number, "running")
    database.stop()
    away_until = time.monotonic() + AWAY_S
    good.touch()
    bad.touch()
    until(lambda: all(path.with_suffix(".last").exists() for path in (good, bad)), what="two end meanwhile")
    assert world.client.get("jobs").status_code == 500  # after as long as it waits for a connection
    time.sleep(max(0.0, away_until - time.monotonic()))
    database.start()
    world.wait_answers()
    later = world.launch("echo later")  # the scheduler goes on by itself
    assert world.wait(later)["state"] == "succeeded"
    assert world.wait(jobs[good])["state"] == "succeeded"
    assert world.wait(jobs[bad])["reason"]["code"] == "exit-code"
    assert world.job(jobs[lasting])["state"] == "running"
    lasting.touch()
    assert world.wait(jobs[lasting])["state"] == "succeeded"
    for path, number in jobs.items():
        check_whole(world, number, int(path.with_suffix(".last").read_text()))
        ends = [code for code in world.codes(number) if code in ("job.succeeded", "job.failed", "job.canceled")]
        assert len(ends) == 1
    until(lambda: world.free_chips() == 4, what="chips are free")


def test_connections_to_the_database_that_were_cut_are_made_anew(world, agent, link, tmp_path):
    go = tmp_path / "go"
    number = world.launch(COUNT.format(go=go, code=0))
    world.wait(number, "running")
    assert [world.client.get("jobs").status_code for _ in range(20)] == [200] * 20  # the pool has several
    link.cut()
    assert [world.client.get("jobs").status_code for _ in range(20)] == [200] * 20
    later = world.launch("echo later")
    assert world.wait(later)["state"] == "succeeded"
    go.touch()
    assert world.wait(number)["state"] == "succeeded"
    check_whole(world, number, int(go.with_suffix(".last").read_text()))
