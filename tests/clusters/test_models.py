"""What must hold in the data, and a way to break each of it."""

import pytest
from django.apps import apps
from django.db import IntegrityError, transaction
from django.db.models import F, ProtectedError

from clusters.models import (
    Chip,
    Chore,
    Cluster,
    EnrolmentToken,
    Host,
    Lease,
    Order,
    OutputFile,
    Rank,
    Slice,
    Source,
    Upload,
    Workload,
)
from tests.clusters import constraints, steps
from tests.clusters.steps import after
from tests.factories import NOON, a_cluster, a_host, a_project, a_workload

pytestmark = pytest.mark.django_db
MODELS = list(apps.get_app_config("clusters").get_models())


def again(row, **change):
    """The same row once more, but for its primary key and `change`."""
    for name, value in ({"pk": None} | change).items():
        setattr(row, name, value)
    row._state.adding = True
    row.save(force_insert=True)


def changed(row, **change):
    type(row).objects.filter(pk=row.pk).update(**change)


def second_host(*same, **change):
    """A host that shares these fields with another one."""
    one, two = a_host(), a_host()
    changed(two, **{name: getattr(one, name) for name in same} | change)


def rank():
    return steps.ordered().ranks.get()


def lease():
    return steps.ordered().leases.get()


def a_chip():
    return a_host(chips=1).chips.get()


def an_enrolment_token():
    return EnrolmentToken.objects.create(token_hash="t", cluster=a_cluster(), created_at=NOON, expires_at=NOON)


def an_upload():
    source = Source.objects.create(digest="0" * 64, title="code", size_bytes=1)
    return Upload.objects.create(project=a_project(), source=source, name="code.zip", created_at=NOON)


def a_chore():
    return Chore.objects.create(kind="resolve-source", target="t", created_at=NOON)


def a_fetch():
    return steps.a_fetch(steps.a_file())


CASES = {
    # what a field says
    "cluster.name": lambda: again(a_cluster()),
    "host.token_hash": lambda: second_host("token_hash"),
    "enrolmenttoken.token_hash": lambda: again(an_enrolment_token()),
    # Meta.constraints
    "upload_once_a_project": lambda: again(an_upload()),
    "chore_once_while_open": lambda: again(a_chore()),
    "workload_placed_has_source": lambda: changed(steps.running(), awaits_source=True),
    "slice_name_once_a_cluster": lambda: again(Slice.objects.get(pk=a_host().slice_id)),
    "host_place_once_a_slice": lambda: second_host("slice_id"),
    "machine_once_a_slice": lambda: second_host("slice_id", "machine_id", number=1),
    "host_state_known": lambda: changed(a_host(), state="asleep"),
    "chip_once_a_host": lambda: again(a_chip()),
    "order_once_while_open": lambda: again(Order.objects.get(workload_id=steps.ordered().pk)),
    "workload_state_known": lambda: changed(a_workload(), state="asleep"),
    "workload_followed_not_ahead": lambda: changed(a_workload(), followed_version=F("version") + 1),
    "workload_ended_has_moment": lambda: changed(a_workload(), state="exited"),
    "rank_once_a_workload": lambda: again(rank(), host=a_host()),
    "rank_once_a_host": lambda: again(rank(), number=1),
    "rank_state_known": lambda: changed(rank(), state="asleep"),
    "rank_ended_has_moment": lambda: changed(rank(), state="ended"),
    "file_once_a_rank": lambda: again(steps.a_file()),
    "file_area_known": lambda: changed(steps.a_file(), area="secrets"),
    "fetch_once_while_open": lambda: again(a_fetch()),
    "fetch_state_known": lambda: changed(a_fetch(), state="asleep"),
    "fetch_receives_no_more_than_there_is": lambda: changed(a_fetch(), received_bytes=F("size_bytes") + 1),
    "lease_once_a_rank": lambda: again(lease()),
    "lease_ends_after_start": lambda: changed(lease(), to_ms=F("from_ms") - 1),
}


def test_every_constraint_has_a_case():
    assert set(CASES) == constraints.named(MODELS)


@pytest.mark.parametrize("name", CASES)
def test_a_constraint_holds(name):
    constraints.broken(name, CASES, MODELS)


def test_the_other_half_of_each_moment_holds_too():
    """Ended without a moment is refused above; a moment without an end here."""
    for row in (a_workload(), rank()):
        with pytest.raises(IntegrityError, match="ended_has_moment"), transaction.atomic():
            changed(row, ended_at=NOON)


def test_what_the_constraints_allow():
    one, other = a_host(chips=1), a_host(chips=1)
    assert Chip.objects.filter(number=0).count() == 2
    assert {one.number, other.number} == {0}
    order = Order.objects.get(workload_id=steps.ordered(one).pk)
    changed(order, confirmed_at=after(1))
    again(order, confirmed_at=None)
    again(Order.objects.first(), confirmed_at=None, kind="stop")
    changed(Lease.objects.get(), to_ms=F("from_ms"))
    assert Order.objects.count() == 3
    again(Order.objects.get(kind="stop"), target="17")
    again(OutputFile.objects.get(pk=steps.a_file().pk), area="checkpoints")
    fetch = a_fetch()
    changed(fetch, state="complete")
    again(fetch, state="wanted")


def test_what_others_hang_from_stays():
    workload = steps.running()
    host = Host.objects.get()
    for row in (host, host.slice, host.slice.cluster, host.subject, workload, workload.subject, workload.project):
        with pytest.raises(ProtectedError):
            row.delete()
    assert (Cluster.objects.count(), Rank.objects.count(), Workload.objects.count()) == (1, 1, 1)
