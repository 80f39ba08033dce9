"""How far one file of this host is with the panel. Pure: told what was sent, what Redis answers, it says from where to go on."""

from __future__ import annotations

from dataclasses import dataclass

from agent.protocol import ACK_HOLD, ACK_REFUSED, Gap


@dataclass
class Track:
    """A file shipped by offset. `sent` is where the next report begins, `acked` what the panel wants, once it has said so."""

    name: str
    sent: int = 0
    base: int = 0  # offset at which the file on the disk begins: not 0 when it took the place of one that was deleted
    acked: int | None = None
    is_refused: bool = False
    is_held: bool = False
    last_entry: bytes | None = None  # id of its last report in the stream
    last_gap: Gap | None = None  # sent last: a gap at the end of a log has no bytes that would bring it along
    is_cut: bool = False  # the panel wants bytes that this disk has let go

    @property
    def place(self) -> int:
        """In the file on the disk, of the first byte that was not sent."""
        return self.sent - self.base

    @property
    def unacked_bytes(self) -> int:
        return max(0, self.sent - (self.acked or 0))

    @property
    def is_waiting(self) -> bool:
        """Something was sent of which the panel has not said a word yet."""
        return self.last_entry is not None

    def has_all(self, size: int) -> bool:
        """The panel has its first `size` bytes, or wants none of them."""
        return self.is_refused or (self.acked is not None and self.acked >= size and not self.is_waiting)

    def went(self, entry: bytes, end: int) -> None:
        """A report that ends at offset `end` stands in the stream."""
        self.sent, self.last_entry = end, entry

    def hear(self, word: bytes | None, *, entry_is_gone: bool) -> None:
        """What the panel says of this file (None: nothing), read after looking whether the last report was still in the stream.

        The panel writes its word before it deletes the report: once the report is gone the word counts, also when it
        goes back (the panel was restored) or is missing (Redis was wiped: on from the last one).
        """
        self.is_held = word == ACK_HOLD.encode()
        self.is_refused = word == ACK_REFUSED.encode()
        offset = int(word) if word is not None and word.isdigit() else None
        if offset is not None and offset > self.sent:
            self.sent = offset  # a former agent had sent it
        if offset is not None and offset <= self.sent:
            self.acked = offset
        if entry_is_gone:
            self.last_entry = None
            self.sent = self.acked or 0
            if word is None:
                self.last_gap = None  # it went with the rest
