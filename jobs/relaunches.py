"""Many jobs launched once more, each as it was."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from jobs import services
from jobs.models import Job
from jobs.selections import Refusal
from projects.actors import Actor
from projects.errors import Conflict, Invalid

MOST = 200  # at once: each is a launch


def relaunch(numbers: Sequence[int], *, by: Actor, now: datetime) -> tuple[dict[int, int], list[Refusal]]:
    """For which `by` has the right (selections.plan): (number -> that of the new job, those that cannot run again and why).

    The first that was launched is the first that is launched again.
    """
    made: dict[int, int] = {}
    refused = []
    jobs = Job.objects.for_display().in_bulk(numbers)
    for number in sorted(numbers):
        try:
            if number not in jobs:
                raise Invalid({"": _("it is not there any more")})
            made[number] = services.relaunch(job=jobs[number], by=by, now=now).pk
        except (Conflict, Invalid) as error:
            refused.append(Refusal(number, "cannot-run-again", _("cannot run again: %(why)s") % {"why": error.sentence}))
    return made, refused
