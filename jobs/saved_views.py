"""Saved views: lists of jobs under a name, a person's own or shared with who sees a project."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Case, Exists, OuterRef, When
from django.http import QueryDict
from django.utils.translation import gettext as _

from jobs import filters
from jobs.listing import Page
from jobs.models import DefaultView, SavedView
from jobs.values import is_readable, is_storable
from projects import audit
from projects.access import check, get_project
from projects.actors import Actor
from projects.errors import Conflict, Forbidden, Invalid, NotFound, PanelError
from projects.models import Project

MOST_A_PERSON = 50
MOST_NAME = 60


def of(by: Actor) -> list[SavedView]:
    """One's own first, and all of them; then those of others, by name; one query. With `is_default`."""
    mine = DefaultView.objects.filter(view=OuterRef("pk"), user=by.user.pk)
    found = SavedView.objects.visible_to(by.user).select_related("project__team", "owner").annotate(opens=Exists(mine))
    own_first = Case(When(owner=by.user.pk, then=0), default=1)
    views: list[Any] = list(found.order_by(own_first, "name", "pk")[: 4 * MOST_A_PERSON])
    for view in views:
        view.is_default = view.opens
    return views


def get_view(by: Actor, pk: int) -> SavedView:
    """Raises NotFound, for a hidden one too."""
    found = next((view for view in of(by) if view.pk == pk), None)
    if found is None:
        raise NotFound("no-such-view", _("There is no such view, or it is not shared with you."), view=pk)
    return found


def default_of(by: Actor, *, now: datetime) -> SavedView | None:
    """None, too, while it names something that is there no more: the list of all jobs still opens."""
    mine = DefaultView.objects.filter(user=by.user.pk).values("view")
    view = SavedView.objects.visible_to(by.user).filter(pk__in=mine).first()
    try:
        if view is not None:
            filters.matching(Page.from_query(QueryDict(view.query.removeprefix("?"))).wanted, by, now=now)
    except PanelError:
        return None
    return view


def save(*, name: str, query: str, by: Actor, now: datetime, project: str = "") -> SavedView:
    """A new view of `by`; `project` is the slug of the one in which it is shared.

    Raises Invalid for what is no name or no list of jobs, Conflict when one's own has this name or there are too many.
    """
    owner = _writer(by)
    shared = get_project(by, project, may="jobs.launch") if project else None
    view = SavedView(owner=owner, project=shared, name=_name(name), query=_query(query), created_at=now)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)  # of two that are saved at once, the second counts the first
        if SavedView.objects.filter(owner=owner).count() >= MOST_A_PERSON:
            raise Conflict("too-many-views", _("You have %(most)s views; delete one first.") % {"most": MOST_A_PERSON})
        _store(view)
        if shared:
            audit.record("view.share", by=by, subject=("view", str(view.pk), view.name), project=shared, query=view.query)
    return view


def change(view: SavedView, *, by: Actor, name: str | None = None, query: str | None = None) -> SavedView:
    """Another name, or another list. For its owner, and the admins of the team with which it is shared."""
    _check_owner(view, by)
    view.name = view.name if name is None else _name(name)
    view.query = view.query if query is None else _query(query)
    with transaction.atomic():
        _store(view)
        if view.project:
            audit.record("view.change", by=by, subject=("view", str(view.pk), view.name), project=view.project, query=view.query)
    return view


def delete(view: SavedView, *, by: Actor) -> None:
    """Whose default it was sees all jobs again."""
    _check_owner(view, by)
    with transaction.atomic():
        if view.project:
            audit.record("view.delete", by=by, subject=("view", str(view.pk), view.name), project=view.project)
        view.delete()


def make_default(view: SavedView | None, *, by: Actor) -> None:
    """The view with which the list opens for `by`; None: with all jobs."""
    user = _writer(by)
    if view is None:
        DefaultView.objects.filter(user=user).delete()
    else:
        DefaultView.objects.update_or_create(user=user, defaults={"view": view})


def may_change(view: SavedView, by: Actor) -> bool:
    try:
        _check_owner(view, by)
    except Forbidden:
        return False
    return True


def _check_owner(view: SavedView, by: Actor) -> None:
    if view.owner_id == _writer(by).pk:
        return
    project: Project | None = view.project
    if project is None:
        raise Forbidden("not-owner", _("This view is another person's."))
    check(by, project, may="team.edit")


def _writer(by: Actor) -> User:
    assert by.user.is_authenticated  # who is not sees no view
    if by.scope == "read":
        raise Forbidden("token-scope", _("This token may only read; this needs a token of scope launch."))
    return by.user


def _store(view: SavedView) -> None:
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError:
        raise Conflict("view-name-taken", _("You have a view %(name)s already.") % {"name": view.name}) from None


def _name(text: str) -> str:
    name = text.strip()
    if not 1 <= len(name) <= MOST_NAME:
        raise Invalid({"name": _("1 to %(most)s characters") % {"most": MOST_NAME}})
    if not is_storable(name) or not is_readable(name):
        raise Invalid({"name": _("holds a line break, a control character or one that turns the direction of text")})
    return name


def _query(text: str) -> str:
    """As the list itself writes its address, without a place in it. Raises Invalid."""
    if len(text) > 8000:
        raise Invalid({"query": _("is too long")})
    query = QueryDict(text.removeprefix("?"), mutable=True)
    query.pop("cursor", None)
    query.pop("limit", None)
    page = Page.from_query(query)
    address = page.wanted.address(**page.more())
    if address == "?":
        raise Invalid({"query": _("says no filter, order or column: that is the list of all jobs")})
    return address
