"""How long to wait before something is tried again: twice as long each time, up to a bound, and not all at once."""

from __future__ import annotations

import random
from dataclasses import dataclass

FIRST_S, LONGEST_S = 0.2, 5.0
SPREAD = 0.25  # of a wait: those who were cut off together do not come back together


@dataclass
class Backoff:
    failures: int = 0

    def next_s(self) -> float:
        wait_s = min(FIRST_S * 2.0 ** min(self.failures, 30), LONGEST_S)
        self.failures += 1
        return wait_s * random.uniform(1 - SPREAD, 1 + SPREAD)

    def reset(self) -> None:
        self.failures = 0
