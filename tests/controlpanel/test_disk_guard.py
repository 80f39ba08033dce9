"""With the disk nearly full no log byte is taken, and none is lost."""

from __future__ import annotations

import pytest

from agent import protocol
from clusters.models import Rank
from controlpanel.disk_guard import DiskGuard, free_share
from monitoring import conditions, logs
from monitoring.models import Condition
from tests.clusters.steps import after
from tests.controlpanel.test_inbox import Panel, host, log_report, panel, states_report, workload  # noqa: F401
from tests.factories import NOON, a_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def disk(settings):
    """A disk whose free share the test says; the guard's is 10 %."""
    settings.DISK_GUARD_SHARE = 0.10

    class Disk:
        free = 0.5

        def __call__(self) -> float:
            return self.free

    return Disk()


def test_the_real_disk_has_a_share_left(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "not" / "there" / "yet"
    assert 0 < free_share() < 1


def test_it_holds_below_the_share_and_lets_pass_above_a_margin(disk):
    guard, seen = DiskGuard(measure=disk), []
    for free in (0.10, 0.0999, 0.11, 0.1199, 0.12, 0.11):
        disk.free = free
        seen.append((guard.look(now=NOON), guard.is_holding))
    assert seen == [(True, False), (False, True), (False, True), (False, True), (True, False), (False, False)]


def test_a_condition_tells_of_it_for_as_long_as_it_lasts(disk):
    guard = DiskGuard(measure=disk)
    guard.look(now=NOON)
    assert conditions.present() == []
    disk.free = 0.05
    guard.look(now=after(1))
    disk.free = 0.04
    guard.look(now=after(2))
    ((condition, sentence),) = conditions.present()
    assert (condition.since, sentence[:46]) == (after(1), "The panel's disk has only 4.0 % left, so it ta")
    disk.free = 0.5
    guard.look(now=after(3))
    assert not Condition.objects.exists()


def test_pages_show_it(client):
    conditions.begin(conditions.DISK_LOW, now=NOON, free="4.0", wanted="6.0")
    client.force_login(a_user())
    for path in ("/jobs", "/conditions"):
        assert "has only 4.0 % left" in client.get(path).content.decode()
    assert client.post("/conditions").status_code == 405


def test_held_bytes_are_not_stored_and_come_afterwards_without_a_gap(panel: Panel, workload, host, disk):  # noqa: F811
    panel.inbox.disk = DiskGuard(measure=disk)
    file = protocol.log_file(str(workload.pk), 0, "output")
    panel.sends(host, log_report(workload, b"hello\n"))
    panel.tick()
    disk.free = 0.01
    panel.sends(host, log_report(workload, b"more\n", offset=6), states_report(workload))
    panel.tick(at=1)
    log = logs.find_log(workload.subject, workload.pk, 0, "output")
    assert (log.head_offset, panel.acks(host)[file], panel.left(host)) == (6, "hold", 0)
    assert Rank.objects.get(workload=workload).state == "running"  # what is no log goes on
    disk.free = 0.5
    panel.tick(at=2)
    assert panel.acks(host)[file] == "6"
    panel.sends(host, log_report(workload, b"more\n", offset=6))
    panel.tick(at=3)
    log.refresh_from_db()
    assert (logs.read(log, 0, 100), panel.acks(host)[file]) == (b"hello\nmore\n", "11")


def test_a_log_that_began_while_all_were_held_is_wanted_from_its_start_by_the_next_inbox(panel: Panel, workload, host, disk):  # noqa: F811
    disk.free = 0.01
    panel.inbox.disk = DiskGuard(measure=disk)
    panel.sends(host, log_report(workload))
    panel.tick()
    file = protocol.log_file(str(workload.pk), 0, "output")
    assert panel.acks(host)[file] == "hold"
    panel.inbox.disk = DiskGuard(measure=disk)  # as an inbox that starts does
    disk.free = 0.5
    panel.tick(at=1)
    assert panel.acks(host)[file] == "0"
