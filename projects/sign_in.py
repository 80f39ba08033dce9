"""Too many wrong passwords: what django-axes answers instead of trying one more."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NoReturn

from axes.helpers import get_cool_off
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import ngettext

from projects.views import SignIn


def too_many_tries(request: HttpRequest, response: Any = None, credentials: Any = None) -> HttpResponse:
    """The sign-in page with status 429 and when to try again: each try begins the wait anew, so that is the whole of it.

    Only `request` can be relied on: under ASGI axes 8.3 passes the credentials in place of the response.
    """
    wait = get_cool_off(request) or timedelta()
    view = SignIn()
    view.setup(request)
    context = view.get_context_data(form=_Refused(request, data=request.POST, wait=wait))
    answer = render(request, SignIn.template_name, context, status=429)
    answer["Retry-After"] = str(int(wait.total_seconds()))
    answer["Cache-Control"] = "no-store"
    return answer


class _Refused(AuthenticationForm):
    """The form as it was sent, with the sentence at its head; no password is looked at."""

    def __init__(self, *args: Any, wait: timedelta, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.wait = wait

    def clean(self) -> NoReturn:
        minutes = max(1, round(self.wait.total_seconds() / 60))
        raise ValidationError(
            ngettext(
                "Too many wrong passwords. Wait %(minutes)d minute, then try again.",
                "Too many wrong passwords. Wait %(minutes)d minutes, then try again.",
                minutes,
            )
            % {"minutes": minutes},
            code="too-many-tries",
        )
