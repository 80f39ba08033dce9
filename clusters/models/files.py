"""What ranks write: files that lie on hosts, and those of them that were fetched to the panel."""

from __future__ import annotations

from django.db import models

from agent import protocol
from clusters.models.hosts import Host
from clusters.models.workloads import Rank
from clusters.states import FETCH_OPEN, FetchState


class OutputFileQuerySet(models.QuerySet["OutputFile"]):
    def of_subject(self, subject_id: int) -> OutputFileQuerySet:
        """Files of all workloads of this owner; with rank, host and workload."""
        found = self.filter(rank__workload__subject_id=subject_id)
        return found.select_related("rank__host__slice__cluster", "rank__workload__subject")

    def there(self) -> OutputFileQuerySet:
        """As far as their hosts have told."""
        return self.filter(gone=False)


class OutputFile(models.Model):
    """A file that a rank has written on its host, as that host tells of it. Written by `files.note` alone."""

    class Area(models.TextChoices):
        OUTPUT = protocol.AREA_OUTPUT
        CHECKPOINTS = protocol.AREA_CHECKPOINTS

    rank = models.ForeignKey(Rank, on_delete=models.CASCADE, related_name="files")
    area = models.CharField(max_length=12, choices=Area.choices)
    path = models.CharField(max_length=protocol.MOST_PATH)  # below the area's folder
    size_bytes = models.BigIntegerField()
    modified_at = models.DateTimeField()  # the host's clock
    gone = models.BooleanField(default=False)  # deleted there, or told of by a later attempt instead

    objects = OutputFileQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rank", "area", "path"], name="file_once_a_rank"),
            models.CheckConstraint(condition=models.Q(area__in=protocol.AREAS), name="file_area_known"),
        ]

    def __str__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """Of its area, below the files root of its cluster; "": it has no place there."""
        spec = self.rank.workload.spec
        return spec.output if self.area == self.Area.OUTPUT else spec.checkpoints

    @property
    def place(self) -> str:
        """Where it lies on its host, for people. Without a files root that is in the agent's state folder."""
        return f"{self.rank.host.slice.cluster.files_root or 'files'}/{self.folder}/{self.path}"


class FetchQuerySet(models.QuerySet["Fetch"]):
    def open(self) -> FetchQuerySet:
        return self.filter(state__in=FETCH_OPEN)


class Fetch(models.Model):
    """A file on its way from its host to the panel, or there for a day. Made and moved by `fetches` alone."""

    file = models.ForeignKey(OutputFile, on_delete=models.CASCADE, related_name="fetches")
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="fetches")
    state = models.CharField(max_length=10, choices=FetchState.choices, default=FetchState.WANTED)
    size_bytes = models.BigIntegerField()  # as listed, then as the host found it when it opened the file
    received_bytes = models.BigIntegerField(default=0)  # pieces up to here are stored
    modified_at = models.DateTimeField()  # the file's, when it was asked for
    detail = models.CharField(max_length=500, blank=True)  # why it failed
    created_at = models.DateTimeField()
    moved_at = models.DateTimeField()  # of its last piece, or when it came into its state

    objects = FetchQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["file"], condition=models.Q(state__in=sorted(FETCH_OPEN)), name="fetch_once_while_open"
            ),
            models.CheckConstraint(condition=models.Q(state__in=FetchState.values), name="fetch_state_known"),
            models.CheckConstraint(
                condition=models.Q(received_bytes__gte=0, received_bytes__lte=models.F("size_bytes")),
                name="fetch_receives_no_more_than_there_is",
            ),
        ]
        indexes = [models.Index(fields=["moved_at"], name="fetch_moved")]

    @property
    def is_complete(self) -> bool:
        return self.state == FetchState.COMPLETE
