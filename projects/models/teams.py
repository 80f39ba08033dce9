"""Teams, their members and their projects."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

slug = RegexValidator(r"\A[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z", _("Small letters, digits and dashes, 1 to 63 of them."))


class Role(models.TextChoices):
    """What a member may do in a team's projects, each including the one before."""

    VIEWER = "viewer", _("viewer")
    MEMBER = "member", _("member")
    ADMIN = "admin", _("admin")


class TeamQuerySet(models.QuerySet["Team"]):
    def visible_to(self, user) -> TeamQuerySet:
        """Teams that `user` is a member of; all of them for a superuser."""
        return self if user.is_superuser else self.filter(memberships__user=user)

    def locked(self, pk: int) -> Team:
        """Held by whoever changes who is in the team, or as what: before any other row."""
        return self.select_for_update().get(pk=pk)


class Team(models.Model):
    """People who share projects; the owner of quotas and budgets."""

    slug = models.CharField(max_length=63, unique=True, validators=[slug])
    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TeamQuerySet.as_manager()
    role: str | None  # of who asks, where teams.py has read it; the counts, too
    member_count: int
    project_count: int

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    """A person's role in a team. Made and ended in members.py alone."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "user"], name="membership_once_a_team"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="membership_role_known"),
        ]


class ProjectQuerySet(models.QuerySet["Project"]):
    def visible_to(self, user) -> ProjectQuerySet:
        """Projects of the teams that `user` is a member of; all of them for a superuser."""
        if user.is_superuser:
            return self
        return self.filter(team__memberships__user=user)


class Project(models.Model):
    """A team's folder of definitions, jobs, deployments and secrets. Its slug is unique over all teams."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="projects")
    slug = models.CharField(max_length=63, unique=True, validators=[slug])
    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ProjectQuerySet.as_manager()

    def __str__(self) -> str:
        return self.slug
