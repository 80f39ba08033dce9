"""The JSON of a person's notices."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from rest_framework import serializers

from jobs.models import Channel, NoticeKind, NoticeSettings
from jobs.states import NoticeState
from projects import shapes


class NoticeSettingsAnswer(shapes.Answer):
    example: ClassVar = {
        "events": ["fails"],
        "waits_longer_than_min": 60,
        "by_mail": True,
        "mail_address": "ada@example.com",
        "mail_is_configured": True,
        "by_webhook": True,
        "webhook_url": "https://example.com/hooks/panel",
        "webhook_secret_at": "2026-03-01T12:00:00Z",
    }
    events = serializers.ListField(child=serializers.CharField(), help_text="Of `starts`, `ends` and `fails`.")
    waits_longer_than_min = serializers.IntegerField(allow_null=True, help_text="Minutes; null: however long it waits.")
    by_mail = serializers.BooleanField()
    mail_address = serializers.CharField()
    mail_is_configured = serializers.SerializerMethodField(help_text="Whether this panel has a mail server.")
    by_webhook = serializers.BooleanField()
    webhook_url = serializers.CharField()
    webhook_secret_at = serializers.DateTimeField(allow_null=True, help_text="When the secret was made that signs.")

    def get_mail_is_configured(self, found: NoticeSettings) -> bool:
        return bool(settings.IS_MAIL_CONFIGURED)


class ChangedNoticeSettingsAnswer(NoticeSettingsAnswer):
    """With `secret` in its context: the webhook's, when it was made just now."""

    example: ClassVar = {**NoticeSettingsAnswer.example, "webhook_secret": "whsec_..."}
    webhook_secret = serializers.SerializerMethodField(help_text="This once, when it was made; else null.")

    def get_webhook_secret(self, found: NoticeSettings) -> str | None:
        return self.context["secret"] or None


class NoticeSettingsBody(shapes.Body):
    """What is left out is off."""

    example: ClassVar = {
        "events": ["fails"],
        "waits_longer_than_min": 60,
        "by_webhook": True,
        "webhook_url": "https://example.com/hooks/panel",
    }
    events = shapes.Names(default=list, help_text="Of `starts`, `ends` (however it ends) and `fails`.")
    waits_longer_than_min = shapes.Whole(default=None, allow_null=True)
    by_mail = shapes.Flag(default=False)
    mail_address = shapes.Text(default="")
    by_webhook = shapes.Flag(default=False)
    webhook_url = shapes.Text(default="", help_text="It begins with https://.")


class NoticeAnswer(shapes.Answer):
    example: ClassVar = {
        "id": "019505c5-7c00-7000-8000-000000000002",
        "job": 17,
        "kind": "fails",
        "event": "job.failed",
        "channel": "webhook",
        "state": "pending",
        "tries": 1,
        "error": "It answered with HTTP 503.",
        "created_at": "2026-03-01T12:00:00Z",
        "next_try_at": "2026-03-01T12:00:10Z",
        "sent_at": None,
    }
    id = serializers.UUIDField(help_text="Of a webhook its `webhook-id` is `msg_` and this without dashes.")
    job = serializers.IntegerField(source="job_id")
    kind = serializers.ChoiceField(NoticeKind.choices)
    event = serializers.CharField(source="event.code")
    channel = serializers.ChoiceField(Channel.choices)
    state = serializers.ChoiceField(NoticeState.choices)
    tries = serializers.IntegerField()
    error = serializers.CharField(source="detail", help_text="Why its last try failed, or it was not sent; empty: nothing.")
    created_at = serializers.DateTimeField()
    next_try_at = serializers.DateTimeField(allow_null=True)
    sent_at = serializers.DateTimeField(allow_null=True)
