import time
import uuid
from collections import Counter

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from clusters.placement import Choice, HostRoom, Inventory, Refusal, Waiting, place, plan
from clusters.specs import Request


def a_room(name="a", *, free=4, total=None, cluster="one", accelerator="cpu", cordoned=False, silent=False, doubtful=False):
    total = free if total is None else total
    return HostRoom(
        uuid.uuid4(), name, cluster, accelerator, tuple(range(total - free, total)), total, cordoned, silent, doubtful
    )


def ask(chips, *, cluster="", accelerator="cpu"):
    return Request(accelerator=accelerator, chips=chips, cluster=cluster)


def refusal(request, *rooms):
    found = place(request, Inventory(rooms))
    assert isinstance(found, Refusal), found
    return found.code, found.data


sizes = st.tuples(st.integers(0, 8), st.integers(0, 8)).map(sorted)
rooms = st.builds(
    lambda size, **more: a_room(free=size[0], total=size[1], **more),
    size=sizes,
    cluster=st.sampled_from(["one", "two"]),
    accelerator=st.sampled_from(["cpu", "v5e"]),
    cordoned=st.booleans(),
    silent=st.booleans(),
    doubtful=st.booleans(),
)
requests = st.builds(
    Request,
    accelerator=st.sampled_from(["cpu", "v5e", "v6e"]),
    chips=st.integers(1, 9),
    cluster=st.sampled_from(["", "one", "two"]),
)


@given(found=st.lists(rooms, max_size=5), asked=st.lists(requests, max_size=12))
@hypothesis_settings(max_examples=300, deadline=None)
def test_a_plan_gives_no_chip_twice_and_refuses_only_what_does_not_fit(found, asked):
    line = [Waiting(uuid.uuid4(), request) for request in asked]
    by_host = {room.host: room for room in found}
    left = {room.host: set(room.free) for room in found}
    decisions = list(plan(line, Inventory(tuple(found))))
    assert [waiting for waiting, _ in decisions] == line
    for waiting, decision in decisions:
        request = waiting.request
        fitting = [
            room
            for room in found
            if room.accelerator == request.accelerator
            and request.cluster in ("", room.cluster)
            and not room.silent
            and not room.cordoned
            and len(left[room.host]) >= request.chips
        ]
        if isinstance(decision, Refusal):
            assert not fitting
            continue
        (chosen,) = decision.places
        assert by_host[chosen.host] in fitting
        assert len(chosen.chips) == len(set(chosen.chips)) == request.chips
        assert left[chosen.host] >= set(chosen.chips)
        left[chosen.host] -= set(chosen.chips)


@given(found=st.lists(rooms, max_size=5), request=requests)
@hypothesis_settings(max_examples=300, deadline=None)
def test_a_reason_is_true_of_the_hosts_that_there_are(found, request):
    decision = place(request, Inventory(tuple(found)))
    if isinstance(decision, Choice):
        return
    suited = [r for r in found if r.accelerator == request.accelerator and request.cluster in ("", r.cluster)]
    large_enough = [r for r in suited if r.total >= request.chips]
    usable = [r for r in large_enough if not r.silent and not r.cordoned]
    assert {
        "no-host": not suited,
        "too-large": suited and not large_enough,
        "hosts-silent": large_enough and not usable and any(r.silent for r in large_enough),
        "hosts-cordoned": large_enough and not usable and all(r.cordoned and not r.silent for r in large_enough),
        "chips-busy": usable and all(len(r.free) < request.chips for r in usable),
    }[decision.code]


def test_hosts_are_filled_one_after_the_other_from_their_lowest_chip():
    first, second = a_room("a", free=2, total=4), a_room("b", free=4)
    chosen = [decision.places[0] for _, decision in plan([Waiting(uuid.uuid4(), ask(2))] * 2, Inventory((first, second)))]
    assert [(place.host, place.chips) for place in chosen] == [(first.host, (2, 3)), (second.host, (0, 1))]


def test_a_host_that_let_an_order_pass_is_filled_last():
    doubtful, other = a_room("a", doubtful=True), a_room("b")
    line = [Waiting(uuid.uuid4(), ask(2)) for _ in range(4)]
    decisions = [decision for _, decision in plan(line, Inventory((doubtful, other)))]
    assert [choice.places[0].host for choice in decisions] == [other.host, other.host, doubtful.host, doubtful.host]


def test_a_small_one_may_start_while_a_large_one_waits():
    line = [Waiting(uuid.uuid4(), ask(4)), Waiting(uuid.uuid4(), ask(1))]
    large, small = (decision for _, decision in plan(line, Inventory((a_room(free=2, total=4),))))
    assert (large.code, small.places[0].chips) == ("chips-busy", (2,))


def test_the_reason_says_what_would_let_it_start():
    assert refusal(ask(1)) == ("no-host", {"accelerator": "cpu"})
    assert refusal(ask(1), a_room(accelerator="v5e")) == ("no-host", {"accelerator": "cpu"})
    assert refusal(ask(1, cluster="two"), a_room(cluster="one")) == ("no-host", {"accelerator": "cpu"})
    assert refusal(ask(5), a_room(free=4)) == ("too-large", {"accelerator": "cpu", "chips": 5, "largest": 4})
    assert refusal(ask(1), a_room("q", silent=True)) == ("hosts-silent", {"accelerator": "cpu", "host": "q"})
    assert refusal(ask(1), a_room(cordoned=True)) == ("hosts-cordoned", {"accelerator": "cpu"})
    assert refusal(ask(3), a_room(free=1, total=4), a_room(free=2, total=4)) == (
        "chips-busy",
        {"accelerator": "cpu", "chips": 3, "free": 3, "total": 8},
    )


def test_a_small_host_that_is_free_does_not_hide_that_the_large_one_is_silent_or_cordoned():
    assert refusal(ask(8), a_room(free=4), a_room("large", free=8, silent=True))[0] == "hosts-silent"
    assert refusal(ask(8), a_room(free=4), a_room("large", free=8, cordoned=True))[0] == "hosts-cordoned"


def test_ten_thousand_that_wait_cost_one_look():
    hosts = tuple(a_room(f"h{i}", free=8) for i in range(100))
    line = [Waiting(uuid.uuid4(), ask(1 + i % 8)) for i in range(10_000)]
    begun = time.process_time()
    codes = Counter(d.code if isinstance(d, Refusal) else "placed" for _, d in plan(line, Inventory(hosts)))
    assert time.process_time() - begun < 2
    assert codes["placed"] >= 100 and sum(codes.values()) == 10_000
