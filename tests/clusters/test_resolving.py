"""A git ref becomes a commit before anything is placed, or the workload ends and says why."""

from __future__ import annotations

import pytest

from clusters import git, resolving, scheduling, sweep, workloads
from clusters.models import Chore, Workload
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_host, a_workload

pytestmark = pytest.mark.django_db
COMMIT = "0123456789abcdef" * 2 + "01234567"
GIT = {"kind": "git", "address": "https://localhost/code.git", "ref": "main"}


@pytest.fixture
def asked(monkeypatch):
    """What the git server is asked; it knows main."""
    questions = []

    def resolve(address, ref):
        questions.append((address, ref))
        if ref != "main":
            raise git.Unresolved(f"{address} has no {ref}")
        return COMMIT

    monkeypatch.setattr(git, "resolve", resolve)
    return questions


@pytest.fixture
def waiting():
    a_host(heard_at=after(1000))
    return a_workload(source=GIT)


def test_placement_skips_it_and_it_says_that_it_waits_for_its_source(waiting):
    assert scheduling.schedule(now=after(1)) == 0
    assert steps.state(waiting) == ("waiting", "run", "", "source-unresolved")
    reason = "main of https://localhost/code.git has not been resolved to a commit yet; it ends when that takes longer than 60 s."
    assert Workload.objects.get().reason == reason
    assert list(Chore.objects.values_list("kind", "target")) == [("resolve-source", str(waiting.pk))]


def test_its_commit_is_recorded_and_it_is_placed(waiting, asked):
    version = steps.fresh(waiting).version
    resolving.resolve(str(waiting.pk))
    resolved = steps.fresh(waiting)
    assert (resolved.spec.source, resolved.awaits_source) == (GIT | {"commit": COMMIT}, False)
    assert (resolved.version, steps.events_of(waiting)) == (version + 1, ["source.resolved"])
    assert scheduling.schedule(now=after(1)) == 1
    assert steps.claim(waiting).source == GIT | {"commit": COMMIT}


def test_resolved_twice_is_asked_once(waiting, asked):
    for _ in range(2):
        resolving.resolve(str(waiting.pk))
    assert (asked, steps.events_of(waiting)) == ([("https://localhost/code.git", "main")], ["source.resolved"])


def test_a_ref_that_is_not_there_ends_it_with_the_servers_words(asked):
    made = a_workload(source=GIT | {"ref": "nowhere"})
    resolving.resolve(str(made.pk))
    assert steps.state(made) == ("exited", "run", "failed", "source-failed")
    assert steps.fresh(made).reason == "Its source could not be had: https://localhost/code.git has no nowhere"


def test_a_commit_that_comes_after_the_stop_changes_nothing(waiting, asked, monkeypatch):
    def stopped_meanwhile(*_):
        workloads.want_stop(waiting.pk, code="canceled", grace_s=0, now=NOON, by="ada")
        return COMMIT

    monkeypatch.setattr(git, "resolve", stopped_meanwhile)
    resolving.resolve(str(waiting.pk))
    assert (steps.state(waiting)[0], steps.fresh(waiting).spec.source) == ("exited", GIT)


def test_when_nobody_resolves_it_it_ends_in_time(waiting, settings):
    sweep.end_unresolved(now=after(settings.SOURCE_DEADLINE_S - 1))
    assert steps.state(waiting)[0] == "waiting"
    sweep.end_unresolved(now=after(settings.SOURCE_DEADLINE_S))
    assert steps.state(waiting) == ("exited", "run", "failed", "source-unresolved")


def test_a_source_with_its_commit_waits_for_nothing():
    assert not a_workload(source=GIT | {"commit": COMMIT}).awaits_source
    assert not Chore.objects.exists()
