from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from projects.first_steps import first_steps
from projects.models import AuditEntry, Membership, Project, Team
from tests.factories import a_user

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_an_empty_panel_gets_an_operator_a_team_and_a_project():
    made = first_steps(NOON)
    admin = User.objects.get()
    assert (admin.username, admin.is_superuser, admin.date_joined) == ("admin", True, NOON)
    assert admin.check_password(made.password) and len(made.password) == 16
    assert list(Membership.objects.values_list("team__slug", "user__username", "role")) == [("first-team", "admin", "admin")]
    assert list(Project.objects.values_list("team__slug", "slug")) == [("first-team", "first-project")]
    assert made.project == Project.objects.get()
    assert list(AuditEntry.objects.order_by("pk").values_list("verb", "user__username")) == [
        ("team.create", "admin"),
        ("member.add", "admin"),
        ("project.create", "admin"),
    ]


def test_the_password_is_told_once_and_stands_nowhere():
    made = first_steps(NOON)
    assert made.password not in repr(made)
    assert first_steps(NOON) is None
    assert (User.objects.count(), Team.objects.count(), Project.objects.count()) == (1, 1, 1)
    assert User.objects.get().check_password(made.password)


def test_a_panel_with_any_user_is_left_alone():
    a_user(username="ada", is_active=False)
    assert first_steps(NOON) is None
    assert not Team.objects.exists() and not Project.objects.exists()


def test_half_of_it_is_never_left(monkeypatch):
    Team.objects.create(slug="another", name="x")
    monkeypatch.setattr("projects.services.create_project", lambda **_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        first_steps(NOON)
    assert not User.objects.exists() and not Team.objects.filter(slug="first-team").exists()


def test_the_command_tells_the_password_once(capsys):
    call_command("first_steps")
    line = capsys.readouterr().out.splitlines()[0]
    assert User.objects.get().check_password(line.removeprefix("Sign in as admin with the password "))
    call_command("first_steps")
    assert capsys.readouterr().out == "There are users already; nothing was made.\n"
