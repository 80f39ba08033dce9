"""Addresses of this app: its pages at the root, its part of the API below /api/v1/."""

from __future__ import annotations

from django.urls import path

from projects import api, audit_api, audit_views, invitation_views, team_api, team_views, token_views, views

urlpatterns = [
    path("sign-in", views.SignIn.as_view(), name="sign-in"),
    path("sign-out", views.SignOut.as_view(), name="sign-out"),
    path("tokens", token_views.token_list, name="token-list"),
    path("tokens/<int:token_id>/revocation", token_views.create_revocation, name="token-revocation"),
    path("teams", team_views.team_list, name="team-list"),
    path("teams/<str:slug>", team_views.team_page, name="team"),
    path("teams/<str:slug>/members/<str:username>", team_views.change_role, name="team-member"),
    path("teams/<str:slug>/members/<str:username>/removal", team_views.remove_member, name="team-member-removal"),
    path("teams/<str:slug>/invitations", team_views.create_invitation, name="team-invitations"),
    path("teams/<str:slug>/invitations/<int:number>/revocation", team_views.revoke_invitation, name="team-invitation-revocation"),
    path("teams/<str:slug>/tokens", team_views.token_list, name="team-tokens"),
    path("teams/<str:slug>/tokens/<int:token_id>/revocation", team_views.revoke_token, name="team-token-revocation"),
    path("audit", audit_views.audit_page, name="audit"),
    path("audit.csv", audit_views.audit_csv, name="audit-csv"),
    path("invitations/<str:text>", invitation_views.invitation_page, name="invitation"),
]

api_urlpatterns = [
    path("me", api.Me.as_view()),
    path("tokens", api.Tokens.as_view()),
    path("tokens/<int:token_id>", api.OneToken.as_view()),
    path("teams", team_api.Teams.as_view()),
    path("teams/<str:slug>", team_api.OneTeam.as_view()),
    path("teams/<str:slug>/members", team_api.Members.as_view()),
    path("teams/<str:slug>/members/<str:username>", team_api.OneMember.as_view()),
    path("teams/<str:slug>/invitations", team_api.Invitations.as_view()),
    path("teams/<str:slug>/invitations/<int:number>", team_api.OneInvitation.as_view()),
    path("teams/<str:slug>/tokens", team_api.TeamTokens.as_view()),
    path("teams/<str:slug>/tokens/<int:token_id>", team_api.OneTeamToken.as_view()),
    path("invitations/acceptance", team_api.Acceptances.as_view()),
    path("audit", audit_api.Audit.as_view()),
    path("projects", api.Projects.as_view()),
    path("projects/<str:slug>/secrets", api.Secrets.as_view()),
    path("projects/<str:slug>/secrets/<str:name>", api.OneSecret.as_view()),
]
