"""What one is told, set by page and by API alike; the webhook's secret, shown once."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs import notice_settings
from jobs.models import Job, Notice, NoticeSettings
from projects import secrets
from projects.actors import Actor
from projects.errors import Conflict, Forbidden, Invalid
from projects.models import AuditEntry
from tests.factories import NOON, a_job
from tests.jobs.telling import HOOK, happens, of, tells

pytestmark = pytest.mark.django_db
FORM = {"events": ["starts", "fails"], "waits_longer_than_min": "30", "by_webhook": "on", "webhook_url": HOOK}
NOTHING = {
    "events": [],
    "waits_longer_than_min": None,
    "by_mail": False,
    "mail_address": "",
    "mail_is_configured": False,
    "by_webhook": False,
    "webhook_url": "",
    "webhook_secret_at": None,
}


@pytest.fixture
def browser(vision) -> Client:
    found = Client(raise_request_exception=False)
    found.force_login(vision.member)
    return found


def text_of(answer) -> str:
    return answer.content.decode()


# -- The page ---------------------------------------------------------------------------------------------------


def test_what_is_kept_stands_in_the_form_and_the_secret_is_shown_once(vision, browser):
    answer = browser.post("/notices", FORM)
    found = of(vision.member)
    assert (found.events, found.waits_longer_than_min, found.by_webhook, found.webhook_url) == (
        ["starts", "fails"],
        30,
        True,
        HOOK,
    )
    secret = secrets.unseal(found.webhook_secret)
    assert (answer.status_code, secret[:6], secret in text_of(answer)) == (200, "whsec_", True)
    assert "no-store" in answer["Cache-Control"]
    again = browser.get("/notices")
    assert secret not in text_of(again)
    assert [box.data["selected"] for box in again.context["form"]["events"]] == [True, False, True]
    assert browser.post("/notices", FORM).status_code == 302
    assert secrets.unseal(of(vision.member).webhook_secret) == secret


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"events": ["explodes"]}, "events"),
        ({"waits_longer_than_min": "0"}, "waits_longer_than_min"),
        ({"waits_longer_than_min": "soon"}, "waits_longer_than_min"),
        ({"waits_longer_than_min": "999999999999"}, "waits_longer_than_min"),
        ({"by_mail": "on"}, "mail_address"),
        ({"mail_address": "ada"}, "mail_address"),
        ({"mail_address": "a@b.example\nBcc: c@d.example"}, "mail_address"),
        ({"mail_address": f"{'a' * 250}@b.example"}, "mail_address"),
        ({"by_webhook": "on"}, "webhook_url"),
        ({"webhook_url": "http://hooks.example/"}, "webhook_url"),
        ({"webhook_url": "https://127.0.0.1/"}, "webhook_url"),
        ({"webhook_url": "https://me:x@hooks.example/"}, "webhook_url"),
        ({"webhook_url": f"https://hooks.example/{'x' * 2000}"}, "webhook_url"),
        ({"webhook_url": "https://hooks.example/\0"}, "webhook_url"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_is_wrong_stands_at_its_field_and_changes_nothing(vision, browser, body, field):
    answer = browser.post("/notices", body)
    assert (answer.status_code, list(answer.context["form"].errors)) == (422, [field])
    assert not NoticeSettings.objects.exclude(events=[], webhook_url="", mail_address="").exists()
    assert "Nothing was changed yet." in text_of(answer)


def test_a_person_without_settings_finds_the_address_of_their_account(vision, browser):
    vision.member.email = "ada@example.com"
    vision.member.save()
    assert 'value="ada@example.com"' in text_of(browser.get("/notices"))
    assert not NoticeSettings.objects.exists()


def test_the_accounts_own_address_which_invitations_go_by_stays(vision, browser):
    browser.post("/notices", {"mail_address": "other@example.com"})
    vision.member.refresh_from_db()
    assert (vision.member.email, of(vision.member).mail_address) == ("", "other@example.com")


def test_a_panel_without_a_mail_server_says_so(browser, settings):
    assert "no mail server yet" in text_of(browser.get("/notices"))
    settings.IS_MAIL_CONFIGURED = True
    assert "no mail server yet" not in text_of(browser.get("/notices"))


def test_another_secret_is_made_and_shown_once(vision, browser):
    old = tells(vision.member, webhook_url=HOOK)
    answer = browser.post("/notices/webhook-secret")
    found = of(vision.member)
    new = secrets.unseal(found.webhook_secret)
    assert (answer.status_code, new != old, secrets.unseal(found.old_webhook_secret)) == (201, True, old)
    assert new in text_of(answer) and new not in text_of(browser.get("/notices"))


def test_without_a_webhook_there_is_none_to_make(vision, browser):
    assert browser.post("/notices/webhook-secret").status_code == 302
    assert "say its address first" in text_of(browser.get("/notices"))


def _told(vision, count):
    tells(vision.member, events=["fails"], by_webhook=True, webhook_url=HOOK)
    for number in range(count):
        happens(a_job(project=vision.project, by=vision.member, name=f"job <b>{number}"), "failed")


@pytest.mark.parametrize("count", [1, 3])
def test_the_page_takes_seven_queries_however_much_was_told(vision, browser, count, django_assert_num_queries):
    _told(vision, count)
    with django_assert_num_queries(7):  # session, user; settings twice, notices; conditions; the navigation
        answer = browser.get("/notices")
    assert text_of(answer).count("job &lt;b&gt;") == 2 * count  # and its title


def test_each_sees_ones_own(vision, browser):
    tells(vision.operator, events=["fails"], by_webhook=True, webhook_url=HOOK)
    happens(a_job(project=vision.project, by=vision.operator, name="the-others"), "failed")
    assert "the-others" not in text_of(browser.get("/notices"))


# -- By API ---------------------------------------------------------------------------------------------------------


def test_a_script_reads_and_sets_the_same(vision, script):
    mine = script(vision.member)
    assert mine.get("/api/v1/notices").json() == NOTHING
    body = {"events": ["fails", "starts", "fails"], "waits_longer_than_min": 5, "by_webhook": True, "webhook_url": HOOK}
    answer = mine.put("/api/v1/notices", body)
    secret = answer.json().pop("webhook_secret")
    said = answer.json()
    assert (answer.status_code, answer["Cache-Control"], secret[:6]) == (200, "no-store", "whsec_")
    assert (said["events"], said["waits_longer_than_min"]) == (["starts", "fails"], 5)
    assert mine.put("/api/v1/notices", body).json()["webhook_secret"] is None
    assert "webhook_secret" not in mine.get("/api/v1/notices").json()
    assert mine.put("/api/v1/notices", {}).json()["events"] == []
    rotated = mine.post("/api/v1/notices/webhook-secret")
    assert (rotated.status_code, rotated.json()["code"]) == (409, "no-webhook")


def test_a_script_is_told_what_is_wrong(vision, script):
    mine = script(vision.member)
    answer = mine.put("/api/v1/notices", {"events": ["x"], "by_mail": True, "webhook_url": "https://10.0.0.1/", "mail": 1})
    assert (answer.status_code, list(answer.json()["details"])) == (422, ["mail"])
    answer = mine.put("/api/v1/notices", {"events": ["x"], "by_mail": True, "webhook_url": "https://10.0.0.1/"})
    assert (answer.status_code, sorted(answer.json()["details"])) == (422, ["events", "mail_address", "webhook_url"])


@pytest.mark.parametrize("scope", ["read", "launch"])
def test_a_token_of_a_smaller_scope_sets_nothing(vision, scope):
    by = Actor(user=vision.member, scope=scope, token_id=1)
    for change in (notice_settings.rotate_secret, lambda **more: notice_settings.change(wanted={"events": ["fails"]}, **more)):
        with pytest.raises(Forbidden):
            change(user=vision.member, by=by, now=NOON)
    assert not NoticeSettings.objects.exists()


def test_what_was_told_comes_in_pages(vision, script):
    _told(vision, 3)
    mine = script(vision.member)
    first = mine.get("/api/v1/notices/deliveries?limit=2").json()
    second = mine.get(f"/api/v1/notices/deliveries?limit=2&cursor={first['next_cursor']}").json()
    numbers = list(Notice.objects.order_by("-pk").values_list("job_id", flat=True))
    assert [one["job"] for one in first["results"] + second["results"]] == numbers
    assert (second["next_cursor"], first["results"][0]["state"], first["results"][0]["event"]) == (None, "pending", "job.failed")
    assert script(vision.operator).get(f"/api/v1/notices/deliveries?cursor={first['next_cursor']}").status_code == 422


@pytest.mark.parametrize("count", [1, 3])
def test_a_list_takes_two_queries_however_many_there_are(vision, script, count, django_assert_num_queries):
    _told(vision, count)
    mine = script(vision.member)
    mine.get("/api/v1/notices/deliveries")
    with django_assert_num_queries(2):  # token, notices
        assert len(mine.get("/api/v1/notices/deliveries").json()["results"]) == count


@pytest.mark.parametrize(
    ("notify", "path"),
    [
        ({"events": ["explodes"]}, "notify.events"),
        ({"events": "fails"}, "notify.events"),
        ({"waits_longer_than_min": 0}, "notify.waits_longer_than_min"),
        ({"waits_longer_than_min": 10**9}, "notify.waits_longer_than_min"),
        ({"webhook": "https://x.example"}, "notify.webhook"),
        ([], "notify"),
        ("fails", "notify"),
        ({"events": ["fails"]}, "notify"),
    ],
)
def test_a_launch_that_says_it_wrong_is_refused_by_check_and_launch_alike(vision, script, notify, path):
    body = {"project": "vit", "definition": "command", "parameters": {"command": "true"}, "notify": notify}
    for address in ("launch-checks", "jobs"):
        answer = script(vision.member).post(f"/api/v1/{address}", body)
        assert (answer.status_code, list(answer.json()["details"])) == (422, [path])
    assert not Job.objects.exists()


def test_a_launch_says_what_its_job_shows(vision, script):
    tells(vision.member, by_webhook=True, webhook_url=HOOK)
    notify = {"events": ["ends"], "waits_longer_than_min": 5}
    body = {"project": "vit", "definition": "command", "parameters": {"command": "true"}, "notify": notify}
    answer = script(vision.member).post("/api/v1/jobs", body)
    assert (answer.status_code, answer.json()["notify"]) == (201, notify)
    job = Job.objects.get()
    assert (job.wait_told_at - job.created_at).total_seconds() == 300


@pytest.mark.parametrize(("choice", "kinds"), [("", []), ("fails", ["fails"]), ("nothing", []), ("ends", ["fails"])])
def test_the_form_says_it_too(vision, browser, choice, kinds):
    tells(vision.member, by_webhook=True, webhook_url=HOOK)
    sent = {"project": "vit", "definition": "command", "resources.accelerator": "cpu", "resources.chips": "1", "notify": choice}
    assert browser.post("/jobs/new", sent | {"parameters.command": "true"}).status_code == 302
    happens(Job.objects.get(), "failed")
    assert list(Notice.objects.values_list("kind", flat=True)) == kinds


def test_the_form_of_who_cannot_be_told_says_so_at_its_field(vision, browser):
    sent = {"project": "vit", "definition": "command", "resources.accelerator": "cpu", "resources.chips": "1", "notify": "fails"}
    answer = browser.post("/jobs/new", sent | {"parameters.command": "true"})
    assert (answer.status_code, Job.objects.count()) == (422, 0)
    assert list(answer.context["form"].errors) == ["notify"]


# -- Kept ------------------------------------------------------------------------------------------------------------


def test_the_audit_says_the_host_and_no_more_of_the_address(vision):
    tells(vision.member, by_webhook=True, webhook_url="https://hooks.example/a-secret-path")
    entry = AuditEntry.objects.get(verb="notices.change")
    assert (entry.data, entry.user) == ({"by_mail": False, "webhook": "hooks.example"}, vision.member)


def test_what_is_refused_changes_nothing(vision):
    tells(vision.member, events=["fails"], webhook_url=HOOK)
    with pytest.raises(Invalid):
        tells(vision.member, events=["ends"], webhook_url="https://127.0.0.1/")
    assert (of(vision.member).events, of(vision.member).webhook_url) == (["fails"], HOOK)


def test_secrets_are_sealed_in_the_database(vision):
    secret = tells(vision.member, webhook_url=HOOK)
    assert secret.encode() not in bytes(of(vision.member).webhook_secret)


def test_a_rotation_without_a_webhook_is_refused(vision):
    with pytest.raises(Conflict):
        notice_settings.rotate_secret(user=vision.member, by=Actor(user=vision.member), now=NOON)
