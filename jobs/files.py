"""Files of a job: found for who may see it, and grouped as its page shows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from uuid import UUID

from django.utils.translation import gettext as _

from clusters.models import OutputFile
from clusters.models.files import OutputFileQuerySet
from jobs.models import Job
from projects.errors import NotFound

MOST_SHOWN = 200


@dataclass
class Group:
    """Files of one rank of one attempt in one area."""

    workload_id: UUID
    area: str
    rank: int
    files: list[OutputFile]


@dataclass
class Shown:
    """`more`: there are files beyond those of the groups."""

    groups: list[Group] = field(default_factory=list)
    count: int = 0
    more: bool = False
    several_ranks: bool = False


def of_job(job: Job) -> OutputFileQuerySet:
    """Those that are there, of all attempts."""
    assert job.subject_id
    return OutputFile.objects.of_subject(job.subject_id).there()


def get_file(job: Job, file_id: int) -> OutputFile:
    """A file of this job, though it may be gone from its host. Raises NotFound."""
    assert job.subject_id
    file = OutputFile.objects.of_subject(job.subject_id).filter(pk=file_id).first()
    if file is None:
        raise NotFound("no-such-file", _("Job %(number)s has no such file.") % {"number": job.pk}, job=job.pk)
    return file


def shown(job: Job) -> Shown:
    """The last attempt's first; of each the checkpoints, then its output, which may be very many. One query."""
    found = list(of_job(job).order_by("-rank__workload_id", "area", "rank__number", "path")[: MOST_SHOWN + 1])
    page = Shown(count=min(len(found), MOST_SHOWN), more=len(found) > MOST_SHOWN)
    for (workload_id, area, rank), some in groupby(found[:MOST_SHOWN], _group_of):
        page.groups.append(Group(workload_id, area, rank, list(some)))
        page.several_ranks |= rank > 0
    page.more |= any(file.rank.has_more_files for file in found)
    return page


def _group_of(file: OutputFile) -> tuple[UUID, str, int]:
    return file.rank.workload_id, file.area, file.rank.number
