"""What the panel keeps for a person besides the account."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Profile(models.Model):
    """Made when there is first something to keep; who has none has every default."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="profile")
    seen_until = models.DateTimeField(null=True)  # what ended up to then, the person has seen on the first page
    language = models.CharField(max_length=16, blank=True, default="")  # of mails to the person; "": the panel's own
