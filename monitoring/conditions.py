"""What is the matter with the panel itself: rows that are there for as long as it lasts, and a sentence for each."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _

from monitoring.models import Condition
from projects.errors import Conflict

DISK_LOW = "disk-low"
SENTENCES = {
    DISK_LOW: _(
        "The panel's disk has only %(free)s %% left, so it takes no logs. Hosts keep what is printed, and it comes when there is"
        " room again (%(wanted)s %%). Jobs go on."
    ),
}


def begin(code: str, *, now: datetime, **data: Any) -> None:
    """It is so from now on; its data may change while it is."""
    condition, is_new = Condition.objects.get_or_create(code=code, defaults={"data": data, "since": now})
    if not is_new and condition.data != data:
        Condition.objects.filter(code=code).update(data=data)


def end(code: str) -> None:
    """It is so no more."""
    Condition.objects.filter(code=code).delete()


def check_room() -> None:
    """For whoever is about to store much. Raises Conflict while the disk is low."""
    low = Condition.objects.filter(code=DISK_LOW).first()
    if low:
        sentence = _("The panel's disk has only %(free)s %% left: it stores no more until there is room (%(wanted)s %%).")
        raise Conflict(DISK_LOW, str(sentence) % low.data)


def present() -> list[tuple[Condition, str]]:
    """Those that are, with their sentences; the oldest first."""
    found = Condition.objects.order_by("since", "code")
    return [(one, str(SENTENCES[one.code]) % one.data) for one in found if one.code in SENTENCES]
