"""What a person wants to be told of a job: their settings, and what its launch says otherwise. Pure of the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from jobs.notice_models import Channel, NoticeKind, NoticeSettings
from projects.errors import Invalid

EVENTS = (NoticeKind.STARTS.value, NoticeKind.ENDS.value, NoticeKind.FAILS.value)
LONGEST_WAIT_MIN = 60 * 24 * 30
KIND_OF = {
    "job.running": NoticeKind.STARTS,
    "job.succeeded": NoticeKind.ENDS,
    "job.canceled": NoticeKind.ENDS,
    "job.failed": NoticeKind.FAILS,
    "job.waits": NoticeKind.WAITS,
}  # of an event of a job


@dataclass(frozen=True)
class Wish:
    """What counts for one job."""

    events: frozenset[str]
    waits_longer_than_min: int | None
    channels: tuple[Channel, ...]  # those that it can go by

    def kind_of(self, code: str) -> NoticeKind | None:
        """As what the person is told of an event of this code; None: they are not."""
        kind = KIND_OF.get(code)
        if kind is None:
            return None
        if kind == NoticeKind.WAITS:
            return kind if self.waits_longer_than_min is not None else None
        is_wanted = kind in self.events or (kind == NoticeKind.FAILS and NoticeKind.ENDS in self.events)
        return kind if is_wanted else None

    @property
    def wants_something(self) -> bool:
        return bool(self.events) or self.waits_longer_than_min is not None


def of(found: NoticeSettings | None, said: Mapping[str, Any]) -> Wish:
    """`said` is what the launch says (`notify`); what it leaves out is as the person's settings have it."""
    usual = found or NoticeSettings()
    by_mail, by_webhook = said.get("by_mail", usual.by_mail), said.get("by_webhook", usual.by_webhook)
    channels = []
    if by_mail and usual.mail_address and settings.IS_MAIL_CONFIGURED:
        channels.append(Channel.MAIL)
    if by_webhook and usual.webhook_url:
        channels.append(Channel.WEBHOOK)
    return Wish(
        frozenset(said.get("events", usual.events)),
        said.get("waits_longer_than_min", usual.waits_longer_than_min),
        tuple(channels),
    )


def check(found: NoticeSettings | None, said: Mapping[str, Any]) -> None:
    """Raises Invalid at "notify..." for a launch that wants what cannot reach its launcher: they would wait for it in vain."""
    usual, wrong = found or NoticeSettings(), dict[str, str]()
    if said.get("by_mail") and not settings.IS_MAIL_CONFIGURED:
        wrong["notify.by_mail"] = _("This panel sends no mail: whoever runs it has named no mail server.")
    elif said.get("by_mail") and not usual.mail_address:
        wrong["notify.by_mail"] = _("Say on the page Notices to which address.")
    if said.get("by_webhook") and not usual.webhook_url:
        wrong["notify.by_webhook"] = _("Say on the page Notices to which address.")
    wish = of(found, said)
    if not wrong and wish.wants_something and not wish.channels:
        wrong["notify"] = _("It could not reach you: set up mail or a webhook on the page Notices.")
    if wrong:
        raise Invalid(wrong)


def unfit(said: Mapping[str, Any], *, at: str = "") -> dict[str, str]:
    """What is wrong with a wish as a script sends it, by path below `at`."""
    wrong = {}
    unknown = [name for name in said.get("events", ()) if name not in EVENTS]
    if unknown:
        words = {"names": ", ".join(unknown), "known": ", ".join(EVENTS)}
        wrong[f"{at}events"] = _("there is no event %(names)s; known are %(known)s") % words
    minutes = said.get("waits_longer_than_min")
    if minutes is not None and minutes > LONGEST_WAIT_MIN:
        wrong[f"{at}waits_longer_than_min"] = _("at most %(most)s minutes") % {"most": LONGEST_WAIT_MIN}
    return wrong
