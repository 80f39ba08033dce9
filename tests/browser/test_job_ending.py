"""What a person reads of a job that ended badly, and how far it is from there to the log and to the next try."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

LIVE = "[data-connection]"  # a page that is left before it is live complains
FAILING = "for i in $(seq 1 400); do echo line $i; done; python3 -c 'import einops'"


@pytest.fixture(scope="module")
def failed(world) -> int:
    number = world.launch(FAILING, name="failing")
    world.wait(number, "failed")
    return number


def test_a_failed_job_says_why_and_leads_to_the_line_and_to_the_next_try(world, a_person, failed):
    page = a_person().open(f"/jobs/{failed}")
    card = page.locator(".ending")
    expect(page.locator(LIVE).first).to_contain_text("live")
    expect(card.get_by_role("heading", level=2)).to_have_text("Python found no module einops.")
    expect(card.locator("li[data-told] span")).to_have_text("ModuleNotFoundError: No module named 'einops'")
    expect(card.locator("li[data-told]")).to_be_in_viewport()  # its end is what shows
    view = page.locator("[data-log-view]")
    expect(view).to_contain_text("No module named")
    card.get_by_role("link", name="Log at the error").click()
    expect(page.locator(".log-row[data-picked]")).to_contain_text("Traceback (most recent call last)")
    page.get_by_role("button", name="Pick no lines").click()
    expect(page.locator(".log-row[data-picked]")).to_have_count(0)
    card.get_by_role("link", name="Log at the error").click()  # the same address once more
    expect(page.locator(".log-row[data-picked]")).to_contain_text("Traceback (most recent call last)")
    card.get_by_role("button", name="Relaunch", exact=True).click()
    expect(page.locator("#job-header .sub")).to_contain_text(f"as #{failed} was")
    expect(page.locator(LIVE).first).to_contain_text("live")


def test_the_card_comes_by_itself_when_the_job_fails(world, a_person, tmp_path):
    go = tmp_path / "go"
    number = world.launch(f"until [ -e {go} ]; do sleep 0.1; done; echo MemoryError; exit 1")
    world.wait(number, "running")
    page = a_person().open(f"/jobs/{number}")
    expect(page.locator(LIVE).first).to_contain_text("live")
    expect(page.locator(".ending")).to_have_count(0)
    go.touch()
    expect(page.locator(".ending")).to_contain_text("The program got no more memory from its host.", timeout=20_000)
    expect(page.locator(".ending li[data-told]")).to_contain_text("MemoryError")
    page.reload()
    expect(page.locator(".ending li[data-told]")).to_contain_text("MemoryError")
    expect(page.locator(LIVE).first).to_contain_text("live")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_the_card_fits_its_screen_and_has_its_contrast(world, a_person, failed, scheme, width):
    person = a_person(width=width, height=900 if width > 1000 else 844, scheme=scheme)
    page = person.open(f"/jobs/{failed}")
    expect(page.locator(".ending li[data-told]")).to_be_visible()
    expect(page.locator(LIVE).first).to_contain_text("live")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    card, words = (page.locator(selector).bounding_box() for selector in (".ending", ".ending .last-words"))
    assert card["x"] <= words["x"] and words["x"] + words["width"] <= card["x"] + card["width"]
    person.picture(f"job-failed-{scheme}-{width}")


def test_with_the_socket_off_the_card_comes_by_polling(world, a_person, browser, tmp_path):
    person = a_person(width=390, height=844, scheme="dark")
    go = tmp_path / "go"
    number = world.launch(f"until [ -e {go} ]; do sleep 0.1; done; echo MemoryError; exit 1")
    world.wait(number, "running")
    person.page.route_web_socket("**", lambda socket: socket.close())
    page = person.open(f"/jobs/{number}")
    expect(page.locator(LIVE).first).not_to_contain_text("live")
    go.touch()
    expect(page.locator(".ending")).to_contain_text("The program got no more memory", timeout=30_000)
    person.complaints.clear()  # the browser's own lines for a socket that is closed
