"""Which of a job's logs a request is about: an attempt's, of one rank, of one part."""

from __future__ import annotations

from uuid import UUID

from rest_framework.request import Request

from jobs import services
from jobs.log_api import WHICH, _part, _workload_of
from monitoring import logs
from monitoring.models import Log
from projects.actors import Actor
from projects.queries import whole

__all__ = ["WHICH", "chosen"]


def chosen(request: Request, number: int) -> tuple[Log | None, UUID]:
    """The log, None while nothing of it is stored, and its workload. Raises NotFound, Forbidden or Invalid."""
    job = services.get_job(Actor.of(request), number, may="jobs.view")
    assert job.subject
    workload_id = _workload_of(request, job)
    return logs.find_log(job.subject, workload_id, whole(request, "rank", 0), _part(request)), workload_id
