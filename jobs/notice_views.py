"""The page of one's own notices: what one is told of, by mail and by a webhook, and what was told."""

from __future__ import annotations

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

from jobs import notice_listing, notice_settings, notice_wishes, webhooks
from jobs.models import NoticeSettings
from projects.actors import Actor
from projects.errors import Conflict, Invalid
from projects.team_forms import Refusable

SHOWN = 20
EVENT_WORDS = [
    ("starts", gettext_lazy("it starts")),
    ("ends", gettext_lazy("it ends, well or not")),
    ("fails", gettext_lazy("it fails")),
]


class NoticesForm(Refusable):
    """What may be in them is notice_settings' to say."""

    events = forms.MultipleChoiceField(
        label=gettext_lazy("When"), choices=EVENT_WORDS, required=False, widget=forms.CheckboxSelectMultiple
    )
    waits_longer_than_min = forms.IntegerField(
        label=gettext_lazy("When it waits longer than, in minutes"),
        help_text=gettext_lazy("Told once, before its first start. Empty: never."),
        required=False,
        min_value=1,
        max_value=notice_wishes.LONGEST_WAIT_MIN,
    )
    by_mail = forms.BooleanField(label=gettext_lazy("Send mail"), required=False)
    mail_address = forms.CharField(
        label=gettext_lazy("To the address"),
        max_length=254,
        required=False,
        widget=forms.EmailInput(attrs={"autocomplete": "email", "spellcheck": "false"}),
    )
    by_webhook = forms.BooleanField(label=gettext_lazy("Call a webhook"), required=False)
    webhook_url = forms.CharField(
        label=gettext_lazy("At the address"),
        help_text=gettext_lazy("It gets a signed POST (Standard Webhooks), as https://example.com/hooks/panel."),
        max_length=webhooks.LONGEST_URL,
        required=False,
        widget=forms.URLInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    @classmethod
    def of(cls, found: NoticeSettings) -> NoticesForm:
        return cls(initial={name: getattr(found, name) for name in notice_settings.FIELDS})

    def change(self, user: User, by: Actor) -> tuple[NoticeSettings, str] | None:
        """None: the form says what is wrong."""
        if not self.is_valid():
            return None
        try:
            return notice_settings.change(user=user, wanted=self.cleaned_data, by=by, now=timezone.now())
        except Invalid as refused:
            self.refuse(refused)
            return None


@login_required
@never_cache  # a new secret is shown once
@require_http_methods(["GET", "HEAD", "POST"])
def notices_page(request: HttpRequest) -> HttpResponse:
    person = _person(request)
    if request.method != "POST":
        return _page(request, NoticesForm.of(notice_settings.of(person)))
    form = NoticesForm(request.POST)
    changed = form.change(person, Actor.of(request))
    if changed is None:
        return _page(request, form, status=422)
    _found, secret = changed
    if secret:
        return _page(request, NoticesForm.of(_found), secret=secret)
    messages.success(request, _("What you are told is kept."))
    return redirect("notices")


@login_required
@never_cache
@require_POST
def create_secret(request: HttpRequest) -> HttpResponse:
    """Another secret of the webhook, shown once."""
    try:
        found, secret = notice_settings.rotate_secret(user=_person(request), by=Actor.of(request), now=timezone.now())
    except Conflict as refused:
        messages.error(request, refused.sentence)
        return redirect("notices")
    return _page(request, NoticesForm.of(found), status=201, secret=secret, is_another=True)


def _page(request: HttpRequest, form: NoticesForm, status: int = 200, **more: Any) -> HttpResponse:
    person = _person(request)
    context = {
        "form": form,
        "found": notice_settings.of(person),
        "notices": list(notice_listing.of(person)[:SHOWN]),
        "is_mail_configured": settings.IS_MAIL_CONFIGURED,
    }
    return render(request, "notices.html", context | more, status=status)


def _person(request: HttpRequest) -> User:
    assert request.user.is_authenticated  # the decorator has looked
    return request.user
