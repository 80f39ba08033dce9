"""The one door for reports, with a real Valkey behind it."""

from __future__ import annotations

import pytest
import redis
from django.db import OperationalError

from agent import protocol
from agent.protocol import FileLine, Heartbeat, PointsLine, RankReport, Report
from clusters import holding, host_access, silence
from clusters.enrolment import hashed
from clusters.models import Host, Loop, OutputFile, Rank
from clusters.states import HostState
from controlpanel import inbox
from controlpanel.host_keys import HostKeys
from controlpanel.inbox import Inbox
from monitoring import logs, metrics
from monitoring.models import Log
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_host

pytestmark = pytest.mark.django_db

RUNNING = RankReport(state="running", at_ms=1).line()
ENDED = RankReport(state="ended", at_ms=2, cause="exited", exit_code=0).line()


class Panel:
    """An inbox at a moment that the test chooses, and what is left in Valkey."""

    def __init__(self, valkey) -> None:
        self.valkey = valkey
        self.redis = valkey.client()
        self.inbox = Inbox()
        self.seconds = 0.0

    def tick(self, *, at: float | None = None) -> None:
        self.seconds = self.seconds if at is None else at
        self.inbox.looked_at = 0.0  # a second has passed
        self.inbox.tick()

    def now(self):
        return after(self.seconds)

    def sends(self, host, *reports: Report) -> None:
        for report in reports:
            self.redis.xadd(protocol.reports_key(str(host.pk)), report.fields())

    def left(self, host) -> int:
        return self.redis.xlen(protocol.reports_key(str(host.pk)))

    def acks(self, host) -> dict[str, str]:
        return {k.decode(): v.decode() for k, v in self.redis.hgetall(protocol.acks_key(str(host.pk))).items()}


@pytest.fixture
def panel(valkey, monkeypatch):
    panel = Panel(valkey)
    monkeypatch.setattr(inbox.timezone, "now", panel.now)
    holding.hold(silence.INBOX, "tests", now=NOON)
    return panel


@pytest.fixture
def host(db):
    return a_host(name="tpu-1", heard_at=None)


@pytest.fixture
def workload(host):
    return steps.claimed(host)


def log_report(workload, data=b"hello\n", *, offset=0, session=1):
    return Report(session, protocol.REPORT_LOG, data, protocol.log_file(str(workload.pk), 0, "output"), offset)


def states_report(workload, data=RUNNING, *, offset=0, session=1):
    return Report(session, protocol.REPORT_STATES, data, protocol.states_file(str(workload.pk), 0), offset)


def beat(*held, ended=(), session=1):
    data = Heartbeat(int(NOON.timestamp() * 1000), "2.1", tuple(map(str, held)), 9, tuple(map(str, ended))).data()
    return Report(session, protocol.REPORT_HEARTBEAT, data)


def set_aside(host):
    return host.subject.events.filter(code="host.report-set-aside").count()


# -- Taken ---------------------------------------------------------------------------------------------------


def test_what_a_host_reports_is_stored_acknowledged_and_deleted(panel, host, workload):
    points = PointsLine("f", 1, {"loss": ([1], [1], [0.5])}).line()
    points_file = protocol.points_file(str(workload.pk), 0)
    files = FileLine("output", "model.bin", 5, 9).line()
    files_file = protocol.files_file(str(workload.pk), 0)
    panel.sends(
        host,
        log_report(workload, b"hel"),
        states_report(workload, RUNNING),
        log_report(workload, b"lo\n", offset=3),
        Report(1, protocol.REPORT_POINTS, points, points_file),
        Report(1, protocol.REPORT_FILES, files, files_file),
        states_report(workload, ENDED, offset=len(RUNNING)),
        beat(workload.pk),
    )
    panel.tick(at=5)
    assert logs.read(Log.objects.get(), 0, 99) == b"hello\n"
    assert steps.state(workload) == ("exited", "run", "succeeded", "succeeded")
    assert metrics.heads(workload.subject) == {"loss": 1}
    assert Host.objects.values_list("heard_at", "agent_version").get() == (after(5), "2.1")
    assert panel.left(host) == 0
    assert panel.acks(host) == {
        protocol.log_file(str(workload.pk), 0, "output"): "6",
        protocol.states_file(str(workload.pk), 0): str(len(RUNNING + ENDED)),
        points_file: str(len(points)),
        files_file: str(len(files)),
    }
    assert OutputFile.objects.get().path == "model.bin"
    assert set_aside(host) == 0


def test_an_end_in_one_batch_with_the_heartbeat_after_it_is_taken_as_it_was(panel, host, workload):
    panel.sends(host, states_report(workload, RUNNING + ENDED), beat(ended=[workload.pk]))
    panel.tick(at=500)
    assert steps.state(workload) == ("exited", "run", "succeeded", "succeeded")


def test_a_crash_after_the_commit_makes_it_read_all_once_more_and_changes_nothing(panel, host, workload, monkeypatch):
    panel.sends(host, log_report(workload), states_report(workload))
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(HostKeys, "acknowledge", lambda *_: 1 / 0)
        panel.tick()
    assert (panel.left(host), steps.state(workload)[0]) == (2, "running")
    panel.inbox = Inbox()
    panel.tick()
    assert (panel.left(host), logs.read(Log.objects.get(), 0, 99)) == (0, b"hello\n")
    assert steps.events_of(workload).count("workload.running") == 1
    assert panel.acks(host)[protocol.states_file(str(workload.pk), 0)] == str(len(RUNNING))


def test_the_databases_trouble_leaves_everything_in_the_streams(panel, host, workload, monkeypatch):
    def locked(*_args, **_more):
        raise OperationalError("database is locked")

    panel.sends(host, log_report(workload), states_report(workload))
    with monkeypatch.context() as patch, pytest.raises(OperationalError):
        patch.setitem(inbox.KINDS, protocol.REPORT_STATES, locked)
        panel.tick()
    assert (panel.left(host), Log.objects.count(), set_aside(host)) == (2, 0, 0)
    assert set(panel.acks(host).values()) == {"0"}  # as it was told at first
    panel.tick()
    assert (panel.left(host), Log.objects.count(), steps.state(workload)[0]) == (0, 1, "running")


def test_hosts_that_come_later_are_heard_from_the_next_second_on(panel, host):
    panel.tick()
    late = a_host(heard_at=None)
    panel.sends(late, beat())
    panel.tick(at=3)
    assert (panel.left(late), Host.objects.get(pk=late.pk).heard_at) == (0, after(3))


# -- Not taken -----------------------------------------------------------------------------------------------


def test_entries_of_an_old_session_are_dropped(panel, host, workload):
    panel.tick()
    Host.objects.update(session=2)
    panel.sends(host, states_report(workload, session=1), log_report(workload, session=1))
    panel.tick()
    assert (steps.state(workload)[0], Log.objects.count(), panel.left(host)) == ("preparing", 0, 0)
    assert set(panel.acks(host).values()) == {"0"}  # as it was told at first


def test_a_session_that_was_opened_a_moment_ago_is_known(panel, host, workload):
    panel.tick()
    Host.objects.update(session=2)
    panel.sends(host, states_report(workload, session=2), states_report(workload, session=3))
    panel.inbox.tick()  # within the same second: it has not looked around
    assert (steps.state(workload)[0], panel.left(host)) == ("running", 0)


@pytest.mark.parametrize(
    "fields",
    [
        {"x": "y"},
        {"v": 1, "s": 1, "k": "gossip", "d": "x"},
        {"v": 99, "s": 1, "k": "log", "d": "x"},
        {"v": 1, "s": "one", "k": "log", "d": "x"},
        {"v": 1, "s": 1, "k": "log", "d": "x", "f": b"\xff", "o": 0},
        {"v": 1, "s": 1, "k": "log", "d": "x", "t": "[1]"},
        {"v": 1, "s": 1, "k": "log", "d": "x", "g": "[[1]]"},
    ],
)
def test_what_is_no_report_is_set_aside_and_the_others_are_taken(panel, host, workload, fields):
    panel.redis.xadd(protocol.reports_key(str(host.pk)), fields)
    panel.sends(host, states_report(workload))
    panel.tick()
    assert (set_aside(host), steps.state(workload)[0], panel.left(host)) == (1, "running", 0)


def test_a_report_that_raises_is_set_aside_and_the_others_are_taken(panel, host, workload, monkeypatch):
    other_host = a_host()
    other = steps.claimed(other_host)
    take_log = inbox.KINDS[protocol.REPORT_LOG]

    def picky(host, reports, acks, *, now):
        take_log(host, reports, acks, now=now)  # what it wrote before it raises does not stay
        assert b"bad" not in reports[0].data

    monkeypatch.setitem(inbox.KINDS, protocol.REPORT_LOG, picky)
    panel.sends(host, log_report(workload, b"bad"), states_report(workload))
    panel.sends(other_host, log_report(other, b"good"), states_report(other))
    panel.tick()
    assert [steps.state(one)[0] for one in (workload, other)] == ["running", "running"]
    assert [(log.workload_id, log.head_offset) for log in Log.objects.all()] == [(other.pk, 4)]
    assert (set_aside(host), set_aside(other_host)) == (1, 0)
    assert panel.acks(host)[protocol.log_file(str(workload.pk), 0, "output")] == "refused"
    assert panel.acks(other_host)[protocol.log_file(str(other.pk), 0, "output")] == "4"
    assert (panel.left(host), panel.left(other_host)) == (0, 0)


def test_a_report_of_no_file_that_raises_is_set_aside_too(panel, host):
    panel.sends(host, Report(1, protocol.REPORT_HEARTBEAT, b"[]"), Report(1, protocol.REPORT_SAMPLES, b"{}"))
    panel.tick(at=4)
    assert (set_aside(host), panel.left(host), panel.acks(host)) == (2, 0, {})
    assert Host.objects.get().heard_at == after(4)  # it is heard all the same


# -- Each second ---------------------------------------------------------------------------------------------


def test_a_redis_that_was_emptied_gets_its_users_back_and_hosts_are_told_what_is_wanted(panel, host, workload):
    Host.objects.update(redis_password_hash=hashed("password"))
    panel.sends(host, log_report(workload), states_report(workload))
    panel.tick()
    as_host = redis.Redis.from_url(host_access.url_for(host, "password"))
    assert as_host.ping()
    panel.valkey.kill()
    panel.valkey.start()
    with pytest.raises(redis.exceptions.AuthenticationError):
        redis.Redis.from_url(host_access.url_for(host, "password")).ping()
    panel.tick()
    assert redis.Redis.from_url(host_access.url_for(host, "password")).ping()
    assert panel.acks(host) == {
        protocol.log_file(str(workload.pk), 0, "output"): "6",
        protocol.states_file(str(workload.pk), 0): str(len(RUNNING)),
        protocol.points_file(str(workload.pk), 0): "0",
        protocol.files_file(str(workload.pk), 0): "0",
    }


def test_an_inbox_that_begins_tells_what_is_wanted_of_living_ranks_only(panel, host, workload):
    ended = steps.running(host)
    steps.says(ended, **steps.EXITED_WELL)
    Rank.objects.filter(workload=workload).update(states_offset=7, points_offset=8, files_offset=9)
    panel.tick()
    assert panel.acks(host) == {
        protocol.states_file(str(workload.pk), 0): "7",
        protocol.points_file(str(workload.pk), 0): "8",
        protocol.files_file(str(workload.pk), 0): "9",
    }


def test_a_new_password_is_applied_and_a_retired_host_is_out(panel, host):
    def can_come_in(password):
        try:
            return redis.Redis.from_url(host_access.url_for(host, password)).ping()
        except redis.exceptions.AuthenticationError:
            return False

    Host.objects.update(redis_password_hash=hashed("one"))
    panel.tick()
    assert can_come_in("one")
    Host.objects.update(redis_password_hash=hashed("two"))
    panel.tick()
    assert (can_come_in("one"), can_come_in("two")) == (False, True)
    panel.sends(host, beat())
    Host.objects.update(state=HostState.RETIRED)
    panel.tick()
    assert (can_come_in("two"), panel.redis.keys("host:*")) == (False, [])


def test_the_stretch_of_reading_grows_and_a_gap_begins_it_anew(panel, host):
    def stretch():
        return Loop.objects.values_list("reading_since", "read_at").get(name="inbox")

    seen = []
    for second in (0, 1, 11, 21.5, 22):
        panel.tick(at=second)
        seen.append(stretch())
    assert seen == [
        (NOON, NOON),
        (NOON, after(1)),
        (NOON, after(11)),
        (after(21.5), after(21.5)),
        (after(21.5), after(22)),
    ]


def test_acks_of_files_long_ended_are_forgotten(panel, host, workload):
    ended = steps.running(host)
    steps.says(ended, **steps.EXITED_WELL)
    for one in (workload, ended):
        panel.redis.hset(protocol.acks_key(str(host.pk)), protocol.log_file(str(one.pk), 0, "output"), "6")
    panel.redis.hset(protocol.acks_key(str(host.pk)), "no/such/file", "refused")
    panel.tick(at=7100)
    assert protocol.log_file(str(ended.pk), 0, "output") in panel.acks(host)
    panel.inbox.keys._forgot_at = -10_000.0
    panel.tick(at=7201)
    files = set(panel.acks(host))
    assert protocol.log_file(str(ended.pk), 0, "output") not in files and "no/such/file" not in files
    assert protocol.log_file(str(workload.pk), 0, "output") in files


def test_enough_bytes_are_sealed_without_waiting_for_the_next_second(panel, host, workload, settings):
    settings.LOG_SEAL_BYTES = 10
    panel.tick()
    panel.sends(host, log_report(workload, b"x" * 12))
    panel.inbox.tick()
    assert (Log.objects.get().sealed_offset, logs.read(Log.objects.get(), 0, 99)) == (12, b"x" * 12)
