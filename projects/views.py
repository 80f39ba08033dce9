"""Pages of signing in and out."""

from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView


class SignIn(LoginView):
    """GET and POST; goes on to ?next= when that is an address of ours, else home. Tries are counted by axes (sign_in.py)."""

    template_name = "sign_in.html"
    redirect_authenticated_user = True
    http_method_names = ("get", "head", "post", "options")


class SignOut(LogoutView):
    """POST only: no link of a stranger's signs anyone out."""
