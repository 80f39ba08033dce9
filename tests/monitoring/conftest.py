from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections

from monitoring import logs, subjects
from monitoring.models import Log, Subject
from projects.models import Membership, Project, Role, Team

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def shared_database(transactional_db, tmp_path: Path) -> Iterator[None]:
    """A database that threads may use at once: SQLite in memory becomes a file for this test."""
    if connection.vendor != "sqlite" or not connection.is_in_memory_db():
        yield
        return
    in_memory = connections["default"]
    in_memory.ensure_connection()
    path = tmp_path / "panel.sqlite3"
    with sqlite3.connect(path) as copy:
        in_memory.connection.backup(copy)
    copy.close()
    name = in_memory.settings_dict["NAME"]
    in_memory.settings_dict["NAME"] = str(path)  # the same dict for the connections of all threads
    del connections["default"]
    yield
    connections["default"].close()
    in_memory.settings_dict["NAME"] = name
    connections["default"] = in_memory


class World:
    """A team with one member and a project with one job; a stranger who is in no team."""

    def __init__(self) -> None:
        self.team = Team.objects.create(slug="vision", name="Vision")
        self.project = Project.objects.create(team=self.team, slug="vit", name="ViT")
        self.member = User.objects.create_user("member", password="member-password")
        self.stranger = User.objects.create_user("stranger", password="stranger-password")
        self.membership = Membership.objects.create(team=self.team, user=self.member, role=Role.VIEWER)
        self.subject: Subject = subjects.ensure(kind="job", key="17", title="vit-b16", project=self.project, link="/jobs/17")
        self.log: Log = self.open_log()

    def open_log(self, rank: int = 0, workload_id: uuid.UUID | None = None) -> Log:
        return logs.open_log(subject=self.subject, workload_id=workload_id or uuid.uuid4(), rank=rank, part="output")


@pytest.fixture
def world(db) -> World:
    return World()


@pytest.fixture
def shared_world(shared_database) -> World:
    return World()


@pytest.fixture
def log(world: World) -> Log:
    return world.log
