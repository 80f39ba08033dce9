"""Tokens with which scripts come through the API."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from projects.actors import SCOPES


class ApiToken(models.Model):
    """A script's way in as a person, within a scope. Made by tokens.issue, ended by tokens.revoke, noted by tokens.find.

    The text is shown once, when it is made; only its digest is kept.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=8)  # the first characters after "tpu_", by which a person knows it again
    digest = models.CharField(max_length=64, unique=True)  # sha256 of the text, in hex
    scope = models.CharField(max_length=10, choices=[(scope, scope) for scope in SCOPES])
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)  # null: never
    last_used_at = models.DateTimeField(null=True)  # to a minute
    revoked_at = models.DateTimeField(null=True)
    # The token that issued it, which it does not outlive; null: a person at a page, or at the command line.
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="children")

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(scope__in=SCOPES), name="token_scope_known")]

    def __str__(self) -> str:
        return f"{self.name} (tpu_{self.prefix}…)"
