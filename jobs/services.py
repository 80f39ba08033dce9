"""What people and scripts do with jobs: launch and cancel. Pages and API come through here alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from clusters import catalogue, runtimes, sources, workloads
from clusters.models import Cluster, Workload
from clusters.specs import Request, Spec
from jobs import attempts, parameters
from jobs.models import DefinitionVersion, Job
from jobs.states import JobState
from monitoring import events, subjects
from projects import audit
from projects.access import check, visible_projects
from projects.actors import Actor
from projects.errors import Conflict, Invalid, NotFound
from projects.models import Project, Secret


def get_job(actor: Actor, number: int, *, may: str) -> Job:
    """The job of this number, when `actor` has the right `may` on it. Raises NotFound (a stranger's too) or Forbidden."""
    job = Job.objects.for_display().filter(pk=number, project__in=visible_projects(actor)).first()
    if job is None:
        raise NotFound(
            "no-such-job", _("There is no job %(number)s, or you are not in its team.") % {"number": number}, job=number
        )
    check(actor, job.project, may=may)
    return job


def launch(
    *,
    project: Project,
    version: DefinitionVersion,
    values: Mapping[str, Any],
    resources: Mapping[str, Any],
    by: Actor,
    now: datetime,
    name: str = "",
    labels: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    secrets: list[str] | None = None,
) -> Job:
    """A queued job with its first attempt, its audit row and its event, in one transaction.

    Raises Invalid with the paths of wrong parameters, resources or secrets.
    """
    filled = parameters.check(version.parameters, values)
    request = request_of(dict(version.resources) | dict(resources))
    spec = _spec(project, parameters.fill(version.template, filled), environment or {}, secrets or [])
    with transaction.atomic():
        job = Job.objects.create(
            project=project,
            version=version,
            name=name or version.definition.slug,
            parameters=filled,
            labels=dict(labels or {}),
            request_json=request.to_json(),
            spec_json=spec.to_json(),
            created_by=by.user if by.user.is_authenticated else None,
            created_at=now,
            moved_at=now,
        )
        job.subject = subjects.ensure(kind="job", key=str(job.pk), title=job.name, project=project, link=f"/jobs/{job.pk}")
        attempts.begin(job, queued_at=now, now=now)
        events.record(job.subject, "job.queued", f"Launched by {by.user.get_username()}.", at=now, by_name=by.user.get_username())
        audit.record(
            "job.launch", by=by, subject=job.subject, project=project, definition=version.definition.slug, version=version.number
        )
    return job


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
        Workload.objects.locked(job.workload_id)  # before the event locks the subject: a claim and a report go that way
        name = by.user.get_username()
        if job.state != JobState.STOPPING:
            attempts.move(job, JobState.STOPPING, code="canceled", data={"by": name}, now=now, by_name=name)
        workloads.want_stop(job.workload_id, code="canceled", grace_s=0 if force else job.spec.stop_grace_s, now=now, by=name)
        audit.record("job.cancel", by=by, subject=job.subject, project=job.project, force=force)
    return job


def request_of(resources: Mapping[str, Any]) -> Request:
    """What a launch asks for. Raises Invalid for what no cluster has, and names what exists."""
    accelerators = sorted(set(Cluster.objects.values_list("accelerator", flat=True)))
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
    known = (
        sorted(Cluster.objects.filter(accelerator=accelerator).values_list("name", flat=True))
        if isinstance(accelerator, str)
        else []
    )
    if cluster and cluster not in known:
        wrong["resources.cluster"] = _("there is no such cluster; there is %(known)s") % {
            "known": ", ".join(known) or _("none yet")
        }
    if wrong:
        raise Invalid(wrong)
    return Request(accelerator=str(accelerator), chips=int(chips), cluster=cluster)  # type: ignore[arg-type]


def _spec(project: Project, spec: Spec, environment: Mapping[str, str], secrets: list[str]) -> Spec:
    names = sorted({*spec.secrets, *secrets})
    missing = set(names) - set(Secret.objects.filter(project=project, name__in=names).values_list("name", flat=True))
    if missing:
        raise Invalid({f"secrets.{name}": _("there is no such secret in this project") for name in sorted(missing)})
    return replace(
        spec,
        environment=spec.environment | dict(environment),
        secrets=names,
        source=_pinned_source(spec.source),
        runtime=_pinned_runtime(spec.runtime),
    )


def _pinned_source(source: Mapping[str, Any]) -> dict[str, Any]:
    """{"kind": "recipe", "name"} as the archive that it is now."""
    if source["kind"] != "recipe":
        return dict(source)
    found = sources.of_recipe(source["name"])
    return {"kind": "archive", "digest": found.digest, "title": found.title}


def _pinned_runtime(runtime: Mapping[str, str] | None) -> dict[str, str] | None:
    if runtime is None:
        return None
    found = runtimes.pin(runtime["name"])
    return {"name": found.name, "digest": found.digest}
