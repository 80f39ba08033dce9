import hashlib
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from projects import tokens
from projects.actors import Actor
from projects.errors import Forbidden, Invalid, Unauthorized
from projects.models import ApiToken, AuditEntry, Membership
from tests.factories import a_member, a_team, a_token, a_user

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.projects.doors")]

NOON = datetime(2030, 3, 1, 12, tzinfo=UTC)


def minutes(number):
    return timedelta(minutes=number)


def test_a_token_is_issued_once_in_clear_and_kept_as_a_digest():
    user = a_user(username="ada")
    token, text = tokens.issue(user=user, name="ci", scope="launch", expires_at=NOON, by=Actor(user=user))
    token.refresh_from_db()
    assert text.startswith("tpu_") and len(text) >= 44
    assert (token.user, token.name, token.scope, token.expires_at) == (user, "ci", "launch", NOON)
    assert (token.prefix, token.digest) == (text[4:12], hashlib.sha256(text.encode()).hexdigest())
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.subject_id, entry.user) == ("token.issue", str(token.pk), user)
    assert entry.data == {"of": "ada", "scope": "launch", "expires_at": "2030-03-01T12:00:00Z"}


def test_two_tokens_differ():
    user = a_user()
    assert a_token(user=user)[1] != a_token(user=user)[1]


@pytest.mark.parametrize(
    ("own", "wanted", "may"),
    [
        ("read", "read", True),
        ("read", "launch", False),
        ("launch", "admin", False),
        ("launch", "read", True),
        ("admin", "admin", True),
    ],
)
def test_a_token_issues_none_of_greater_scope_than_its_own(own, wanted, may):
    user = a_user()
    by = Actor(user=user, scope=own, token_id=1)
    if may:
        tokens.issue(user=user, name="child", scope=wanted, expires_at=None, by=by)
    else:
        with pytest.raises(Forbidden) as refused:
            tokens.issue(user=user, name="child", scope=wanted, expires_at=None, by=by)
        assert refused.value.code == "token-scope"
    assert ApiToken.objects.count() == AuditEntry.objects.count() == int(may)


def test_wrong_fields_are_named_together():
    user = a_user()
    with pytest.raises(Invalid) as wrong:
        tokens.issue(user=user, name=" ", scope="all", expires_at=timezone.now() - minutes(1), by=Actor(user=user))
    assert sorted(wrong.value.fields) == ["expires_at", "name", "scope"]
    assert not ApiToken.objects.exists()


def test_a_token_is_found_with_its_user_in_one_query(django_assert_num_queries):
    token, text = a_token()
    tokens.find(text, NOON)
    with django_assert_num_queries(1):
        found = tokens.find(text, NOON)
        assert (found, found.user.username) == (token, token.user.username)


def test_nothing_is_found_of_a_token_that_is_unknown_expired_revoked_or_of_somebody_gone():
    gone = a_user(is_active=False)
    expiring, revoked, orphan = a_token(expires_at=NOON), a_token(), a_token(user=gone)
    assert tokens.find(revoked[1], NOON) == revoked[0]
    tokens.revoke(token=revoked[0], by=Actor(user=revoked[0].user))
    assert tokens.find(expiring[1], NOON - minutes(1)) == expiring[0]
    for text in (expiring[1], revoked[1], orphan[1], "tpu_unknown", "", expiring[0].digest):
        assert tokens.find(text, NOON) is None
    assert ApiToken.objects.get(pk=orphan[0].pk).last_used_at is None


def test_the_last_use_is_noted_once_a_minute(django_assert_num_queries):
    token, text = a_token()

    def noted():
        return ApiToken.objects.get(pk=token.pk).last_used_at

    tokens.find(text, NOON)
    assert noted() == NOON
    with django_assert_num_queries(1):
        tokens.find(text, NOON + timedelta(seconds=59))
    assert noted() == NOON
    tokens.find(text, NOON + minutes(1))
    assert noted() == NOON + minutes(1)


def test_of_two_that_note_a_use_at_once_one_writes():
    token, text = a_token()
    stale = ApiToken.objects.get(pk=token.pk)
    tokens.find(text, NOON)
    tokens._note_use(stale, NOON + timedelta(seconds=30))
    assert (stale.last_used_at, ApiToken.objects.get().last_used_at) == (None, NOON)


def test_revoking_is_kept_once():
    token, _text = a_token(name="ci")
    by = Actor(user=token.user)
    tokens.revoke(token=token, by=by)
    first = ApiToken.objects.get().revoked_at
    tokens.revoke(token=token, by=by)
    assert first is not None and ApiToken.objects.get().revoked_at == first
    assert list(AuditEntry.objects.filter(verb="token.revoke").values_list("subject_title", flat=True)) == ["ci"]


def test_a_token_cannot_end_one_of_greater_scope():
    token, text = a_token(scope="admin")
    with pytest.raises(Forbidden) as refused:
        tokens.revoke(token=token, by=Actor(user=token.user, scope="launch", token_id=7))
    assert refused.value.code == "token-scope"
    assert tokens.find(text, NOON) == token


# -- At the API's door -------------------------------------------------------------------------------------


def test_a_script_comes_in_with_its_token_alone(client):
    token, text = a_token(user=a_user(username="ada"), scope="read")
    for header in (f"Bearer {text}", f"bearer  {text}"):
        answer = client.get("/api/v1/me", headers={"Authorization": header})
        assert answer.json() == {"username": "ada", "is_superuser": False, "scope": "read", "teams": []}
    assert ApiToken.objects.get(pk=token.pk).last_used_at is not None


def test_a_wrong_token_and_an_expired_one_are_told_apart(client):
    expired, text = a_token(expires_at=NOON)
    ApiToken.objects.update(expires_at=timezone.now() - minutes(1))
    other = a_token(user=a_user(is_active=False))[1]
    for shown, code in ((text, "token-expired"), (other, "token-unknown"), ("tpu_x", "token-unknown"), ("", "token-unknown")):
        answer = client.get("/api/v1/me", headers={"Authorization": f"Bearer {shown}"})
        assert (answer.status_code, answer.json()["code"], answer["WWW-Authenticate"]) == (401, code, "Bearer")
    expired.refresh_from_db()
    assert expired.last_used_at is None


def test_a_wrong_token_is_refused_although_the_browser_is_signed_in(client):
    client.force_login(a_user())
    assert client.get("/api/v1/me").status_code == 200
    assert client.get("/api/v1/me", headers={"Authorization": "Bearer tpu_wrong"}).status_code == 401


def test_without_a_token_the_session_counts_and_without_both_nobody(client):
    answer = client.get("/api/v1/me")
    assert (answer.status_code, answer.json()["code"], answer["WWW-Authenticate"]) == (401, "not-signed-in", "Bearer")
    client.force_login(a_user(username="ada"))
    assert client.get("/api/v1/me", headers={"Authorization": "Basic eDp5"}).json()["scope"] == "admin"


# -- Tokens that tokens issue ---------------------------------------------------------------------------------


def child_of(token, *, expires_at=None):
    by = Actor(user=token.user, scope=token.scope, token_id=token.pk)
    return tokens.issue(user=token.user, name="child", scope="read", expires_at=expires_at, by=by)


def test_a_token_does_not_outlive_the_one_that_issued_it():
    soon = timezone.now() + minutes(60)
    parent, _text = a_token(expires_at=soon)
    assert child_of(parent)[0].expires_at == soon
    assert child_of(parent, expires_at=soon - minutes(1))[0].expires_at == soon - minutes(1)
    with pytest.raises(Invalid) as wrong:
        child_of(parent, expires_at=soon + minutes(1))
    assert list(wrong.value.fields) == ["expires_at"]
    assert child_of(a_token()[0])[0].expires_at is None


def test_a_token_is_revoked_with_the_one_that_issued_it():
    parent, _text = a_token()
    child, text = child_of(parent)
    grandchild, other_text = child_of(child)
    sibling, kept = a_token(user=parent.user)
    tokens.revoke(token=parent, by=Actor(user=parent.user))
    assert [tokens.find(one, NOON) for one in (text, other_text, kept)] == [None, None, sibling]
    audited = AuditEntry.objects.filter(verb="token.revoke").order_by("pk").values_list("subject_id", flat=True)
    assert list(audited) == [str(parent.pk), str(child.pk), str(grandchild.pk)]


def test_a_token_that_was_revoked_meanwhile_issues_none():
    parent, _text = a_token()
    tokens.revoke(token=parent, by=Actor(user=parent.user))
    with pytest.raises(Unauthorized):
        child_of(parent)
    assert ApiToken.objects.count() == 1


@pytest.mark.parametrize(
    ("role", "scopes"), [("viewer", "read"), ("member", "read launch"), ("admin", "read launch admin"), ("", "read")]
)
def test_a_person_has_use_for_the_scopes_that_their_roles_allow(role, scopes):
    user = a_member(role=role) if role else a_user()
    assert tokens.scopes_of(user) == scopes.split()


def test_the_greatest_role_counts_and_an_operators_is_all():
    ada = a_member(role="viewer")
    Membership.objects.create(team=a_team(), user=ada, role="admin")
    assert tokens.scopes_of(ada) == tokens.scopes_of(a_user(is_superuser=True)) == ["read", "launch", "admin"]
