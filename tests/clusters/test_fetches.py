"""A file is fetched when somebody wants it: one order, pieces in order, and what becomes of it when they stop coming."""

from __future__ import annotations

import pytest
from django.core.files.storage import storages

from agent.protocol import FETCH_PIECE_BYTES, FileLine
from clusters import fetches, files, pieces
from clusters.models import Fetch, Host, Order, OutputFile
from clusters.states import HostState
from monitoring import conditions
from projects.errors import Conflict, Gone, Invalid, NotFound
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_host

pytestmark = pytest.mark.django_db
BIG = bytes(range(256)) * (FETCH_PIECE_BYTES // 256) + b"the rest"


@pytest.fixture
def host(db) -> Host:
    return a_host(name="tpu-1")


@pytest.fixture
def file(host) -> OutputFile:
    return steps.a_file(steps.running(host, **steps.PLACED))


def bring(fetch: Fetch, offset: int, data: bytes, *, size: int, now=NOON, host: Host | None = None) -> int:
    """Where the host is to go on."""
    found = fetches.take_piece(fetch.pk, host=host or fetch.host, offset=offset, size_bytes=size, data=data, now=now)
    return found.received_bytes


def state(fetch: Fetch) -> tuple[str, int, int]:
    return Fetch.objects.values_list("state", "received_bytes", "size_bytes").get(pk=fetch.pk)


def stored(fetch: Fetch) -> bytes:
    data, offset = b"", 0
    while offset < fetch.size_bytes:
        data += pieces.read(fetch.pk, offset)
        offset = len(data)
    return data


# -- Wanted --------------------------------------------------------------------------------------------------


def test_who_wants_a_file_gets_one_order_for_it(host, file):
    fetch = fetches.want(file, now=NOON)
    assert fetches.want(file, now=after(1)) == fetch
    assert (state(fetch), fetch.host, fetch.moved_at) == (("wanted", 0, 10), host, NOON)
    place = {"files_root": "", "folder": "vit/17/1", "path": "model.bin"}
    assert steps.open_orders(host) == [("fetch-file", {"fetch": fetch.pk} | place)]
    assert Order.objects.get(kind="fetch-file").workload_id == file.rank.workload_id


def test_a_file_may_be_fetched_long_after_its_work_has_ended(host, file):
    fetch = fetches.want(file, now=NOON)
    steps.says(file.rank.workload, **steps.EXITED_WELL)
    assert [kind for kind, _data in steps.open_orders(host)] == ["fetch-file"]
    assert bring(fetch, 0, b"0123456789", size=10, now=after(5000)) == 10
    assert steps.open_orders(host) == []


def test_a_file_that_is_gone_or_whose_host_is_gone_is_not_asked_for(host, file):
    Host.objects.update(state=HostState.RETIRED)
    with pytest.raises(Gone, match="tpu-1 is retired"):
        fetches.want(OutputFile.objects.get(), now=NOON)
    files.note(file.rank, [FileLine("output", "model.bin", gone=True)])
    with pytest.raises(Gone, match=r"model\.bin is no longer on host tpu-1"):
        fetches.want(OutputFile.objects.get(), now=NOON)
    assert (Fetch.objects.count(), Order.objects.filter(kind="fetch-file").count()) == (0, 0)


def test_a_file_that_has_no_place_below_the_files_root_is_not_asked_for(host):
    with pytest.raises(Gone):
        fetches.want(steps.a_file(steps.running(host)), now=NOON)
    assert not Fetch.objects.exists()


def test_a_file_that_is_too_large_is_refused_with_where_it_lies(host, file, settings):
    settings.FETCH_MAX_BYTES = 9
    with pytest.raises(Conflict) as refused:
        fetches.want(file, now=NOON)
    assert refused.value.code == "file-too-large"
    assert refused.value.sentence.endswith("It lies on host tpu-1: files/vit/17/1/model.bin")
    assert not Fetch.objects.exists()


def test_while_the_panels_disk_is_low_nothing_new_is_fetched_and_what_is_there_serves(host, file):
    kept = steps.fetched(file, b"12345")
    other = steps.a_file(file.rank.workload, "other")
    conditions.begin(conditions.DISK_LOW, now=NOON, free="1.0", wanted="6.0")
    assert fetches.want(file, now=NOON) == kept
    with pytest.raises(Conflict, match="only 1.0 % left"):
        fetches.want(other, now=NOON)
    conditions.end(conditions.DISK_LOW)
    assert fetches.want(other, now=NOON).state == "wanted"


def test_a_file_that_turns_out_too_large_fails_with_where_it_lies(host, file, settings):
    settings.FETCH_MAX_BYTES = 10
    fetch = fetches.want(file, now=NOON)
    with pytest.raises(Gone):
        bring(fetch, 0, b"0123456789-", size=11)
    assert state(fetch)[0] == "failed"
    assert "files/vit/17/1/model.bin" in Fetch.objects.get().detail
    assert (pieces.all_fetches(), steps.open_orders(host)) == ([], [])


def test_a_silent_host_is_named(host, file):
    fetch = fetches.want(file, now=NOON)
    assert fetches.why_it_waits(fetch) == ""
    steps.the_inbox_has_read(until=after(60))
    assert fetches.why_it_waits(fetch) == "Host tpu-1 is silent; the file comes when it is back."


# -- Coming --------------------------------------------------------------------------------------------------


def test_pieces_come_in_order_and_the_first_confirms_the_order(host, file):
    fetch = fetches.want(file, now=NOON)
    size = len(BIG)
    assert bring(fetch, 0, BIG[:FETCH_PIECE_BYTES], size=size, now=after(1)) == FETCH_PIECE_BYTES
    assert (state(fetch), steps.open_orders(host)) == (("coming", FETCH_PIECE_BYTES, size), [])
    assert bring(fetch, FETCH_PIECE_BYTES, b"the rest", size=size, now=after(2)) == size
    assert state(fetch) == ("complete", size, size)
    assert stored(Fetch.objects.get()) == BIG
    assert pieces.read(fetch.pk, FETCH_PIECE_BYTES + 4) == b"rest"


def test_a_piece_that_comes_again_changes_nothing(file):
    fetch = fetches.want(file, now=NOON)
    for _ in range(2):
        assert bring(fetch, 0, BIG[:FETCH_PIECE_BYTES], size=len(BIG)) == FETCH_PIECE_BYTES
    bring(fetch, FETCH_PIECE_BYTES, b"the rest", size=len(BIG))
    with pytest.raises(Gone):  # the answer to the last piece was lost: the host hears that nothing more is wanted
        bring(fetch, FETCH_PIECE_BYTES, b"the rest", size=len(BIG))
    assert stored(Fetch.objects.get()) == BIG
    assert sorted(storages["default"].listdir(f"fetched/{fetch.pk}")[1]) == ["0000000000000000", f"{FETCH_PIECE_BYTES:016d}"]


def test_a_wrong_offset_is_told_the_right_one_and_stores_nothing(file):
    fetch = fetches.want(file, now=NOON)
    assert bring(fetch, FETCH_PIECE_BYTES, b"the rest", size=len(BIG)) == 0
    assert (state(fetch)[0], pieces.all_fetches()) == ("wanted", [])
    bring(fetch, 0, BIG[:FETCH_PIECE_BYTES], size=len(BIG))
    assert bring(fetch, 7, b"x", size=len(BIG)) == FETCH_PIECE_BYTES
    assert bring(fetch, FETCH_PIECE_BYTES, b"the rest!", size=len(BIG) + 1) == 0  # of a file that is another now
    assert state(fetch) == ("coming", FETCH_PIECE_BYTES, len(BIG))


def test_offset_0_begins_anew_with_the_file_as_it_is_then(file):
    fetch = fetches.want(file, now=NOON)
    bring(fetch, 0, BIG[:FETCH_PIECE_BYTES], size=len(BIG))
    assert bring(fetch, 0, b"short", size=5) == 5
    assert (state(fetch), stored(Fetch.objects.get())) == (("complete", 5, 5), b"short")


def test_a_piece_of_a_wrong_length_is_refused(file):
    fetch = fetches.want(file, now=NOON)
    for data, size in ((b"", 5), (b"shor", 5), (b"longer", 5), (b"x" * 5, FETCH_PIECE_BYTES + 5)):
        with pytest.raises(Invalid):
            bring(fetch, 0, data, size=size)
    assert (state(fetch)[0], pieces.all_fetches()) == ("wanted", [])


def test_an_empty_file_is_complete_at_once(file):
    fetch = fetches.want(file, now=NOON)
    bring(fetch, 0, b"", size=0)
    assert (state(fetch), stored(Fetch.objects.get())) == (("complete", 0, 0), b"")


def test_another_host_brings_nothing(file):
    fetch, other = fetches.want(file, now=NOON), a_host()
    with pytest.raises(NotFound):
        bring(fetch, 0, b"0123456789", size=10, host=other)
    with pytest.raises(NotFound):
        fetches.refused_by_host(fetch.pk, host=other, sentence="", is_gone=True, now=NOON)
    assert (state(fetch)[0], OutputFile.objects.get().gone, pieces.all_fetches()) == ("wanted", False, [])


def test_what_has_come_is_served_until_the_file_changes(file):
    fetch = steps.fetched(file, b"0123456789")
    assert fetches.want(file, now=after(5000)) == fetch
    files.note(file.rank, [FileLine("output", "model.bin", 10, int(after(1).timestamp() * 1000))])
    changed = OutputFile.objects.get()
    assert fetches.want(changed, now=after(59)) == fetch  # who waited for it while it changed gets what has come
    again = fetches.want(changed, now=after(61))
    assert (again.pk > fetch.pk, again.state) == (True, "wanted")


def test_what_has_come_is_served_though_the_file_is_gone_since(file):
    fetch = steps.fetched(file, b"0123456789")
    files.note(file.rank, [FileLine("output", "model.bin", gone=True)])
    Host.objects.update(state=HostState.RETIRED)
    assert fetches.want(OutputFile.objects.get(), now=after(5000)) == fetch


# -- Failed --------------------------------------------------------------------------------------------------


def test_a_host_that_cannot_bring_it_says_why_and_it_may_be_tried_again(host, file):
    fetch = fetches.want(file, now=NOON)
    fetches.refused_by_host(fetch.pk, host=host, sentence="It is \0 no plain file.", is_gone=False, now=after(1))
    assert (state(fetch)[0], steps.open_orders(host), OutputFile.objects.get().gone) == ("failed", [], False)
    with pytest.raises(Conflict, match="It is  no plain file") as told:
        fetches.want(file, now=after(10))
    assert told.value.code == "fetch-failed"
    assert fetches.want(file, now=after(11)).pk > fetch.pk
    with pytest.raises(Gone):
        bring(fetch, 0, b"0123456789", size=10)


def test_a_host_that_does_not_find_it_takes_it_off_the_list(host, file):
    fetch = fetches.want(file, now=NOON)
    fetches.refused_by_host(fetch.pk, host=host, sentence="The file is no longer there.", is_gone=True, now=NOON)
    assert OutputFile.objects.get().gone
    with pytest.raises(Gone):
        fetches.want(OutputFile.objects.get(), now=after(60))


def test_one_of_which_nothing_came_for_ten_minutes_has_failed(host, file):
    other = steps.a_file(file.rank.workload, "other.bin")
    stalled, coming = fetches.want(file, now=NOON), fetches.want(other, now=NOON)
    bring(coming, 0, BIG[:FETCH_PIECE_BYTES], size=len(BIG), now=after(1))
    fetches.give_up_stalled(now=after(599))
    assert (state(stalled)[0], state(coming)[0]) == ("wanted", "coming")
    fetches.give_up_stalled(now=after(600))
    assert (state(stalled)[0], state(coming)[0], steps.open_orders(host)) == ("failed", "coming", [])
    assert Fetch.objects.get(pk=stalled.pk).detail == "Nothing came from host tpu-1 for 10 min."
    fetches.give_up_stalled(now=after(601))
    assert state(coming)[0] == "failed"


# -- Dropped -------------------------------------------------------------------------------------------------


def test_a_day_later_it_is_dropped_with_its_bytes(file):
    old, failed = steps.fetched(file, BIG), fetches.want(steps.a_file(file.rank.workload, "other.bin"), now=NOON)
    bring(failed, 0, BIG[:FETCH_PIECE_BYTES], size=len(BIG), now=NOON)
    fetches.give_up_stalled(now=after(600))
    young = steps.fetched(steps.a_file(file.rank.workload, "young.bin"), b"young", now=after(3600))
    open_ = fetches.want(steps.a_file(file.rank.workload, "open.bin"), now=NOON)
    assert fetches.drop_old(now=after(24 * 3600 - 1)) == 0
    assert fetches.drop_old(now=after(24 * 3600)) == 1
    assert fetches.drop_old(now=after(24 * 3600 + 600)) == 1
    assert set(Fetch.objects.all()) == {young, open_}
    assert pieces.all_fetches() == [young.pk]
    with pytest.raises(Gone):
        pieces.read(old.pk, 0)
    assert fetches.want(file, now=after(24 * 3600)).pk > old.pk


def test_bytes_that_a_deleted_row_left_are_dropped(file):
    fetch = steps.fetched(file, b"0123456789")
    kept = steps.fetched(steps.a_file(file.rank.workload, "kept.bin"), b"kept")
    OutputFile.objects.filter(pk=file.pk).delete()
    assert pieces.all_fetches() == [fetch.pk, kept.pk]
    assert fetches.drop_old(now=NOON) == 0
    assert (pieces.all_fetches(), stored(Fetch.objects.get())) == ([kept.pk], b"kept")
