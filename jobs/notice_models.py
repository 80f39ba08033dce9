"""What people want to be told of their jobs, and each thing that they are told."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from uuid6 import uuid7

from jobs.states import NOTICE_OPEN, NoticeState
from monitoring.models import Event


class NoticeKind(models.TextChoices):
    """What a notice tells. `ends` is any end, `fails` one that is a failure; of both wanted a failure is told once."""

    STARTS = "starts", _("starts")
    ENDS = "ends", _("ends")
    FAILS = "fails", _("fails")
    WAITS = "waits", _("waits")  # longer than the person has said


class Channel(models.TextChoices):
    MAIL = "mail", _("mail")
    WEBHOOK = "webhook", _("webhook")


class NoticeSettings(models.Model):
    """What a person is told of the jobs that they launch, and how, where a launch says nothing else.

    Changed by `notice_settings` alone. Who has none is told nothing.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="notice_settings"
    )
    events = models.JSONField(default=list)  # of NoticeKind, without `waits`
    waits_longer_than_min = models.PositiveIntegerField(null=True)  # null: however long it waits
    by_mail = models.BooleanField(default=False)
    mail_address = models.CharField(max_length=254, default="")  # not the account's, which invitations go by
    by_webhook = models.BooleanField(default=False)
    webhook_url = models.CharField(max_length=2000, default="")
    webhook_secret = models.BinaryField(default=bytes)  # sealed (projects/secrets.py); empty: none yet
    webhook_secret_at = models.DateTimeField(null=True)  # when it was made
    old_webhook_secret = models.BinaryField(default=bytes)  # what was before it; signs too, until `old_secret_until`
    old_secret_until = models.DateTimeField(null=True)


class NoticeQuerySet(models.QuerySet["Notice"]):
    def open(self) -> NoticeQuerySet:
        return self.filter(due_at__isnull=False)


class Notice(models.Model):
    """That a person is told of an event of a job, by one channel, once. Made by `notices`, moved by `sending.move` alone."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)  # what a webhook's receiver knows it by
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices")
    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="notices")
    job = models.ForeignKey("jobs.Job", on_delete=models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=10, choices=NoticeKind.choices)
    channel = models.CharField(max_length=10, choices=Channel.choices)
    state = models.CharField(max_length=10, choices=NoticeState.choices, default=NoticeState.PENDING)
    tries = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(null=True)  # pending: the next try; sending: when that is taken for dead; null: it is over
    give_up_at = models.DateTimeField()
    detail = models.CharField(max_length=300, default="")  # why its last try failed, or it was not sent
    created_at = models.DateTimeField()
    moved_at = models.DateTimeField()

    objects = NoticeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["event", "user", "channel"], name="notice_once_a_channel"),
            models.CheckConstraint(condition=models.Q(state__in=NoticeState.values), name="notice_state_known"),
            models.CheckConstraint(
                condition=models.Q(due_at=None) ^ models.Q(state__in=sorted(NOTICE_OPEN)), name="notice_open_has_deadline"
            ),
        ]
        indexes = [
            # IS NOT NULL, which SQLite sees to follow from a comparison, and of NOT (... IS NULL) it does not.
            models.Index(fields=["due_at"], condition=models.Q(due_at__isnull=False), name="notice_due"),
            models.Index(fields=["user", "-id"], name="notice_of_person_newest"),
            models.Index(fields=["moved_at"], name="notice_moved"),
        ]

    @property
    def message_id(self) -> str:
        """The same at each try, by which a receiver drops what it has had."""
        return f"msg_{self.pk.hex}"

    @property
    def next_try_at(self) -> datetime | None:
        return self.due_at if self.state == NoticeState.PENDING else None

    @property
    def sent_at(self) -> datetime | None:
        return self.moved_at if self.state == NoticeState.SENT else None
