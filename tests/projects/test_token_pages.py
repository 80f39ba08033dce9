"""The page of one's own tokens."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from projects.models import ApiToken, AuditEntry
from tests.factories import a_token

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _plain_templates():
    """Here the real ones."""


def as_(user) -> Client:
    browser = Client(raise_request_exception=False)
    browser.force_login(user)
    return browser


def text_of(answer) -> str:
    return answer.content.decode()


@pytest.mark.parametrize("count", [1, 3])
def test_a_list_takes_six_queries_however_many_there_are(vision, count, django_assert_num_queries):
    for _ in range(count):
        a_token(user=vision.viewer)
    browser = as_(vision.viewer)
    with django_assert_num_queries(6):  # session, user, roles, tokens; conditions; the navigation
        answer = browser.get("/tokens")
    assert text_of(answer).count('<tr id="token-') == count


@pytest.mark.parametrize("who", ["viewer", "stranger", "operator"])
def test_everybody_sees_ones_own_and_no_others(vision, who):
    for owner in ("viewer", "stranger", "operator"):
        a_token(user=getattr(vision, owner), name=f"token of {owner}")
    text = text_of(as_(getattr(vision, who)).get("/tokens"))
    assert [owner for owner in ("viewer", "stranger", "operator") if f"token of {owner}" in text] == [who]


def test_a_token_is_shown_once_with_a_command_that_works(vision, client):
    browser = as_(vision.viewer)
    answer = browser.post("/tokens", {"name": "nightly <b>", "scope": "read", "days": "7"})
    token, text = ApiToken.objects.get(), answer.context["text"]
    assert (answer.status_code, "no-store" in answer["Cache-Control"]) == (201, True)
    assert (token.user, token.name, token.scope, text[4:12]) == (vision.viewer, "nightly <b>", "read", token.prefix)
    assert abs(token.expires_at - timezone.now() - timedelta(days=7)) < timedelta(minutes=1)
    assert answer.context["curl"].endswith('/api/v1/me -H "Authorization: Bearer $TOKEN"')
    assert answer.context["client"] == "pip install http://127.0.0.1:8000/client.tar.gz\ntpu-panel login http://127.0.0.1:8000"
    assert client.get("/api/v1/me", headers={"Authorization": f"Bearer {text}"}).json()["scope"] == "read"
    assert text not in text_of(browser.get("/tokens")) and "nightly &lt;b&gt;" in text_of(browser.get("/tokens"))
    assert AuditEntry.objects.get().verb == "token.issue"


def test_a_token_may_live_for_ever_when_asked(vision):
    as_(vision.viewer).post("/tokens", {"name": "n", "scope": "read", "days": ""})
    assert ApiToken.objects.get().expires_at is None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "", "scope": "read"}, "name"),
        ({"name": "x" * 101, "scope": "read"}, "name"),
        ({"name": "n", "scope": "root"}, "scope"),
        ({"name": "n", "scope": "read", "days": "8"}, "days"),
        ({"name": "n\0", "scope": "read"}, "name"),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_makes_nothing(vision, body, field):
    answer = as_(vision.viewer).post("/tokens", body)
    assert (answer.status_code, list(answer.context["form"].errors)) == (422, [field])
    assert f'id="id_{field}_error"' in text_of(answer)
    assert not ApiToken.objects.exists()


def test_a_revoked_token_opens_nothing(vision, client):
    token, text = a_token(user=vision.viewer, name="old one")
    browser = as_(vision.viewer)
    answer = browser.post(f"/tokens/{token.pk}/revocation")
    assert (answer.status_code, answer["Location"]) == (302, "/tokens")
    page = text_of(browser.get("/tokens"))
    assert "old one is revoked" in page and f"revoke-{token.pk}" not in page
    assert client.get("/api/v1/me", headers={"Authorization": f"Bearer {text}"}).status_code == 401
    assert AuditEntry.objects.filter(verb="token.revoke").count() == 1


@pytest.mark.parametrize("who", ["viewer", "stranger", "operator"])
def test_nobody_revokes_anothers(vision, who):
    token, _text = a_token(user=vision.member)
    assert as_(getattr(vision, who)).post(f"/tokens/{token.pk}/revocation").status_code == 404
    assert ApiToken.objects.get().revoked_at is None


def test_a_revocation_is_no_link_and_no_foreign_form(vision):
    token, _text = a_token(user=vision.viewer)
    assert as_(vision.viewer).get(f"/tokens/{token.pk}/revocation").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(vision.viewer)
    assert strict.post(f"/tokens/{token.pk}/revocation").status_code == 403
    assert strict.post("/tokens", {"name": "n", "scope": "admin"}).status_code == 403
    assert ApiToken.objects.get().revoked_at is None


def test_who_is_not_signed_in_is_asked_to(client):
    assert client.get("/tokens")["Location"] == "/sign-in?next=/tokens"
    assert client.post("/tokens", {"name": "n", "scope": "read"}).status_code == 302
    assert not ApiToken.objects.exists()


def test_an_empty_list_teaches_the_next_step_and_the_menu_leads_here(vision):
    text = text_of(as_(vision.viewer).get("/tokens"))
    assert "No token yet" in text and 'href="/tokens"' in text
