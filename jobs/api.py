"""The API of jobs: launch, relaunch, look, cancel, read the log, get the files. The same services as the pages."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request as ApiRequest
from rest_framework.response import Response
from rest_framework.views import APIView

from agent import protocol
from clusters import fetches
from jobs import definitions, downloads, files, filters, progress, services
from jobs.models import Job, JobDefinition
from jobs.shapes import AttemptShape, DefinitionShape, FetchShape, FileShape, JobShape, Launch
from monitoring import events, lines, logs, metric_queries
from monitoring.models import Log
from projects import idempotency
from projects.access import get_project, visible_projects
from projects.actors import Actor
from projects.errors import Invalid, NotFound

MOST_LOG_BYTES = 4 * 1024 * 1024  # of one answer that asks for a piece
LOG_CHUNK_BYTES = 256 * 1024
MOST_EVENTS = 500
MOST_FILES_A_PAGE = 1000


class Jobs(APIView):
    def get(self, request: ApiRequest) -> Response:
        """Newest first; `cursor` is the answer's `next_cursor`.

        Filters: `project`, `state` and `label` (key=value; both may come several times), `owner` (a name, or "me"),
        `definition`, `accelerator`, `cluster`, `text` (part of its name, or its number).
        """
        shown, next_cursor = filters.jobs_of_page(filters.Page.from_query(request.query_params), Actor.of(request))
        known = progress.of_jobs(shown)
        return Response({"jobs": [JobShape.of(job, known.get(job.pk)) for job in shown], "next_cursor": next_cursor})

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
        return Response({"attempts": [AttemptShape.of(one) for one in job.attempts.select_related("workload")]})


class Cancellation(APIView):
    def post(self, request: ApiRequest, number: int) -> Response:
        """Ask for the job's end; `{"force": true}` without grace. 202: it has ended when its state says so."""
        by = Actor.of(request)
        job = services.get_job(by, number, may="jobs.cancel")
        services.cancel(job=job, by=by, now=timezone.now(), force=_flag(request.data, "force"))
        return Response(JobShape.of(services.get_job(by, number, may="jobs.view")), status=202)


class Events(APIView):
    def get(self, request: ApiRequest, number: int) -> Response:
        """At most MOST_EVENTS events after `since`, in order; `head` is the last there is."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        assert job.subject
        found = events.since(job.subject, _whole(request, "since", 0), MOST_EVENTS)
        return Response({"events": [event.as_json() for event in found], "head": job.subject.seq})


class JobLog(APIView):
    def get(self, request: ApiRequest, number: int) -> HttpResponseBase:
        """Bytes of a log exactly as they were printed: all of it, or `limit` from `offset` on, or the last `tail` bytes.

        `rank`, `part` and `attempt` or `workload` choose which log. X-Log-Offset is where the first byte stands, X-Log-Next
        where the next answer begins, X-Log-Line the line of its first byte (from 0), X-Log-Gaps what the host had to drop
        within it, X-Log-Complete whether the log's end is known and stored.
        """
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        assert job.subject
        workload_id = _workload_of(request, job)
        log = logs.find_log(job.subject, workload_id, _whole(request, "rank", 0), _part(request))
        head = log.head_offset if log else 0
        tail = _whole(request, "tail", head)
        offset = min(max(_whole(request, "offset", 0), head - tail), head)
        end = min(head, offset + min(_whole(request, "limit", MOST_LOG_BYTES), MOST_LOG_BYTES) if _is_cut(request) else head)
        gaps = logs.gaps(log, offset, end) if log and log.dropped_bytes else []
        return StreamingHttpResponse(
            _bytes(log, offset, end) if log else _nothing(),
            content_type="application/octet-stream",
            headers={
                "Content-Length": str(end - offset),
                "X-Log-Offset": str(offset),
                "X-Log-Next": str(end),
                "X-Log-Line": str(lines.line_at(log, offset) if log else 0),
                "X-Log-Gaps": json.dumps(
                    [{"offset": g.offset, "dropped_bytes": g.dropped_bytes, "from_ms": g.from_ms} for g in gaps[-100:]]
                ),
                "X-Log-Head": str(head),
                "X-Log-Complete": "true" if log and log.is_complete else "false",
                "X-Log-Workload": str(workload_id),
                "X-Content-Type-Options": "nosniff",
                "Content-Disposition": f'attachment; filename="job-{job.pk}.log"',  # a browser never shows it as a page
            },
        )


async def _bytes(log: Log, offset: int, end: int) -> AsyncIterator[bytes]:
    """Read as the client takes them: a log may be larger than memory."""
    while offset < end:
        data = await sync_to_async(logs.read)(log, offset, min(LOG_CHUNK_BYTES, end - offset))
        if not data:
            return
        yield data
        offset += len(data)


async def _nothing() -> AsyncIterator[bytes]:
    for data in list[bytes]():
        yield data


def _is_cut(request: ApiRequest) -> bool:
    return "limit" in request.query_params or "tail" in request.query_params


class Metrics(APIView):
    def get(self, request: ApiRequest, number: int) -> Response:
        """Every series of the job with its last point."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        assert job.subject
        return Response(metric_queries.all_series(job.subject, _attempts(job)))


class MetricLines(APIView):
    def get(self, request: ApiRequest, number: int) -> Response:
        """One metric as buckets: `name`; `by` step or wall; `start` and `end` on that axis; at most `buckets` a line."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        assert job.subject
        query = metric_queries.LinesQuery.from_query(request.query_params)
        return Response(metric_queries.lines(job.subject, query, _attempts(job)))


class Files(APIView):
    def get(self, request: ApiRequest, number: int) -> Response:
        """Files that the job has written, of all its attempts; `cursor` is the answer's `next_cursor`.

        `has_more`: some rank has more files than are told of.
        """
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        limit = max(1, min(_whole(request, "limit", MOST_FILES_A_PAGE), MOST_FILES_A_PAGE))
        found = list(files.of_job(job).filter(pk__gt=_whole(request, "cursor", 0)).order_by("pk")[: limit + 1])
        shown = found[:limit]
        attempts = {attempt.workload_id: attempt.number for attempt in job.attempts.all()}
        return Response(
            {
                "files": [FileShape.of(file, job=job.pk, attempt=attempts.get(file.rank.workload_id)) for file in shown],
                "has_more": any(file.rank.has_more_files for file in shown),
                "next_cursor": shown[-1].pk if len(found) > limit else None,
            }
        )


class OneFile(APIView):
    def get(self, request: ApiRequest, number: int, file_id: int) -> HttpResponseBase:
        """The file's bytes, with single ranges. While it is fetched from its host: 202, how far that is, and Retry-After."""
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        fetch = fetches.want(files.get_file(job, file_id), now=timezone.now())
        if fetch.is_complete:
            return downloads.answer(request, fetch)
        return Response(FetchShape.of(fetch), status=202, headers={"Retry-After": "1"})


class Definitions(APIView):
    def get(self, request: ApiRequest) -> Response:
        """The definitions of one's projects, each with its newest version; `project` filters."""
        projects = visible_projects(Actor.of(request))
        if slug := request.query_params.get("project", ""):
            projects = projects.filter(pk=get_project(Actor.of(request), slug, may="project.view").pk)
        found = JobDefinition.objects.filter(project__in=projects).select_related("project").prefetch_related("versions")
        return Response({"definitions": [DefinitionShape.of(one) for one in found.order_by("project__slug", "slug")]})


def _attempts(job: Job) -> dict[UUID, int]:
    return {attempt.workload_id: attempt.number for attempt in job.attempts.all()}


def _made(status: int, body: dict[str, Any], is_replayed: bool) -> Response:
    """Of a job that was made, now or when the same request came first."""
    headers = {"Location": f"/api/v1/jobs/{body['number']}"} | ({"Idempotent-Replayed": "true"} if is_replayed else {})
    return Response(body, status=status, headers=headers)


def _workload_of(request: ApiRequest, job: Job) -> UUID:
    """The attempt's that is asked for by its number or its workload, else the last one's."""
    workload, attempt = request.query_params.get("workload"), request.query_params.get("attempt")
    tries = {str(a.workload_id): a for a in job.attempts.all()}
    if workload is not None and workload in tries:
        return tries[workload].workload_id
    if attempt is not None:
        for one in tries.values():
            if str(one.number) == attempt:
                return one.workload_id
    if workload is not None or attempt is not None:
        raise NotFound("no-such-attempt", "The job has no such attempt.", attempts=[a.number for a in tries.values()])
    assert job.workload_id
    return job.workload_id


def _part(request: ApiRequest) -> str:
    part = request.query_params.get("part", protocol.PART_OUTPUT)
    if part not in protocol.PARTS:
        raise Invalid({"part": f"There is no such part; known are {', '.join(protocol.PARTS)}."})
    return part


def _whole(request: ApiRequest, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    if not text.isdecimal() or len(text) > 18:
        raise Invalid({name: "A whole number from 0 is needed."})
    return int(text)


def _flag(body: Any, name: str) -> bool:
    value = body.get(name, False) if isinstance(body, dict) else None
    if not isinstance(value, bool):
        raise Invalid({name: "true or false is needed."})
    return value
