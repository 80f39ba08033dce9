"""What people and scripts do with jobs: launch, relaunch and cancel. Pages and API come through here alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, Sum
from django.db.models.functions import Length
from django.utils.translation import gettext as _

from clusters import catalogue, reasons, runtimes, sources, workloads
from clusters.models import Cluster, Workload
from clusters.specs import Request, Spec
from jobs import attempts, definitions, notice_wishes, notices, parameters
from jobs.models import DefinitionVersion, Job, NoticeSettings
from jobs.retries import Policy
from jobs.states import JobState
from jobs.values import MOST_START_BYTES
from monitoring import events, subjects
from projects import audit
from projects.access import check, visible_projects
from projects.actors import Actor
from projects.errors import Conflict, Invalid, NotFound
from projects.models import Project, Secret

SAME = (
    "project",
    "version",
    "name",
    "parameters",
    "labels",
    "environment",
    "secrets",
    "request_json",
    "spec_json",
    "retries_json",
)  # of a job and its relaunch


def get_job(actor: Actor, number: int, *, may: str) -> Job:
    """The job of this number, when `actor` has the right `may` on it. Raises NotFound (a stranger's too) or Forbidden."""
    job = Job.objects.for_display().filter(pk=number, project__in=visible_projects(actor)).first()
    if job is None:
        raise NotFound(
            "no-such-job", _("There is no job %(number)s, or you are not in its team.") % {"number": number}, job=number
        )
    check(actor, job.project, may=may)
    return job


def launch(*, by: Actor, now: datetime, **asked: Any) -> Job:
    """A queued job with its first attempt, its audit row and its event, in one transaction. `asked` is what `drafted` takes.

    Raises Invalid as `drafted` and `check_notify` do.
    """
    job = drafted(**asked)
    check_notify(job.notify_json, by=by)
    return _begin(job, by=by, now=now)


def check_notify(said: Mapping[str, Any], *, by: Actor) -> None:
    """Raises Invalid at "notify..." when what a launch wants to be told cannot reach `by`."""
    if said:
        notice_wishes.check(_settings_of(by), said)


def drafted(
    *,
    project: Project,
    version: DefinitionVersion,
    values: Mapping[str, Any],
    resources: Mapping[str, Any],
    name: str = "",
    labels: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    secrets: list[str] | None = None,
    retries: Mapping[str, Any] | None = None,
    notify: Mapping[str, Any] | None = None,
    is_trial: bool = False,
) -> Job:
    """The job that a launch would make, not stored. Of its code a typed script is, unless `is_trial`.

    Raises Invalid with the paths of wrong parameters, resources, secrets or retries.
    """
    filled = parameters.check(version.parameters, values)
    template = parameters.fill(version.template, filled)
    names = sorted({*template.secrets, *(secrets or [])})
    _check_secrets(project, names)
    template = replace(template, environment=template.environment | dict(environment or {}), secrets=names)
    _check_start(template, project)
    spec = replace(
        template,
        source=_pinned_source(template.source, version, project, is_trial=is_trial),
        runtime=_pinned_runtime(template.runtime),
    )
    return Job(
        project=project,
        version=version,
        name=name or version.definition.slug,
        parameters=filled,
        labels=dict(labels or {}),
        environment=dict(environment or {}),
        secrets=sorted(secrets or []),
        request_json=request_of(dict(version.resources) | dict(resources)).to_json(),
        spec_json=spec.to_json(),
        retries_json=Policy.from_json({**version.retries, **(retries or {})}).to_json(),
        notify_json=dict(notify or {}),
    )


def relaunch(*, job: Job, by: Actor, now: datetime, with_checkpoints: bool = False) -> Job:
    """A new job that runs exactly what `job` ran: the same version, parameters, commit and packages.

    `with_checkpoints`: it goes on in the folder of checkpoints that `job` wrote, rather than in an empty one of its own.
    Raises Invalid when what it needs is there no more: its accelerator or cluster, a secret; Conflict when its definition is
    archived ("definition-archived"), or another job that has not ended may write to that folder ("checkpoints-in-use").
    """
    definitions.check_launchable(job.version.definition)
    request_of(job.request_json)
    _check_secrets(job.project, job.spec.secrets)
    owner = (job.checkpoints_of or job) if with_checkpoints else None
    new = Job(relaunch_of=job, checkpoints_of=owner, **{name: getattr(job, name) for name in SAME})
    with transaction.atomic():
        if owner is not None:
            _check_checkpoints_idle(owner)
        return _begin(new, by=by, now=now)


def _check_checkpoints_idle(owner: Job) -> None:
    Job.objects.locked(owner.pk)  # of two that want to go on with them, the second sees the first
    writers = Job.objects.filter(Q(pk=owner.pk) | Q(checkpoints_of=owner.pk), ended_at=None)
    if (writer := writers.order_by("pk").values_list("pk", flat=True).first()) is not None:
        raise Conflict(
            "checkpoints-in-use",
            _("Job %(number)s has not ended and may write to these checkpoints. Cancel it, or wait for its end.")
            % {"number": writer},
            job=writer,
        )


def _begin(job: Job, *, by: Actor, now: datetime) -> Job:
    name, before = by.user.get_username(), job.relaunch_of
    more: dict[str, Any] = {} if before is None else {"relaunch_of": before.pk}
    sentence = f"Launched by {name}." if before is None else f"Launched by {name}, as job {before.pk} was."
    if job.checkpoints_of_id:
        sentence = f"{sentence[:-1]}, to go on from the checkpoints of job {job.checkpoints_of_id}."
        more["checkpoints_of"] = job.checkpoints_of_id
    with transaction.atomic():
        job.created_by = by.user if by.user.is_authenticated else None
        job.created_at = job.moved_at = now
        job.wait_told_at = notices.wait_told_at(_settings_of(by), job.notify_json, created_at=now)
        job.save()
        job.subject = subjects.create(kind="job", key=str(job.pk), title=job.name, project=job.project, link=f"/jobs/{job.pk}")
        attempts.begin(job, queued_at=now, now=now)
        events.record(job.subject, "job.queued", sentence, at=now, by_name=name)
        audit.record(
            "job.launch",
            by=by,
            subject=job.subject,
            project=job.project,
            definition=job.version.definition.slug,
            version=job.version.number,
            **more,
        )
    return job


def _settings_of(by: Actor) -> NoticeSettings | None:
    return NoticeSettings.objects.filter(user=by.user.pk).first()


def cancel(*, job: Job, by: Actor, now: datetime, force: bool = False) -> Job:
    """Ask for the end of a job: it is `stopping` until none of its processes is left. Force sends KILL at once.

    Asked again while stopping it only matters with force. Raises Conflict("job-ended") when there is nothing to cancel.
    """
    with transaction.atomic():
        job = Job.objects.locked(job.pk)
        if job.has_ended:
            raise Conflict(
                "job-ended", _("Job %(number)s has ended; there is nothing to cancel.") % {"number": job.pk}, job=job.pk
            )
        assert job.workload_id and job.subject
        name = by.user.get_username()
        audit.record("job.cancel", by=by, subject=job.subject, project=job.project, force=force)
        if job.retry_at is not None:  # nothing of it is anywhere
            attempts.move(job, JobState.CANCELED, code="canceled", data={"by": name}, now=now, by_name=name)
            return job
        Workload.objects.locked(job.workload_id)  # before the event locks the subject: a claim and a report go that way
        if job.state == JobState.STOPPING and job.reason_code != "canceled":  # it stops already, and is not tried again now
            Job.objects.filter(pk=job.pk).update(reason_code="canceled", reason_data={"by": name})
            job.reason_code, job.reason_data = "canceled", {"by": name}
            events.record(
                job.subject,
                "job.stopping",
                reasons.written("canceled", {"by": name}),
                at=now,
                by_name=name,
                reason="canceled",
                by=name,
            )
        if job.state != JobState.STOPPING:
            attempts.move(job, JobState.STOPPING, code="canceled", data={"by": name}, now=now, by_name=name)
        workloads.want_stop(job.workload_id, code="canceled", grace_s=0 if force else job.spec.stop_grace_s, now=now, by=name)
    return job


def request_of(resources: Mapping[str, Any]) -> Request:
    """What a launch asks for. Raises Invalid for what no cluster has, and names what exists."""
    clusters = list(Cluster.objects.order_by("name").values_list("name", "accelerator"))
    accelerators = sorted({has for _name, has in clusters})
    wrong: dict[str, str] = {}
    for name in set(resources) - {"accelerator", "chips", "cluster"}:
        wrong[f"resources.{name}"] = _("there is no such resource; known are accelerator, chips, cluster")
    accelerator, chips, cluster = resources.get("accelerator"), resources.get("chips"), resources.get("cluster", "")
    if not isinstance(accelerator, str) or not catalogue.find(accelerator) or accelerator not in accelerators:
        wrong["resources.accelerator"] = _("no cluster has it; there is %(known)s") % {
            "known": ", ".join(accelerators) or _("none yet")
        }
    if not isinstance(chips, int) or isinstance(chips, bool) or not 1 <= chips <= 10_000:
        wrong["resources.chips"] = _("a whole number from 1 is needed")
    known = [name for name, has in clusters if has == accelerator]
    if not isinstance(cluster, str) or (cluster and cluster not in known):
        wrong["resources.cluster"] = _("there is no such cluster; there is %(known)s") % {
            "known": ", ".join(known) or _("none yet")
        }
    if wrong:
        raise Invalid(wrong)
    return Request(accelerator=str(accelerator), chips=int(chips), cluster=cluster)  # type: ignore[arg-type]


def _check_secrets(project: Project, names: list[str]) -> None:
    """Raises Invalid for those that the project does not have."""
    missing = set(names) - set(Secret.objects.filter(project=project, name__in=names).values_list("name", flat=True))
    if missing:
        raise Invalid({f"secrets.{name}": _("there is no such secret in this project") for name in sorted(missing)})


def _check_start(spec: Spec, project: Project) -> None:
    """Raises Invalid at the largest part of what is more than Linux starts a command with."""
    sealed = Secret.objects.filter(project=project, name__in=spec.secrets).aggregate(size=Sum(Length("value")))["size"] or 0
    sizes = {
        "parameters": parameters.start_bytes(replace(spec, environment={})),
        "environment": parameters.start_bytes(replace(spec, command=[])),
        "secrets": sealed * 3 // 4,  # they are kept in base64
    }
    if sum(sizes.values()) > MOST_START_BYTES:
        words = _("command, environment and secrets have more than %(most)s bytes together, with which nothing can be started")
        raise Invalid({max(sizes, key=lambda part: sizes[part]): words % {"most": MOST_START_BYTES}})


def _pinned_source(source: Mapping[str, Any], version: DefinitionVersion, project: Project, *, is_trial: bool) -> dict[str, Any]:
    """What is wrong with a text that a parameter has filled in is told of the parameter."""
    if is_trial and source["kind"] == "script":
        return dict(source)
    try:
        return sources.pin(source, project=project)
    except Invalid as error:
        texts = version.template.get("source", {})
        raise Invalid({parameters.path_of(path, texts): why for path, why in error.fields.items()}) from error


def _pinned_runtime(runtime: Mapping[str, str] | None) -> dict[str, str] | None:
    if runtime is None or not runtime["name"]:  # a definition may leave it to a parameter
        return None
    found = runtimes.pin(runtime["name"])
    return {"name": found.name, "digest": found.digest}
