"""What ranks need before they start: the Python environment and the code."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from projects.models import Project


class Runtime(models.Model):
    """A Python environment by the digest of its pinned list. Made by `runtimes.pin`, never changed."""

    digest = models.CharField(max_length=64, primary_key=True)  # sha256 of `requirements`
    name = models.CharField(max_length=63)  # of the preset that it came from
    requirements = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.name} {self.digest[:8]}"


class Source(models.Model):
    """Code as one archive, by the digest of its bytes. Made by `sources`, never changed."""

    digest = models.CharField(max_length=64, primary_key=True)  # sha256 of the archive
    title = models.CharField(max_length=300)  # where it came from, for people
    size_bytes = models.BigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.title} {self.digest[:8]}"


class Upload(models.Model):
    """That someone brought an archive into a project: only there may it be launched. Made by `sources.upload`."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="uploads")
    source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=200)  # of the file, as it came
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "source"], name="upload_once_a_project")]
