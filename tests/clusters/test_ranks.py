import pytest

from agent import protocol
from clusters import ranks, workloads
from clusters.models import Cluster, Host, Order
from monitoring import logs
from projects import secrets
from projects.actors import Actor
from projects.errors import Conflict, Gone, NotFound
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_cluster, a_host, a_project, a_user

pytestmark = pytest.mark.django_db


def rank_row(workload, number=0):
    return workload.ranks.get(number=number)


# -- Claimed -------------------------------------------------------------------------------------------------


def test_a_claim_gets_the_spec_and_confirms_the_order():
    host = a_host(cluster=a_cluster(files_root="/files"), chips=3)
    project = a_project()
    secrets.put(project=project, name="KEY", value="a-long-secret", by=Actor(user=a_user()))
    workload = steps.ordered(
        host,
        project=project,
        command=["train", "--fast"],
        environment={"MINE": "yes", "PJRT_DEVICE": "TPU"},
        secrets=["KEY"],
        source={"kind": "archive", "digest": "d", "title": "t"},
        runtime={"name": "torch", "digest": "r"},
        output="vit/17/1",
        checkpoints="vit/17/checkpoints",
        stop_grace_s=12,
    )
    start = steps.claim(workload, now=after(4))
    assert start == protocol.Start(
        workload_id=str(workload.pk),
        rank=0,
        ranks=1,
        command=["train", "--fast"],
        environment={
            "PJRT_DEVICE": "TPU",  # the spec's own word counts
            "TPU_SKIP_MDS_QUERY": "1",
            "PANEL_SUBJECT": workload.subject.address,
            "PANEL_RANK": "0",
            "PANEL_CHIPS": "0",
            "MINE": "yes",
        },
        secrets={"KEY": "a-long-secret"},
        chips=[0],
        stop_grace_s=12,
        source={"kind": "archive", "digest": "d", "title": "t"},
        runtime={"name": "torch", "digest": "r"},
        files_root="/files",
        output="vit/17/1",
        checkpoints="vit/17/checkpoints",
    )
    rank = rank_row(workload)
    assert (rank.state, rank.claimed_session, rank.claimed_at) == ("claimed", 1, after(4))
    assert Order.objects.get().confirmed_at == after(4)
    assert steps.state(workload) == ("preparing", "run", "", "preparing")
    assert "a-long-secret" not in repr(workload.spec_json)


def test_of_hosts_that_see_the_same_files_the_first_ranks_tells_of_them():
    cluster = a_cluster(files_root="/files")
    hosts = [a_host(cluster=cluster), a_host(cluster=cluster)]
    for is_shared, lists in ((False, [True, True]), (True, [True, False])):
        Cluster.objects.update(files_shared=is_shared)
        workload = steps.ordered(hosts)
        assert [steps.claim(workload, rank).lists_files for rank in (0, 1)] == lists


def test_the_same_session_may_claim_again_and_gets_the_same_answer():
    workload = steps.ordered()
    first, again = steps.claim(workload), steps.claim(workload, now=after(5))
    assert first == again
    assert rank_row(workload).claimed_at == NOON
    assert steps.events_of(workload) == ["workload.ordered", "workload.preparing"]


def test_another_session_gets_nothing_and_takes_nothing_away():
    workload = steps.claimed()
    host = rank_row(workload).host
    Host.objects.filter(pk=host.pk).update(session=2)
    with pytest.raises(Conflict) as refused:
        steps.claim(workload, now=after(5))
    assert refused.value.code == "claimed"
    rank = rank_row(workload)
    assert (rank.state, rank.claimed_session, rank.claimed_at) == ("claimed", 1, NOON)


def test_another_hosts_rank_does_not_exist():
    workload, stranger = steps.ordered(), a_host()
    for number, host in ((0, stranger), (1, rank_row(workload).host)):
        with pytest.raises(NotFound):
            ranks.claim(workload.pk, number, host=host, now=NOON)
    with pytest.raises(NotFound):
        ranks.claim(stranger.pk, 0, host=stranger, now=NOON)  # no workload's id
    assert steps.ranks_of(workload) == [("ordered", "")]


def test_a_stop_that_came_first_makes_the_claim_void():
    workload = steps.ordered()
    workloads.want_stop(workload.pk, code="canceled", grace_s=0, now=NOON, by="ada")
    with pytest.raises(Gone) as refused:
        steps.claim(workload)
    assert refused.value.code == "workload-ended"
    assert (rank_row(workload).claimed_session, steps.held_chips()) == (None, 0)


def test_a_stop_that_came_second_makes_the_next_claim_void():
    """An agent that was restarted between claim and start asks again, and starts nothing."""
    workload = steps.claimed()
    workloads.want_stop(workload.pk, code="canceled", grace_s=0, now=NOON, by="ada")
    with pytest.raises(Gone):
        steps.claim(workload)
    assert (steps.state(workload)[0], steps.held_chips(workload)) == ("stopping", 1)


def test_a_rank_that_has_ended_is_not_claimed_again():
    workload = steps.claimed()
    steps.says(workload, **steps.FAILED)
    with pytest.raises(Gone):
        steps.claim(workload)
    assert steps.state(workload) == ("exited", "run", "failed", "exit-code")


def test_a_claim_whose_secret_is_gone_ends_the_rank_and_says_why():
    host = a_host(name="tpu-1")
    workload = steps.ordered(host, secrets=["KEY"])
    with pytest.raises(Gone) as refused:
        steps.claim(workload, now=after(2))
    assert refused.value.code == "secret-missing"
    assert steps.ranks_of(workload) == [("ended", "prepare-failed")]
    assert steps.state(workload) == ("exited", "run", "failed", "prepare-failed")
    assert steps.fresh(workload).reason == "Preparing failed on tpu-1: The project has no secret KEY."
    assert (steps.held_chips(), steps.leases(workload), steps.open_orders(host)) == (0, [(1, 0, 2)], [])


def test_a_gang_of_which_one_cannot_be_claimed_ends_whole():
    first, second = a_host(), a_host()
    project = a_project()
    secrets.put(project=project, name="KEY", value="a-long-secret", by=Actor(user=a_user()))
    workload = steps.ordered([first, second], project=project, secrets=["KEY"])
    steps.claim(workload, 0)
    secrets.remove(project=project, name="KEY", by=Actor(user=a_user()))
    with pytest.raises(Gone):
        steps.claim(workload, 1)
    assert steps.ranks_of(workload) == [("claimed", ""), ("ended", "prepare-failed")]
    assert steps.state(workload)[:2] == ("stopping", "stop")
    assert steps.open_orders(first) == [("stop", {"grace_s": 30})]


# -- Reported ------------------------------------------------------------------------------------------------


def test_a_rank_moves_as_its_host_says():
    workload = steps.claimed()
    seen = []
    for second, report in enumerate(
        [{"state": "preparing", "detail": "building"}, {"state": "ready"}, {"state": "running"}, steps.EXITED_WELL]
    ):
        steps.says(workload, now=after(second), **report)
        seen.append((rank_row(workload).state, steps.state(workload)[0]))
    assert seen == [("preparing", "preparing"), ("ready", "ready"), ("running", "running"), ("ended", "exited")]
    rank = rank_row(workload)
    assert (rank.running_at, rank.ended_at, rank.exit_code, rank.signal, rank.cause) == (after(2), after(3), 0, None, "exited")
    assert workload.subject.events.get(code="rank.preparing").sentence == "building"
    assert steps.leases(workload) == [(1, 0, 3)]


def test_a_repeated_word_changes_nothing():
    workload = steps.running()
    before = steps.fresh(workload)
    steps.says(workload, state="running", now=after(9))
    steps.says(workload, state="preparing", detail="late", now=after(9))
    assert (rank_row(workload).running_at, rank_row(workload).detail) == (NOON, "")
    assert (steps.fresh(workload).version, "rank.preparing" in steps.events_of(workload)) == (before.version, False)
    steps.says(workload, now=after(10), **steps.FAILED)
    for late in (steps.EXITED_WELL, {"state": "running"}, steps.FAILED):
        steps.says(workload, now=after(20), **late)
    rank = rank_row(workload)
    assert (rank.exit_code, rank.ended_at, steps.leases(workload)) == (7, after(10), [(1, 0, 10)])
    assert steps.state(workload) == ("exited", "run", "failed", "exit-code")
    assert steps.events_of(workload).count("workload.exited") == 1


def test_a_short_command_is_over_before_it_was_said_to_run():
    workload = steps.claimed()
    steps.says(workload, **steps.EXITED_WELL)
    assert steps.state(workload) == ("exited", "run", "succeeded", "succeeded")
    assert (rank_row(workload).running_at, steps.fresh(workload).running_at, steps.held_chips()) == (None, None, 0)


def test_nothing_that_was_not_claimed_runs():
    workload = steps.ordered()
    steps.says(workload, state="running")
    assert (steps.ranks_of(workload), steps.state(workload)[0]) == ([("ordered", "")], "ordered")


def test_a_rank_that_was_stopped_before_its_command_began_frees_its_chips():
    workload = steps.claimed()
    workloads.want_stop(workload.pk, code="canceled", grace_s=0, now=NOON, by="ada")
    steps.says(workload, state="ended", cause="not-started")
    assert (steps.state(workload), steps.held_chips()) == (("exited", "stop", "stopped", "canceled"), 0)


def test_the_end_says_how_long_each_log_is():
    workload = steps.running()
    steps.says(workload, final_offsets={"output": 9, "prepare": 0}, **steps.EXITED_WELL)
    assert {head.part: (head.head_offset, head.final_offset) for head in logs.heads(workload.subject)} == {
        "output": (0, 9),
        "prepare": (0, 0),
    }


def test_of_a_lost_workload_only_the_end_is_taken():
    workload = steps.claimed()
    workloads.lose(workload, host="tpu-1", silent_s=900, now=after(900))
    steps.says(workload, state="running", now=after(901))
    assert steps.ranks_of(workload) == [("claimed", "")]
    assert (rank_row(workload).running_at, steps.held_chips(workload)) == (None, 1)
    steps.says(workload, now=after(902), **steps.STOPPED)
    assert (steps.ranks_of(workload), steps.held_chips()) == ([("ended", "stopped")], 0)
    assert steps.state(workload) == ("lost", "stop", "", "host-lost")
    event = workload.subject.events.last()
    assert (event.code, event.sentence) == ("rank.gone", f"Nothing of rank 0 is left on {workload.place}.")


def test_only_a_host_that_runs_it_may_have_a_source():
    source = {"kind": "archive", "digest": "d", "title": "t"}
    host, stranger = a_host(), a_host()
    workload = steps.claimed(host, source=source)
    steps.claimed(stranger)
    assert (ranks.runs_source(host, "d"), ranks.runs_source(host, "e"), ranks.runs_source(stranger, "d")) == (True, False, False)
    steps.says(workload, **steps.EXITED_WELL)
    assert not ranks.runs_source(host, "d")
