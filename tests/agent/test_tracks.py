from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agent.protocol import ACK_HOLD, ACK_REFUSED, Gap
from agent.tracks import Track

SIZES = st.integers(1, 40)


class Road(RuleBasedStateMachine):
    """One file, the stream and acks of a Redis that is wiped, and a panel that dies, holds, forgets and lies."""

    @initialize(size=st.integers(0, 100))
    def begin(self, size: int) -> None:
        self.size = size
        self.track = Track("file")
        self.stream: dict[bytes, tuple[int, int]] = {}  # entry -> (offset, end)
        self.entries = 0
        self.head = 0  # bytes that the panel has stored
        self.best = 0  # the most that it ever had
        self.word: bytes | None = None  # of the acks
        self.covered = 0  # all before it was sent by some agent, or the panel said that it has it

    # -- The host --------------------------------------------------------------------------------------

    @rule(more=SIZES)
    def grow(self, more: int) -> None:
        self.size += more

    @rule(limit=SIZES)
    def send(self, limit: int) -> None:
        track = self.track
        if track.is_refused or track.is_held or track.sent >= self.size:
            return
        assert track.sent <= self.covered, "bytes were skipped"
        end = min(self.size, track.sent + limit)
        self.entries += 1
        entry = b"%d-0" % self.entries
        self.stream[entry] = (track.sent, end)
        track.went(entry, end)
        self.covered = max(self.covered, end)

    @rule()
    def hear(self) -> None:
        gone = self.track.is_waiting and self.track.last_entry not in self.stream
        self._hear(self.word, gone or not self.track.is_waiting)

    @rule()
    def start_a_new_agent(self) -> None:
        self.track = Track("file")
        self._hear(self.word, True)

    def _hear(self, word: bytes | None, gone: bool) -> None:
        if word and word.isdigit():
            self.covered = max(self.covered, int(word))
        self.track.hear(word, entry_is_gone=gone)

    # -- The panel -------------------------------------------------------------------------------------

    @rule(entries=st.integers(1, 5), dies=st.booleans())
    def take(self, entries: int, dies: bool) -> None:
        """Commits; when it does not die then, says what it wants and deletes what it has read."""
        read = list(self.stream)[:entries]
        for entry in read:
            offset, end = self.stream[entry]
            if offset <= self.head:
                self.head = max(self.head, end)
        self.best = max(self.best, self.head)
        if read and not dies:
            self.say()
            for entry in read:
                del self.stream[entry]

    @rule()
    def say(self) -> None:
        self.word = b"%d" % self.head

    @rule()
    def hold(self) -> None:
        self.word = ACK_HOLD.encode()

    @rule()
    def drop_what_came(self) -> None:
        """It is of another session."""
        self.stream.clear()

    @rule(share=st.floats(0, 1))
    def restore(self, share: float) -> None:
        """An older database; its inbox says what is wanted when it starts."""
        self.head = int(self.head * share)
        self.say()

    @rule(junk=st.sampled_from([b"", b"junk", b"-1", b"1.5", ACK_REFUSED.encode()]))
    def say_junk(self, junk: bytes) -> None:
        self.word = junk

    # -- Redis -----------------------------------------------------------------------------------------

    @rule(tells_all=st.booleans())
    def wipe(self, tells_all: bool) -> None:
        self.stream.clear()
        self.word = None
        if tells_all:
            self.say()

    # -- What holds ------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_called_stored_that_never_was(self) -> None:
        if hasattr(self, "track") and self.track.has_all(self.size) and not self.track.is_refused:
            assert self.best >= self.size

    @precondition(lambda self: hasattr(self, "track"))
    @rule()
    def once_all_is_well_the_panel_gets_every_byte(self) -> None:
        self.say()
        for _ in range(3 + self.size):
            self.hear()
            self.send(40)
            self.take(5, dies=False)
            self.hear()
            if self.track.has_all(self.size) and self.head >= self.size:
                break
        assert (self.head, self.track.sent) == (self.size, self.size)
        assert self.track.has_all(self.size)


TestRoad = Road.TestCase
TestRoad.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)


def test_a_lost_answer_is_awaited_while_the_report_is_in_the_stream():
    track = Track("file")
    track.went(b"1-0", 10)
    track.hear(None, entry_is_gone=False)
    assert (track.sent, track.acked, track.is_waiting, track.unacked_bytes) == (10, None, True, 10)
    assert not track.has_all(10)


def test_a_wiped_redis_makes_it_go_on_from_what_the_panel_last_said():
    track = Track("file")
    track.went(b"1-0", 10)
    track.hear(b"10", entry_is_gone=True)
    track.went(b"2-0", 30)
    track.hear(None, entry_is_gone=True)
    assert (track.sent, track.acked, track.is_waiting) == (10, 10, False)


def test_a_panel_that_was_restored_takes_it_back():
    track = Track("file", sent=30, acked=30)
    track.hear(b"12", entry_is_gone=True)
    assert (track.sent, track.acked) == (12, 12)


def test_a_new_agent_goes_on_where_the_panel_says():
    track = Track("file")
    track.hear(b"25", entry_is_gone=True)
    assert (track.sent, track.acked) == (25, 25)


def test_hold_and_refused_last_as_long_as_the_panel_says_them():
    track = Track("file", sent=5, acked=5)
    track.hear(ACK_HOLD.encode(), entry_is_gone=True)
    assert (track.is_held, track.is_refused, track.sent) == (True, False, 5)
    track.hear(ACK_REFUSED.encode(), entry_is_gone=True)
    assert (track.is_held, track.is_refused, track.has_all(99)) == (False, True, True)
    track.hear(b"5", entry_is_gone=True)
    assert (track.is_held, track.is_refused, track.has_all(99)) == (False, False, False)


def test_a_gap_that_went_with_a_wiped_redis_is_sent_again():
    track = Track("file", sent=5, acked=5, last_gap=Gap(5, 100, 0, 1))
    track.hear(None, entry_is_gone=True)
    assert track.last_gap is None


def test_a_report_that_carries_only_a_gap_is_awaited_too():
    track = Track("file", sent=5, acked=5)
    track.went(b"1-0", 5)
    assert not track.has_all(5)
    track.hear(b"5", entry_is_gone=True)
    assert track.has_all(5)
