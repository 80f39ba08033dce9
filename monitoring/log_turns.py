"""Who may search now: searching takes a processor, and one person's searches leave others theirs.

Of a process of the panel: so many at once, and of one person fewer. Whoever begins one more ends the oldest of their own,
whose answer then says, as each does, where it goes on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

MOST = 4
MOST_OF_ONE = 2
MOST_WAITING = 3  # each holds a thread and a connection to the database
ANSWER_S = 2.0  # an answer that takes as long is given as far as it came
WAIT_S = 4.0  # for others to end


class NoTurn(Exception):
    """Too many search or wait already, or none of them has ended in time."""


@dataclass(eq=False)
class _Turn:
    who: object
    ends_at: float
    is_to_end: bool = False

    def is_over(self) -> bool:
        return self.is_to_end or time.monotonic() >= self.ends_at


@dataclass
class Turns:
    most: int = MOST
    most_of_one: int = MOST_OF_ONE
    most_waiting: int = MOST_WAITING
    answer_s: float = ANSWER_S
    wait_s: float = WAIT_S
    _running: list[_Turn] = field(default_factory=list)
    _waiting: list[object] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def take(self, who: object) -> Iterator[Callable[[], bool]]:
        """Gives what says whether the answer is to be given as far as it has come. Raises NoTurn."""
        turn = self._begin(who)
        try:
            yield turn.is_over
        finally:
            with self._changed:
                self._running.remove(turn)
                self._changed.notify_all()

    def _begin(self, who: object) -> _Turn:
        with self._changed:
            if not self._has_room(who):
                self._wait(who)
            turn = _Turn(who, time.monotonic() + self.answer_s)
            self._running.append(turn)
            return turn

    def _wait(self, who: object) -> None:
        if who in self._waiting or len(self._waiting) >= self.most_waiting:
            raise NoTurn
        self._waiting.append(who)
        try:
            if not self._changed.wait_for(lambda: self._has_room(who), timeout=self.wait_s):
                raise NoTurn
        finally:
            self._waiting.remove(who)

    def _has_room(self, who: object) -> bool:
        own = [turn for turn in self._running if turn.who == who]
        for turn in own[: max(0, len(own) - self.most_of_one + 1)]:
            turn.is_to_end = True
        return len(own) < self.most_of_one and len(self._running) < self.most


searching = Turns()
