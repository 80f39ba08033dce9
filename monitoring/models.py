"""What can be watched, and what hangs from it: events and logs. Knows addresses ("job:17"), never the tables above it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import F, Q

from agent.protocol import PARTS
from projects.models import Project

NO_WORKLOAD = UUID(int=0)


class SubjectQuerySet(models.QuerySet["Subject"]):
    def visible_to(self, user) -> SubjectQuerySet:
        """Subjects of the projects that `user` may see, and those of no project, which every signed-in user may see."""
        if not user.is_authenticated:
            return self.none()
        if user.is_superuser:
            return self
        return self.filter(Q(project__isnull=True) | Q(project__in=Project.objects.visible_to(user)))


class Subject(models.Model):
    """A thing that can be watched, made by whoever makes the thing (subjects.ensure); events and logs hang from it.

    `seq` is the number of its last event (events.record). `changes` counts what changes of it and is neither event, log nor
    metric (subjects.changed): who shows that draws it again when the number has grown.
    """

    kind = models.CharField(max_length=30)
    key = models.CharField(max_length=100)
    title = models.CharField(max_length=300)
    project = models.ForeignKey(Project, null=True, on_delete=models.PROTECT, related_name="subjects")
    link = models.CharField(max_length=300, default="")  # path of its page; "": it has none
    seq = models.BigIntegerField(default=0)
    changes = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SubjectQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "key"], name="subject_address_once")]

    def __str__(self) -> str:
        return self.address

    @property
    def address(self) -> str:
        return f"{self.kind}:{self.key}"

    @property
    def list_address(self) -> str:
        """Where pages that list this subject among others listen for hints."""
        return list_address(self.project_id)


def list_address(project_id: int | None) -> str:
    """Where pages listen that list subjects of this project."""
    return "shared:all" if project_id is None else f"project:{project_id}"


class Event(models.Model):
    """Something that happened to a subject, told in a sentence. Written once (events.record), never changed."""

    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="events")
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    code = models.CharField(max_length=60)
    sentence = models.TextField()
    data = models.JSONField(default=dict)
    by_name = models.CharField(max_length=150, default="")  # "": the panel itself

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subject", "seq"], name="event_seq_once_a_subject")]

    def __str__(self) -> str:
        return f"{self.code} #{self.seq}"

    def as_json(self) -> dict[str, Any]:
        return {
            "seq": self.seq,
            "at": self.at.isoformat(),
            "code": self.code,
            "sentence": self.sentence,
            "data": self.data,
            "by_name": self.by_name,
        }


class Condition(models.Model):
    """Something that is the matter with the panel itself, for as long as it is: every page says so. See conditions.py."""

    code = models.CharField(max_length=40, primary_key=True)
    data = models.JSONField(default=dict)
    since = models.DateTimeField()


class Log(models.Model):
    """The bytes that one part of one rank printed, addressed by offset. Written by logs.append, sealed by segments.seal.

    Below `sealed_offset` they stand in segments, from there to `head_offset` in pieces.
    """

    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="logs")
    workload_id = models.UUIDField()
    rank = models.IntegerField()
    part = models.CharField(max_length=10)
    head_offset = models.BigIntegerField(default=0)  # bytes stored
    sealed_offset = models.BigIntegerField(default=0)
    sealed_lines = models.BigIntegerField(default=0)  # line ends below sealed_offset
    final_offset = models.BigIntegerField(null=True)  # where the host says that it ends
    dropped_bytes = models.BigIntegerField(default=0)  # bytes that the host had to drop; offsets do not count them
    last_at = models.DateTimeField(null=True)  # when the last new byte was stored

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workload_id", "rank", "part"], name="log_once_a_part"),
            models.CheckConstraint(condition=Q(part__in=PARTS), name="log_part_known"),
            models.CheckConstraint(condition=Q(rank__gte=0), name="log_rank_not_negative"),
            models.CheckConstraint(
                condition=Q(sealed_offset__gte=0, sealed_offset__lte=F("head_offset")), name="log_sealed_below_head"
            ),
            models.CheckConstraint(
                condition=Q(sealed_lines__gte=0, sealed_lines__lte=F("sealed_offset")), name="log_lines_have_bytes"
            ),
            models.CheckConstraint(condition=Q(dropped_bytes__gte=0), name="log_dropped_not_negative"),
            models.CheckConstraint(
                condition=Q(final_offset__isnull=True) | Q(final_offset__gte=0), name="log_final_not_negative"
            ),
        ]
        indexes = [
            # The sealer looks each second: only the few logs that have something to seal.
            models.Index(fields=["last_at"], condition=Q(head_offset__gt=F("sealed_offset")), name="log_unsealed"),
        ]

    def __str__(self) -> str:
        return f"{self.workload_id}/{self.rank}/{self.part}"

    @property
    def is_complete(self) -> bool:
        """Every byte that the host kept is stored."""
        return self.final_offset is not None and self.head_offset >= self.final_offset


class LogPiece(models.Model):
    """Bytes of a log as they came, until they are sealed."""

    log = models.ForeignKey(Log, on_delete=models.CASCADE, related_name="pieces")
    offset = models.BigIntegerField()
    data = models.BinaryField()
    size_bytes = models.IntegerField()
    line_count = models.IntegerField()  # line ends in it
    times = models.JSONField(default=list)  # [[offset in the log, host's Unix ms], ...]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["log", "offset"], name="piece_offset_once_a_log"),
            models.CheckConstraint(condition=Q(size_bytes__gt=0), name="piece_not_empty"),
        ]


class LogSegment(models.Model):
    """Sealed bytes of a log: one compressed object (objects.py). Written once, by segments.seal."""

    log = models.ForeignKey(Log, on_delete=models.CASCADE, related_name="segments")
    offset = models.BigIntegerField()
    size_bytes = models.IntegerField()  # of the log's bytes, not of the object
    first_line = models.BigIntegerField()  # 0-based number of the line that its first byte belongs to
    line_count = models.IntegerField()  # line ends in it
    first_ms = models.BigIntegerField(null=True)  # host's Unix ms; null: it carries no marks
    last_ms = models.BigIntegerField(null=True)
    times = models.JSONField(default=list)  # as a piece's, thinned
    name = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["log", "offset"], name="segment_offset_once_a_log"),
            models.CheckConstraint(condition=Q(size_bytes__gt=0), name="segment_not_empty"),
        ]
        indexes = [models.Index(fields=["log", "first_line"], name="segment_by_line")]


class LogGap(models.Model):
    """Bytes that a host had to drop: they would stand at `offset`, which does not advance over them."""

    log = models.ForeignKey(Log, on_delete=models.CASCADE, related_name="gaps")
    offset = models.BigIntegerField()
    dropped_bytes = models.BigIntegerField()
    from_ms = models.BigIntegerField()
    to_ms = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["log", "offset", "from_ms"], name="gap_once_a_log")]


class MetricSeries(models.Model):
    """The points of one name of one rank, in the order in which they came. Written by metrics.append.

    `workload_id` is NO_WORKLOAD for the subject's own, as a host's.
    """

    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="series")
    workload_id = models.UUIDField(default=NO_WORKLOAD)
    rank = models.IntegerField(default=0)
    name = models.CharField(max_length=200)
    head = models.BigIntegerField(default=0)  # how many points there are
    last_step = models.BigIntegerField(null=True)
    last_ms = models.BigIntegerField(null=True)
    last_value = models.FloatField(null=True)  # null: none yet, or no finite number

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["subject", "workload_id", "rank", "name"], name="series_once_a_rank"),
            models.CheckConstraint(condition=Q(rank__gte=0), name="series_rank_not_negative"),
            models.CheckConstraint(condition=Q(head__gte=0), name="series_head_not_negative"),
        ]
        indexes = [models.Index(fields=["subject", "name", "workload_id", "rank"], name="series_by_name")]  # metrics.page

    def __str__(self) -> str:
        return self.name


class MetricChunk(models.Model):
    """Consecutive points of a series (metric_chunks.py); the last one is open and grows until it is full."""

    series = models.ForeignKey(MetricSeries, on_delete=models.CASCADE, related_name="chunks")
    start = models.BigIntegerField()  # number of its first point
    count = models.IntegerField()
    is_open = models.BooleanField()
    least_step = models.BigIntegerField()
    greatest_step = models.BigIntegerField()
    least_ms = models.BigIntegerField()
    greatest_ms = models.BigIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["series", "start"], name="chunk_start_once_a_series"),
            models.UniqueConstraint(fields=["series"], condition=Q(is_open=True), name="chunk_open_once_a_series"),
            models.CheckConstraint(condition=Q(count__gt=0), name="chunk_not_empty"),
        ]
