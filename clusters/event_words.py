"""What happened, in the reader's language.

An event keeps its sentence in the panel's own language, whoever caused it: for the API, and for what nobody could tell later.
Pages tell it anew, from its reason or from the sentences known here; one that is neither stays as it was written.
"""

from __future__ import annotations

import re
from typing import Any, Protocol

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from clusters import reasons


class Told(Protocol):
    """An event, as far as it has to be known here."""

    sentence: str
    data: dict[str, Any]


SENTENCES = (
    gettext_noop("Launched by %(name)s, as job %(number)s was."),
    gettext_noop("Launched by %(name)s."),
    gettext_noop("Labels set: %(put)s. Labels taken away: %(gone)s."),
    gettext_noop("Labels set: %(put)s."),
    gettext_noop("Labels taken away: %(gone)s."),
    gettext_noop("Attempt %(number)s waits for its chips."),
    gettext_noop("%(ref)s of %(address)s is commit %(commit)s."),
    gettext_noop("Nothing of rank %(rank)s is left on %(host)s."),
    gettext_noop("Host %(host)s enrolled with %(chips)s chips."),
    gettext_noop("Agent %(version)s speaks for %(host)s."),
    gettext_noop("A second agent says that it is %(host)s, and was refused."),
    gettext_noop("%(host)s let an order pass: other hosts get work before it."),
    gettext_noop("Drained: %(count)s piece of work is to stop."),
    gettext_noop("Drained: %(count)s pieces of work are to stop."),
    gettext_noop("Cordoned: %(reason)s"),
    gettext_noop("Uncordoned."),
    gettext_noop("Retired."),
    gettext_noop("A report could not be taken."),
    gettext_noop("A line of a %(kind)s file could not be taken."),
    gettext_noop("It has more than %(most)s metrics: those with further names are not kept."),
    gettext_noop("Its key in Redis was not what it should be (%(why)s); it is shut out for %(seconds)s s."),
)


def _pattern(sentence: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"%\\\((\w+)\\\)s", r"(?P<\1>.+)", re.escape(sentence)), re.DOTALL)


PATTERNS = [(sentence, _pattern(sentence)) for sentence in SENTENCES]


def told(event: Told) -> str:
    """The event's sentence for who reads now; a name in it stays what it is."""
    code = event.data.get("reason")
    if event.sentence and code in reasons.SENTENCES:
        return reasons.sentence(code, event.data)
    for sentence, pattern in PATTERNS:
        if found := pattern.fullmatch(event.sentence):
            return _(sentence) % found.groupdict()
    return event.sentence
