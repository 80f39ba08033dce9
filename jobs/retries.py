"""Whether a job that failed gets another try, and when: pure functions over plain data.

Two budgets, by cause: what the user's code did (it failed, a signal or a lack of memory ended it), and what became of its
host. Other ends are not tried again: the same would come of it (no such command, a runtime that cannot be built), or someone
wanted it (canceled, timed out).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from projects.errors import Invalid

MOST_TIMES = 100
MOST_DELAY_S = 86_400


class Cause(TextChoices):
    USER_CODE = "user_code", gettext_lazy("user code")
    HOST_LOST = "host_lost", gettext_lazy("host lost")


# Reason codes of a workload that has failed (clusters/reasons.py).
CAUSES = {
    "exit-code": Cause.USER_CODE,
    "signal": Cause.USER_CODE,
    "out-of-memory": Cause.USER_CODE,
    "host-lost": Cause.HOST_LOST,
    "host-rebooted": Cause.HOST_LOST,
    "host-state-lost": Cause.HOST_LOST,
    "supervisor-lost": Cause.HOST_LOST,
}


@dataclass(frozen=True)
class Budget:
    times: int = 0  # tries beyond the first
    delay_s: int = 10  # from a failure to the next try


@dataclass(frozen=True)
class Policy:
    user_code: Budget = field(default_factory=Budget)
    host_lost: Budget = field(default_factory=Budget)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Policy:
        """What `to_json` made, or what a launch says: a part that is missing is the default.

        Raises Invalid with the path of whatever is unknown or out of bounds.
        """
        wrong = {
            f"retries.{cause}": _("there is no such cause; known are %(known)s") % {"known": ", ".join(Cause.values)}
            for cause in set(data) - set(Cause.values)
        }
        for cause, budget in data.items():
            wrong |= _wrong_in(cause, budget) if cause in Cause.values else {}
        if wrong:
            raise Invalid(wrong)
        return cls(**{cause: Budget(**budget) for cause, budget in data.items()})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def budget(self, cause: Cause) -> Budget:
        return self.user_code if cause == Cause.USER_CODE else self.host_lost


@dataclass(frozen=True)
class Again:
    """There is another try: `delay_s` from now; `left` more could follow for the same cause."""

    cause: Cause
    delay_s: int
    left: int


def decide(policy: Policy, reason_code: str, spent: Mapping[str, int]) -> Again | None:
    """`spent` says by cause how many tries were given so far."""
    cause = CAUSES.get(reason_code)
    if cause is None:
        return None
    budget = policy.budget(cause)
    left = budget.times - spent.get(cause, 0)
    return Again(cause, budget.delay_s, left - 1) if left > 0 else None


def _wrong_in(cause: str, budget: Any) -> dict[str, str]:
    if not isinstance(budget, Mapping):
        return {f"retries.{cause}": _("an object of times and delay_s is needed")}
    limits = {"times": MOST_TIMES, "delay_s": MOST_DELAY_S}
    wrong = {}
    for name, value in budget.items():
        if name not in limits:
            wrong[f"retries.{cause}.{name}"] = _("there is no such field; known are times, delay_s")
        elif not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= limits[name]:
            wrong[f"retries.{cause}.{name}"] = _("a whole number from 0 to %(most)s is needed") % {"most": limits[name]}
    return wrong
