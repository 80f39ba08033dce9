"""Answers kept for scripts that ask twice."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from rest_framework.utils.encoders import JSONEncoder


class IdempotencyKey(models.Model):
    """The answer that a person's request with this key got. Written by idempotency.once, deleted by idempotency.forget_old."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64)  # sha256 of method, path and body, in hex
    status = models.SmallIntegerField(null=True)  # HTTP's; null: being made, which only its own transaction sees
    body = models.JSONField(default=dict, encoder=JSONEncoder)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once_a_user"),
            models.CheckConstraint(condition=~models.Q(key=""), name="idempotency_key_not_empty"),
        ]

    def __str__(self) -> str:
        return self.key
