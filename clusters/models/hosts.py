"""Where work runs: clusters, their slices, hosts and chips."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from uuid6 import uuid7

from clusters.states import HostState
from monitoring.models import Subject
from projects.models import slug


class Cluster(models.Model):
    """Hosts of one accelerator in one place. Changed by an admin."""

    name = models.CharField(max_length=63, unique=True, validators=[slug])
    accelerator = models.CharField(max_length=20)  # a name of clusters/catalogue.py
    lost_after_s = models.PositiveIntegerField(null=True, default=900)  # null: never
    files_root = models.CharField(max_length=500, blank=True)  # a folder for jobs' files; "": the agent's own
    files_shared = models.BooleanField(default=False)  # all its hosts see files_root
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Slice(models.Model):
    """The hosts wired as one topology; handed out whole, or, on one host, by chips."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="slices")
    name = models.CharField(max_length=63, validators=[slug])
    topology = models.CharField(max_length=20, blank=True)  # "4x4"; "" where chips are not wired

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="slice_name_once_a_cluster")]

    def __str__(self) -> str:
        return f"{self.cluster} / {self.name}"


class HostQuerySet(models.QuerySet["Host"]):
    def in_service(self) -> HostQuerySet:
        """Hosts that may report: all but the retired."""
        return self.exclude(state=HostState.RETIRED)


class Host(models.Model):
    """A machine with an agent. Its id is a UUIDv7, since folders and keys named by it outlive a database.

    Made by `enrolment.enrol`; its session by `sessions.open_session`; cordoned and retired by `hosts`.
    Silent is no state: it is computed from `heard_at` (clusters/silence.py).
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    slice = models.ForeignKey(Slice, on_delete=models.PROTECT, related_name="hosts")
    number = models.PositiveIntegerField(default=0)  # its place in the slice: rank i of a whole slice runs on host i
    name = models.CharField(max_length=100)
    state = models.CharField(max_length=10, choices=HostState.choices, default=HostState.ENROLLED)
    cordon_reason = models.CharField(max_length=300, blank=True)
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+")

    token_hash = models.CharField(max_length=64, unique=True)  # sha256 of its HTTP token
    redis_password_hash = models.CharField(max_length=64)  # sha256; what ACL SETUSER takes
    machine_id = models.CharField(max_length=64)
    instance_id = models.CharField(max_length=64, blank=True)  # of the agent's state folder
    boot_id = models.CharField(max_length=64, blank=True)
    session = models.PositiveIntegerField(default=0)  # raised by a new instance or boot; messages of older ones are dropped

    heard_at = models.DateTimeField(null=True)
    unclaimed_at = models.DateTimeField(null=True)  # it let an order pass without a claim, and has claimed nothing since
    agent_version = models.CharField(max_length=30, blank=True)
    clock_offset_ms = models.BigIntegerField(null=True)  # host's clock minus the panel's, at the last heartbeat
    disk_free_bytes = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = HostQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["slice", "number"], name="host_place_once_a_slice"),
            models.UniqueConstraint(fields=["slice", "machine_id"], name="machine_once_a_slice"),
            models.CheckConstraint(condition=models.Q(state__in=HostState.values), name="host_state_known"),
        ]

    def __str__(self) -> str:
        return self.name


class Chip(models.Model):
    """A chip (or slot) of a host, and who holds it. Taken by the scheduler's pass alone, all of a request at once."""

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="chips")
    number = models.PositiveIntegerField()  # local index on the host
    workload = models.ForeignKey("clusters.Workload", null=True, on_delete=models.PROTECT, related_name="chips")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["host", "number"], name="chip_once_a_host")]


class AgentReport(models.Model):
    """What a host's agent last said of itself; for display. Written by `reports.take_agent`."""

    host = models.OneToOneField(Host, primary_key=True, on_delete=models.CASCADE, related_name="agent_report")
    at = models.DateTimeField()  # when it was taken
    log = models.TextField(blank=True)  # the end of what the agent logged
    runtimes = models.JSONField(default=list)  # of {digest, size_bytes, used_ms}, the one used last first

    def __str__(self) -> str:
        return f"agent of {self.host}"


class EnrolmentToken(models.Model):
    """Lets one machine become a host of a cluster, once, until it expires. Made by `enrolment.issue`."""

    token_hash = models.CharField(max_length=64, unique=True)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    host = models.ForeignKey(Host, null=True, on_delete=models.SET_NULL, related_name="+")
