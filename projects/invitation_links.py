"""An invitation's link: its text behind the panel's own address."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse


def link(text: str) -> str:
    return settings.PUBLIC_URL + reverse("invitation", args=[text])


def text_of(link: str) -> str:
    """Of a link, or of what was copied of it."""
    return link.strip().rstrip("/").rpartition("/")[2]
