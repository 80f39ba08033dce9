"""Subjects by address: made by whoever makes the thing, found by whoever watches it."""

from __future__ import annotations

from django.db.models import F
from django.utils.translation import gettext as _

from monitoring import announcements
from monitoring.models import Subject
from projects.actors import Actor
from projects.errors import NotFound
from projects.models import Project

LISTS = ("project", "shared")  # kinds of the addresses at which lists listen (Subject.list_address); no subject has them


def create(*, kind: str, key: str | int, title: str, project: Project | None = None, link: str = "") -> Subject:
    """The subject `kind:key` of a thing that is just being made. Raises IntegrityError when it is there."""
    _check_kind(kind)
    return Subject.objects.create(kind=kind, key=str(key), title=title, project=project, link=link)


def ensure(*, kind: str, key: str | int, title: str, project: Project | None = None, link: str = "") -> Subject:
    """The subject `kind:key`, made when it is new, with this title and link."""
    _check_kind(kind)
    subject, is_new = Subject.objects.get_or_create(
        kind=kind, key=str(key), defaults={"title": title, "project": project, "link": link}
    )
    if not is_new and (subject.title, subject.link) != (title, link):
        subject.title, subject.link = title, link
        subject.save(update_fields=["title", "link"])
    return subject


def _check_kind(kind: str) -> None:
    if kind in LISTS or not kind or ":" in kind:
        raise ValueError(f"not a kind of subject: {kind!r}")


def changed(subject: Subject) -> None:
    """Something of it is new that is no event, log or metric, in the caller's transaction; announced once that is committed."""
    Subject.objects.filter(pk=subject.pk).update(changes=F("changes") + 1)
    subject.changes = Subject.objects.values_list("changes", flat=True).get(pk=subject.pk)
    announcements.announce_changes(subject)


def find(address: str) -> Subject | None:
    kind, _colon, key = address.partition(":")
    return Subject.objects.filter(kind=kind, key=key).first()


def get_subject(actor: Actor, address: str) -> Subject:
    """The subject when `actor` may see it. Raises NotFound, in the same words for an unknown and for a hidden one."""
    kind, _colon, key = address.partition(":")
    subject = Subject.objects.visible_to(actor.user).filter(kind=kind, key=key).first()
    if subject is None:
        raise NotFound(
            "no-such-subject", _("There is no %(subject)s, or you may not see it.") % {"subject": address}, subject=address
        )
    return subject


def may_list(actor: Actor, address: str) -> bool:
    """Whether `actor` may hear the hints of a list: of a project's subjects, or of those of no project."""
    kind, _colon, key = address.partition(":")
    if kind == "shared":
        return key == "all" and actor.user.is_authenticated
    return (
        kind == "project"
        and key.isdecimal()
        and len(key) < 19
        and actor.user.is_authenticated
        and Project.objects.visible_to(actor.user).filter(pk=int(key)).exists()
    )
