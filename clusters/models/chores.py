from __future__ import annotations

from django.db import models


class ChoreKind(models.TextChoices):
    RESOLVE_SOURCE = "resolve-source"  # target: the workload whose git ref is to become a commit
    SEND_NOTICES = "send-notices"  # target: the person whose notices are due (jobs/notices.py)


class ChoreQuerySet(models.QuerySet["Chore"]):
    def open(self) -> ChoreQuerySet:
        return self.filter(done_at=None)


class Chore(models.Model):
    """Slow work of the panel itself, done by its Celery worker (queue `panel`); safe twice. See clusters/chores.py."""

    kind = models.CharField(max_length=20, choices=ChoreKind.choices)
    target = models.CharField(max_length=64)  # id of what it is about
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)  # null: to be sent now
    sent_times = models.PositiveIntegerField(default=0)
    done_at = models.DateTimeField(null=True)
    detail = models.CharField(max_length=300, blank=True)  # why it was given up

    objects = ChoreQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "target"], condition=models.Q(done_at=None), name="chore_once_while_open")
        ]
        indexes = [models.Index(fields=["created_at"], condition=models.Q(done_at=None), name="chore_open")]
