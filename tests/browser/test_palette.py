"""Ctrl-K: from anywhere to anything, with the keyboard alone."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.axe import violations


def test_a_few_letters_and_enter_lead_to_a_job(world, a_person):
    number = world.launch("true", name="digits of pi")
    world.launch("true", name="digits of e")
    page = a_person().open("/definitions")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search")
    field = palette.get_by_role("combobox")
    expect(field).to_be_focused()
    expect(palette.get_by_role("option", name="API documentation")).to_be_visible()  # before anything is typed
    page.keyboard.type("digits of")
    expect(palette.get_by_role("option").first).to_contain_text("digits of e")
    expect(palette.get_by_role("option", selected=True)).to_contain_text("digits of e")
    assert violations(page) == []
    page.keyboard.press("ArrowDown")
    expect(palette.get_by_role("option", selected=True)).to_contain_text("digits of pi")
    chosen = field.get_attribute("aria-activedescendant")
    expect(page.locator(f"#{chosen}")).to_contain_text("digits of pi")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/jobs/{number}")


def test_enter_before_the_answer_has_come_finds_what_was_typed(world, a_person):
    page = a_person().open("/")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option").first).to_be_visible()
    page.route("**/palette?q=tok*", lambda route: None if route.request.headers.get("hx-request") else route.continue_())
    page.keyboard.type("tok")
    page.keyboard.press("Enter")
    page.wait_for_url("**/palette?q=tok")
    page.get_by_role("link", name="API tokens").first.click()
    page.wait_for_url("**/tokens")


def test_what_is_nowhere_leads_to_the_search_in_all_jobs(world, a_person):
    page = a_person().open("/jobs")
    page.get_by_role("link", name="Search").click()
    page.keyboard.type("no such <b>thing")
    dialog = page.get_by_role("dialog", name="Search")
    expect(dialog).to_contain_text("Nothing by the name “no such <b>thing”.")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
