"""The JSON of teams: who is in them, links into them, and the tokens that reach them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.utils import timezone
from rest_framework import serializers

from projects import shapes
from projects.invitations import LONGEST, LONGEST_ADDRESS, MOST_USES
from projects.models import Invitation, Role, Standing
from projects.token_shapes import TokenAnswer

USUAL = timedelta(days=7)  # that an invitation is good for


class TeamAnswer(shapes.Answer):
    example: ClassVar = {
        "slug": "vision",
        "name": "Vision",
        "role": "admin",
        "members": 4,
        "projects": 2,
        "created_at": "2026-03-01T12:00:00Z",
    }
    slug = serializers.CharField()
    name = serializers.CharField()
    role = serializers.ChoiceField(Role.choices, allow_null=True, help_text="One's own; null: an operator who is not in it.")
    members = serializers.IntegerField(source="member_count")
    projects = serializers.IntegerField(source="project_count")
    created_at = serializers.DateTimeField()


class NewTeam(shapes.Body):
    example: ClassVar = {"slug": "vision", "name": "Vision"}
    slug = shapes.Text(help_text="Its name in addresses: small letters, digits and dashes, 1 to 63 of them.")
    name = shapes.Text(help_text="Its name on pages, 1 to 100 characters.")


class NewName(shapes.Body):
    example: ClassVar = {"name": "Computer vision"}
    name = shapes.Text(help_text="Its name on pages, 1 to 100 characters.")


class MemberAnswer(shapes.Answer):
    example: ClassVar = {"username": "ada", "role": "member", "is_active": True}
    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(Role.choices)
    is_active = serializers.BooleanField(source="user.is_active", help_text="False: they cannot sign in any more.")


class NewRole(shapes.Body):
    example: ClassVar = {"role": "admin"}
    role = shapes.Text(help_text="viewer, member or admin.")


class InvitationAnswer(shapes.Answer):
    example: ClassVar = {
        "id": 5,
        "role": "member",
        "address": "",
        "most_uses": 3,
        "uses": 1,
        "standing": "open",
        "created_by": "ada",
        "created_at": "2026-03-01T12:00:00Z",
        "expires_at": "2026-03-08T12:00:00Z",
    }
    id = serializers.IntegerField()
    role = serializers.ChoiceField(Role.choices)
    address = serializers.CharField(help_text="The only mail address that it is for; empty: anybody's.")
    most_uses = serializers.IntegerField(help_text="How many people may join by it.")
    uses = serializers.IntegerField(help_text="How many have.")
    standing = serializers.SerializerMethodField()
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()

    def get_standing(self, invitation: Invitation) -> Standing:
        return invitation.standing(timezone.now())


class MadeInvitation(InvitationAnswer):
    example: ClassVar = {**InvitationAnswer.example, "uses": 0, "link": "https://panel.example/invitations/q8Zk1x2a..."}
    link = serializers.CharField(help_text="Shown this once.")


class NewInvitation(shapes.Body):
    example: ClassVar = {"role": "member", "most_uses": 3}
    role = shapes.Text(help_text="viewer, member or admin.")
    expires_at = serializers.DateTimeField(
        allow_null=True, default=None, help_text=f"At most {LONGEST.days} days ahead; left out: {USUAL.days} days."
    )
    most_uses = serializers.IntegerField(
        default=1, min_value=1, max_value=MOST_USES, help_text=f"How many people may join by it, 1 to {MOST_USES}."
    )
    address = serializers.CharField(
        default="", allow_blank=True, max_length=LONGEST_ADDRESS, help_text="The only mail address that it is for."
    )


class Acceptance(shapes.Body):
    example: ClassVar = {"invitation": "https://panel.example/invitations/q8Zk1x2a..."}
    invitation = serializers.CharField(max_length=2000, help_text="Its link, or the last part of that.")


class MembershipAnswer(shapes.Answer):
    example: ClassVar = {"team": "vision", "role": "member"}
    team = serializers.CharField(source="team.slug")
    role = serializers.ChoiceField(Role.choices)


class TeamTokenAnswer(TokenAnswer):
    example: ClassVar = {"owner": "ada", **TokenAnswer.example}
    owner = serializers.CharField(source="user.username")


def expiry(asked: datetime | None, now: datetime) -> datetime:
    return asked or now + USUAL
