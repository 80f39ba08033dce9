"""The language that a person has chosen: of the pages by a cookie, as Django has it; with the account for mails to them."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import check_for_language
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from projects.models import Profile


@require_POST
def choose_language(request: HttpRequest) -> HttpResponseBase:
    """Of an unknown language nothing is kept. Leads back to the page, as `set_language` does."""
    chosen = request.POST.get("language", "")
    if request.user.is_authenticated and chosen in dict(settings.LANGUAGES) and check_for_language(chosen):
        Profile.objects.update_or_create(user=request.user, defaults={"language": chosen})
    return set_language(request)
