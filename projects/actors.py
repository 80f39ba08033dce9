"""Who is acting: a person, and through what. Every service is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser, User

if TYPE_CHECKING:
    from django.http import HttpRequest

SCOPES = ("read", "launch", "admin")  # of a token, each including the one before; a session has the last


@dataclass(frozen=True)
class Actor:
    """A person at a door: `scope` limits what their role would allow, `token_id` names the token used."""

    user: User | AnonymousUser
    scope: str = "admin"
    token_id: int | None = None

    @classmethod
    def of(cls, request: HttpRequest) -> Actor:
        """The actor behind a page's or the API's request (a token's scope stands on `request.auth`)."""
        token = getattr(request, "auth", None)
        if token is None:
            return cls(user=request.user)
        return cls(user=request.user, scope=token.scope, token_id=token.pk)


def operator() -> Actor:
    """Who acts at the command line of the panel's own machine: its first superuser."""
    return Actor(user=User.objects.filter(is_superuser=True).order_by("pk").first() or AnonymousUser())
