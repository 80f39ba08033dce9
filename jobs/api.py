"""The API of jobs: launch, relaunch, look, cancel. The same services as the pages."""

from __future__ import annotations

from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs import attempt_rows, definitions, filters, labels, listing, progress, services, sorting
from jobs.bulk_api import LabelChanges
from jobs.launch_shapes import Launch, LaunchBody
from jobs.models import Job
from jobs.shapes import AttemptAnswer, CancellationBody, EventAnswer, JobAnswer, RelaunchBody
from monitoring import events
from projects import idempotency, shapes
from projects.access import get_project
from projects.actors import Actor
from projects.errors import Conflict
from projects.queries import whole

MOST_EVENTS = 500


class JobChanges(shapes.Body):
    example: ClassVar = {"labels": {"sweep": "b", "draft": None}}
    labels = LabelChanges(help_text="Name to value; null takes the label away. Those that are not named stay.")


class Jobs(APIView):
    @extend_schema(
        operation_id="list_jobs", parameters=[*filters.PARAMETERS, sorting.SORT, *shapes.PAGED], responses=shapes.paged(JobAnswer)
    )
    def get(self, request: Request) -> Response:
        """List jobs, newest first.

        Several states mean any of them, several labels all of them.
        """
        page = listing.Page.from_query(request.query_params)
        shown, cursor = listing.jobs_of_page(page, Actor.of(request), now=timezone.now())
        more = {"next_cursor": str(cursor) if cursor else None}
        return shapes.many(JobAnswer, request, shown, more=more, progress=progress.of_jobs(shown))

    @extend_schema(
        operation_id="launch_job",
        request=LaunchBody,
        responses={201: JobAnswer},
        parameters=[idempotency.PARAMETER],
    )
    def post(self, request: Request) -> Response:
        """Launch a job.

        Safe to repeat with an Idempotency-Key. The answer's state is queued: it starts when chips are free for it.
        """
        by = Actor.of(request)
        return _made(*idempotency.once(request, by, lambda: (201, self._launch(request, by))))

    def _launch(self, request: Request, by: Actor) -> dict[str, Any]:
        asked = Launch.from_body(request.data)
        project = get_project(by, asked.project, may="jobs.launch")
        version = definitions.get_version(project, asked.definition, asked.version)
        job = services.launch(project=project, version=version, **asked.wanted, by=by, now=timezone.now())
        return JobAnswer(job).data


class OneJob(APIView):
    @extend_schema(operation_id="get_job", parameters=[shapes.FIELDS], responses=JobAnswer)
    def get(self, request: Request, number: int) -> Response:
        """One job, as it is now."""
        return _shown(request, services.get_job(Actor.of(request), number, may="jobs.view"))

    @extend_schema(operation_id="change_job", request=JobChanges, responses=JobAnswer)
    def patch(self, request: Request, number: int) -> Response:
        """Set labels of a job, or take some away: all else of a job is as it was launched."""
        by = Actor.of(request)
        job = services.get_job(by, number, may="jobs.label")
        _done, refused = labels.change([job.pk], shapes.read(JobChanges, request)["labels"], by=by, now=timezone.now())
        if refused:
            raise Conflict(refused[0].code, refused[0].message, job=number)
        return _shown(request, services.get_job(by, number, may="jobs.view"))


class Relaunch(APIView):
    @extend_schema(
        operation_id="relaunch_job", request=RelaunchBody, responses={201: JobAnswer}, parameters=[idempotency.PARAMETER]
    )
    def post(self, request: Request, number: int) -> Response:
        """Launch the same once more, as a new job, which may go on from the checkpoints of this one.

        Safe to repeat with an Idempotency-Key.
        """
        by = Actor.of(request)
        job = services.get_job(by, number, may="jobs.launch")
        asked = shapes.read(RelaunchBody, request)

        def make() -> tuple[int, dict[str, Any]]:
            return 201, JobAnswer(services.relaunch(job=job, by=by, now=timezone.now(), **asked)).data

        return _made(*idempotency.once(request, by, make))


class Attempts(APIView):
    @extend_schema(operation_id="list_attempts", parameters=[shapes.FIELDS], responses=shapes.listed(AttemptAnswer))
    def get(self, request: Request, number: int) -> Response:
        """The tries of a job, first to last."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        return shapes.many(AttemptAnswer, request, attempt_rows.of_job(job, list(job.attempts.select_related("workload"))))


class Cancellation(APIView):
    @extend_schema(operation_id="cancel_job", request=CancellationBody, responses={202: JobAnswer})
    def post(self, request: Request, number: int) -> Response:
        """Ask for the job's end; with `force` without the time to stop by itself.

        It has ended when its state says so; until then that is `stopping`. Asked again nothing changes.
        """
        by = Actor.of(request)
        job = services.get_job(by, number, may="jobs.cancel")
        services.cancel(job=job, by=by, now=timezone.now(), **shapes.read(CancellationBody, request))
        return _shown(request, services.get_job(by, number, may="jobs.view"), status=202)


class Events(APIView):
    @extend_schema(
        operation_id="list_job_events",
        parameters=[shapes.FIELDS, OpenApiParameter("since", int, description="Those with a greater `seq`.")],
        responses=shapes.listed(EventAnswer, head=serializers.IntegerField(help_text="`seq` of the last that there is.")),
    )
    def get(self, request: Request, number: int) -> Response:
        """What has happened to a job, in order; at most 500 at once."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        assert job.subject
        found = events.since(job.subject, whole(request.query_params, "since", 0), MOST_EVENTS)
        return shapes.many(EventAnswer, request, found, more={"head": job.subject.seq})


def _shown(request: Request, job: Job, *, status: int = 200) -> Response:
    known = progress.of_job(job)
    return shapes.one(JobAnswer, request, job, status=status, progress={job.pk: known} if known else {})


def _made(status: int, body: dict[str, Any], is_replayed: bool) -> Response:
    """Of a job that was made, now or when the same request came first."""
    headers = {"Location": f"/api/v1/jobs/{body['number']}"} | ({"Idempotent-Replayed": "true"} if is_replayed else {})
    return Response(body, status=status, headers=headers)
