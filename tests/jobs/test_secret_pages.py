"""The page of a project's secrets: who sets them, what uses them, and that no value comes back."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs import definitions, secret_uses
from projects import secrets
from projects.actors import Actor
from projects.models import AuditEntry, Role, Secret
from tests.factories import a_definition, a_job, a_member

pytestmark = pytest.mark.django_db
PAGE = "/projects/vit/secrets"
VALUE = "zz-a-secret-value"


@pytest.fixture
def admin(vision):
    return a_member(team=vision.team, role=Role.ADMIN, username="admin")


def as_(user) -> Client:
    browser = Client(raise_request_exception=False)
    browser.force_login(user)
    return browser


def text_of(answer) -> str:
    return answer.content.decode()


def naming(name):
    return {"command": ["true"], "secrets": [name]}


def put(vision, name, by):
    return secrets.put(project=vision.project, name=name, value=VALUE, by=Actor(user=by))


@pytest.mark.parametrize("count", [1, 3])
def test_a_list_takes_eleven_queries_however_many_there_are(vision, admin, count, django_assert_num_queries):
    for number in range(count):
        put(vision, f"KEY_{number}", admin)
        a_definition(project=vision.project, slug=f"train-{number}", title="Train")
        a_job(project=vision.project, by=vision.member, secrets=[f"KEY_{number}"])
    browser = as_(admin)
    # Session, user; project, role, rights; secrets, definitions, versions, jobs; conditions, navigation.
    with django_assert_num_queries(11):
        text = text_of(browser.get(PAGE))
    assert text.count('<tr id="secret-KEY_') == count


def test_it_is_set_replaced_and_deleted_and_never_shown(vision, admin):
    browser = as_(admin)
    for value in (VALUE, "another-value\r\nof two lines"):
        answer = browser.post(PAGE, {"secret-name": "WANDB_KEY", "secret-value": value}, follow=True)
        assert "WANDB_KEY is set" in text_of(answer) and VALUE not in text_of(answer) and "another-value" not in text_of(answer)
    assert secrets.reveal(vision.project.pk, ["WANDB_KEY"]) == {"WANDB_KEY": "another-value\nof two lines"}
    assert "no-store" in browser.get(PAGE)["Cache-Control"]
    assert "admin" in text_of(as_(vision.viewer).get(PAGE))
    assert "WANDB_KEY is deleted" in text_of(browser.post(f"{PAGE}/WANDB_KEY/removal", follow=True))
    assert not Secret.objects.exists() and browser.post(f"{PAGE}/WANDB_KEY/removal").status_code == 404
    verbs = AuditEntry.objects.filter(verb__startswith="secret").order_by("pk").values_list("verb", "data")
    assert list(verbs) == [("secret.put", {"made": True}), ("secret.put", {"made": False}), ("secret.remove", {})]


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("", VALUE, "name"),
        ("1KEY", VALUE, "name"),
        ("名前", VALUE, "name"),
        ("PATH", VALUE, "name"),
        ("x" * 1_000_000, VALUE, "name"),
        ("KEY", "", "value"),
        ("KEY", "short", "value"),
        ("KEY", VALUE + "x" * 1_000_000, "value"),
        ("KEY", VALUE + "\0", "value"),
    ],
    ids=["none", "digit", "script", "obeyed", "megabyte", "empty", "short", "megabyte of value", "nul"],
)
def test_what_is_no_secret_is_told_at_its_field_and_the_value_stays_unsaid_elsewhere(vision, admin, name, value, field):
    answer = as_(admin).post(PAGE, {"secret-name": name, "secret-value": value})
    assert (answer.status_code, list(answer.context["form"].errors)) == (422, [field])
    assert VALUE not in text_of(answer)
    assert not Secret.objects.exists()


@pytest.mark.parametrize("who", ["viewer", "member"])
def test_who_is_no_admin_sees_names_and_changes_nothing(vision, admin, who):
    put(vision, "KEY", admin)
    browser = as_(getattr(vision, who))
    text = text_of(browser.get(PAGE))
    assert "KEY" in text and "Set or replace" not in text and "Delete" not in text
    assert browser.post(PAGE, {"secret-name": "KEY", "secret-value": VALUE}).status_code == 403
    assert browser.post(f"{PAGE}/KEY/removal").status_code == 403
    assert Secret.objects.count() == 1 and as_(vision.stranger).get(PAGE).status_code == 404


def test_it_says_what_uses_a_secret_and_which_one_is_missing(vision, admin):
    for name in ("IN_LAUNCH", "IN_BOTH", "UNUSED"):
        put(vision, name, admin)
    version = a_definition(project=vision.project, slug="train", title="Train", template=naming("IN_BOTH"))
    first = a_job(project=vision.project, by=vision.member, secrets=["IN_LAUNCH", "IN_BOTH"])
    last = a_job(project=vision.project, by=vision.member, secrets=["IN_LAUNCH"])
    first.state, first.ended_at = "succeeded", first.created_at
    first.save()
    a_definition(project=vision.project, slug="new", title="New", template=naming("MISSING"))
    archived = a_definition(project=vision.project, slug="old", title="Old", template=naming("UNUSED"))
    definitions.archive(definition=archived.definition, by=Actor(user=admin), now=first.created_at)
    found = {
        use.name: (use.secret is not None, [one.slug for one in use.definitions], use.last_job, use.open_jobs)
        for use in secret_uses.uses(vision.project)
    }
    assert found == {
        "IN_BOTH": (True, ["train"], first, 0),
        "IN_LAUNCH": (True, [], last, 1),
        "UNUSED": (True, [], None, 0),
        "MISSING": (False, ["new"], None, 0),
    }
    assert list(found)[-1] == "MISSING" and version.number == 1
    assert "not there" in text_of(as_(admin).get(PAGE))


def test_a_project_without_secrets_says_what_they_are_for(vision, admin):
    assert "No secret yet" in text_of(as_(admin).get(PAGE))
    assert "Admins of the team set them." in text_of(as_(vision.viewer).get(PAGE))
