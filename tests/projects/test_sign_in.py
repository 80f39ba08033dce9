import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import AsyncClient, Client

from tests.factories import PASSWORD, a_user

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.projects.doors")]

WRONG = "a-wrong-password"


@pytest.fixture
def ada(db) -> User:
    return a_user(username="ada")


def sign_in(client, *, password=PASSWORD, username="ada", **more):
    return client.post("/sign-in", {"username": username, "password": password} | more)


def who(client):
    return client.get("/who").content.decode()


def test_the_right_password_signs_in_and_leads_home(client, ada):
    answer = sign_in(client)
    assert (answer.status_code, answer["Location"], who(client)) == (302, "/", "ada")


@pytest.mark.parametrize(("username", "password"), [("ada", WRONG), ("nobody", PASSWORD), ("ada", "")])
def test_a_wrong_password_signs_nobody_in(client, ada, username, password):
    answer = sign_in(client, username=username, password=password)
    assert (answer.status_code, who(client)) == (200, "nobody")
    assert answer.content.decode().split("|")[1] == username


def test_who_is_no_longer_active_is_not_let_in_and_is_signed_out(client, ada):
    sign_in(client)
    User.objects.update(is_active=False)
    assert who(client) == "nobody"
    assert sign_in(client).status_code == 200
    assert who(client) == "nobody"


def test_it_leads_on_to_an_address_of_ours(client, ada):
    assert client.get("/sign-in?next=/jobs/17").content.decode().split("|")[2] == "/jobs/17"
    assert sign_in(client, next="/jobs/17?tab=log")["Location"] == "/jobs/17?tab=log"


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example/x",
        "/\\evil.example",
        "https:///evil.example",
        "javascript:alert(1)",
        "http:evil.example",
    ],
)
def test_it_leads_nowhere_else(client, ada, elsewhere):
    assert "evil" not in client.get("/sign-in", {"next": elsewhere}).content.decode()
    assert sign_in(client, next=elsewhere)["Location"] == "/"
    assert who(client) == "ada"
    assert client.get("/sign-in", {"next": elsewhere})["Location"] == "/"  # who is signed in is sent on at once


def test_only_a_post_signs_out(client, ada):
    sign_in(client)
    assert client.get("/sign-out").status_code == 405
    assert who(client) == "ada"
    answer = client.post("/sign-out")
    assert (answer["Location"], who(client)) == ("/sign-in", "nobody")


def test_both_ask_for_the_forms_own_token(ada):
    strict = Client(enforce_csrf_checks=True)
    assert sign_in(strict).status_code == 403
    strict.force_login(ada)
    assert strict.post("/sign-out").status_code == 403
    assert who(strict) == "ada"


# -- Too many tries --------------------------------------------------------------------------------------------


def test_after_ten_wrong_passwords_the_right_one_has_to_wait(client, ada):
    statuses = [sign_in(client, password=WRONG).status_code for _ in range(10)]
    assert statuses == [200] * 9 + [429]
    eleventh = sign_in(client, next="/jobs/17")
    assert (eleventh.status_code, eleventh["Retry-After"], who(client)) == (429, "900", "nobody")
    assert eleventh.content.decode() == "* Too many wrong passwords. Wait 15 minutes, then try again.|ada|/jobs/17"


def test_another_name_and_another_address_are_let_in_meanwhile(client, ada):
    a_user(username="bob")
    for _ in range(10):
        sign_in(client, password=WRONG)
    assert sign_in(client).status_code == 429
    assert sign_in(Client(REMOTE_ADDR="192.0.2.7"))["Location"] == "/"
    assert sign_in(client, username="bob")["Location"] == "/"


def test_the_right_password_ends_the_count(client, ada):
    for _ in range(2):
        assert [sign_in(client, password=WRONG).status_code for _ in range(9)] == [200] * 9
        assert sign_in(client).status_code == 302
        client.logout()


def test_the_wait_leads_nowhere_else_and_shows_no_password(client, ada):
    for _ in range(10):
        sign_in(client, password=WRONG)
    page = sign_in(client, password=WRONG, next="//evil.example").content.decode()
    assert "evil" not in page and WRONG not in page


def test_under_asgi_too(ada):
    @async_to_sync
    async def tries():
        client = AsyncClient()
        return [await client.post("/sign-in", {"username": "ada", "password": WRONG}) for _ in range(10)]

    *_before, last = tries()
    assert (last.status_code, last["Retry-After"]) == (429, "900")
    assert last.content.decode() == "* Too many wrong passwords. Wait 15 minutes, then try again.|ada|"
