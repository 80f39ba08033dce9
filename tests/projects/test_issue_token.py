from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from projects import tokens
from projects.models import ApiToken
from tests.factories import a_user

pytestmark = pytest.mark.django_db


def test_it_prints_the_token_and_nothing_else(capsys):
    user = a_user(username="ada")
    call_command("issue_token", "ada", scope="read", name="cron", days=7)
    printed = capsys.readouterr().out
    token = tokens.find(printed.strip(), timezone.now())
    assert printed == f"{printed.strip()}\n"
    assert (token, token.user, token.scope, token.name) == (ApiToken.objects.get(), user, "read", "cron")
    assert abs(token.expires_at - timezone.now() - timedelta(days=7)) < timedelta(minutes=1)


def test_by_itself_it_launches_and_does_not_expire(capsys):
    a_user(username="ada")
    call_command("issue_token", "ada")
    assert ApiToken.objects.values_list("scope", "expires_at").get() == ("launch", None)


@pytest.mark.parametrize(
    ("user", "options", "said"),
    [("nobody", {}, "no active user nobody"), ("gone", {}, "no active"), ("ada", {"days": -1}, "has passed")],
)
def test_what_cannot_be_issued_is_said_in_a_sentence(user, options, said):
    a_user(username="ada")
    a_user(username="gone", is_active=False)
    with pytest.raises(CommandError, match=said):
        call_command("issue_token", user, **options)
    assert not ApiToken.objects.exists()
