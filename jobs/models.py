"""What is launched: job definitions and their versions, jobs, and the attempts of a job."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F

from clusters import reasons
from clusters.models import Workload
from clusters.specs import Request, Spec
from jobs import durations
from jobs.notice_models import Channel, Notice, NoticeKind, NoticeSettings
from jobs.retries import Cause, Policy
from jobs.states import ENDED, JobState
from monitoring.models import Subject
from projects.models import Project, slug

__all__ = [
    "Attempt",
    "Channel",
    "DefinitionVersion",
    "Job",
    "JobDefinition",
    "Notice",
    "NoticeKind",
    "NoticeSettings",
]


class JobDefinitionQuerySet(models.QuerySet["JobDefinition"]):
    def launchable(self) -> JobDefinitionQuerySet:
        """Without those that are archived."""
        return self.filter(archived_at=None)

    def with_newest(self) -> JobDefinitionQuerySet:
        """`newest_id`, that of its newest version, which `definition_listing.fetch_newest` makes `newest`."""
        versions = DefinitionVersion.objects.filter(definition=models.OuterRef("pk")).order_by("-number")
        return self.annotate(newest_id=models.Subquery(versions.values("pk")[:1]))


class JobDefinition(models.Model):
    """Something that can be launched, by name; what it says is in its versions. Made by `definitions.publish`.

    `title` is that of its newest version. Archived by `definitions.archive`: nobody launches it any more, its jobs stay.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="definitions")
    slug = models.CharField(max_length=63, validators=[slug])
    title = models.CharField(max_length=100)
    created_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True)
    archived_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    newest_id: int
    newest: DefinitionVersion

    objects = JobDefinitionQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "slug"], name="definition_once_a_project")]

    def __str__(self) -> str:
        return self.slug


class DefinitionVersion(models.Model):
    """One wording of a definition; immutable. Version n+1 is made when the wording changes.

    `template` is a Spec whose texts may hold `${parameter}`; `parameters` the JSON Schema of what fills them;
    `resources` what is asked for and `retries` what is tried again when a launch does not say. What each may be says
    wording.py; `note` is what its author said of the change. `is_shipped`: it says what the panel shipped when it was made.
    """

    definition = models.ForeignKey(JobDefinition, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=100, default="")
    description = models.TextField(default="", blank=True)
    template = models.JSONField()
    parameters = models.JSONField()
    resources = models.JSONField()
    retries = models.JSONField(default=dict)
    note = models.CharField(max_length=200, default="", blank=True)
    is_shipped = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["definition", "number"], name="version_once_a_definition")]

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk:
            raise TypeError("a version of a definition is immutable; publish a new one")
        super().save(*args, **kwargs)


class JobQuerySet(models.QuerySet["Job"]):
    def visible_to(self, user: Any) -> JobQuerySet:
        if not user.is_authenticated:
            return self.none()
        if user.is_superuser:  # without a condition, which would cost much and let all through
            return self
        return self.filter(project__in=Project.objects.visible_to(user))

    def locked(self, pk: int) -> Job:
        return self.select_for_update(of=("self",)).select_related("subject").get(pk=pk)

    def for_display(self) -> JobQuerySet:
        """With everything that a row, a page or the API shows of a job."""
        return self.select_related("project__team", "version__definition", "created_by", "subject", "workload")


class Job(models.Model):
    """One launch with its filled parameters; its id is its number, the same in every team.

    Made by `services.launch`; moved by `attempts.move` alone.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="jobs")
    version = models.ForeignKey(DefinitionVersion, on_delete=models.PROTECT, related_name="jobs")
    name = models.CharField(max_length=100)
    parameters = models.JSONField()
    labels = models.JSONField(default=dict)
    environment = models.JSONField(default=dict)  # what its launch added to the definition's
    secrets = models.JSONField(default=list)  # names, the same
    request_json = models.JSONField()
    spec_json = models.JSONField()
    retries_json = models.JSONField(default=dict)
    notify_json = models.JSONField(default=dict)  # what its launcher wants to be told otherwise than usual (notice_wishes.py)
    wait_told_at = models.DateTimeField(null=True)  # when they are to be told that it waits, if it still does
    relaunch_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="relaunches")
    checkpoints_of = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="+"
    )  # null: it has its own folder
    subject = models.ForeignKey(
        Subject, on_delete=models.PROTECT, null=True, related_name="+"
    )  # null within its own creation only
    workload = models.ForeignKey(Workload, on_delete=models.PROTECT, null=True, related_name="+")  # of its last attempt

    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED)
    reason_code = models.CharField(max_length=40, blank=True)
    reason_data = models.JSONField(default=dict)
    retry_at = models.DateTimeField(null=True)  # queued, with its next attempt to begin then
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    moved_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)  # its first attempt ran
    ended_at = models.DateTimeField(null=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(state__in=JobState.values), name="job_state_known"),
            models.CheckConstraint(
                condition=models.Q(ended_at=None) ^ models.Q(state__in=sorted(ENDED)), name="job_ended_has_moment"
            ),
            models.CheckConstraint(
                condition=models.Q(retry_at=None) | models.Q(state=JobState.QUEUED), name="job_retry_waits_in_line"
            ),
        ]
        indexes = [
            models.Index(fields=["project", "-id"], name="job_of_project_newest"),
            models.Index(fields=["created_by", "-id"], condition=models.Q(ended_at=None), name="job_open_of_person"),
            models.Index(fields=["created_by", "-ended_at"], condition=~models.Q(ended_at=None), name="job_ended_of_person"),
            models.Index(fields=["project", "-id"], condition=models.Q(state=JobState.QUEUED), name="job_queued_of_project"),
            models.Index(fields=["version", "-id"], name="job_of_version_newest"),
            models.Index(fields=["state", "-id"], name="job_of_state_newest"),
            models.Index(fields=["name", "-id"], name="job_by_name"),
            models.Index(fields=["started_at", "-id"], name="job_by_start"),
            models.Index(fields=["ended_at", "-id"], name="job_by_end"),
            models.Index(durations.run_ms(), F("id").desc(), condition=durations.HAS_RUN, name="job_by_run"),
            models.Index(durations.wait_ms(), F("id").desc(), condition=durations.HAS_WAITED, name="job_by_wait"),
            # IS NOT NULL, which SQLite sees to follow from a comparison, and of NOT (... IS NULL) it does not: it would scan.
            models.Index(fields=["wait_told_at"], condition=models.Q(wait_told_at__isnull=False), name="job_wait_told"),
            models.Index(fields=["retry_at"], condition=models.Q(retry_at__isnull=False), name="job_retry_due"),
        ]

    @property
    def number(self) -> int:
        return self.pk

    @property
    def request(self) -> Request:
        return Request.from_json(self.request_json)

    @property
    def spec(self) -> Spec:
        return Spec.from_json(self.spec_json)

    @property
    def retries(self) -> Policy:
        return Policy.from_json(self.retries_json)

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def why(self) -> tuple[str, str]:
        """(code, sentence) of why it is in its state; of a queued job its workload's, unless it waits to retry."""
        if self.state == JobState.QUEUED and self.workload and self.retry_at is None:
            return self.workload.reason_code, self.workload.reason
        return self.reason_code, reasons.sentence(self.reason_code, self.reason_data) if self.reason_code else ""


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    def visible_to(self, user: Any) -> SavedViewQuerySet:
        """One's own, and those that are shared in projects that one may see."""
        if not user.is_authenticated:
            return self.none()
        return self.filter(models.Q(owner=user) | models.Q(project__in=Project.objects.visible_to(user)))


class SavedView(models.Model):
    """A list of jobs under a name: filters and order, as its address has them. Changed by saved_views alone.

    `project`: all who see that see this too; null: its owner's own.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    project = models.ForeignKey(Project, null=True, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    query = models.TextField()  # "?state=failed&sort=-ended"
    created_at = models.DateTimeField()
    is_default = False  # of who asks, where saved_views.of has said it

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="saved_view_name_once_a_person")]

    def __str__(self) -> str:
        return self.name


class DefaultView(models.Model):
    """The saved view with which a person's list of jobs opens."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    view = models.ForeignKey(SavedView, on_delete=models.CASCADE, related_name="+")


class Attempt(models.Model):
    """One try of a job: one workload. A try whose host never took it does not count.

    `retried_as` is the cause whose budget paid for the try after this one.
    """

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    workload = models.OneToOneField(Workload, on_delete=models.PROTECT, related_name="+")
    counted = models.BooleanField(default=True)
    retried_as = models.CharField(max_length=10, choices=Cause.choices, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "number"], name="attempt_once_a_job")]
        ordering = ["number"]
