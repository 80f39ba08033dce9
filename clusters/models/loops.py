from __future__ import annotations

from django.db import models


class Loop(models.Model):
    """Which process runs a loop now. Taken and renewed by a conditional UPDATE (clusters/holding.py)."""

    name = models.CharField(max_length=20, primary_key=True)
    holder = models.CharField(max_length=64)
    until = models.DateTimeField()
    # The inbox only: the stretch in which it has read without a break. The panel's absence is no host's silence.
    reading_since = models.DateTimeField(null=True)
    read_at = models.DateTimeField(null=True)
