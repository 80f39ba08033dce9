"""A database of many jobs: 10 teams with 3 projects each, 50 people, one job in fifty not ended.

`store(count)` writes into the database of the settings, in bulk, and answers who may be asked for: a member of one team, and an
operator, who sees them all. Job n was launched n minutes after the first; equal seeds make equal databases.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

FIRST = datetime(2024, 1, 1, tzinfo=UTC)
TEAMS, PROJECTS_A_TEAM, PEOPLE, DEFINITIONS = 10, 3, 50, 4
AT_ONCE = 5000
COMMAND = "python train.py --learning-rate 0.0003 --batch-size 256 --epochs 20 --data /data/shards"
EMPTY_SOURCE = {"kind": "none"}


def store(count: int, *, waiting: int = 0) -> dict[str, str]:
    """(who -> user name), once everything is written and counted. `waiting`: so many of the newest all wait."""
    from django.contrib.auth.models import User
    from django.db import connection

    from clusters.models import Cluster
    from monitoring import retention
    from projects.models import Membership, Project, Role, Team

    people = User.objects.bulk_create(User(username=f"person-{n}") for n in range(PEOPLE))
    operator = User.objects.create(username="operator", is_superuser=True)
    Cluster.objects.create(name="local", accelerator="cpu")
    Cluster.objects.create(name="spare", accelerator="cpu")
    projects = []
    for n in range(TEAMS):
        team = Team.objects.create(slug=f"team-{n}", name=f"Team {n}")
        Membership.objects.bulk_create(Membership(team=team, user=user, role=Role.MEMBER) for user in people[n::TEAMS])
        projects += [Project.objects.create(team=team, slug=f"project-{n}-{i}", name="A project") for i in range(PROJECTS_A_TEAM)]
    versions = {project.pk: list(_definitions(project)) for project in projects}
    for start in range(0, count, AT_ONCE):
        _store_jobs(range(start, min(start + AT_ONCE, count)), (count, waiting), projects, people, versions)
    retention.count_anew()
    if connection.vendor == "postgresql":  # it comes by itself there, a minute later
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    return {"member": people[0].username, "operator": operator.username}


def _definitions(project: Any) -> Iterator[Any]:
    from jobs.models import DefinitionVersion, JobDefinition

    for n in range(DEFINITIONS):
        made = JobDefinition.objects.create(project=project, slug=f"train-{n}", title=f"Train {n}", created_at=FIRST)
        yield DefinitionVersion.objects.create(
            definition=made, number=1, template={}, parameters={}, resources={}, created_at=FIRST
        )


def _store_jobs(
    numbers: range, counts: tuple[int, int], projects: list[Any], people: list[Any], versions: dict[int, list[Any]]
) -> None:
    from clusters.models import Workload
    from jobs.models import Attempt, Job
    from monitoring.models import Event, Subject

    drawn = random.Random(numbers.start)
    whose = [drawn.choice(projects) for _ in numbers]
    subjects = Subject.objects.bulk_create(
        Subject(kind="job", key=str(n + 1), title="train", project=project, link=f"/jobs/{n + 1}", seq=1)
        for n, project in zip(numbers, whose, strict=True)
    )
    made = [
        _job(n, subject, _state(n, *counts, drawn), drawn, (drawn.choice(people), drawn.choice(versions[subject.project_id])))
        for n, subject in zip(numbers, subjects, strict=True)
    ]
    workloads = [workload for _job, workload in made]
    Workload.objects.bulk_create(workloads)
    jobs = Job.objects.bulk_create(job for job, _workload in made)
    Attempt.objects.bulk_create(
        Attempt(job=job, number=1, workload=workload, created_at=job.created_at)
        for job, workload in zip(jobs, workloads, strict=True)
    )
    Event.objects.bulk_create(
        Event(subject=job.subject, seq=1, at=job.created_at, code="job.queued", sentence="Launched.") for job in jobs
    )


def _job(n: int, subject: Any, state: str, drawn: random.Random, launched: tuple[Any, Any]) -> Any:
    """(job, workload); `launched`: by whom, and of which version."""
    from clusters.models import Workload
    from jobs.models import Job

    owner, version = launched
    created = FIRST + timedelta(minutes=n)
    began = None if state == "queued" else created + timedelta(seconds=drawn.randrange(1, 3600))
    ended = began + timedelta(seconds=drawn.randrange(1, 100_000)) if began and state not in ("running", "starting") else None
    code, data = {"failed": ("exit-code", {"exit_code": 1, "host": "tpu-1"}), "canceled": ("canceled", {"by": "person-1"})}.get(
        state, ("", {})
    )
    request = {"accelerator": "cpu", "chips": drawn.choice([1, 4, 8]), "cluster": "local" if n % 3 else ""}
    spec = {"command": ["/bin/sh", "-c", COMMAND], "source": EMPTY_SOURCE, "stop_grace_s": 30}
    workload = Workload(
        project_id=subject.project_id, subject=subject, owner_kind="job", request_json=request, spec_json=spec,
        state={"queued": "waiting", "starting": "ordered", "running": "running"}.get(state, "exited"),
        reason_code="chips-busy" if state == "queued" else code,
        reason_data={"accelerator": "cpu", "chips": 4, "free": 1, "total": 8} if state == "queued" else data,
        followed_version=1, queued_at=created, created_at=created, moved_at=ended or began or created,
        running_at=began, ended_at=ended,
    )  # fmt: skip
    job = Job(
        project_id=subject.project_id, version=version, name=f"train-vit-{n % 1009}",
        parameters={"command": COMMAND, "epochs": n % 50, "learning_rate": 0.0003},
        labels={"sweep": f"s{n // 100}", "kind": drawn.choice("abcd")}, request_json=request, spec_json=spec,
        subject=subject, workload=workload, state=state, reason_code=code, reason_data=data, created_by=owner,
        created_at=created, moved_at=ended or began or created, started_at=began, ended_at=ended,
    )  # fmt: skip
    return job, workload


def _state(n: int, count: int, waiting: int, drawn: random.Random) -> str:
    """The newest are open: one in fifty, of which most wait."""
    if n >= count - waiting:
        return "queued"
    if not waiting and n >= count - max(10, min(2000, count // 50)):
        return drawn.choices(["queued", "running", "starting"], [75, 20, 5])[0]
    return drawn.choices(["succeeded", "failed", "canceled"], [85, 10, 5])[0]
