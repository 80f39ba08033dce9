"""The JSON of tokens."""

from __future__ import annotations

from typing import ClassVar

from rest_framework import serializers

from projects import shapes
from projects.actors import SCOPES


class TokenAnswer(shapes.Answer):
    example: ClassVar = {
        "id": 3,
        "name": "nightly sweep",
        "prefix": "q8Zk1x2a",
        "scope": "launch",
        "created_at": "2026-03-01T12:00:00Z",
        "expires_at": None,
        "last_used_at": "2026-03-01T12:05:00Z",
        "revoked_at": None,
    }
    id = serializers.IntegerField()
    name = serializers.CharField()
    prefix = serializers.CharField()
    scope = serializers.ChoiceField(SCOPES)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)


class NewToken(shapes.Body):
    example: ClassVar = {"name": "nightly sweep", "scope": "launch"}
    name = serializers.CharField(max_length=100)
    scope = serializers.ChoiceField(SCOPES)
    expires_at = serializers.DateTimeField(allow_null=True, default=None)


class IssuedToken(TokenAnswer):
    example: ClassVar = {**TokenAnswer.example, "last_used_at": None, "text": "tpu_..."}
    text = serializers.CharField()  # this once
