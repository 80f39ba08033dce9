"""The pages of teams: who is in them, links into them, their projects, and the tokens that reach them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from projects import invitation_links, invitations, members, services, teams, tokens
from projects.access import check_operator, get_team, is_operator, rights_in, visible_teams
from projects.actors import Actor
from projects.errors import Conflict, Invalid
from projects.models import Role, Team
from projects.paging import newest_page
from projects.team_api import right_to_remove
from projects.team_forms import InvitationForm, NameForm, PlaceForm

INVITATIONS_SHOWN = 50


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def team_list(request: HttpRequest) -> HttpResponse:
    by, form = Actor.of(request), PlaceForm(request.POST or None)
    if request.method == "POST":
        check_operator(by)
        if form.is_valid():
            slug = form.cleaned_data["slug"]
            try:
                services.create_team(slug=slug, name=form.cleaned_data["name"] or slug, by=by)
                return redirect("team", slug)
            except Invalid as refused:
                form.refuse(refused)
    context = {"teams": teams.teams_of(by), "may_make": is_operator(by), "form": form}
    return render(request, "teams/team_list.html", context, status=422 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def team_page(request: HttpRequest, slug: str) -> HttpResponse:
    """POST gives it another name."""
    by = Actor.of(request)
    if request.method != "POST":
        return page(request, by, get_team(by, slug, may="team.view"))
    team = get_team(by, slug, may="team.edit")
    form = NameForm(request.POST)
    if form.is_valid():
        try:
            services.rename_team(team=team, name=form.cleaned_data["name"], by=by)
            return redirect("team", slug)
        except Invalid as refused:
            form.refuse(refused)
    return page(request, by, team, name_form=form, status=422)


@login_required
@require_POST
def change_role(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    by = Actor.of(request)
    team = get_team(by, slug, may="team.edit")
    try:
        membership = members.change_role(team=team, username=username, role=request.POST.get("role", ""), by=by)
    except (Conflict, Invalid) as refused:
        return page(request, by, team, refusal=refused.sentence, status=refused.status)
    words = {"name": username, "role": Role(membership.role).label}
    messages.success(request, _("%(name)s is %(role)s now.") % words)
    return redirect("team", slug) if membership.user != by.user else redirect("team-list")


@login_required
@require_POST
def remove_member(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    by = Actor.of(request)
    team = get_team(by, slug, may=right_to_remove(by, username))
    try:
        members.remove(team=team, username=username, by=by)
    except Conflict as refused:
        return page(request, by, team, refusal=refused.sentence, status=refused.status)
    if username == by.user.get_username():
        messages.success(request, _("You have left %(team)s.") % {"team": team.name})
        return redirect("team-list")
    messages.success(request, _("%(name)s is no longer in this team.") % {"name": username})
    return redirect("team", slug)


@login_required
@never_cache  # a new link is shown once
@require_POST
def create_invitation(request: HttpRequest, slug: str) -> HttpResponse:
    by, now = Actor.of(request), timezone.now()
    team, form = get_team(by, slug, may="team.edit"), InvitationForm(request.POST)
    if form.is_valid():
        asked = form.cleaned_data
        try:
            _invitation, text = invitations.create(
                team=team,
                role=asked["role"],
                expires_at=now + timedelta(days=int(asked["days"])),
                most_uses=asked["most_uses"],
                address=asked["address"].strip(),
                by=by,
                now=now,
            )
            return page(request, by, team, link=invitation_links.link(text), status=201)
        except Invalid as refused:
            form.refuse(refused, expires_at="days")
    return page(request, by, team, invitation_form=form, status=422)


@login_required
@require_POST
def revoke_invitation(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    by = Actor.of(request)
    team = get_team(by, slug, may="team.edit")
    invitations.revoke(invitation=invitations.get_invitation(team, number), by=by, now=timezone.now())
    messages.success(request, _("The invitation is taken back: nobody joins by it any more."))
    return redirect("team", slug)


@login_required
@require_GET
def token_list(request: HttpRequest, slug: str) -> HttpResponse:
    by = Actor.of(request)
    team = get_team(by, slug, may="team.oversee")
    found, cursor = newest_page(tokens.of_team(team), request.GET, of=f"tokens of {team.pk}")
    context = {
        "team": team,
        "tokens": found,
        "next_cursor": cursor,
        "is_first": "cursor" not in request.GET,
        "may_revoke_all": by.user.is_superuser,
    }
    return render(request, "teams/tokens.html", context)


@login_required
@require_POST
def revoke_token(request: HttpRequest, slug: str, token_id: int) -> HttpResponse:
    by = Actor.of(request)
    team = get_team(by, slug, may="team.edit")
    token = tokens.get_token_of_team(team, token_id)
    tokens.revoke_of_team(team=team, token=token, by=by)
    words = {"name": token.name, "owner": token.user.get_username()}
    messages.success(request, _("%(name)s of %(owner)s is revoked: it opens nothing any more.") % words)
    return redirect("team-tokens", slug)


def page(request: HttpRequest, by: Actor, team: Team, *, status: int = 200, **more: Any) -> HttpResponse:
    """The page of a team, with the form that was refused, the link that was made or the sentence that says what did not work."""
    rights = rights_in(by, team)
    may_edit = "team.edit" in rights
    context: dict[str, Any] = {
        "team": team,
        "members": teams.members_of(team),
        "projects": team.projects.order_by("slug"),
        "roles": Role.choices,
        "may_edit": may_edit,
        "is_in": visible_teams(by).filter(pk=team.pk, memberships__user=by.user.pk).exists(),
        "now": timezone.now(),
    }
    if may_edit:
        made = team.invitations.select_related("created_by").order_by("-pk")[:INVITATIONS_SHOWN]
        context |= {
            "invitations": [(one, one.standing(context["now"])) for one in made],
            "invitation_form": InvitationForm(),
            "name_form": NameForm(initial={"name": team.name}),
            "project_form": PlaceForm(),
        }
    return render(request, "teams/team.html", context | more, status=status)
