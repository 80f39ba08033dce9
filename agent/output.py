"""What the command prints: masked, into the spool, and a word to the agent that ships it."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from agent.masking import Masker
from agent.spool_writer import SpoolWriter

READ_BYTES = 64 * 1024
NEW_BYTES, NEW_NOTE = b".", b"!"  # what a word to the agent says: the spool grew; a note (`running`, `end`) was written


class Output:
    """The one way from the command's pipe to the disk."""

    def __init__(self, masker: Masker, spool: SpoolWriter, wake: str) -> None:
        self._masker = masker
        self._spool = spool
        self._wake = wake
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def take(self, pipe: int) -> bool:
        """One read, which the caller knows will not block. False when the last writer has closed the pipe."""
        data = os.read(pipe, READ_BYTES)
        self._write(self._masker.feed(data))
        return bool(data)

    def flush(self) -> int:
        """What the masker held back, when nothing more comes. Returns the final offset."""
        self._write(self._masker.flush())
        return self._spool.offset

    def close(self) -> bool:
        """False when the full disk does not take the record of a last gap: call again."""
        return self._spool.close()

    def tell(self, what: bytes) -> None:
        """One byte to the agent, or none: its own poll stands behind this."""
        with suppress(OSError):  # no agent there, or one that has bytes waiting already
            self._socket.sendto(what, self._wake)

    def _write(self, data: bytes) -> None:
        if data:
            self._spool.write(data)
            self.tell(NEW_BYTES)
