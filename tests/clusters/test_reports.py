"""What hosts report, as the inbox hands it on: taken once, by offset, and only of what was placed there."""

from __future__ import annotations

import json
import math
import uuid

import pytest

from agent import protocol
from agent.protocol import AgentReport, BuiltRuntime, FileLine, Gap, Heartbeat, PointsLine, RankReport, Report, Samples
from clusters import models, orders, reports, workloads
from clusters.models import Host, Order, OutputFile, Rank
from clusters.reports import Acks
from monitoring import logs, metrics
from monitoring.models import Log, MetricSeries
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_host

pytestmark = pytest.mark.django_db

RUNNING = RankReport(state="running", at_ms=1).line()
ENDED = RankReport(state="ended", at_ms=2, cause="exited", exit_code=0).line()


@pytest.fixture
def host(db):
    return a_host(name="tpu-1")


@pytest.fixture
def workload(host):
    return steps.claimed(host)


def sent(take, host, *chunks, file="", now=NOON):
    """What the host is told after (offset, data) chunks of a file, or chunks of no file, were taken."""
    acks = Acks()
    if file:
        found = [Report(1, "", data, file, offset, *more) for offset, data, *more in chunks]
    else:
        found = [Report(1, "", data) for data in chunks]
    take(host, found, acks, now=now)
    return acks.wanted


def set_aside(host):
    return [event.data for event in host.subject.events.filter(code="host.report-set-aside").order_by("seq")]


def states_file(workload, rank=0):
    return protocol.states_file(str(workload.pk), rank)


UNKNOWN = uuid.UUID(int=17)
STRANGE_FILES = ["x", "a/b", f"{UNKNOWN}/0/output", f"{UNKNOWN}/x/output", f"{UNKNOWN}/-1/output", "x/0/output", "../0/output"]


# -- Logs ----------------------------------------------------------------------------------------------------


def test_log_bytes_are_stored_at_their_offset_and_the_next_one_is_wanted(host, workload):
    file = protocol.log_file(str(workload.pk), 0, "output")
    assert sent(reports.take_log, host, (0, b"hel"), (3, b"lo\n", ((3, 99),)), file=file, now=after(3)) == {file: "6"}
    (log,) = Log.objects.all()
    assert (log.subject, log.workload_id, log.rank, log.part, log.last_at) == (
        workload.subject,
        workload.pk,
        0,
        "output",
        after(3),
    )
    assert (logs.read(log, 0, 99), logs.marks(log, 0, 99)) == (b"hello\n", [(3, 99)])


def test_log_bytes_that_come_again_change_nothing_and_a_hole_asks_for_what_is_missing(host, workload):
    file = protocol.log_file(str(workload.pk), 0, "output")
    gap = Gap(3, 500, 1, 2)
    for _ in range(2):
        assert sent(reports.take_log, host, (0, b"abc", (), (gap,)), file=file) == {file: "3"}
    assert sent(reports.take_log, host, (5, b"f"), file=file) == {file: "3"}
    (log,) = Log.objects.all()
    assert (logs.read(log, 0, 99), log.dropped_bytes) == (b"abc", 500)


def test_a_log_may_come_after_its_rank_has_ended(host, workload):
    file = protocol.log_file(str(workload.pk), 0, "prepare")
    steps.says(workload, final_offsets={"prepare": 4}, **steps.EXITED_WELL)
    assert sent(reports.take_log, host, (0, b"late"), file=file) == {file: "4"}
    assert Log.objects.get(part="prepare").is_complete


@pytest.mark.parametrize("take", [reports.take_log, reports.take_states, reports.take_points, reports.take_files])
def test_a_file_of_nothing_that_was_placed_here_is_refused(host, workload, take):
    for file in [*STRANGE_FILES, f"{workload.pk}/1/output", f"{workload.pk}/{10**30}/output"]:
        assert sent(take, host, (0, b"data\n"), file=file) == {file: "refused"}
    assert not Log.objects.exists() and not MetricSeries.objects.exists() and not OutputFile.objects.exists()


@pytest.mark.parametrize(
    ("take", "what"),
    [
        (reports.take_log, "output"),
        (reports.take_states, "states"),
        (reports.take_points, "points"),
        (reports.take_files, "files"),
    ],
)
def test_a_file_of_another_hosts_rank_is_refused(host, workload, take, what):
    stranger, file = a_host(), f"{workload.pk}/0/{what}"
    data = {
        "output": b"stolen",
        "states": ENDED,
        "points": PointsLine("f", 1, {"loss": ([1], [1], [1.0])}).line(),
        "files": FileLine("output", "x", 1, 1).line(),
    }[what]
    assert sent(take, stranger, (0, data), file=file) == {file: "refused"}
    assert (steps.ranks_of(workload), Log.objects.count(), MetricSeries.objects.count()) == ([("claimed", "")], 0, 0)
    assert not OutputFile.objects.exists()


def test_a_part_that_no_log_has_is_refused(host, workload):
    file = f"{workload.pk}/0/secrets"
    assert sent(reports.take_log, host, (0, b"x"), file=file) == {file: "refused"}
    assert not Log.objects.exists()


# -- States --------------------------------------------------------------------------------------------------


def test_states_are_taken_line_by_line(host, workload):
    file = states_file(workload)
    assert sent(reports.take_states, host, (0, RUNNING), file=file) == {file: str(len(RUNNING))}
    assert (steps.state(workload)[0], Rank.objects.get().states_offset) == ("running", len(RUNNING))
    total = len(RUNNING + ENDED)
    assert sent(reports.take_states, host, (len(RUNNING), ENDED), file=file) == {file: str(total)}
    assert (steps.state(workload), Rank.objects.get().states_offset) == (("exited", "run", "succeeded", "succeeded"), total)


def test_states_that_come_again_change_nothing(host, workload):
    file = states_file(workload)
    for _ in range(2):
        assert sent(reports.take_states, host, (0, RUNNING + ENDED), file=file) == {file: str(len(RUNNING + ENDED))}
    assert steps.events_of(workload).count("workload.exited") == 1
    assert steps.leases(workload) == [(1, 0, 0)]


def test_states_beyond_a_hole_are_not_taken(host, workload):
    file = states_file(workload)
    assert sent(reports.take_states, host, (len(RUNNING), ENDED), file=file) == {file: "0"}
    assert sent(reports.take_states, host, (0, RUNNING), (len(RUNNING) + 1, ENDED), file=file) == {file: str(len(RUNNING))}
    assert steps.state(workload)[0] == "running"


@pytest.mark.parametrize("cut", [1, len(RUNNING) - 1, len(RUNNING), len(RUNNING) + 5])
def test_a_half_line_waits_for_its_other_half(host, workload, cut):
    file, both = states_file(workload), RUNNING + ENDED
    whole = len(RUNNING) if cut >= len(RUNNING) else 0
    assert sent(reports.take_states, host, (0, both[:cut]), file=file) == {file: str(whole)}
    assert steps.state(workload)[0] == ("running" if whole else "preparing")
    assert sent(reports.take_states, host, (whole, both[whole:]), file=file) == {file: str(len(both))}
    assert steps.state(workload)[2] == "succeeded"


@pytest.mark.parametrize(
    "garbage",
    [
        b"\n",
        b"not json\n",
        b"[]\n",
        b'{"state": "flying", "at_ms": 1}\n',
        b'{"state": "running"}\n',
        b'{"state": "ended", "at_ms": 1, "cause": "exited", "exit_code": "seven"}\n',
        b'{"state": "preparing", "at_ms": 1, "detail": 7}\n',
        b'{"state": "running", "at_ms": 1, "final_offsets": {"secrets": 1}}\n',
        b'{"state": "running", "at_ms": 1, "final_offsets": {"output": -1}}\n',
        b"\xff\xfe\n",
        b"nul: \0\n",
    ],
)
def test_a_line_that_is_no_report_stops_none_behind_it(host, workload, garbage):
    file, data = states_file(workload), RUNNING + garbage + ENDED
    assert sent(reports.take_states, host, (0, data), file=file) == {file: str(len(data))}
    assert (steps.state(workload)[2], steps.held_chips()) == ("succeeded", 0)
    [told] = set_aside(host)
    assert told == {"workload": str(workload.pk), "rank": 0, "error": told["error"]} and told["error"].endswith("Error")


@pytest.mark.parametrize(("said", "kept"), [("no\0thing", "no\N{REPLACEMENT CHARACTER}thing"), ("caf\udce9", "caf?")])
def test_an_end_with_words_that_no_database_stores_is_still_an_end(host, workload, said, kept):
    """A name with a byte that is no UTF-8 stands so in an OSError's words."""
    line = RankReport(state="ended", at_ms=2, cause="prepare-failed", detail=said).line()
    sent(reports.take_states, host, (0, line), file=states_file(workload))
    assert (steps.state(workload)[2:], steps.held_chips()) == (("failed", "prepare-failed"), 0)
    assert steps.fresh(workload).reason == f"Preparing failed on tpu-1: {kept}"


# -- Points --------------------------------------------------------------------------------------------------


def test_points_are_stored_by_name_as_they_came(host, workload):
    file = protocol.points_file(str(workload.pk), 0)
    first = PointsLine("events", 10, {"loss": ([1, 2], [100, 200], [0.5, 0.25]), "lr": ([1], [100], [0.1])}).line()
    second = PointsLine("events", 20, {"loss": ([3], [300], [float("nan")])}).line()
    assert sent(reports.take_points, host, (0, first + second), file=file) == {file: str(len(first + second))}
    assert sent(reports.take_points, host, (0, first), file=file) == {file: str(len(first + second))}
    assert metrics.heads(workload.subject) == {"loss": 3, "lr": 1}
    series = MetricSeries.objects.get(name="loss")
    assert (series.workload_id, series.rank, series.last_step, series.last_value) == (workload.pk, 0, 3, None)
    assert (Rank.objects.get().points_offset, Rank.objects.get().states_offset) == (len(first + second), 0)


@pytest.mark.parametrize("garbage", [b"\n", b"[1]\n", b'{"f": "x", "o": 1, "p": {"loss": [[1], [1, 2], [1]]}}\n', b"\xff\0\n"])
def test_a_line_that_is_no_points_is_passed_over(host, workload, garbage):
    file = protocol.points_file(str(workload.pk), 0)
    data = garbage + PointsLine("events", 1, {"loss": ([1], [1], [1.0])}).line()
    assert sent(reports.take_points, host, (0, data), file=file) == {file: str(len(data))}
    assert metrics.heads(workload.subject) == {"loss": 1}
    assert len(set_aside(host)) == 1


@pytest.mark.parametrize("what", ["states", "points", "files"])
@pytest.mark.parametrize(
    "line", [b"the-secret\n", b'{"p": {"the-secret": 7}, "f": "x", "o": "the-secret"}\n', b"[" * 9999 + b"\n"]
)
def test_a_hosts_event_shows_nothing_of_a_line_of_somebodys_job(host, workload, what, line):
    file = f"{workload.pk}/0/{what}"
    assert sent(getattr(reports, f"take_{what}"), host, (0, line), file=file) == {file: str(len(line))}
    [event] = host.subject.events.filter(code="host.report-set-aside")
    assert "the-secret" not in f"{event.sentence} {event.data}"


@pytest.mark.parametrize(
    ("step", "wall_ms", "value"),
    [("1", 1, 1), (2**63, 1, 1), (1, 10**30, 1), (1, -1, 1), (1.5, 1, 1), (1, 1, 10**400), (1, 1, "x"), (1, 1, None)],
    ids=["text", "far-step", "far-time", "before-time", "half-step", "huge", "word", "nothing"],
)
def test_a_point_that_is_none_is_left_out_and_the_rest_is_kept(host, workload, step, wall_ms, value):
    file = protocol.points_file(str(workload.pk), 0)
    data = PointsLine("m", 1, {"loss": ([1, step, 2], [1, wall_ms, 2], [0.5, value, math.inf]), "x\0": ([1], [1], [1.0])}).line()
    assert sent(reports.take_points, host, (0, data), file=file) == {file: str(len(data))}
    assert (metrics.heads(workload.subject), set_aside(host)) == ({"loss": 2}, [])


def test_too_many_metrics_are_told_of_once(host, workload, monkeypatch, django_capture_on_commit_callbacks):
    monkeypatch.setattr(metrics, "MAX_SERIES", 2)
    file, whole = protocol.points_file(str(workload.pk), 0), b""
    for names in (["a", "b"], ["a", "c"], ["d"]):
        line = PointsLine("m", 1, {name: ([1], [1], [1.0]) for name in names}).line()
        with django_capture_on_commit_callbacks(execute=True):
            sent(reports.take_points, host, (len(whole), line), file=file)
        whole += line
    assert metrics.heads(workload.subject) == {"a": 2, "b": 1}
    [event] = workload.subject.events.filter(code="metrics.too-many")
    assert event.sentence == "It has more than 2 metrics: those with further names are not kept."
    assert not host.subject.events.filter(code="metrics.too-many").exists()


# -- Files ---------------------------------------------------------------------------------------------------


def files_of(workload):
    rows = OutputFile.objects.filter(rank__workload=workload).order_by("area", "path")
    return [(row.area, row.path, row.size_bytes, int(row.modified_at.timestamp() * 1000), row.gone) for row in rows]


def test_files_are_stored_as_they_are_told_of(host, workload):
    file = protocol.files_file(str(workload.pk), 0)
    first = FileLine("output", "a/b.txt", 5, 1000).line() + FileLine("checkpoints", "ckpt", 7, 2000).line()
    second = FileLine("output", "a/b.txt", 9, 3000).line() + FileLine("checkpoints", "ckpt", gone=True).line()
    assert sent(reports.take_files, host, (0, first), file=file) == {file: str(len(first))}
    assert files_of(workload) == [("checkpoints", "ckpt", 7, 2000, False), ("output", "a/b.txt", 5, 1000, False)]
    pk = OutputFile.objects.get(path="a/b.txt").pk
    total = len(first + second)
    for offset, data in ((len(first), second), (0, first), (0, first + second)):
        assert sent(reports.take_files, host, (offset, data), file=file) == {file: str(total)}
    assert files_of(workload) == [("checkpoints", "ckpt", 7, 2000, True), ("output", "a/b.txt", 9, 3000, False)]
    assert OutputFile.objects.get(path="a/b.txt").pk == pk
    assert (Rank.objects.get().files_offset, Rank.objects.get().points_offset) == (total, 0)


def test_files_beyond_a_hole_or_in_half_a_line_are_not_taken(host, workload):
    file, line = protocol.files_file(str(workload.pk), 0), FileLine("output", "x", 1, 1).line()
    assert sent(reports.take_files, host, (1, line), file=file) == {file: "0"}
    assert sent(reports.take_files, host, (0, line[:-1]), file=file) == {file: "0"}
    assert files_of(workload) == []


@pytest.mark.parametrize("garbage", [b"\n", b"[1]\n", b'{"a":"output","p":"../../etc/passwd","s":1,"m":1}\n', b"\xff\0\n"])
def test_a_line_that_is_no_file_is_passed_over(host, workload, garbage):
    file = protocol.files_file(str(workload.pk), 0)
    data = garbage + FileLine("output", "x", 1, 1).line()
    assert sent(reports.take_files, host, (0, data), file=file) == {file: str(len(data))}
    assert files_of(workload) == [("output", "x", 1, 1, False)]
    assert len(set_aside(host)) == 1


# -- Samples -------------------------------------------------------------------------------------------------


def test_samples_go_to_the_host_and_to_the_work_on_it(host, workload):
    elsewhere = steps.claimed(a_host())
    of_others = {str(elsewhere.pk): {"cpu_percent": 1.0}, str(uuid.uuid4()): {"cpu_percent": 1.0}, "x": {"cpu_percent": 1.0}}
    one = Samples(1000, {"cpu_percent": 50.0}, {str(workload.pk): {"cpu_percent": 7.0}} | of_others).data()
    two = Samples(2000, {"cpu_percent": 60.0}, {}).data()
    assert sent(reports.take_samples, host, one, two) == {}
    assert metrics.heads(host.subject) == {"cpu_percent": 2}
    assert metrics.heads(workload.subject) == {"cpu_percent": 1}
    assert metrics.heads(elsewhere.subject) == {}
    assert MetricSeries.objects.get(subject=host.subject).last_value == 60.0


def test_samples_of_nothing_are_a_mistake_that_changes_nothing(host):
    for garbage in (b"[]", b"{}", b"nothing", b'{"at_ms": 1, "host": [], "workloads": {}}'):
        with pytest.raises(ValueError):
            sent(reports.take_samples, host, garbage)
    assert not MetricSeries.objects.exists()


# -- What agents say of themselves ---------------------------------------------------------------------------


def test_what_an_agent_says_last_of_itself_stands(host):
    old = AgentReport(0, "old\n", ()).data()
    new = AgentReport(0, "nul \0 and \udc80\n", (BuiltRuntime("a" * 64, 2**40, 1000),)).data()
    assert sent(reports.take_agent, host, old) == {}
    assert sent(reports.take_agent, host, old, new) == {}
    report = models.AgentReport.objects.get(host=host)
    assert (report.at, report.log) == (NOON, "nul \N{REPLACEMENT CHARACTER} and ?\n")
    assert report.runtimes == [{"digest": "a" * 64, "size_bytes": 2**40, "used_ms": 1000}]


@pytest.mark.parametrize(
    "runtimes",
    [
        "x",
        [1],
        [{"digest": "a"}],
        [{"digest": "a", "size_bytes": -1, "used_ms": 0}],
        [{"digest": "a", "size_bytes": 0, "used_ms": 10**18}],
    ],
)
def test_what_is_no_report_of_an_agent_changes_nothing(host, runtimes):
    for garbage in (json.dumps({"at_ms": 1, "log": "", "runtimes": runtimes}).encode(), b"[]", b"{}", b"nothing"):
        with pytest.raises(ValueError):
            sent(reports.take_agent, host, garbage)
    assert not models.AgentReport.objects.exists()


# -- Heartbeats ----------------------------------------------------------------------------------------------


def beat(host, *held, now=NOON, **fields):
    at_ms = int(now.timestamp() * 1000)
    said = Heartbeat(**{"at_ms": at_ms, "version": "2.1", "workloads": tuple(map(str, held)), "disk_free_bytes": 9} | fields)
    return sent(reports.take_heartbeat, host, said.data(), now=now)


def test_the_newest_heartbeat_says_how_a_host_is(host):
    old = Heartbeat(0, "1.0", (), 1).data()
    new = Heartbeat(int(NOON.timestamp() * 1000) + 250, "2.1", (), 5 * 2**40).data()
    assert sent(reports.take_heartbeat, host, old, new) == {}
    row = Host.objects.get(pk=host.pk)
    assert (row.agent_version, row.clock_offset_ms, row.disk_free_bytes) == ("2.1", 250, 5 * 2**40)


def test_what_a_host_holds_rightly_gets_no_stop(host, workload):
    beat(host, workload.pk, now=after(500))
    assert steps.open_orders(host) == []
    assert steps.state(workload)[0] == "preparing"


def test_what_the_panel_does_not_know_is_stopped_once(host):
    unknown = uuid.uuid4()
    for second in (0, 3, 6):
        beat(host, unknown, now=after(second))
    assert list(Order.objects.values_list("kind", "workload_id", "data", "created_at")) == [
        ("stop", unknown, {"grace_s": 0}, NOON)
    ]


def test_what_is_another_hosts_or_was_to_stop_or_has_ended_is_stopped(host):
    elsewhere, to_stop, ended = steps.running(a_host()), steps.running(host), steps.running(host)
    workloads.want_stop(to_stop.pk, code="canceled", grace_s=20, now=NOON, by="ada")
    Order.objects.all().delete()  # Redis and the outbox lost it
    steps.says(ended, **steps.EXITED_WELL)
    beat(host, elsewhere.pk, to_stop.pk, ended.pk)
    found = {order.workload_id: order.data["grace_s"] for order in Order.objects.open().filter(host=host)}
    assert found == {elsewhere.pk: 0, to_stop.pk: 20, ended.pk: 0}
    assert steps.state(elsewhere)[0] == "running"


def test_a_lost_or_abandoned_workload_that_a_host_still_holds_is_stopped(host):
    lost, abandoned = steps.running(host), steps.running(host)
    workloads.lose(lost, host=host.name, silent_s=900, now=NOON)
    workloads.want_stop(abandoned.pk, code="canceled", grace_s=20, now=NOON, by="ada")
    workloads.abandon(abandoned.pk, now=NOON)
    Order.objects.all().delete()
    beat(host, lost.pk, abandoned.pk)
    assert {order.workload_id for order in Order.objects.open()} == {lost.pk, abandoned.pk}


def test_a_stop_is_confirmed_once_the_host_no_longer_holds_the_workload(host):
    unknown = uuid.uuid4()
    beat(host, unknown, now=NOON)
    beat(host, now=after(30))  # it may have been on its way
    assert len(steps.open_orders(host)) == 1
    beat(host, unknown, now=after(31))
    assert len(steps.open_orders(host)) == 1
    beat(host, now=after(31))
    assert Order.objects.get().confirmed_at == after(31)


def test_a_heartbeat_confirms_no_stop_of_work_that_has_not_ended(host, workload):
    """The host has claimed it and does not list it yet: the stop must reach it."""
    workloads.want_stop(workload.pk, code="canceled", grace_s=20, now=NOON, by="ada")
    other = a_host()
    orders.stop(other.pk, uuid.uuid4(), grace_s=0, now=NOON)
    beat(host, now=after(500))
    assert (steps.open_orders(host), len(steps.open_orders(other))) == ([("stop", {"grace_s": 20})], 1)


@pytest.mark.parametrize("garbage", [b"", b"[]", b"{}", b'{"at_ms": 1, "version": "1", "workloads": 5, "disk_free_bytes": 1}'])
def test_a_heartbeat_that_is_none_changes_nothing(host, workload, garbage):
    before = Host.objects.values().get(pk=host.pk)
    with pytest.raises(ValueError):
        sent(reports.take_heartbeat, host, garbage)
    assert (Host.objects.values().get(pk=host.pk), steps.open_orders(host)) == (before, [])


def test_a_folder_on_a_hosts_disk_that_is_no_workload_hides_no_other(host):
    unknown = uuid.uuid4()
    beat(host, "lost+found", unknown)
    assert Order.objects.get().workload_id == unknown
    assert Host.objects.get().disk_free_bytes == 9


# -- Folders that are gone --------------------------------------------------------------------------------------


def test_what_a_host_claimed_and_no_longer_knows_is_stopped(host, workload, settings):
    settings.FOLDER_GONE_S = 30
    steps.says(workload, state="running")
    beat(host, now=after(29))
    assert steps.state(workload)[:2] == ("running", "run")
    beat(host, workload.pk, now=after(31))
    beat(host, now=after(31), ended=[str(workload.pk)])  # its end is on the way
    assert steps.state(workload)[:2] == ("running", "run")
    beat(host, now=after(32))
    assert (steps.state(workload)[1], steps.fresh(workload).stop_code, steps.open_orders(host)) == (
        "stop",
        "folder-gone",
        [("stop", {"grace_s": 0})],
    )
