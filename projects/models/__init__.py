"""Who may do what: teams, their members and projects, tokens, secrets, the audit."""

from projects.models.audit import AuditEntry
from projects.models.idempotency import IdempotencyKey
from projects.models.invitations import Invitation, Standing
from projects.models.profiles import Profile
from projects.models.secrets import Secret, secret_name
from projects.models.teams import Membership, Project, Role, Team, slug
from projects.models.tokens import ApiToken

__all__ = [
    "ApiToken",
    "AuditEntry",
    "IdempotencyKey",
    "Invitation",
    "Membership",
    "Profile",
    "Project",
    "Role",
    "Secret",
    "Standing",
    "Team",
    "secret_name",
    "slug",
]
