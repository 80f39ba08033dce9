"""What uses a project's secrets: which definitions name them, and which jobs had them last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from jobs import definition_listing
from jobs.models import Job, JobDefinition
from jobs.states import ENDED
from projects.models import Project, Secret

JOBS_READ = 500  # the last so many launches of the project are looked at


@dataclass
class Use:
    """Of one secret. `definitions`: whose newest version names it; `open_jobs`: how many of those read have not ended."""

    name: str
    secret: Secret | None  # None: it is named, and there is none
    definitions: list[JobDefinition] = field(default_factory=list)
    last_job: Job | None = None
    open_jobs: int = 0


def uses(project: Project) -> list[Use]:
    """Of each secret of the project, by name, then of those that a definition names and that are not there. Four queries."""
    secrets = {secret.name: secret for secret in project.secrets.select_related("updated_by").order_by("name").defer("value")}
    found = {name: Use(name, secret) for name, secret in secrets.items()}
    for definition in _definitions(project):
        for name in sorted(set(definition.newest.template.get("secrets", ()))):
            found.setdefault(name, Use(name, None)).definitions.append(definition)
    for job in _jobs(project):
        for name in _names(job, found):
            use = found[name]
            use.last_job = use.last_job or job
            use.open_jobs += job.state not in ENDED
    return sorted(found.values(), key=lambda use: (use.secret is None, use.name))


def _definitions(project: Project) -> list[JobDefinition]:
    rows = list(JobDefinition.objects.filter(project=project).launchable().with_newest().order_by("slug"))
    definition_listing.fetch_newest(rows)
    return rows


def _jobs(project: Project) -> Iterable[Job]:
    rows = Job.objects.filter(project=project).order_by("-pk")
    return rows.only("name", "state", "created_at", "spec_json", "project")[:JOBS_READ]


def _names(job: Job, known: dict[str, Use]) -> Iterable[str]:
    return (name for name in set(job.spec_json.get("secrets", ())) if name in known)
