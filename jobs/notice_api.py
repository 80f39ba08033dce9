"""The API's door to one's own notices: what one wants to be told, the webhook's secret, and what was told."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs import notice_listing, notice_settings
from jobs.models import NoticeSettings
from jobs.notice_shapes import ChangedNoticeSettingsAnswer, NoticeAnswer, NoticeSettingsAnswer, NoticeSettingsBody
from projects import shapes
from projects.actors import Actor


class Notices(APIView):
    @extend_schema(operation_id="get_notices", parameters=[shapes.FIELDS], responses=NoticeSettingsAnswer)
    def get(self, request: Request) -> Response:
        """What you are told of the jobs that you launch, and how, where a launch says nothing else."""
        return shapes.one(NoticeSettingsAnswer, request, notice_settings.of(_person(request)))

    @extend_schema(operation_id="set_notices", request=NoticeSettingsBody, responses=ChangedNoticeSettingsAnswer)
    def put(self, request: Request) -> Response:
        """Set what you are told; what is left out is off.

        With a first webhook a secret is made, which this answer alone has. Jobs that wait already count.
        """
        wanted, by = shapes.read(NoticeSettingsBody, request), Actor.of(request)
        return _changed(*notice_settings.change(user=_person(request), wanted=wanted, by=by, now=timezone.now()))


class WebhookSecret(APIView):
    @extend_schema(operation_id="rotate_webhook_secret", request=None, responses={201: ChangedNoticeSettingsAnswer})
    def post(self, request: Request) -> Response:
        """Make another secret for your webhook.

        It is in this answer and nowhere else, so it is not kept for an Idempotency-Key either. For a day what is sent is signed
        with both, the new and the one before.
        """
        found = notice_settings.rotate_secret(user=_person(request), by=Actor.of(request), now=timezone.now())
        return _changed(*found, status=201)


class Deliveries(APIView):
    @extend_schema(operation_id="list_notice_deliveries", parameters=shapes.PAGED, responses=shapes.paged(NoticeAnswer))
    def get(self, request: Request) -> Response:
        """What you were told or are to be told, newest first: by which channel, in which state, and why not."""
        found, cursor = notice_listing.page(_person(request), request.query_params)
        return shapes.many(NoticeAnswer, request, found, more={"next_cursor": cursor})


def _changed(found: NoticeSettings, secret: str, *, status: int = 200) -> Response:
    body = ChangedNoticeSettingsAnswer(found, context={"secret": secret}).data
    return Response(body, status=status, headers={"Cache-Control": "no-store"})


def _person(request: Request) -> User:
    assert request.user.is_authenticated  # the default permission has looked
    return request.user
