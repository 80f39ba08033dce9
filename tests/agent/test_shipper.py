from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import redis

from agent import protocol, shipper
from agent.folders import WorkloadFolder
from agent.home import Home
from agent.protocol import ENDED, RUNNING, WINDOW_BYTES, FileLine, Heartbeat, RankReport, Report
from agent.shipper import Shipper
from agent.spool import SPOOL_FILE_BYTES, SpoolWriter

HOST = "019a0000-0000-7000-8000-00000000000a"
ENDED_WELL = RankReport(ENDED, 2, cause="exited", exit_code=0)


class Panel:
    """The other end of the stream: stores by offset, says what it wants, deletes what it has read."""

    def __init__(self, connection: redis.Redis) -> None:
        self.redis = connection
        self.stored: dict[str, bytes] = {}
        self.gaps: list[protocol.Gap] = []
        self.beats: list[Heartbeat] = []
        self.sessions: set[int] = set()

    def read(self) -> list[Report]:
        return [Report.from_fields(fields) for _, fields in self.redis.xrange(protocol.reports_key(HOST))]

    def take(self) -> list[Report]:
        entries = self.redis.xrange(protocol.reports_key(HOST))
        reports = [Report.from_fields(fields) for _, fields in entries]
        for report in reports:
            self.sessions.add(report.session)
            if report.kind == protocol.REPORT_HEARTBEAT:
                self.beats.append(Heartbeat.from_data(report.data))
                continue
            have = self.stored.get(report.file, b"")
            if report.offset <= len(have):
                self.stored[report.file] = have[: report.offset] + report.data + have[report.offset + len(report.data) :]
                self.gaps += report.gaps
            self.say(report.file, str(len(self.stored.get(report.file, b""))))
        if entries:
            self.redis.xdel(protocol.reports_key(HOST), *(entry for entry, _ in entries))
        return reports

    def say(self, file: str, word: str) -> None:
        self.redis.hset(protocol.acks_key(HOST), file, word)


@pytest.fixture
def panel(valkey) -> Panel:
    return Panel(valkey.client())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state")


@pytest.fixture
def an_agent(home, valkey) -> Iterator[Callable[[], Shipper]]:
    """Makes the shipper of a new agent."""
    made = []

    def make(session: int | None = 1) -> Shipper:
        made.append(Shipper(home, host_id=HOST, redis_url=valkey.url, session=lambda: session))
        return made[-1]

    yield make
    for each in made:
        each._redis.close()


@pytest.fixture
def rank(home: Home) -> Callable[..., Rank]:
    return lambda number=0: Rank(home, number)


class Rank:
    def __init__(self, home: Home, number: int) -> None:
        self.folder = WorkloadFolder(home.workloads / str(uuid4()))
        self.folder.note_start(number)
        self.folder.make_rank_folder()
        self.output_file = protocol.log_file(str(self.folder), number, "output")
        self.states_file = protocol.states_file(str(self.folder), number)
        self.printed = b""

    def print(self, data: bytes) -> None:
        spool = SpoolWriter(self.folder.rank_folder / "output", cap_bytes=1 << 40)
        spool.write(data)
        spool.close()
        self.printed += data

    def note_gathered(self) -> None:
        self.folder.note_measured()
        self.folder.note_listed()

    @property
    def states(self) -> bytes:
        return (self.folder.path / "states").read_bytes()


def ship(agent: Shipper, panel: Panel, rounds: int = 4) -> None:
    """What both sides do, until nothing is new."""
    for _ in range(rounds):
        agent.tick()
        panel.take()
    agent.tick()


def test_log_and_states_arrive_and_the_folder_is_done(an_agent, panel, rank):
    one, agent = rank(3), an_agent()
    one.print(b"hello\n")
    one.folder.report(RankReport(RUNNING, 1))
    ship(agent, panel)
    assert not one.folder.is_done()
    one.print(b"\0\xff bye")
    one.folder.report(ENDED_WELL)
    one.note_gathered()
    ship(agent, panel)
    assert panel.stored == {one.output_file: b"hello\n\0\xff bye", one.states_file: one.states}
    assert one.output_file.endswith("/3/output")
    assert one.folder.is_done()
    assert panel.sessions == {1}


def test_without_a_session_nothing_is_sent(an_agent, panel, rank):
    one = rank()
    one.print(b"hello\n")
    an_agent(session=None).tick()
    assert panel.read() == []


def test_what_is_sent_is_not_sent_again_while_it_is_in_the_stream(an_agent, panel, rank):
    one, agent = rank(), an_agent()
    one.print(b"hello\n")
    for _ in range(5):
        agent.tick()
    assert [(r.file, r.offset, r.data) for r in panel.read() if r.file] == [(one.output_file, 0, b"hello\n")]


@pytest.mark.parametrize("acked_before", [False, True])
def test_after_a_wiped_redis_what_was_not_stored_is_sent_again(an_agent, panel, rank, acked_before):
    one, agent = rank(), an_agent()
    one.print(b"first\n")
    one.folder.report(RankReport(RUNNING, 1))
    agent.tick()
    if acked_before:
        panel.take()
        agent.tick()
    one.print(b"second\n")
    agent.tick()
    panel.redis.flushall()
    ship(agent, panel)
    assert panel.stored == {one.output_file: b"first\nsecond\n", one.states_file: one.states}


def test_a_panel_that_was_restored_gets_the_bytes_once_more(an_agent, panel, rank):
    one, agent = rank(), an_agent()
    one.print(b"0123456789")
    ship(agent, panel)
    panel.stored[one.output_file] = b"0123"
    panel.say(one.output_file, "4")
    agent._beat_at = 0.0  # acks are looked at with each heartbeat
    agent.tick()
    assert [(r.offset, r.data) for r in panel.read() if r.file] == [(4, b"456789")]
    ship(agent, panel)
    assert panel.stored[one.output_file] == b"0123456789"


def test_a_new_agent_goes_on_where_the_panel_is(an_agent, panel, rank):
    one = rank()
    one.print(b"first\n")
    ship(an_agent(), panel)
    one.print(b"second\n")
    an_agent().tick()
    assert [(r.offset, r.data) for r in panel.read() if r.file == one.output_file] == [(6, b"second\n")]


def test_a_refused_file_is_dropped_and_held_ones_wait(an_agent, panel, rank):
    refused, held, agent = rank(), rank(), an_agent()
    panel.say(refused.output_file, protocol.ACK_REFUSED)
    panel.say(refused.states_file, protocol.ACK_REFUSED)
    panel.say(held.output_file, protocol.ACK_HOLD)
    for one in (refused, held):
        one.print(b"hello\n")
        one.folder.report(ENDED_WELL)
        one.note_gathered()
    ship(agent, panel)
    assert panel.stored == {held.states_file: held.states}
    assert (refused.folder.is_done(), held.folder.is_done()) == (True, False)
    panel.say(held.output_file, "0")
    agent._beat_at = 0.0
    ship(agent, panel)
    assert panel.stored[held.output_file] == b"hello\n"
    assert held.folder.is_done()


def test_points_and_files_arrive_and_the_folder_waits_until_both_are_whole(an_agent, panel, rank):
    one, agent = rank(2), an_agent()
    line = FileLine("output", "model.bin", 5, 9).line()
    (one.folder.path / "files").write_bytes(line + b'{"a":"out')
    one.folder.report(ENDED_WELL)
    ship(agent, panel)
    name = protocol.files_file(str(one.folder), 2)
    assert panel.stored == {one.states_file: one.states, name: line}
    one.folder.note_measured()
    (one.folder.path / "files").write_bytes(2 * line)
    ship(agent, panel)
    assert (panel.stored[name], one.folder.is_done()) == (2 * line, False)
    one.folder.note_listed()
    ship(agent, panel)
    assert one.folder.is_done()


def test_one_report_of_files_at_a_time(an_agent, panel, rank):
    one, agent = rank(), an_agent()
    line = FileLine("output", "x" * 400, 5, 9).line()
    (one.folder.path / "files").write_bytes(2000 * line)
    for _ in range(3):
        agent.tick()
    (report,) = [r for r in panel.read() if r.kind == protocol.REPORT_FILES]
    assert len(report.data) <= protocol.MAX_REPORT_BYTES and report.data.endswith(b"\n")
    ship(agent, panel, rounds=8)
    assert panel.stored[report.file] == 2000 * line


def test_the_window_bounds_logs_and_not_states(an_agent, panel, rank):
    loud, other, agent = rank(), rank(), an_agent()
    loud.print(bytes(2 * WINDOW_BYTES))
    other.print(bytes(WINDOW_BYTES))
    for _ in range(3):
        agent.tick()
    other.folder.report(RankReport(RUNNING, 1))
    agent.tick()
    reports = panel.read()
    sizes = {one: sum(len(r.data) for r in reports if r.file == one.output_file) for one in (loud, other)}
    assert sum(sizes.values()) == WINDOW_BYTES
    assert sizes[loud] == sizes[other]  # in turn
    assert max(len(r.data) for r in reports) <= protocol.MAX_REPORT_BYTES
    assert [r.data for r in reports if r.file == other.states_file] == [other.states]
    ship(agent, panel, rounds=8)
    assert (panel.stored[loud.output_file], panel.stored[other.output_file]) == (loud.printed, other.printed)


@pytest.mark.parametrize("detail", ["", "x" * 300], ids=["a longer file", "a shorter file"])
@pytest.mark.parametrize("is_new_agent", [False, True])
def test_states_that_took_the_place_of_deleted_ones_arrive_whole(an_agent, panel, rank, detail, is_new_agent):
    one, agent = rank(), an_agent()
    one.folder.report(RankReport(RUNNING, 1, detail=detail))
    ship(agent, panel)
    before = panel.stored[one.states_file]
    (one.folder.path / "states").unlink()
    one.folder.report(ENDED_WELL)
    one.note_gathered()
    agent = an_agent() if is_new_agent else agent
    ship(agent, panel)
    assert panel.stored[one.states_file] == before + ENDED_WELL.line()
    assert one.folder.is_done()


def test_half_a_line_of_states_waits_for_its_end(an_agent, panel, rank):
    one, agent = rank(), an_agent()
    one.folder.report(RankReport(RUNNING, 1))
    whole = one.states
    with (one.folder.path / "states").open("ab") as states:
        states.write(b'{"state": "en')
    ship(agent, panel)
    assert panel.stored == {one.states_file: whole}


def test_a_gap_at_the_end_of_a_log_is_told_and_told_again_after_a_wipe(an_agent, panel, rank):
    one, agent = rank(), an_agent()
    spool = SpoolWriter(one.folder.rank_folder / "output", cap_bytes=5)
    spool.write(b"hello, world")
    spool.close()
    agent.tick()
    panel.take()
    ship(agent, panel)
    assert panel.stored[one.output_file] == b"hello"
    assert {(gap.offset, gap.dropped_bytes) for gap in panel.gaps} == {(5, 7)}
    panel.gaps.clear()
    ship(agent, panel)
    assert panel.gaps == []
    panel.redis.flushall()
    agent._beat_at = 0.0
    ship(agent, panel)
    assert {(gap.offset, gap.dropped_bytes) for gap in panel.gaps} == {(5, 7)}


# -- What is broken ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["orders/start", "states"])
def test_a_broken_folder_holds_up_no_other_and_is_told_of(an_agent, panel, rank, broken):
    bad, good, agent = rank(), rank(), an_agent()
    if broken == "orders/start":
        (bad.folder.path / "orders/start").write_bytes(b"")
        bad.folder.report(RankReport(RUNNING, 1))
    else:
        (bad.folder.path / "states").mkdir()
    good.print(b"hello\n")
    good.folder.report(RankReport(RUNNING, 1))
    ship(agent, panel)
    assert panel.stored == {good.output_file: b"hello\n", good.states_file: good.states}
    assert set(panel.beats[0].workloads) == {str(bad.folder), str(good.folder)}


def test_a_folder_that_is_sound_again_is_shipped(an_agent, panel, rank, monkeypatch):
    monkeypatch.setattr(shipper, "TROUBLE_S", 0.0)
    one, agent = rank(), an_agent()
    order = (one.folder.path / "orders/start").read_bytes()
    one.print(b"hello\n")
    (one.folder.path / "orders/start").write_bytes(b"")
    ship(agent, panel)
    assert panel.stored == {}
    (one.folder.path / "orders/start").write_bytes(order)
    ship(agent, panel)
    assert panel.stored == {one.output_file: b"hello\n"}


def test_bytes_that_are_gone_from_the_disk_hold_up_no_other(an_agent, panel, rank):
    cut, good, agent = rank(), rank(), an_agent()
    cut.print(bytes(SPOOL_FILE_BYTES + 10))
    ship(agent, panel, rounds=8)
    cut.folder.spool("output").drop_before(SPOOL_FILE_BYTES)
    panel.say(cut.output_file, "7")  # restored: it wants them again
    cut.folder.report(ENDED_WELL)
    cut.note_gathered()
    good.print(b"hello\n")
    agent._beat_at = 0.0
    ship(agent, panel)
    assert panel.stored[good.output_file] == b"hello\n"
    assert panel.stored[cut.states_file] == cut.states
    assert not cut.folder.is_done()


def test_an_acknowledged_log_is_let_go_but_for_its_last_part(an_agent, panel, rank, monkeypatch):
    monkeypatch.setattr(shipper, "KEEP_ACKED_BYTES", SPOOL_FILE_BYTES)
    one, agent = rank(), an_agent()
    one.print(bytes(3 * SPOOL_FILE_BYTES))
    ship(agent, panel, rounds=10)
    assert len(panel.stored[one.output_file]) == 3 * SPOOL_FILE_BYTES
    assert one.folder.spool("output").start() == 2 * SPOOL_FILE_BYTES


# -- The heartbeat -----------------------------------------------------------------------------------------


def test_one_heartbeat_at_a_time_names_what_has_not_ended(an_agent, panel, rank):
    living, over, agent = rank(), rank(), an_agent()
    over.folder.report(ENDED_WELL)
    over.note_gathered()
    for _ in range(3):
        agent._beat_at = 0.0
        agent.tick()
    (beat,) = [Heartbeat.from_data(r.data) for r in panel.read() if r.kind == protocol.REPORT_HEARTBEAT]
    assert (beat.workloads, beat.ended) == ((str(living.folder),), (str(over.folder),))
    assert beat.disk_free_bytes > 0


def test_of_what_is_offered_one_of_each_kind_is_on_its_way(an_agent, panel):
    agent = an_agent()

    def sent() -> list[tuple[str, bytes]]:
        return [(report.kind, report.data) for report in panel.read() if report.kind != protocol.REPORT_HEARTBEAT]

    for data in (b"1", b"2"):
        agent.offer(protocol.REPORT_SAMPLES, data)
        agent.offer(protocol.REPORT_AGENT, data)
    agent.tick()
    assert sent() == [(protocol.REPORT_SAMPLES, b"2"), (protocol.REPORT_AGENT, b"2")]
    agent.offer(protocol.REPORT_AGENT, b"3")
    agent.tick()  # the panel has not read yet: it is dropped
    panel.redis.delete(protocol.reports_key(HOST))
    agent.tick()
    assert sent() == []
    agent.offer(protocol.REPORT_AGENT, b"4")
    agent.tick()
    assert sent() == [(protocol.REPORT_AGENT, b"4")]


def test_orders_that_nobody_takes_are_counted(an_agent, panel):
    agent = an_agent()
    panel.redis.lpush(protocol.orders_key(HOST), "order")
    for beats in (1, 2):
        agent._beat_at = 0.0
        agent.tick()
        assert agent.orders_waiting == beats
    panel.redis.delete(protocol.orders_key(HOST))
    agent._beat_at = 0.0
    agent.tick()
    assert agent.orders_waiting == 0


def test_a_redis_that_does_not_know_this_host_is_told_to_the_session(home, valkey):
    stop, told = threading.Event(), []

    def locked_out() -> None:
        told.append(1)
        stop.set()

    url = f"redis://nobody:wrong@{valkey.url.removeprefix('redis://').rpartition('@')[2]}"
    Shipper(home, host_id=HOST, redis_url=url, session=lambda: 1, on_locked_out=locked_out).run(stop)
    assert told == [1]
