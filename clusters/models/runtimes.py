"""What ranks need before they start: the Python environment and the code."""

from __future__ import annotations

from django.db import models


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
