from __future__ import annotations

from types import SimpleNamespace

import pytest
from asgiref.sync import async_to_sync

from projects.models import Role
from tests.factories import a_cluster, a_definition, a_member, a_project, a_team, a_user
from tests.monitoring.conftest import shared_database  # noqa: F401  a fixture
from tests.projects.conftest import Script


@pytest.fixture
def vision(db) -> SimpleNamespace:
    """A team with a project and its definition `command`, its people by role, and a stranger of another team."""
    team = a_team(slug="vision", name="Vision")
    project = a_project(team=team, slug="vit", name="ViT")
    a_cluster(name="local")
    member = a_member(team=team, username="member")
    return SimpleNamespace(
        team=team,
        project=project,
        version=a_definition(project=project, by=member),
        viewer=a_member(team=team, role=Role.VIEWER, username="viewer"),
        member=member,
        stranger=a_member(team=a_team(slug="speech"), role=Role.ADMIN, username="stranger"),
        operator=a_user(username="operator", is_superuser=True),
    )


@pytest.fixture
def script():
    """script(user, scope="admin").post("/api/v1/...", {...}): a script with a token of that user."""
    return Script


def body(answer) -> bytes:
    """All bytes of an answer that is streamed."""

    async def read() -> bytes:
        return b"".join([part async for part in answer])

    return async_to_sync(read)()
