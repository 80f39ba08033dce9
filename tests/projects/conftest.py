from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.test import Client

from projects.models import Role
from tests.factories import a_member, a_project, a_team, a_token, a_user
from tests.monitoring.conftest import shared_database  # noqa: F401  a fixture


@pytest.fixture
def vision(db) -> SimpleNamespace:
    """A team with a project, its people by role, and a stranger who is in another team."""
    team = a_team(slug="vision", name="Vision")
    return SimpleNamespace(
        team=team,
        project=a_project(team=team, slug="vit", name="ViT"),
        viewer=a_member(team=team, role=Role.VIEWER, username="viewer"),
        member=a_member(team=team, username="member"),
        admin=a_member(team=team, role=Role.ADMIN, username="admin"),
        stranger=a_member(team=a_team(slug="speech"), role=Role.ADMIN, username="stranger"),
        operator=a_user(username="operator", is_superuser=True),
    )


@pytest.fixture
def script(client: Client):
    """script(user, scope="admin").post("/api/v1/...", {...}): a script with a token of that user."""
    return Script


class Script:
    def __init__(self, user, *, scope: str = "admin", **headers: str) -> None:
        self.client = Client(raise_request_exception=False)
        self.headers = {"Authorization": f"Bearer {a_token(user=user, scope=scope)[1]}"} | headers

    def __getattr__(self, method: str):
        def send(path: str, body=None, **headers: str):
            content = {} if body is None else {"data": body, "content_type": "application/json"}
            return getattr(self.client, method)(path, headers=self.headers | headers, **content)

        return send


@pytest.fixture(autouse=True)
def _plain_templates(settings):
    """The two pages that this app names, without the shell that is drawn around them."""
    pages = {
        "error.html": "{{ status }}|{{ code }}|{{ sentence }}|{{ request_id }}",
        "sign_in.html": "{{ form.non_field_errors.as_text }}|{{ form.username.value|default:'' }}|{{ next }}",
    }
    settings.TEMPLATES = [
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "loaders": [("django.template.loaders.locmem.Loader", pages)],
                "context_processors": ["django.contrib.auth.context_processors.auth"],
            },
        }
    ]
