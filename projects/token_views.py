"""The page of one's own tokens: made, shown once, revoked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from projects import tokens
from projects.actors import Actor
from projects.errors import Invalid
from projects.models import ApiToken

SCOPE_WORDS = [
    ("read", gettext_lazy("read: look at everything that I may see")),
    ("launch", gettext_lazy("launch: read, and launch and cancel jobs")),
    ("admin", gettext_lazy("admin: all that I may do")),
]
DAYS = [
    ("7", gettext_lazy("in 7 days")),
    ("90", gettext_lazy("in 90 days")),
    ("365", gettext_lazy("in a year")),
    ("", gettext_lazy("never")),
]


class TokenForm(forms.Form):
    """What a token may be is tokens.issue's to say; here are the fields."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=100,
        help_text=gettext_lazy("What will use it, as “nightly training”."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scope = forms.ChoiceField(label=gettext_lazy("May"), choices=SCOPE_WORDS, initial="launch")
    days = forms.ChoiceField(label=gettext_lazy("Expires"), choices=DAYS, initial="90", required=False)

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        """Offers the scopes of which a role of the person's has a use."""
        super().__init__(*args, **kwargs)
        useful = tokens.scopes_of(user)
        scope = self.fields["scope"]
        scope.choices = [(name, words) for name, words in SCOPE_WORDS if name in useful]  # type: ignore[attr-defined]
        scope.initial = "launch" if "launch" in useful else "read"

    def issue(self, user: User, by: Actor) -> tuple[ApiToken, str] | None:
        """None: the form says what is wrong."""
        if not self.is_valid():
            return None
        days = self.cleaned_data["days"]
        try:
            return tokens.issue(
                user=user,
                name=self.cleaned_data["name"],
                scope=self.cleaned_data["scope"],
                expires_at=timezone.now() + timedelta(days=int(days)) if days else None,
                by=by,
            )
        except Invalid as refused:
            for field, sentence in refused.fields.items():
                self.add_error(field if field in self.fields else None, sentence)
            return None


@login_required
@never_cache  # a new token's text is shown once
@require_http_methods(["GET", "HEAD", "POST"])
def token_list(request: HttpRequest) -> HttpResponse:
    person = _person(request)
    if request.method != "POST":
        return _page(request, TokenForm(person))
    form = TokenForm(person, request.POST)
    made = form.issue(person, Actor.of(request))
    if made is None:
        return _page(request, form, status=422)
    token, text = made
    curl = f'curl {settings.PUBLIC_URL}/api/v1/me -H "Authorization: Bearer $TOKEN"'  # never the value, as in jobs/curl.py
    client = f"pip install {settings.PUBLIC_URL}/client.tar.gz\ntpu-panel login {settings.PUBLIC_URL}"
    return _page(request, TokenForm(person), status=201, made=token, text=text, curl=curl, client=client)


@login_required
@require_POST
def create_revocation(request: HttpRequest, token_id: int) -> HttpResponse:
    token = tokens.get_token(_person(request), token_id)
    tokens.revoke(token=token, by=Actor.of(request))
    messages.success(request, _("%(name)s is revoked: it opens nothing any more.") % {"name": token.name})
    return redirect("token-list")


def _page(request: HttpRequest, form: TokenForm, status: int = 200, **more: Any) -> HttpResponse:
    found = list(tokens.of(_person(request)))
    now = timezone.now()
    context = {"form": form, "tokens": found, "now": now} | more
    return render(request, "tokens.html", context, status=status)


def _person(request: HttpRequest) -> User:
    assert request.user.is_authenticated  # the decorator has looked
    return request.user
