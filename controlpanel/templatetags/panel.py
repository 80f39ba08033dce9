"""Tags and filters that every template has (built in, settings.TEMPLATES): icons, states, moments, amounts."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from django import template
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils import dateformat, timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from agent.protocol import UNREADABLE
from clusters import event_words
from clusters.states import HostState, RankState, WorkloadState
from jobs.states import JobState

register = template.Library()

MARKED = re.compile(r"(`[^`]+`|\*\*[^*]+\*\*)")
ICON_NAME = re.compile(r"[a-z0-9-]+")
SHAPE = re.compile(r"<(?:path|circle|rect|line|polyline|polygon|ellipse)\b[^>]*/>")
NO_SHAPE = '<path stroke="none" d="M0 0h24v24H0z" fill="none" />'

# -- States ------------------------------------------------------------------------------------------------
_DISC = '<circle cx="7" cy="7" r="6" fill="currentColor"/>'
_RING = '<circle cx="7" cy="7" r="5.2" fill="none" stroke="currentColor" stroke-width="1.6"/>'
_ROUND = 'stroke-linecap="round" stroke-linejoin="round"'
_CUT = f'<path class="cut" fill="none" stroke="currentColor" stroke-width="1.7" {_ROUND} d="{{}}"/>'
_HOLE = '<path class="cut" fill="currentColor" d="{}"/>'

GLYPHS = {
    "hollow ring": _RING,
    "half ring": _RING + '<path d="M7 4a3 3 0 0 1 0 6z" fill="currentColor"/>',
    "disc": _DISC + _HOLE.format("M5.5 4.2l4.2 2.8-4.2 2.8z"),
    "disc with square": _DISC + _HOLE.format("M4.8 4.8h4.4v4.4H4.8z"),
    "check": _DISC + _CUT.format("M4.3 7.2l1.9 1.9 3.5-3.9"),
    "cross": _DISC + _CUT.format("M4.9 4.9l4.2 4.2M9.1 4.9L4.9 9.1"),
    "bar": _RING + '<path d="M3.4 10.6l7.2-7.2" stroke="currentColor" stroke-width="1.6"/>',
    "dashed ring": _RING.replace("/>", ' stroke-dasharray="2.3 1.8"/>'),
    "broken ring": '<path d="M8.8 2.1a5.2 5.2 0 0 1 1.6 8.8M5.2 11.9a5.2 5.2 0 0 1-1.6-8.8M8.4 4.6L5.6 9.4" fill="none" '
    'stroke="currentColor" stroke-width="1.7" stroke-linecap="round"/>',
    "double bar": _RING + '<path d="M5.6 4.8v4.4M8.4 4.8v4.4" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/>',
}
SHAPES = {
    JobState.QUEUED: "hollow ring",
    JobState.STARTING: "half ring",
    JobState.RUNNING: "disc",
    JobState.STOPPING: "disc with square",
    JobState.SUCCEEDED: "check",
    JobState.FAILED: "cross",
    JobState.CANCELED: "bar",
    WorkloadState.WAITING: "hollow ring",
    WorkloadState.ORDERED: "half ring",
    WorkloadState.PREPARING: "half ring",
    WorkloadState.READY: "check",  # a host's too
    WorkloadState.EXITED: "bar",
    WorkloadState.LOST: "broken ring",
    RankState.CLAIMED: "half ring",
    RankState.ENDED: "bar",
    HostState.ENROLLED: "hollow ring",
    HostState.CORDONED: "double bar",
    HostState.RETIRED: "bar",
    "silent": "dashed ring",
}
WORDS: dict[str, Any] = {
    value: label for states in (JobState, WorkloadState, RankState, HostState) for value, label in states.choices
} | {"silent": gettext_lazy("silent")}
EVENT_WORDS: dict[str, Any] = {  # of events that are no move to a state
    "attempt.begun": gettext_lazy("next attempt"),
    "labeled": gettext_lazy("labels"),
    "source.resolved": gettext_lazy("source"),
    "rank.preparing": gettext_lazy("preparing"),
    "rank.gone": gettext_lazy("host is clear"),
}


@register.simple_tag
def status(state: str, word: bool = True) -> SafeString:
    """The glyph of a job's, workload's, rank's or host's state and its word; `word=False` where the word stands elsewhere."""
    glyph = mark_safe(GLYPHS[SHAPES.get(state, "hollow ring")])  # ours
    label = format_html("<span>{}</span>", WORDS.get(state) or EVENT_WORDS.get(state, state)) if word else ""
    return format_html(
        '<span class="status" data-state="{}"><svg viewBox="0 0 14 14" aria-hidden="true">{}</svg>{}</span>', state, glyph, label
    )


@register.filter
def state_word(state: str) -> str:
    return str(WORDS.get(state, state))


@register.filter
def told(event: event_words.Told) -> str:
    """What happened, in the reader's language."""
    return event_words.told(event)


# -- Icons ---------------------------------------------------------------------------------------------------
@register.simple_tag
def icon(name: str) -> SafeString:
    """A Tabler outline icon, inlined. It is an ornament: the word beside it or an aria-label speaks."""
    return _icon(name, settings.ICONS_DIR)


@cache
def _icon(name: str, folder: Path) -> SafeString:
    if not ICON_NAME.fullmatch(name):
        raise ImproperlyConfigured(f"not the name of an icon: {name!r}")
    if not folder.is_dir():
        raise ImproperlyConfigured(f"icons are not installed in {folder}: run `npm ci`")
    try:
        drawing = (folder / f"{name}.svg").read_text()
    except FileNotFoundError:
        raise ImproperlyConfigured(f"@tabler/icons has no outline icon {name!r}") from None
    shapes = "".join(shape for shape in SHAPE.findall(drawing) if shape != NO_SHAPE)
    return mark_safe(  # a file of a package that we chose
        '<svg class="icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-linecap="round" stroke-linejoin="round"'
        f' aria-hidden="true">{shapes}</svg>'
    )


# -- Moments and spans -------------------------------------------------------------------------------------------
@register.filter
def ago(moment: datetime | None) -> SafeString | str:
    """How long ago, with the exact moment on hover. static/js/clock.js keeps it true while the page is open."""
    if moment is None:
        return _("unknown")
    return format_html(
        '<time datetime="{}" title="{}" data-ago>{}</time>',
        moment.isoformat(),
        exact(moment),
        _ago((timezone.now() - moment).total_seconds()),
    )


@register.filter
def exact(moment: datetime | None) -> str:
    """The moment to the second, with its zone: "2 Dec 2025, 09:18:04 UTC"."""
    if moment is None:
        return _("unknown")
    look = pgettext("format of a moment, as Django's filter date reads it", "j M Y, H:i:s T")
    return dateformat.format(timezone.localtime(moment), look)


def _ago(seconds: float) -> str:
    if seconds < -1:
        return _("in %(span)s") % {"span": _coarse(-seconds)}
    if seconds < 5:
        return _("just now")
    return _("%(span)s ago") % {"span": _coarse(seconds)}


def _coarse(seconds: float) -> str:
    """One unit is enough to place a moment."""
    if seconds < 60:
        return _("%(count)d s") % {"count": seconds}
    if seconds < 3600:
        return _("%(count)d min") % {"count": seconds // 60}
    if seconds < 48 * 3600:
        return _("%(count)d h") % {"count": seconds // 3600}
    return _("%(count)d d") % {"count": seconds // 86400}


@register.filter
def duration(seconds: float | timedelta | None) -> str:
    """Two units at most: "48 s", "3 min 12 s", "1 h 07 min", "2 d 04 h"; under a second with one decimal."""
    if seconds is None:
        return _("unknown")
    if isinstance(seconds, timedelta):
        seconds = seconds.total_seconds()
    seconds = max(seconds, 0)
    if 0 < seconds < 1:
        return _("%(seconds).1f s") % {"seconds": max(seconds, 0.1)}
    minutes, s = divmod(int(seconds), 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    if days:
        return _("%(d)d d %(h)02d h") % {"d": days, "h": h}
    if hours:
        return _("%(h)d h %(m)02d min") % {"h": hours, "m": m}
    if minutes:
        return _("%(m)d min %(s)02d s") % {"m": minutes, "s": s}
    return _("%(s)d s") % {"s": s}


@register.simple_tag
def span_words() -> str:
    """How static/js/spans.js writes spans in the page's language: the words of `duration` and of `ago`."""
    words = [_("%(d)d d %(h)02d h"), _("%(h)d h %(m)02d min"), _("%(m)d min %(s)02d s"), _("%(s)d s")]
    return json.dumps([*words, _("%(count)d s"), _("%(count)d min"), _("%(count)d h"), _("%(count)d d")])


@register.simple_tag
def elapsed(start: datetime | None, end: datetime | None = None) -> SafeString | str:
    """The time from start to end; without an end up to now, and clock.js counts on."""
    if start is None:
        return ""
    if end is not None:
        return duration(end - start)
    return format_html('<span data-since="{}">{}</span>', start.isoformat(), duration(timezone.now() - start))


# -- Amounts and texts -----------------------------------------------------------------------------------------
@register.filter
def size(bytes_: int | None) -> str:
    """Bytes in the unit that leaves one to four digits: "512 B", "1.5 KiB", "418 MiB", "4.1 GiB"."""
    if bytes_ is None:
        return _("unknown")
    amount, unit = float(bytes_), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if abs(amount) < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f} {unit}" if unit == "B" or abs(amount) >= 10 else f"{amount:.1f} {unit}"


@register.filter
def plain(text: Any) -> str:
    r"""A text of several lines in which nothing plays tricks: `\u202e` stands for what would turn the direction of the rest."""
    return UNREADABLE.sub(lambda found: found[0] if found[0] in "\n\t" else ascii(found[0])[1:-1], str(text))


@register.filter
def marked(text: str) -> SafeString:
    """`code` and **strong** words of a text, as docstrings write them."""
    return format_html_join("", "{}", ((_mark(part),) for part in MARKED.split(text)))


def _mark(part: str) -> SafeString | str:
    if not MARKED.fullmatch(part):
        return part
    return format_html("<{0}>{1}</{0}>", SafeString("code" if part[0] == "`" else "strong"), part.strip("`*"))


@register.filter
def middle(text: Any, length: int) -> SafeString | str:
    """Cut in the middle to `length` characters for the eye; the whole on hover, for copying and for screen readers."""
    whole = str(text)
    if len(whole) <= length:
        return whole
    head = -(-(length - 1) // 2)
    tail = length - 1 - head
    end = len(whole) - tail
    return format_html(
        '<span class="middle" title="{}">{}<i></i><span>{}</span>{}</span>', whole, whole[:head], whole[head:end], whole[end:]
    )
