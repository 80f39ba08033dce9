"""What an operator makes at the command line: teams and their people."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from projects.models import AuditEntry, Membership, Team
from tests.factories import a_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def vision():
    call_command("add_team", "vision", name="Computer vision")
    return Team.objects.get()


def test_a_new_person_gets_a_password_that_works_and_a_known_one_keeps_theirs(vision, capsys):
    call_command("add_user", "ada", team="vision")
    password = capsys.readouterr().out.split("the password ")[1].split()[0]
    assert User.objects.get(username="ada").check_password(password)
    call_command("add_user", "ada", team="vision", role="admin")
    assert "password" not in capsys.readouterr().out
    assert User.objects.get(username="ada").check_password(password)
    assert list(Membership.objects.values_list("user__username", "team__slug", "role")) == [("ada", "vision", "admin")]


def test_what_they_do_stands_in_the_audit_as_the_operators(vision):
    boss = a_user(username="boss", is_superuser=True)
    call_command("add_user", "ada", team="vision")
    assert list(AuditEntry.objects.order_by("pk").values_list("verb", "user__username")) == [
        ("team.create", None),
        ("member.add", boss.username),
    ]


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        ("add_team", ("No Slug",), "slug: "),
        ("add_team", ("vision",), "slug: .*exists"),
        ("add_user", ("ada", "--team", "none"), "There is no team none; there is vision."),
        ("add_user", ("a b", "--team", "vision"), "username: "),
        ("add_user", ("", "--team", "vision"), "username: "),
    ],
)
def test_what_cannot_be_made_is_said_in_a_sentence_and_nothing_is_made(vision, command, arguments, said):
    with pytest.raises(CommandError, match=said):
        call_command(command, *arguments)
    assert (Team.objects.count(), Membership.objects.count()) == (1, 0)


def test_a_person_is_shut_out(vision):
    a_user(username="boss", is_superuser=True)
    call_command("add_user", "ada", team="vision")
    call_command("deactivate_user", "ada")
    assert not User.objects.get(username="ada").is_active
    for name, said in (("boss", "only operator"), ("nobody", "There is no user nobody")):
        with pytest.raises(CommandError, match=said):
            call_command("deactivate_user", name)
    assert User.objects.get(username="boss").is_active
