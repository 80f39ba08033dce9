"""Links that make members of people."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from projects.models.teams import Role, Team


class Standing(models.TextChoices):
    """What an invitation is good for. Computed of the row and now; nothing has to move it."""

    OPEN = "open", _("open")
    USED = "used", _("used up")
    EXPIRED = "expired", _("expired")
    REVOKED = "revoked", _("revoked")


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self, now: datetime) -> InvitationQuerySet:
        return self.filter(revoked_at=None, expires_at__gt=now, uses__lt=models.F("most_uses"))


class Invitation(models.Model):
    """A link into a team, with a role, up to a moment, for so many people. Made by invitations.create.

    Used by invitations.accept and sign_up, ended by revoke and members.end_invitations. The link is shown once, when it is made;
    only the digest of its text is kept.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Role.choices)
    digest = models.CharField(max_length=64, unique=True)  # sha256 of the text, in hex
    address = models.EmailField(blank=True, default="")  # whose mail address it is for; "": anybody's
    most_uses = models.PositiveIntegerField(default=1)
    uses = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="invitation_role_known"),
            models.CheckConstraint(condition=models.Q(uses__lte=models.F("most_uses")), name="invitation_not_overused"),
            models.CheckConstraint(condition=models.Q(most_uses__gte=1), name="invitation_has_a_use"),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk}"

    def standing(self, now: datetime) -> Standing:
        if self.revoked_at:
            return Standing.REVOKED
        if self.uses >= self.most_uses:
            return Standing.USED
        return Standing.EXPIRED if self.expires_at <= now else Standing.OPEN
