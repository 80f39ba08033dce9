"""Archives that come with a launch form: the one place that stores them."""

from __future__ import annotations

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from clusters import sources
from projects.actors import Actor
from projects.errors import Invalid
from projects.models import Project

KINDS = ".tar.gz,.tgz,.tar,.zip"  # what a file is chosen from


def takes_files() -> bool:
    """Whether this panel stores what people send; without that a form asks for the digest of what is stored."""
    return hasattr(sources, "upload")


def archive_of(project: Project, file: UploadedFile, by: Actor) -> str:
    """The digest of the stored archive. Raises Invalid."""
    if not takes_files():
        raise Invalid({"file": _("Files cannot be sent here yet; give the digest of a stored archive.")})
    return str(sources.upload(project=project, file=file, by=by).digest)  # type: ignore[attr-defined]
