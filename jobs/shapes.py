"""The JSON of the jobs API: what a job, its attempts, events and files look like."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from clusters import fetches
from clusters.models import Fetch, OutputFile
from clusters.states import FetchState, Outcome, WorkloadState
from jobs.attempt_rows import AttemptRow
from jobs.models import Job
from jobs.retries import Cause
from jobs.states import JobState
from projects import shapes


class CancellationBody(shapes.Body):
    example: ClassVar = {"force": False}
    force = shapes.Flag(default=False, help_text="End it at once, without its stop grace.")


class RelaunchBody(shapes.Body):
    example: ClassVar = {"with_checkpoints": True}
    with_checkpoints = shapes.Flag(
        default=False, help_text="Go on in the folder of checkpoints that the job wrote, not in an empty one."
    )


class ReasonAnswer(shapes.Answer):
    code = serializers.CharField(help_text="A code of docs/states.md.")
    sentence = serializers.CharField()


class ProgressAnswer(shapes.Answer):
    step = serializers.IntegerField()
    total = serializers.IntegerField(allow_null=True)
    percent = serializers.IntegerField(allow_null=True)
    left_s = serializers.FloatField(allow_null=True, help_text="An estimate.")


class ResourcesAnswer(shapes.Answer):
    accelerator = serializers.CharField()
    chips = serializers.IntegerField()
    cluster = serializers.CharField(help_text="Empty: any.")


class JobAnswer(shapes.Answer):
    """Of a job read `for_display`; `progress` in its context is job id -> Progress."""

    example: ClassVar = {
        "number": 17,
        "name": "digits",
        "project": "first-project",
        "definition": "digits-tensorflow",
        "version": 1,
        "state": "running",
        "reason": {"code": "", "sentence": ""},
        "progress": {"step": 120, "total": 450, "percent": 26, "left_s": 31},
        "parameters": {"epochs": 10, "batch_size": 64},
        "resources": {"accelerator": "cpu", "chips": 1, "cluster": ""},
        "source": {"kind": "recipe", "name": "digits_tensorflow"},
        "labels": {"sweep": "a"},
        "environment": {},
        "secrets": [],
        "retries": {"user_code": {"times": 0, "delay_s": 10}, "host_lost": {"times": 0, "delay_s": 10}},
        "notify": {},
        "retry_at": None,
        "relaunch_of": None,
        "checkpoints_of": None,
        "created_by": "member1",
        "created_at": "2026-03-01T12:00:00Z",
        "started_at": "2026-03-01T12:00:02Z",
        "ended_at": None,
        "subject": "job:17",
        "workload": "019505c5-7c00-7000-8000-000000000001",
        "link": "/jobs/17",
    }
    number = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    project = serializers.CharField(source="project.slug")
    definition = serializers.CharField(source="version.definition.slug")
    version = serializers.IntegerField(source="version.number")
    state = serializers.ChoiceField(JobState.choices)
    reason = serializers.SerializerMethodField()
    progress = serializers.SerializerMethodField()
    parameters = serializers.JSONField()
    resources = ResourcesAnswer(source="request_json")
    source = serializers.JSONField(source="spec_json.source", help_text="Of its code: `kind` and more.")  # type: ignore[assignment]
    labels = serializers.DictField(child=serializers.CharField())
    environment = serializers.DictField(child=serializers.CharField())
    secrets = serializers.ListField(child=serializers.CharField())
    retries = serializers.JSONField(source="retries_json")
    notify = serializers.JSONField(source="notify_json", help_text="As its launch said it.")
    retry_at = serializers.DateTimeField(allow_null=True)
    relaunch_of = serializers.IntegerField(source="relaunch_of_id", allow_null=True)
    checkpoints_of = serializers.IntegerField(
        source="checkpoints_of_id", allow_null=True, help_text="The job in whose folder of checkpoints it goes on; null: its own."
    )
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    subject = serializers.CharField(source="subject.address", help_text="What the websocket knows it as.")
    workload = serializers.UUIDField(source="workload_id", allow_null=True, help_text="Of its last attempt.")
    link = serializers.SerializerMethodField(help_text="Its page.")

    @extend_schema_field(ReasonAnswer)
    def get_reason(self, job: Job) -> dict[str, str]:
        code, sentence = job.why
        return {"code": code, "sentence": sentence}

    @extend_schema_field(ProgressAnswer(allow_null=True))
    def get_progress(self, job: Job) -> dict[str, Any] | None:
        found = self.context.get("progress", {}).get(job.pk)
        return None if found is None else ProgressAnswer(found).data

    def get_link(self, job: Job) -> str:
        return f"/jobs/{job.pk}"


class AttemptAnswer(shapes.Answer):
    """Of an AttemptRow."""

    example: ClassVar = {
        "number": 1,
        "workload": "019505c5-7c00-7000-8000-000000000001",
        "why": "the launch",
        "state": "exited",
        "outcome": "failed",
        "reason": {"code": "exit-code", "sentence": "The command ended with exit code 3 on tpu-1."},
        "counted": True,
        "retried_as": "user_code",
        "hosts": ["tpu-1"],
        "exit_code": 3,
        "signal": None,
        "first_step": 1,
        "last_step": 120,
        "created_at": "2026-03-01T12:00:00Z",
        "placed_at": "2026-03-01T12:00:01Z",
        "running_at": "2026-03-01T12:00:02Z",
        "ended_at": "2026-03-01T12:01:02Z",
    }
    number = serializers.IntegerField(source="attempt.number")
    workload = serializers.UUIDField(source="attempt.workload_id")
    why = serializers.CharField(help_text="What made it, in words.")
    state = serializers.ChoiceField(WorkloadState.choices, source="attempt.workload.state")
    outcome = serializers.ChoiceField([("", "not yet"), *Outcome.choices], source="attempt.workload.outcome")
    reason = serializers.SerializerMethodField()
    counted = serializers.BooleanField(source="attempt.counted", help_text="False: no host took it, so it is no try.")
    retried_as = serializers.ChoiceField(
        Cause.choices, source="attempt.retried_as", allow_null=True, help_text="The budget that paid for the next attempt."
    )
    hosts = serializers.ListField(child=serializers.CharField(), help_text="Of its ranks, in their order.")
    exit_code = serializers.IntegerField(source="rank.exit_code", default=None, allow_null=True)
    signal = serializers.IntegerField(source="rank.signal", default=None, allow_null=True)
    first_step = serializers.IntegerField(allow_null=True, help_text="Of its program's own progress: from where it went on.")
    last_step = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField(source="attempt.created_at")
    placed_at = serializers.DateTimeField(source="attempt.workload.ordered_at", allow_null=True)
    running_at = serializers.DateTimeField(source="attempt.workload.running_at", allow_null=True)
    ended_at = serializers.DateTimeField(source="attempt.workload.ended_at", allow_null=True)

    @extend_schema_field(ReasonAnswer)
    def get_reason(self, row: AttemptRow) -> dict[str, str]:
        return {"code": row.attempt.workload.reason_code, "sentence": row.attempt.workload.reason}

    def to_representation(self, row: AttemptRow) -> dict[str, Any]:
        found = super().to_representation(row)
        return found | {"retried_as": row.attempt.retried_as or None} if "retried_as" in found else found


class EventAnswer(shapes.Answer):
    example: ClassVar = {
        "seq": 1,
        "at": "2026-03-01T12:00:00Z",
        "code": "job.queued",
        "sentence": "Launched by member1.",
        "data": {},
        "by_name": "member1",
    }
    seq = serializers.IntegerField()
    at = serializers.DateTimeField()
    code = serializers.CharField()
    sentence = serializers.CharField()
    data = serializers.JSONField()  # type: ignore[assignment]
    by_name = serializers.CharField(help_text="Empty: the panel itself.")


class FileAnswer(shapes.Answer):
    """Of a file read with its rank and host; `attempts` in its context is workload id -> number."""

    example: ClassVar = {
        "id": 5,
        "area": "output",
        "path": "saved_model/saved_model.pb",
        "size_bytes": 91234,
        "modified_at": "2026-03-01T12:01:00Z",
        "attempt": 1,
        "rank": 0,
        "host": "tpu-1",
        "link": "/jobs/17/files/5",
    }
    id = serializers.IntegerField()
    area = serializers.CharField()
    path = serializers.CharField()
    size_bytes = serializers.IntegerField()
    modified_at = serializers.DateTimeField()
    attempt = serializers.SerializerMethodField()
    rank = serializers.IntegerField(source="rank.number")
    host = serializers.CharField(source="rank.host.name")
    link = serializers.SerializerMethodField()

    def get_attempt(self, file: OutputFile) -> int | None:
        return self.context["attempts"].get(file.rank.workload_id)  # type: ignore[no-any-return]

    def get_link(self, file: OutputFile) -> str:
        return f"/jobs/{self.context['job']}/files/{file.pk}"


class FetchAnswer(shapes.Answer):
    """`sentence` says what it waits for, where that is more than its turn."""

    state = serializers.ChoiceField(FetchState.choices)
    received_bytes = serializers.IntegerField()
    size_bytes = serializers.IntegerField()
    host = serializers.CharField(source="host.name")
    sentence = serializers.SerializerMethodField()

    def get_sentence(self, fetch: Fetch) -> str:
        return fetches.why_it_waits(fetch)
