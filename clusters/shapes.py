"""The JSON of clusters and hosts."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from clusters import silence
from clusters.models import Host
from clusters.states import HostState
from projects import shapes


class ClusterAnswer(shapes.Answer):
    example: ClassVar = {"name": "local", "accelerator": "cpu", "lost_after_s": 900}
    name = serializers.CharField()
    accelerator = serializers.CharField()
    lost_after_s = serializers.IntegerField(
        allow_null=True, help_text="Seconds of silence after which the work on a host counts as lost; null: never."
    )


class HostAnswer(shapes.Answer):
    """Of a host read with its chips and cluster; `heard_by` in its context is silence.listening()."""

    example: ClassVar = {
        "id": "019505c5-7c00-7000-8000-00000000000a",
        "name": "tpu-1",
        "cluster": "local",
        "accelerator": "cpu",
        "state": "ready",
        "is_silent": False,
        "silent_s": 1.2,
        "cordon_reason": "",
        "chips": 4,
        "free_chips": 3,
        "heard_at": "2026-03-01T12:00:00Z",
        "agent_version": "0.1.0",
        "clock_offset_ms": -1,
        "disk_free_bytes": 74088185856,
    }
    id = serializers.UUIDField(source="pk")
    name = serializers.CharField()
    cluster = serializers.CharField(source="slice.cluster.name")
    accelerator = serializers.CharField(source="slice.cluster.accelerator")
    state = serializers.ChoiceField(HostState.choices)
    is_silent = serializers.SerializerMethodField()
    silent_s = serializers.SerializerMethodField()
    cordon_reason = serializers.CharField()
    chips = serializers.SerializerMethodField()
    free_chips = serializers.SerializerMethodField()
    heard_at = serializers.DateTimeField(allow_null=True)
    agent_version = serializers.CharField()
    clock_offset_ms = serializers.IntegerField(allow_null=True, help_text="The host's clock minus the panel's.")
    disk_free_bytes = serializers.IntegerField(allow_null=True)

    def get_is_silent(self, host: Host) -> bool:
        return silence.silence_s(host, self.context["heard_by"]) > settings.PLACE_SILENT_S

    @extend_schema_field(float)
    def get_silent_s(self, host: Host) -> float:
        return round(silence.silence_s(host, self.context["heard_by"]), 1)

    def get_chips(self, host: Host) -> int:
        return len(host.chips.all())

    def get_free_chips(self, host: Host) -> int:
        return sum(chip.workload_id is None for chip in host.chips.all())


class StandingRuntimeAnswer(shapes.Answer):
    example: ClassVar = {
        "name": "tensorflow",
        "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "size_bytes": 1503238553,
        "used_at": "2026-03-01T12:00:00Z",
    }
    name = serializers.CharField(help_text="Of the preset it came from; empty for one that the panel does not know.")
    digest = serializers.CharField(help_text="Of its pinned list.")
    size_bytes = serializers.IntegerField()
    used_at = serializers.DateTimeField(help_text="By the host's clock.")


class AgentReportAnswer(shapes.Answer):
    example: ClassVar = {
        "at": "2026-03-01T12:00:00Z",
        "log": "2026-03-01 12:00:00,120 INFO agent.session session=3\n",
        "runtimes": [StandingRuntimeAnswer.example],
    }
    at = serializers.DateTimeField(allow_null=True, help_text="When the agent said it; null: it has said nothing yet.")
    log = serializers.CharField(allow_null=True, help_text="The end of the agent's own log; null for who is no operator.")
    runtimes = StandingRuntimeAnswer(many=True, help_text="Those that are built on the host, the one used last first.")


class CordonBody(shapes.Body):
    example: ClassVar = {"reason": "disk is being replaced"}
    reason = serializers.CharField(help_text="Shown at the host; 1 to 300 characters.")


class EnrolmentTokenAnswer(shapes.Answer):
    example: ClassVar = {
        "token": "enrol_...",
        "expires_at": "2026-03-01T13:00:00Z",
        "command": "curl -fsS https://panel.example/agent/v1/install | sh -s -- enrol_...",
    }
    token = serializers.CharField(help_text="Shown this once.")
    expires_at = serializers.DateTimeField()
    command = serializers.CharField(help_text="To be run on the new host.")


class SourceAnswer(shapes.Answer):
    example: ClassVar = {"digest": "9f86d081884c7d65...", "name": "train.tar.gz", "size_bytes": 20480}
    digest = serializers.CharField(help_text="What a launch names as the parameter `archive`.")
    name = serializers.CharField()
    size_bytes = serializers.IntegerField()
