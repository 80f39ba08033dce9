"""The page of one's notices, as a person uses it."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.axe import violations


def test_a_person_sets_up_a_webhook_and_makes_it_another_secret(world, a_person):
    person = a_person()
    page = person.open("/")
    page.get_by_role("button", name="Menu of").click()
    page.get_by_role("link", name="Notices").click()
    expect(page.get_by_role("heading", name="Nothing was told yet")).to_be_visible()
    page.get_by_label("it fails").check()
    page.get_by_label("When it waits longer than, in minutes").fill("30")
    page.get_by_label("Call a webhook").check()
    page.get_by_label("At the address").fill("https://hooks.example/panel")
    page.get_by_role("button", name="Keep").click()
    secret = page.locator("#webhook-secret")
    expect(secret).to_contain_text("whsec_")
    first = secret.inner_text()
    assert violations(page) == []
    page.get_by_role("button", name="Make another secret").click()
    dialog = page.get_by_role("dialog", name="Make another secret?")
    expect(dialog.get_by_role("button", name="Leave it")).to_be_focused()
    assert violations(page) == []
    dialog.get_by_role("button", name="Make another").click()
    expect(page.get_by_role("heading", name="The webhook has another secret")).to_be_visible()
    assert secret.inner_text() != first
    person.open("/notices")
    expect(page.get_by_label("it fails")).to_be_checked()
    expect(page.get_by_label("it starts")).not_to_be_checked()
    expect(secret).to_have_count(0)
    assert world.client.get("notices").json()["waits_longer_than_min"] == 30


def test_what_is_wrong_stands_at_its_field_and_what_was_typed_stays(world, a_person):
    person = a_person()
    page = person.open("/notices")
    page.get_by_label("it ends, well or not").check()
    page.get_by_label("Call a webhook").check()
    page.get_by_label("At the address").fill("https://169.254.169.254/latest")
    page.get_by_role("button", name="Keep").click()
    field = page.get_by_label("At the address")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#id_webhook_url_error")).to_contain_text("169.254.169.254 is not on the internet alone")
    expect(field).to_have_value("https://169.254.169.254/latest")
    expect(page.get_by_label("it ends, well or not")).to_be_checked()
    assert violations(page) == []
    assert [one for one in person.complaints if "422" not in one] == []
    person.complaints.clear()
