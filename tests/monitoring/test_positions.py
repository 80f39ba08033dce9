from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitoring.positions import MAX_EVENTS, ByteRoom, EventPosition, LogPosition

LOG = bytes(range(256)) * 2


@given(
    data=st.data(),
    start=st.integers(0, 60),
    limit=st.integers(1, 200),
)
def test_sent_bytes_have_no_hole_and_no_repeat_whatever_is_heard(data, start, limit):
    """Messages lost, repeated, overlapping or out of order; fills in between; a room that is soon full."""
    room = ByteRoom(limit_bytes=80)
    position, sent = LogPosition(start, room), b""
    for _ in range(data.draw(st.integers(0, 30))):
        match data.draw(st.sampled_from(["hear", "take", "fill", "word"])):
            case "hear":
                offset = data.draw(st.integers(0, 300))
                position.hear(offset, LOG[offset : offset + data.draw(st.integers(0, 50))])
            case "word":
                position.hear(None, None)
            case "take":
                taken = position.take(limit)
                if taken:
                    assert taken[0] == start + len(sent)
                    sent += taken[1]
            case "fill":
                found = LOG[position.offset : position.offset + data.draw(st.integers(0, 40))]
                position.offset += len(found)
                sent += found
        assert sent == LOG[start : start + len(sent)]
        assert position.offset == start + len(sent)
        assert 0 <= room.used_bytes <= room.limit_bytes


def test_what_comes_live_during_a_fill_is_joined_to_it():
    position = LogPosition(0, ByteRoom())
    position.hear(100, LOG[100:150])
    position.hear(150, LOG[150:160])
    position.offset, position.must_fill = 120, False
    assert (position.take(1000), position.must_fill, position.has_more) == ((120, LOG[120:160]), False, False)


def test_a_hole_is_filled_from_the_store():
    position = LogPosition(0, ByteRoom(), must_fill=False)
    position.hear(10, b"x")
    assert (position.take(1000), position.must_fill) == (None, True)


def test_who_is_paused_hears_nothing_until_they_say_where_to_go_on():
    position = LogPosition(0, ByteRoom(), must_fill=False)
    position.hear(0, b"abc")
    position.pause()
    position.hear(3, b"def")
    assert (position.take(10), position.room.used_bytes, position.has_more) == (None, 0, False)
    position.go_to(3)
    assert (position.offset, position.must_fill, position.is_paused) == (3, True, False)


def test_a_full_room_of_one_socket_sends_its_logs_to_the_store():
    room = ByteRoom(limit_bytes=10)
    first, second = LogPosition(0, room, must_fill=False), LogPosition(0, room, must_fill=False)
    first.hear(0, b"x" * 8)
    second.hear(0, b"x" * 8)
    assert (first.must_fill, second.must_fill, room.used_bytes) == (False, True, 8)


def numbers(*seqs: int) -> list[dict[str, int]]:
    return [{"seq": seq} for seq in seqs]


@given(st.lists(st.integers(1, 12), max_size=30), st.lists(st.booleans(), min_size=30, max_size=30))
def test_events_are_sent_in_order_without_hole_or_repeat(heard, takes):
    position, sent = EventPosition(0), []
    for seq, is_taken in zip(heard, takes, strict=False):
        position.hear({"seq": seq})
        if is_taken:
            sent += [event["seq"] for event in position.take()]
        assert sent == list(range(1, position.seq + 1))


def test_events_below_the_fill_are_dropped_and_a_hole_is_filled():
    position = EventPosition(0, must_fill=False)
    for event in numbers(3, 4, 5):
        position.hear(event)
    assert (position.take(), position.must_fill) == ([], True)
    position.seq, position.must_fill = 4, False
    assert (position.take(), position.seq, position.must_fill) == (numbers(5), 5, False)


def test_too_many_events_are_left_to_the_store():
    position = EventPosition(0, must_fill=False)
    for event in numbers(*range(1, MAX_EVENTS + 3)):
        position.hear(event)
    assert (position.take(), position.must_fill) == ([], True)
