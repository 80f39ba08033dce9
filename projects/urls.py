"""Addresses of this app: its pages at the root, its part of the API below /api/v1/."""

from __future__ import annotations

from django.urls import path

from projects import api, token_views, views

urlpatterns = [
    path("sign-in", views.SignIn.as_view(), name="sign-in"),
    path("sign-out", views.SignOut.as_view(), name="sign-out"),
    path("tokens", token_views.token_list, name="token-list"),
    path("tokens/<int:token_id>/revocation", token_views.create_revocation, name="token-revocation"),
]

api_urlpatterns = [
    path("me", api.Me.as_view()),
    path("tokens", api.Tokens.as_view()),
    path("tokens/<int:token_id>", api.OneToken.as_view()),
    path("projects", api.Projects.as_view()),
    path("projects/<str:slug>/secrets", api.Secrets.as_view()),
    path("projects/<str:slug>/secrets/<str:name>", api.OneSecret.as_view()),
]
