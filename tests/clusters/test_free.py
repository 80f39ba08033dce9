"""What is free now, and whether a request would start: from the same rooms as placement's."""

from __future__ import annotations

from types import SimpleNamespace
from uuid import uuid4

import pytest

from clusters import catalogue, free
from clusters.catalogue import Accelerator
from clusters.placement import HostRoom, Inventory
from clusters.specs import Request


def room(name="tpu-1", *, cluster="west", free=(0, 1), total=4, **more):
    return HostRoom(host=uuid4(), name=name, cluster=cluster, accelerator="cpu", free=free, total=total, **more)


def clusters(*names):
    return [SimpleNamespace(name=name, accelerator="cpu") for name in names]


def told(*rooms, names=("west",)):
    return [
        (one.cluster, one.free, one.total, one.hosts, one.cordoned, one.silent)
        for one in free.rooms(clusters(*names), Inventory(rooms))
    ]


def test_chips_are_counted_by_cluster_in_the_order_of_their_names():
    rooms = (room(), room(free=()), room(cluster="east", free=(0,), total=1))
    assert told(*rooms, names=("west", "north", "east")) == [
        ("east", 1, 1, 1, 0, 0),
        ("north", 0, 0, 0, 0, 0),
        ("west", 2, 8, 2, 0, 0),
    ]


def test_cordoned_and_silent_hosts_are_counted_apart():
    rooms = (room(), room(cordoned=True), room(silent=True), room(cordoned=True, silent=True))
    assert told(*rooms) == [("west", 2, 4, 4, 2, 1)]


@pytest.mark.parametrize(
    ("rooms", "words", "apart"),
    [
        ((), "no host yet", ""),
        ((room(),), "2 of 4 slots free", ""),
        ((room(free=(0,), total=1),), "1 of 1 slot free", ""),
        ((room(cordoned=True),), "no host can take work", "1 host cordoned"),
        (
            (room(), room(cordoned=True), room(cordoned=True), room(silent=True)),
            "2 of 4 slots free",
            "2 hosts cordoned, 1 host silent",
        ),
    ],
)
def test_words_say_what_is_free(rooms, words, apart):
    (found,) = free.rooms(clusters("west"), Inventory(rooms))
    assert (found.free_words, found.apart_words) == (words, apart)


@pytest.mark.parametrize(
    ("chips", "cluster", "state", "sentence"),
    [
        (2, "", "now", "Starts now on tpu-1."),
        (3, "", "waits", "It needs 3 slots of cpu on one host; 2 of 4 are free. It starts when enough of the others are."),
        (2, "east", "waits", "No host has cpu: enrol one, and it starts."),
        (5, "", "never", "It would wait: no host has 5 slots of cpu; the largest has 4."),
    ],
)
def test_the_outlook_is_what_placement_says(chips, cluster, state, sentence):
    found = free.outlook(Request("cpu", chips, cluster), Inventory((room(),)))
    assert (found.state, found.sentence) == (state, sentence)


def test_words_say_what_its_hosts_are(monkeypatch):
    (found,) = free.rooms(clusters("west"), Inventory((room(), room())))
    assert found.kind_words == "cpu, 2 hosts"
    (empty,) = free.rooms(clusters("west"), Inventory(()))
    assert empty.kind_words == "cpu"
    monkeypatch.setitem(catalogue.CATALOGUE, "cpu", Accelerator(name="cpu", title="CPU", unit="chip", hbm_gib_per_chip=16))
    assert found.kind_words == "cpu, 2 hosts, 16 GiB HBM a chip"
