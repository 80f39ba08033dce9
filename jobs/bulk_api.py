"""The API of what is done with many jobs at once: cancellations, relaunches, labels. The same services as the pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django.utils import timezone
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs import cancellations, labels, relaunches, selections
from jobs.selections import Plan, Refusal, Selection
from projects import idempotency, shapes
from projects.actors import Actor

MOST_RESULTS = 1000


@extend_schema_field(
    {"type": "object", "additionalProperties": {"type": "string", "nullable": True}, "maxProperties": labels.MOST_LABELS}
)
class LabelChanges(shapes.Typed):
    kind = dict
    default_error_messages = {"kind": gettext_lazy("an object of texts is needed; null takes a label away")}

    def fits(self, data: Any) -> bool:
        return all(value is None or isinstance(value, str) for value in data.values())


class SelectionBody(shapes.Body):
    """Either `jobs` or `filter`."""

    example: ClassVar[dict[str, Any]] = {"jobs": [17, 18]}
    jobs = serializers.ListField(
        child=shapes.Whole(), default=list, help_text="Numbers; those that are not there, or not yours to see, are told as such."
    )
    filter = shapes.Text(
        default=None,
        allow_null=True,
        help_text="All that it lets through, as in the address of GET /jobs: `state=queued&owner=me`. At most 10,000 jobs.",
    )


class CancellationsBody(SelectionBody):
    example: ClassVar = {"filter": "state=queued&owner=me"}
    force = shapes.Flag(default=False, help_text="End those that run at once, without their stop grace.")


class LabelsBody(SelectionBody):
    example: ClassVar = {"jobs": [17, 18], "labels": {"sweep": "b", "draft": None}}
    labels = LabelChanges(help_text="Name to value; null takes the label away. Those that are not named stay.")


class BulkResult(shapes.Answer):
    number = serializers.IntegerField()
    outcome = serializers.ChoiceField(["done", "refused"])
    code = serializers.CharField(help_text="Of why it was refused, else empty.")
    message = serializers.CharField()
    made = serializers.IntegerField(allow_null=True, help_text="Number of the job that was made of it.")


class BulkAnswer(shapes.Answer):
    example: ClassVar = {
        "done": 1,
        "refused": 1,
        "results": [
            {"number": 18, "outcome": "refused", "code": "job-ended", "message": "Job 18 has ended already.", "made": None},
            {"number": 17, "outcome": "done", "code": "", "message": "", "made": None},
        ],
        "left_out": 0,
    }
    done = serializers.IntegerField()
    refused = serializers.IntegerField()
    results = BulkResult(many=True, help_text="At most 1,000 jobs, those that were refused first.")
    left_out = serializers.IntegerField(help_text="How many more there are.")


class Cancellations(APIView):
    @extend_schema(operation_id="cancel_jobs", request=CancellationsBody, responses={202: BulkAnswer})
    def post(self, request: Request) -> Response:
        """Ask for the end of many jobs.

        Those that wait are canceled when this answers; asked again nothing changes.
        """
        by, now = Actor.of(request), timezone.now()
        body = shapes.read(CancellationsBody, request)
        found = selections.plan(_selection(body), by, may="jobs.cancel", now=now, ended=False)
        done, refused = cancellations.cancel(found.able, by=by, now=now, force=body["force"])
        return Response(_answer(found, done, refused), status=202)


class Relaunches(APIView):
    @extend_schema(
        operation_id="relaunch_jobs", request=SelectionBody, responses={201: BulkAnswer}, parameters=[idempotency.PARAMETER]
    )
    def post(self, request: Request) -> Response:
        """Launch many jobs that have ended once more, each as it was; at most 200.

        Safe to repeat with an Idempotency-Key.
        """
        by, now = Actor.of(request), timezone.now()

        def make() -> idempotency.Answer:
            selection = _selection(shapes.read(SelectionBody, request))
            found = selections.plan(selection, by, may="jobs.launch", now=now, ended=True, most=relaunches.MOST)
            made, refused = relaunches.relaunch(found.able, by=by, now=now)
            return 201, _answer(found, made, refused, made)

        status, body, is_replayed = idempotency.once(request, by, make)
        return Response(body, status=status, headers={"Idempotent-Replayed": "true"} if is_replayed else {})


class Labels(APIView):
    @extend_schema(operation_id="label_jobs", request=LabelsBody, responses=BulkAnswer)
    def post(self, request: Request) -> Response:
        """Set labels of many jobs, or take some away. Asked again nothing changes."""
        by, now = Actor.of(request), timezone.now()
        body = shapes.read(LabelsBody, request)
        labels.check(body["labels"])
        found = selections.plan(_selection(body), by, may="jobs.label", now=now)
        done, refused = labels.change(found.able, body["labels"], by=by, now=now)
        return Response(_answer(found, done, refused))


def _selection(body: Mapping[str, Any]) -> Selection:
    return Selection.read(body["jobs"], body["filter"])


def _answer(
    found: Plan, done: Iterable[int], refused: Iterable[Refusal], made: Mapping[int, int] | None = None
) -> dict[str, Any]:
    others = [*found.refused, *refused]
    results: list[dict[str, Any]] = [
        {"number": one.number, "outcome": "refused", "code": one.code, "message": one.message, "made": None} for one in others
    ]
    results += [
        {"number": number, "outcome": "done", "code": "", "message": "", "made": (made or {}).get(number)} for number in done
    ]
    answer = {
        "done": len(results) - len(others),
        "refused": len(others),
        "results": results[:MOST_RESULTS],
        "left_out": max(0, len(results) - MOST_RESULTS),
    }
    return dict(BulkAnswer(answer).data)
