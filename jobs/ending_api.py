"""The API of why a job ended."""

from __future__ import annotations

from typing import ClassVar

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from clusters.states import WORKLOAD_ENDED
from jobs import endings, services
from jobs.endings import Ending
from jobs.log_choice import workload_of
from jobs.shapes import ReasonAnswer
from projects import shapes
from projects.actors import Actor
from projects.errors import NotFound


class LastLineAnswer(shapes.Answer):
    number = serializers.IntegerField(help_text="From 1, as the page shows it.")
    text = serializers.CharField(help_text="Without colours, and of a progress bar its last state; at most 2,000 characters.")


class EndingAnswer(shapes.Answer):
    """Of an Ending; `job` in its context is the job's number."""

    example: ClassVar = {
        "attempt": 1,
        "reason": {"code": "exit-code", "sentence": "The command ended with exit code 1 on tpu-1."},
        "rule": "no-module",
        "cause": "Python found no module einops.",
        "advice": "Add it to the requirements of the definition's runtime, or ship it with the source; then edit and relaunch.",
        "is_worth_repeating": False,
        "rank": 0,
        "host": "tpu-1",
        "exit_code": 1,
        "signal": None,
        "ended_at": "2026-03-01T12:01:02Z",
        "part": "output",
        "last_words": [{"number": 41, "text": "ModuleNotFoundError: No module named 'einops'"}],
        "told_by": {"number": 41, "text": "ModuleNotFoundError: No module named 'einops'"},
        "link": "/jobs/17#1.0.output:L38",
    }
    attempt = serializers.IntegerField()
    reason = serializers.SerializerMethodField()
    rule = serializers.CharField(source="verdict.rule.name", help_text="For scripts; `unknown`: none fits.")
    cause = serializers.CharField(source="verdict.cause")
    advice = serializers.CharField(source="verdict.advice", help_text="What to do next.")
    is_worth_repeating = serializers.BooleanField(source="verdict.rule.again", help_text="The same once more may well succeed.")
    rank = serializers.IntegerField(allow_null=True, help_text="The first that failed; null: none had begun.")
    host = serializers.CharField(help_text="Its host; empty: none.")
    exit_code = serializers.IntegerField(allow_null=True)
    signal = serializers.IntegerField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    part = serializers.CharField(help_text="Of the log, which the last words are of.")
    last_words = LastLineAnswer(many=True)
    told_by = LastLineAnswer(allow_null=True, help_text="The line by which the rule knew; null: it knew by the reason.")
    link = serializers.SerializerMethodField(help_text="Its page, at the line from which the log is best read.")

    @extend_schema_field(ReasonAnswer)
    def get_reason(self, ending: Ending) -> dict[str, str]:
        return {"code": ending.code, "sentence": ending.sentence}

    def get_link(self, ending: Ending) -> str:
        return f"/jobs/{self.context['job']}{ending.lines_link}"


class OneEnding(APIView):
    @extend_schema(
        operation_id="get_job_ending",
        parameters=[OpenApiParameter("attempt", int, description="Its number. Usual: the last."), shapes.FIELDS],
        responses=EndingAnswer,
    )
    def get(self, request: Request, number: int) -> Response:
        """Why a job ended, or one of its attempts: the cause in words, the last words, and what to do next.

        Of a job or an attempt that goes on there is none: `not-ended`.
        """
        job = services.get_job(Actor.of(request), number, may="jobs.view")
        attempt = job.attempts.select_related("workload").get(workload_id=workload_of(request, job))
        is_asked_of_job = attempt.workload_id == job.workload_id and "attempt" not in request.query_params
        if not (job.has_ended if is_asked_of_job else attempt.workload.state in WORKLOAD_ENDED):
            raise NotFound("not-ended", _("It has not ended."), state=job.state)
        return shapes.one(EndingAnswer, request, endings.of_attempt(job, attempt), job=job.pk)
