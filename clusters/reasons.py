"""Fine reasons beside coarse states: a code for scripts, a sentence for people, made from the code and its data.

Rows store code and data; the sentence is made when it is read, in the reader's language.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from clusters import catalogue

SENTENCES = {
    # Why a workload waits (placement)
    "no-pass-yet": _("The scheduler has not looked at it yet."),
    "no-host": _("No host has %(accelerator)s: enrol one, and it starts."),
    "hosts-silent": _("No host with %(accelerator)s can be heard; the last word came from %(host)s. It starts when one is back."),
    "hosts-cordoned": _("All hosts with %(accelerator)s are cordoned. It starts when an admin uncordons one."),
    "too-large": _("No host is large enough: it asks for %(amount)s of %(accelerator)s on one, and the largest has %(largest)s."),
    "chips-busy": _(
        "It needs %(amount)s of %(accelerator)s on one host; %(free)s of %(total)s are free. It starts when enough of the others"
        " are."
    ),
    "source-unresolved": _(
        "%(ref)s of %(address)s has not been resolved to a commit yet; it ends when that takes longer than %(seconds)s s."
    ),
    "retrying": _("Attempt %(attempt)s failed: %(why)s The next begins %(delay_s)s s later; %(left)s more could follow."),
    "waits-long": _("It has waited for %(minutes)s min: %(why)s"),
    # Where it stands on its way
    "placed": _("Placed on %(hosts)s."),
    "preparing": _("%(hosts)s has taken it."),
    # Why it was not started
    "stopped-while-waiting": _("It was stopped before it was placed."),
    "unclaimed": _("Host %(host)s did not take the order within %(seconds)s s; it goes back to its place in the line."),
    "host-silent-at-start": _("Host %(host)s fell silent before it took the order; it goes back to its place in the line."),
    "source-failed": _("Its source could not be had: %(detail)s"),
    # Why it is being stopped
    "canceled": _("Canceled by %(by)s."),
    "timed-out": _("It timed out after %(seconds)s s."),
    "prepare-deadline": _("Preparing took longer than %(seconds)s s (step: %(step)s)."),
    "barrier-deadline": _("Not all ranks were ready within %(seconds)s s."),
    "rank-ended": _("Rank %(rank)s ended, so the others were stopped."),
    "folder-gone": _("Its folder on %(host)s was deleted while it ran, so it was ended; its last output may be lost."),
    "drained": _("Host %(host)s is being drained (%(note)s): it goes back to its place in the line."),
    "panel-stopped": _("Whoever runs the panel stopped all that ran."),
    "preempted": _("Work of a higher priority took its chips."),
    # How it ended
    "succeeded": _("The command ended with exit code 0."),
    "exit-code": _("The command ended with exit code %(exit_code)s on %(host)s."),
    "signal": _("The command was ended by signal %(signal)s (%(name)s) on %(host)s."),
    "out-of-memory": _("The kernel of %(host)s ran out of memory and killed the command."),
    "command-not-found": _("The command could not be started on %(host)s: %(detail)s"),
    "prepare-failed": _("Preparing failed on %(host)s: %(detail)s"),
    "supervisor-lost": _("Its supervisor on %(host)s was killed, and the command ended with it."),
    "host-rebooted": _("Host %(host)s was rebooted."),
    "host-state-lost": _("The agent on %(host)s lost its state folder, so the processes there were ended."),
    "not-started": _("It was stopped before its command began."),
    "stopped": _("It was stopped."),
    "host-lost": _("Host %(host)s was silent for %(seconds)s s. Processes may still run there until it is heard again."),
    "abandoned": _("An admin ended it without its host. Processes may still run there."),
}


def written(code: str, data: Mapping[str, Any]) -> str:
    """The sentence as events keep it: in the panel's own language, whoever acts. "" without a code."""
    with override(settings.LANGUAGE_CODE):
        return sentence(code, data) if code else ""


def sentence(code: str, data: Mapping[str, Any]) -> str:
    """The sentence of a reason; an unknown code speaks for itself (a row written by a newer panel).

    A reason may carry another one as `why_code` and `why_data`; its sentence is `why` in this one's. Its `chips` of an
    `accelerator` are its `amount`, in that accelerator's word.
    """
    text = SENTENCES.get(code)
    if text is None:
        return code
    if "why_code" in data:
        data = {**data, "why": sentence(data["why_code"], data["why_data"])}
    if "chips" in data and "accelerator" in data:
        data = {**data, "amount": catalogue.amount(data["chips"], data["accelerator"])}
    try:
        return str(text) % data
    except KeyError:
        return str(text)
