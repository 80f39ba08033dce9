"""Job definitions: published in versions that never change, archived when nobody shall launch them any more."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from jobs import shipped
from jobs.models import DefinitionVersion, JobDefinition
from jobs.values import is_readable, is_storable
from jobs.wording import Wording, check_known, read
from projects import audit
from projects.access import check, visible_projects
from projects.actors import Actor
from projects.errors import Conflict, Invalid, NotFound
from projects.models import Project
from projects.models.teams import slug as slug_rule

MOST_NOTE = 200
NEW = 0  # the base of what does not exist yet


def edit(
    *, project: Project, slug: str, wording: Wording, by: Actor, now: datetime, note: str = "", base: int | None = None
) -> tuple[DefinitionVersion, bool]:
    """A person's or a script's next version, and whether it was made: the same wording again is the present one.

    `base` is the number that it was begun from, NEW for a definition that is new, None for whatever there is. Raises Invalid
    with the path of what the definition names and is not there, Conflict("definition-changed") when `base` is no longer the
    newest, Conflict("definition-exists") for NEW when the name is taken. The caller checks the right definitions.edit.
    """
    wrong = _wrong_name(slug) | _wrong_note(note)
    try:
        check_known(wording, project)
    except Invalid as refused:
        wrong |= refused.fields
    if wrong:
        raise Invalid(wrong)
    return _publish(project, slug, wording, by=by, now=now, note=note, base=base)


def publish(*, project: Project, slug: str, by: Actor, now: datetime, note: str = "", **said: Any) -> DefinitionVersion:
    """The newest version of the definition, which says `said` (the JSON of a Wording). Raises Invalid.

    Of code that knows what there is; people and scripts come through `edit`.
    """
    return _publish(project, slug, read(said), by=by, now=now, note=note, base=None)[0]


def ship(*, project: Project, slug: str, by: Actor, now: datetime, **said: Any) -> DefinitionVersion:
    """Publish what the panel ships, unless the team has made the definition its own by editing it."""
    return _publish(project, slug, read(said), by=by, now=now, note="", base=None, is_panels=True)[0]


def shipped_wording(slug: str) -> Wording | None:
    """What the panel ships by this name; None: nothing."""
    said = shipped.find(slug)
    return read(said) if said else None


def _publish(
    project: Project,
    slug: str,
    wording: Wording,
    *,
    by: Actor,
    now: datetime,
    note: str,
    base: int | None,
    is_panels: bool = False,
) -> tuple[DefinitionVersion, bool]:
    user = by.user if by.user.is_authenticated else None
    with transaction.atomic():
        definition, is_new = JobDefinition.objects.select_for_update().get_or_create(
            project=project, slug=slug, defaults={"title": wording.title, "created_at": now}
        )
        last = definition.versions.select_related("created_by").order_by("-number").first()
        if base == NEW and not is_new:
            raise _exists(slug)
        if last and (wording == Wording.of(last) or (is_panels and not last.is_shipped)):
            return last, False
        if base is not None and last and last.number != base:
            raise changed(last, base)
        version = DefinitionVersion.objects.create(
            definition=definition,
            number=last.number + 1 if last else 1,
            **wording.to_json(),
            note=note,
            is_shipped=is_panels or wording == shipped_wording(slug),
            created_at=now,
            created_by=user,
        )
        JobDefinition.objects.filter(pk=definition.pk).update(title=wording.title)
        definition.title = wording.title
        audit.record("definition.publish", by=by, subject=_subject(definition), project=project, version=version.number)
    return version, True


def changed(newest: DefinitionVersion, base: int) -> Conflict:
    """Someone else has published since `base`, which the asker began from."""
    who = newest.created_by.get_username() if newest.created_by else _("someone")
    return Conflict(
        "definition-changed",
        _("%(who)s published version %(number)s meanwhile; yours began from version %(base)s.")
        % {"who": who, "number": newest.number, "base": base},
        newest=newest.number,
        base=base,
    )


def _exists(slug: str) -> Conflict:
    sentence = _("There is a definition %(slug)s in this project already. Choose another name, or edit that one.")
    return Conflict("definition-exists", sentence % {"slug": slug}, slug=slug)


def archive(*, definition: JobDefinition, by: Actor, now: datetime) -> JobDefinition:
    """Hide it and let nobody launch it; its jobs stay, and go on. Archived again it stays as it is."""
    return _set_archived(definition, "definition.archive", by, at=now)


def unarchive(*, definition: JobDefinition, by: Actor) -> JobDefinition:
    """Let it be launched again."""
    return _set_archived(definition, "definition.unarchive", by, at=None)


def _set_archived(definition: JobDefinition, verb: str, by: Actor, *, at: datetime | None) -> JobDefinition:
    user = by.user if at and by.user.is_authenticated else None
    with transaction.atomic():
        others = JobDefinition.objects.filter(pk=definition.pk, archived_at__isnull=at is not None)
        if others.update(archived_at=at, archived_by=user):
            definition.archived_at, definition.archived_by = at, user
            audit.record(verb, by=by, subject=_subject(definition), project=definition.project)
    return definition


def get_definition(actor: Actor, project: str, slug: str, *, may: str) -> JobDefinition:
    """The definition of this name, when `actor` has the right `may` in its project. Raises NotFound or Forbidden."""
    found = JobDefinition.objects.select_related("project__team", "archived_by").filter(project__in=visible_projects(actor))
    definition = found.filter(project__slug=project, slug=slug).first() if is_storable([project, slug]) else None
    if definition is None:
        raise NotFound(
            "no-such-definition",
            _("There is no definition %(slug)s in a project %(project)s that you may see.") % {"slug": slug, "project": project},
        )
    check(actor, definition.project, may=may)
    return definition


def get_version(project: Project, slug: str, number: int | None = None) -> DefinitionVersion:
    """What a launch is of: the version of this number, without one the newest.

    Raises NotFound with the names that exist, Conflict("definition-archived") when nobody shall launch it.
    """
    of_slug = DefinitionVersion.objects.filter(definition__project=project, definition__slug=slug)
    version = of_slug.select_related("definition").order_by("-number").first()
    if version is None:
        known = sorted(project.definitions.launchable().values_list("slug", flat=True))
        raise NotFound("no-such-definition", _("There is no definition %(slug)s in this project.") % {"slug": slug}, known=known)
    check_launchable(version.definition)
    return version if number in (None, version.number) else version_of(version.definition, number)


def check_launchable(definition: JobDefinition) -> None:
    """Raises Conflict("definition-archived") when nobody shall launch it."""
    if definition.archived_at:
        sentence = _("The definition %(slug)s is archived: it can be launched when someone takes it out of the archive.")
        raise Conflict("definition-archived", sentence % {"slug": definition.slug}, slug=definition.slug)


def version_of(definition: JobDefinition, number: int | None) -> DefinitionVersion:
    """Of its versions the one of this number, without one the newest. Raises NotFound."""
    versions = definition.versions.select_related("created_by").order_by("-number")
    found = (versions if number is None else versions.filter(number=min(number, 2**31 - 1))).first()
    if found is None:
        words = {"slug": definition.slug, "number": number}
        raise NotFound("no-such-version", _("The definition %(slug)s has no version %(number)s.") % words, **words)
    found.definition = definition
    return found


def name_of(title: str) -> str:
    """The name in addresses that a title makes; empty when it has no letter for it."""
    return slugify(title)[:63].strip("-_").replace("_", "-")


def _wrong_name(slug: str) -> dict[str, str]:
    if not slug_rule.regex.search(slug):  # type: ignore[union-attr]
        return {"slug": str(slug_rule.message)}
    return {}


def _wrong_note(note: str) -> dict[str, str]:
    if len(note) > MOST_NOTE:
        return {"note": _("at most %(most)s characters") % {"most": MOST_NOTE}}
    words = _("holds a line break, a control character or one that turns the direction of text")
    return {} if is_storable(note) and is_readable(note) else {"note": words}


def _subject(definition: JobDefinition) -> tuple[str, str, str]:
    return "definition", str(definition.pk), definition.slug
