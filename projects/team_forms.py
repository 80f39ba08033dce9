"""The forms of a team's pages: fields and their words. What may be in them is the services' to say."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from projects.errors import Invalid
from projects.invitations import LONGEST_ADDRESS, LONGEST_USERNAME, MOST_USES
from projects.models import Role

ROLE_WORDS = [
    (Role.VIEWER.value, _("viewer: looks at all of the team's jobs")),
    (Role.MEMBER.value, _("member: launches and cancels, too")),
    (Role.ADMIN.value, _("admin: keeps members and secrets, too")),
]
DAYS = [("1", _("in a day")), ("7", _("in 7 days")), ("30", _("in 30 days"))]


class Refusable(forms.Form):
    """A form that a service may have the last word on."""

    def refuse(self, refused: Invalid, **fields: str) -> None:
        """Each sentence at its field; `fields` says which of the form's is which of the service's."""
        for name, sentence in refused.fields.items():
            field = fields.get(name, name)
            self.add_error(field if field in self.fields else None, sentence)


def _text(label: Any, help_text: Any = "", **more: Any) -> forms.CharField:
    return forms.CharField(
        label=label, help_text=help_text, widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}), **more
    )


class NameForm(Refusable):
    prefix = "name"
    name = _text(_("Name"), max_length=100)


class PlaceForm(Refusable):
    """Of a new team or project."""

    prefix = "new"
    slug = _text(_("Name in addresses"), _("Small letters, digits and dashes; it stays."), max_length=63)
    name = _text(_("Name on pages"), max_length=100, required=False)


class InvitationForm(Refusable):
    prefix = "invitation"
    role = forms.ChoiceField(label=_("They become"), choices=ROLE_WORDS, initial=Role.MEMBER.value)
    days = forms.ChoiceField(label=_("Expires"), choices=DAYS, initial="7")
    most_uses = forms.IntegerField(label=_("For people"), initial=1, min_value=1, max_value=MOST_USES, widget=forms.NumberInput())
    address = forms.CharField(
        label=_("Only for the address"),
        help_text=_("May stay empty; else one person, whose account has this mail address."),
        max_length=LONGEST_ADDRESS,
        required=False,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )


class SignUpForm(Refusable):
    username = forms.CharField(
        label=_("Name to sign in with"),
        help_text=_("Letters and digits of any script and @ . + - _"),
        max_length=LONGEST_USERNAME,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    password = forms.CharField(
        label=_("Password"),
        help_text=_("10 characters or more, and not one of the common ones."),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
