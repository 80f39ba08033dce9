"""Which of a job's logs a request is about: an attempt's, of one rank, of one part."""

from __future__ import annotations

from uuid import UUID

from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from agent import protocol
from jobs import services
from jobs.models import Job
from monitoring import logs
from monitoring.models import Log
from projects.actors import Actor
from projects.errors import Invalid, NotFound
from projects.queries import whole

WHICH = [
    OpenApiParameter("attempt", int, description="Its number. Usual: the last."),
    OpenApiParameter("workload", OpenApiTypes.UUID, description="The attempt by its workload, instead."),
    OpenApiParameter("rank", int),
    OpenApiParameter("part", str, enum=list(protocol.PARTS), description="Usual: output."),
]


def chosen(request: Request, number: int) -> tuple[Log | None, UUID]:
    """The log, None while nothing of it is stored, and its workload. Raises NotFound, Forbidden or Invalid."""
    job = services.get_job(Actor.of(request), number, may="jobs.view")
    assert job.subject
    workload_id = workload_of(request, job)
    return logs.find_log(job.subject, workload_id, whole(request.query_params, "rank", 0), part_of(request)), workload_id


def workload_of(request: Request, job: Job, usual: str | None = None) -> UUID:
    """The attempt's that is asked for by its number or its workload, else the `usual` one's, else the last one's."""
    workload = request.query_params.get("workload")
    attempt = request.query_params.get("attempt", usual if workload is None else None)
    tries = {str(a.workload_id): a for a in job.attempts.all()}
    if workload is not None and workload in tries:
        return tries[workload].workload_id
    if attempt is not None:
        for one in tries.values():
            if str(one.number) == attempt:
                return one.workload_id
    if workload is not None or attempt is not None:
        raise NotFound("no-such-attempt", _("The job has no such attempt."), attempts=[a.number for a in tries.values()])
    assert job.workload_id
    return job.workload_id


def part_of(request: Request) -> str:
    part = request.query_params.get("part", protocol.PART_OUTPUT)
    if part not in protocol.PARTS:
        raise Invalid({"part": _("There is no such part; known are %(known)s.") % {"known": ", ".join(protocol.PARTS)}})
    return part
