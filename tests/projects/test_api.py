from datetime import timedelta

import pytest
from django.utils import timezone

from projects import secrets
from projects.actors import Actor
from projects.models import ApiToken, AuditEntry, Secret
from tests.factories import a_project, a_team, a_token, a_user

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.projects.doors")]

VALUE = "hunter2-hunter2"
KEY = "/api/v1/projects/vit/secrets/KEY"


def test_me_says_who_and_what_i_may(script, vision):
    assert script(vision.member, scope="launch").get("/api/v1/me").json() == {
        "username": "member",
        "is_superuser": False,
        "scope": "launch",
        "teams": [{"slug": "vision", "name": "Vision", "role": "member"}],
    }
    assert script(vision.operator).get("/api/v1/me").json()["is_superuser"] is True


# -- Tokens ----------------------------------------------------------------------------------------------------


def test_a_token_is_answered_in_clear_once(script, vision):
    member = script(vision.member)
    expires_at = timezone.now().replace(microsecond=0) + timedelta(days=7)
    answer = member.post("/api/v1/tokens", {"name": "ci", "scope": "launch", "expires_at": expires_at.isoformat()})
    made = answer.json()
    token = ApiToken.objects.get(name="ci")
    assert (answer.status_code, made["id"], made["text"][:12]) == (201, token.pk, f"tpu_{token.prefix}")
    assert (token.user, token.scope, token.expires_at) == (vision.member, "launch", expires_at)
    assert AuditEntry.objects.get(subject_title="ci").token_id == ApiToken.objects.get(name="script").pk
    listed = member.get("/api/v1/tokens")
    assert [one["name"] for one in listed.json()["results"]] == ["ci", "script"]
    assert listed.json()["results"][0] == {key: value for key, value in made.items() if key != "text"}
    assert made["text"] not in listed.content.decode() and token.digest not in listed.content.decode()


def test_a_token_makes_none_greater_than_itself(script, vision):
    answer = script(vision.member, scope="read").post("/api/v1/tokens", {"name": "x", "scope": "admin"})
    assert (answer.status_code, answer.json()["code"]) == (403, "token-scope")
    assert ApiToken.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["name", "scope"]),
        ({"name": "", "scope": "all"}, ["name", "scope"]),
        ({"name": "x", "scope": "read", "expires_at": "soon"}, ["expires_at"]),
        ({"name": "x", "scope": "read", "expires_at": "2020-01-01T00:00:00Z"}, ["expires_at"]),
        ([], [""]),
    ],
)
def test_wrong_fields_of_a_token_are_named(script, vision, body, fields):
    answer = script(vision.member).post("/api/v1/tokens", body)
    assert (answer.status_code, sorted(answer.json()["details"])) == (422, fields)
    assert ApiToken.objects.count() == 1


def test_ones_own_token_is_revoked_and_opens_nothing_more(script, vision):
    member = script(vision.member)
    token, text = a_token(user=vision.member, name="ci")
    answer = member.delete(f"/api/v1/tokens/{token.pk}")
    assert (answer.status_code, answer.content) == (204, b"")
    token.refresh_from_db()
    assert token.revoked_at is not None
    assert member.get("/api/v1/me", Authorization=f"Bearer {text}").status_code == 401
    assert member.get("/api/v1/me").status_code == 200


def test_another_persons_token_does_not_exist(script, vision):
    token, _text = a_token(user=vision.member)
    for user in (vision.stranger, vision.operator):
        asker = script(user)
        answer = asker.delete(f"/api/v1/tokens/{token.pk}")
        assert (answer.status_code, answer.json()["code"]) == (404, "no-such-token")
        assert token.pk not in [one["id"] for one in asker.get("/api/v1/tokens").json()["results"]]
    token.refresh_from_db()
    assert token.revoked_at is None


# -- Projects --------------------------------------------------------------------------------------------------


def test_projects_are_those_of_ones_teams_with_ones_role(script, vision):
    a_project(team=a_team(slug="other"), slug="hidden")
    shown = {"slug": "vit", "name": "ViT", "team": "vision", "role": "viewer"}
    assert script(vision.viewer).get("/api/v1/projects").json() == {"results": [shown]}
    assert script(vision.stranger).get("/api/v1/projects").json() == {"results": []}
    assert [(one["slug"], one["role"]) for one in script(vision.operator).get("/api/v1/projects").json()["results"]] == [
        ("hidden", "admin"),
        ("vit", "admin"),
    ]


@pytest.mark.parametrize("more", [0, 3])
def test_projects_take_three_queries_however_many_there_are(script, vision, more, django_assert_num_queries):
    member = script(vision.member)
    for _ in range(more):
        a_project(team=vision.team)
    member.get("/api/v1/projects")  # notes the token's use
    with django_assert_num_queries(3):  # token, roles, projects
        assert len(member.get("/api/v1/projects").json()["results"]) == 1 + more


# -- Secrets ---------------------------------------------------------------------------------------------------


def test_an_admin_puts_a_secret_and_nobody_reads_it_back(script, vision):
    admin = script(vision.admin)
    answer = admin.put(KEY, {"value": f" {VALUE} "})
    assert (answer.status_code, answer.content) == (204, b"")
    assert secrets.reveal(vision.project.pk, ["KEY"]) == {"KEY": f" {VALUE} "}
    updated_at = Secret.objects.get().updated_at.isoformat().replace("+00:00", "Z")
    listed = script(vision.viewer, scope="read").get("/api/v1/projects/vit/secrets")
    assert listed.json() == {"results": [{"name": "KEY", "updated_at": updated_at, "updated_by": "admin"}]}
    assert admin.get(KEY).status_code == 405


def test_an_admin_removes_a_secret(script, vision):
    secrets.put(project=vision.project, name="KEY", value=VALUE, by=Actor(user=vision.admin))
    admin = script(vision.admin)
    assert admin.delete(KEY).status_code == 204
    assert not Secret.objects.exists()
    assert (admin.delete(KEY).status_code, admin.delete(KEY).json()["code"]) == (404, "no-such-secret")


@pytest.mark.parametrize(
    ("who", "scope", "refused"),
    [
        ("stranger", "admin", (404, "no-such-project")),
        ("viewer", "admin", (403, "role")),
        ("member", "admin", (403, "role")),
        ("admin", "launch", (403, "token-scope")),
        ("operator", "read", (403, "token-scope")),
    ],
)
def test_who_may_not_edit_secrets_changes_nothing(script, vision, who, scope, refused):
    secrets.put(project=vision.project, name="KEY", value=VALUE, by=Actor(user=vision.admin))
    asker = script(getattr(vision, who), scope=scope)
    for answer in (asker.put(KEY, {"value": "another-value"}), asker.delete(KEY)):
        assert (answer.status_code, answer.json()["code"]) == refused
    assert secrets.reveal(vision.project.pk, ["KEY"]) == {"KEY": VALUE}


def test_a_stranger_sees_no_names(script, vision):
    assert script(vision.stranger).get("/api/v1/projects/vit/secrets").status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        (KEY, {"value": "short"}, ["value"]),
        (KEY, {"value": ""}, ["value"]),
        (KEY, {}, ["value"]),
        (KEY, {"value": None}, ["value"]),
        ("/api/v1/projects/vit/secrets/1KEY", {"value": VALUE}, ["name"]),
    ],
)
def test_a_wrong_secret_is_refused_without_its_value(script, vision, path, body, fields):
    answer = script(vision.admin).put(path, body)
    assert (answer.status_code, list(answer.json()["details"])) == (422, fields)
    assert VALUE not in answer.content.decode()
    assert not Secret.objects.exists()


def test_without_a_name_nothing_is_told(client, vision):
    for path in ("me", "tokens", "projects", "projects/vit/secrets"):
        answer = client.get(f"/api/v1/{path}")
        assert (answer.status_code, answer.json()["code"]) == (401, "not-signed-in")
    assert client.delete(f"/api/v1/tokens/{a_token(user=a_user())[0].pk}").status_code == 401
    assert ApiToken.objects.get().revoked_at is None
