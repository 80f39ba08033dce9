"""The page behind an invitation's link: who invites to what, then joining, with an account or with a new one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from projects import invitations
from projects.actors import Actor
from projects.errors import Conflict, Gone, Invalid, NotFound
from projects.models import Invitation, Membership
from projects.team_forms import SignUpForm

BACKEND = "django.contrib.auth.backends.ModelBackend"


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def invitation_page(request: HttpRequest, text: str) -> HttpResponse:
    """For who is signed in and who is not. A link that is none, or is over, is one page that says so."""
    try:
        found = invitations.find(text, timezone.now())
        if request.method != "POST":
            return _page(request, found, SignUpForm())
        if request.user.is_authenticated:
            return _join(request, found, text, request.user)
        return _sign_up(request, found, text)
    except (NotFound, Gone) as refused:
        context = {"refusal": refused.sentence, "code": refused.code}
        return render(request, "teams/invitation_over.html", context, status=refused.status)


def _join(request: HttpRequest, found: Invitation, text: str, user: User) -> HttpResponse:
    try:
        invitations.accept(text=text, user=user, now=timezone.now(), by=Actor.of(request))
    except Conflict as refused:
        return _page(request, found, SignUpForm(), status=refused.status, refusal=refused.sentence)
    return _welcome(request, found)


def _sign_up(request: HttpRequest, found: Invitation, text: str) -> HttpResponse:
    form = SignUpForm(request.POST)
    if form.is_valid():
        try:
            user = invitations.sign_up(
                text=text, username=form.cleaned_data["username"], password=form.cleaned_data["password"], now=timezone.now()
            )
            login(request, user, backend=BACKEND)
            return _welcome(request, found)
        except Invalid as refused:
            form.refuse(refused)
    return _page(request, found, form, status=422)


def _welcome(request: HttpRequest, found: Invitation) -> HttpResponse:
    messages.success(request, _("You are in the team %(team)s.") % {"team": found.team.name})
    return redirect("home")


def _page(request: HttpRequest, found: Invitation, form: SignUpForm, *, status: int = 200, **more: Any) -> HttpResponse:
    context = {
        "invitation": found,
        "form": form,
        "is_in": request.user.is_authenticated and Membership.objects.filter(team=found.team, user=request.user.pk).exists(),
    }
    return render(request, "teams/invitation.html", context | more, status=status)
