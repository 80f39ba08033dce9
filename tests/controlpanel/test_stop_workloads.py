from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from controlpanel import local_agent
from tests.clusters import steps
from tests.factories import a_host, a_workload

pytestmark = pytest.mark.django_db


@pytest.fixture
def two(monkeypatch):
    """Ordered on the local host, and on another."""
    here, there = a_host(), a_host()
    monkeypatch.setattr(local_agent, "enrolled_host", lambda var: str(here.pk))
    return steps.ordered(here), steps.ordered(there)


def states(*found):
    return [steps.state(one)[0] for one in found]


def test_here_is_what_runs_on_the_local_host_alone(two, capsys):
    waiting = a_workload()
    call_command("stop_workloads", "--here")
    assert states(*two, waiting) == ["exited", "ordered", "waiting"]
    assert two[0].subject.address in capsys.readouterr().out


def test_without_a_local_host_nothing_is_here(two, monkeypatch, capsys):
    monkeypatch.setattr(local_agent, "enrolled_host", lambda var: "")
    call_command("stop_workloads", "--here")
    assert (states(*two), capsys.readouterr().out) == (["ordered", "ordered"], "")


def test_all_that_runs_or_waits_is_ended(two):
    waiting = a_workload()
    call_command("stop_workloads")
    assert states(*two, waiting) == ["exited"] * 3


def test_what_does_not_end_in_time_is_named(two, monkeypatch):
    running = steps.running()
    monkeypatch.setattr("time.monotonic", iter(range(0, 1000, 100)).__next__)
    with pytest.raises(CommandError, match=f"not ended: .*{running.subject.address}"):
        call_command("stop_workloads", "--grace", "1")
