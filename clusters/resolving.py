"""The chore that makes a commit of a workload's git ref, once and before it is placed."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import git, workloads
from clusters.models import Workload
from clusters.states import Outcome, WorkloadState
from monitoring import events
from monitoring.announcements import wake


def resolve(workload_id: str) -> None:
    """Ask the git server, then write the commit into the spec; or end the workload with git's own words."""
    workload = Workload.objects.filter(pk=UUID(workload_id), awaits_source=True, state=WorkloadState.WAITING).first()
    if workload is None:
        return  # resolved, stopped or overdue meanwhile
    source = workload.spec.source
    try:
        commit = git.resolve(source["address"], source["ref"])
    except git.Unresolved as error:
        _end(workload, str(error), now=timezone.now())
    else:
        _keep(workload, commit, now=timezone.now())


def _keep(workload: Workload, commit: str, *, now: datetime) -> None:
    with transaction.atomic():
        workload = Workload.objects.locked(workload.pk)
        if not workload.awaits_source or workload.state != WorkloadState.WAITING:
            return
        source = workload.spec_json["source"] | {"commit": commit}
        workload.spec_json |= {"source": source}
        workload.awaits_source, workload.reason_code, workload.reason_data = False, "no-pass-yet", {}
        workload.save(update_fields=["spec_json", "awaits_source", "reason_code", "reason_data"])
        Workload.objects.filter(pk=workload.pk).update(version=F("version") + 1)  # its owner keeps the commit for the next try
        sentence = _("%(ref)s of %(address)s is commit %(commit)s.") % source
        events.record(workload.subject, "source.resolved", sentence, at=now, **source)
        wake("scheduler")
        wake("follow")


def _end(workload: Workload, why: str, *, now: datetime) -> None:
    with transaction.atomic():
        workload = Workload.objects.locked(workload.pk)
        if workload.awaits_source and workload.state == WorkloadState.WAITING:
            workloads.exit_as(workload, Outcome.FAILED, "source-failed", {"detail": why}, now=now)
