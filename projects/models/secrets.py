"""Secrets of a project: written, never shown again."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from projects.models.teams import Project

secret_name = RegexValidator(
    r"\A[A-Za-z_][A-Za-z0-9_]{0,99}\Z", _("Letters, digits and _, 1 to 100 of them, no digit first: it becomes a variable.")
)


class Secret(models.Model):
    """A value that a project's jobs get as an environment variable. Written by secrets.put, deleted by secrets.remove.

    Read only by secrets.reveal, for the host that starts the job.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="secrets")
    name = models.CharField(max_length=100, validators=[secret_name])
    value = models.BinaryField()  # encrypted with the key of settings.SECRETS_KEY_FILE
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    updated_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="secret_name_once_a_project")]

    def __str__(self) -> str:
        return self.name
