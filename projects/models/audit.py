"""Who did what, when, through what. Written once, never changed."""

from __future__ import annotations

from typing import Any, NoReturn

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

from projects.models.teams import Project, Team


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    def newest_first(self) -> AuditQuerySet:
        return self.order_by("-pk")

    def update(self, **kwargs: Any) -> NoReturn:
        raise _append_only()

    def delete(self) -> NoReturn:
        raise _append_only()


class AuditEntry(models.Model):
    """What a person did, in words that outlive the person, the thing and the project. Written by audit.record alone.

    `subject_*` are text: what they name may stand on any floor above, or be gone.
    """

    at = models.DateTimeField()
    verb = models.CharField(max_length=60)  # "job.cancel"
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    user_name = models.CharField(max_length=150)  # "": the panel itself
    token_id = models.BigIntegerField(null=True)  # of the ApiToken used; null: a page
    project = models.ForeignKey(Project, null=True, on_delete=models.SET_NULL, related_name="audit_entries")
    team = models.ForeignKey(Team, null=True, on_delete=models.SET_NULL, related_name="audit_entries")  # whose admins may read it
    subject_kind = models.CharField(max_length=30)
    subject_id = models.CharField(max_length=200)
    subject_title = models.CharField(max_length=300)
    data = models.JSONField(default=dict, encoder=DjangoJSONEncoder)

    objects = AuditQuerySet.as_manager()

    class Meta:
        indexes = [  # read newest first
            models.Index(fields=["project", "-id"], name="audit_of_a_project"),
            models.Index(fields=["team", "-id"], name="audit_of_a_team"),
        ]

    def __str__(self) -> str:
        return f"{self.verb} {self.subject_kind}:{self.subject_id} by {self.user_name}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise _append_only()
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _append_only()


def _append_only() -> TypeError:
    return TypeError("The audit is only ever added to.")
