"""What runs: workloads, their ranks, and the leases that say which chips they held."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils.functional import cached_property
from uuid6 import uuid7

from clusters import reasons
from clusters.models.hosts import Host
from clusters.specs import Request, Spec
from clusters.states import Outcome, RankState, Wanted, WorkloadState
from monitoring.models import Subject
from projects.models import Project


class WorkloadQuerySet(models.QuerySet["Workload"]):
    def waiting(self) -> WorkloadQuerySet:
        """Those that could be placed, in the order of the line: priority, then when it joined."""
        return self.filter(state=WorkloadState.WAITING, awaits_source=False).order_by("-priority", "queued_at", "id")

    def not_followed(self, kind: str) -> WorkloadQuerySet:
        """Those of owners of this kind ("job") that have moved since their owner last looked."""
        return self.filter(owner_kind=kind, followed_version__lt=models.F("version")).order_by("id")

    def locked(self, pk: Any) -> Workload:
        """The row, locked until the transaction ends. Whoever changes a rank or `wanted` comes through here."""
        return self.select_for_update().get(pk=pk)


class Workload(models.Model):
    """A group of processes started together: at most one start, ever; a retry is a new workload.

    Made by `workloads.create`, moved by `workloads.move` alone.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+")
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+")  # its owner, as it can be watched
    owner_kind = models.CharField(max_length=20)  # the subject's kind, here for the follower's index
    priority = models.IntegerField(default=0)
    request_json = models.JSONField()
    spec_json = models.JSONField()

    state = models.CharField(max_length=10, choices=WorkloadState.choices, default=WorkloadState.WAITING)
    wanted = models.CharField(max_length=4, choices=Wanted.choices, default=Wanted.RUN)
    outcome = models.CharField(max_length=12, choices=Outcome.choices, default=Outcome.NONE, blank=True)
    reason_code = models.CharField(max_length=40, default="no-pass-yet")
    reason_data = models.JSONField(default=dict)
    stop_code = models.CharField(max_length=40, blank=True)  # why `wanted` became stop
    stop_data = models.JSONField(default=dict)
    stop_grace_s = models.PositiveIntegerField(null=True)  # the smallest asked for

    awaits_source = models.BooleanField(default=False)  # its git ref has no commit yet: placement skips it
    version = models.PositiveIntegerField(default=1)
    followed_version = models.PositiveIntegerField(default=0)

    queued_at = models.DateTimeField()  # its place in the line; a try after a host's trouble keeps that of the one before
    created_at = models.DateTimeField()
    moved_at = models.DateTimeField()  # when it came into its state
    ordered_at = models.DateTimeField(null=True)
    running_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = WorkloadQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(state__in=WorkloadState.values), name="workload_state_known"),
            models.CheckConstraint(
                condition=models.Q(followed_version__lte=models.F("version")), name="workload_followed_not_ahead"
            ),
            models.CheckConstraint(
                condition=models.Q(ended_at=None) ^ models.Q(state__in=[WorkloadState.EXITED, WorkloadState.LOST]),
                name="workload_ended_has_moment",
            ),
            models.CheckConstraint(
                condition=models.Q(awaits_source=False) | models.Q(state__in=[WorkloadState.WAITING, WorkloadState.EXITED]),
                name="workload_placed_has_source",
            ),
        ]
        indexes = [
            models.Index(
                fields=["-priority", "queued_at", "id"], condition=models.Q(state=WorkloadState.WAITING), name="workload_line"
            ),
            models.Index(
                fields=["owner_kind", "id"], condition=models.Q(followed_version__lt=models.F("version")), name="workload_news"
            ),
            models.Index(
                fields=["state"],
                condition=~models.Q(state__in=[WorkloadState.WAITING, WorkloadState.EXITED, WorkloadState.LOST]),
                name="workload_on_hosts",
            ),
        ]

    @property
    def request(self) -> Request:
        return Request.from_json(self.request_json)

    @property
    def spec(self) -> Spec:
        return Spec.from_json(self.spec_json)

    @cached_property
    def place(self) -> str:
        """Names of its hosts, in the order of its ranks; "": not placed."""
        return ", ".join(rank.host.name for rank in self.ranks.select_related("host").order_by("number"))

    @property
    def reason(self) -> str:
        return reasons.sentence(self.reason_code, self.reason_data)


class Rank(models.Model):
    """The process of a workload on one host: rank i on host i. Changed by `ranks`, under its workload's lock."""

    workload = models.ForeignKey(Workload, on_delete=models.CASCADE, related_name="ranks")
    number = models.PositiveIntegerField()
    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="ranks")
    chips = models.JSONField()  # local indices
    state = models.CharField(max_length=10, choices=RankState.choices, default=RankState.ORDERED)
    detail = models.CharField(max_length=500, blank=True)  # the step it prepares, or why it ended
    claimed_session = models.PositiveIntegerField(null=True)
    claimed_at = models.DateTimeField(null=True)
    running_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    exit_code = models.IntegerField(null=True)
    signal = models.IntegerField(null=True)
    cause = models.CharField(max_length=30, blank=True)
    states_offset = models.PositiveIntegerField(default=0)  # bytes of its states file that are taken
    points_offset = models.PositiveBigIntegerField(default=0)  # the same of its points file
    files_offset = models.PositiveBigIntegerField(default=0)  # the same of its files file
    has_more_files = models.BooleanField(default=False)  # than are told, or stored

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workload", "number"], name="rank_once_a_workload"),
            models.UniqueConstraint(fields=["workload", "host"], name="rank_once_a_host"),
            models.CheckConstraint(condition=models.Q(state__in=RankState.values), name="rank_state_known"),
            models.CheckConstraint(
                condition=models.Q(ended_at=None) ^ models.Q(state=RankState.ENDED), name="rank_ended_has_moment"
            ),
        ]
        indexes = [models.Index(fields=["host"], condition=~models.Q(state=RankState.ENDED), name="rank_living_on_host")]


class Lease(models.Model):
    """Which chips a workload held on a host, from when to when (Unix ms): the history that the ledger counts.

    Opened by the scheduler's pass, closed in the transaction that ends the rank.
    """

    workload = models.ForeignKey(Workload, on_delete=models.PROTECT, related_name="leases")
    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="leases")
    chips = models.PositiveIntegerField()  # how many
    from_ms = models.BigIntegerField()
    to_ms = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workload", "host"], name="lease_once_a_rank"),
            models.CheckConstraint(
                condition=models.Q(to_ms=None) | models.Q(to_ms__gte=models.F("from_ms")), name="lease_ends_after_start"
            ),
        ]
