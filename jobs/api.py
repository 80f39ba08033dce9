"""The API of jobs: launch, relaunch, look, cancel. The same services as the pages."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework.request import Request as ApiRequest
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs import definitions, filters, progress, services
from jobs.shapes import AttemptShape, JobShape, Launch
from monitoring import events
from projects import idempotency
from projects.access import get_project
from projects.actors import Actor
from projects.queries import flag, whole

MOST_EVENTS = 500


class Jobs(APIView):
    def get(self, request: ApiRequest) -> Response:
        """Newest first; `cursor` is the answer's `next_cursor`.

        Filters: `project`, `state` and `label` (key=value; both may come several times), `owner` (a name, or "me"),
        `definition`, `accelerator`, `cluster`, `text` (part of its name, or its number).
        """
        shown, next_cursor = filters.jobs_of_page(filters.Page.from_query(request.query_params), Actor.of(request))
        known = progress.of_jobs(shown)
        return Response({"results": [JobShape.of(job, known.get(job.pk)) for job in shown], "next_cursor": next_cursor})

    def post(self, request: ApiRequest) -> Response:
        """Launch a job. Safe to repeat with an Idempotency-Key."""
        by = Actor.of(request)
        return _made(*idempotency.once(request, by, lambda: (201, self._launch(request, by))))

    def _launch(self, request: ApiRequest, by: Actor) -> dict[str, Any]:
        asked = Launch.from_body(request.data)
        project = get_project(by, asked.project, may="jobs.launch")
        job = services.launch(
            project=project,
            version=definitions.get_version(project, asked.definition),
            values=asked.parameters,
            resources=asked.resources,
            name=asked.name,
            labels=asked.labels,
            environment=asked.environment,
            secrets=asked.secrets,
            retries=asked.retries,
            by=by,
            now=timezone.now(),
        )
        return JobShape.of(job)


class OneJob(APIView):
    def get(self, request: ApiRequest, number: int) -> Response:
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        return Response(JobShape.of(job, progress.of_job(job)))


class Relaunch(APIView):
    def post(self, request: ApiRequest, number: int) -> Response:
        """The same once more, as a new job. Safe to repeat with an Idempotency-Key."""
        by = Actor.of(request)
        job = services.get_job(by, number, may="jobs.launch")

        def make() -> tuple[int, dict[str, Any]]:
            return 201, JobShape.of(services.relaunch(job=job, by=by, now=timezone.now()))

        return _made(*idempotency.once(request, by, make))


class Attempts(APIView):
    def get(self, request: ApiRequest, number: int) -> Response:
        """The tries of a job, first to last."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        return Response({"results": [AttemptShape.of(one) for one in job.attempts.select_related("workload")]})


class Cancellation(APIView):
    def post(self, request: ApiRequest, number: int) -> Response:
        """Ask for the job's end; `{"force": true}` without grace. 202: it has ended when its state says so."""
        by = Actor.of(request)
        job = services.get_job(by, number, may="jobs.cancel")
        services.cancel(job=job, by=by, now=timezone.now(), force=flag(request.data, "force"))
        return Response(JobShape.of(services.get_job(by, number, may="jobs.view")), status=202)


class Events(APIView):
    def get(self, request: ApiRequest, number: int) -> Response:
        """At most MOST_EVENTS events after `since`, in order; `head` is the last there is."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        assert job.subject
        found = events.since(job.subject, whole(request, "since", 0), MOST_EVENTS)
        return Response({"results": [event.as_json() for event in found], "head": job.subject.seq})


def _made(status: int, body: dict[str, Any], is_replayed: bool) -> Response:
    """Of a job that was made, now or when the same request came first."""
    headers = {"Location": f"/api/v1/jobs/{body['number']}"} | ({"Idempotent-Replayed": "true"} if is_replayed else {})
    return Response(body, status=status, headers=headers)
