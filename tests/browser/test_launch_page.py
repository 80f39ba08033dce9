"""Launching from the form: errors at their fields, a draft that stays, and what would happen told before."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

DIGITS = "/jobs/new?project=first-project&definition=digits-tensorflow"
COMMAND = "/jobs/new?project=first-project&definition=command"


def wait_live(page):
    """A page that is left while its socket opens complains of it."""
    expect(page.locator("[data-connection]").first).to_contain_text("live")


def test_a_job_is_launched_from_the_list_after_its_faults_are_mended(world, a_person):
    person = a_person()
    page = person.page
    wait_live(page)
    page.get_by_role("link", name="Launch", exact=True).click()
    expect(page.get_by_role("heading", name="Launch Command")).to_be_visible()
    page.get_by_label("Slots", exact=True).fill("none")
    page.get_by_role("button", name="Launch").click()
    summary = page.locator("#launch-errors")
    expect(summary).to_be_focused()
    expect(summary).to_contain_text("Command: is needed")
    expect(page.get_by_label("Slots", exact=True)).to_have_value("none")
    expect(page.locator("#resources-chips-error")).to_have_text("a whole number from 1 is needed")
    person.picture("launch-errors")
    summary.get_by_role("link", name="Command").click()
    expect(page.get_by_label("Command", exact=True)).to_be_focused()
    page.keyboard.type("echo launched from the form")
    page.get_by_label("Slots", exact=True).fill("2")
    expect(page.get_by_role("button", name="Launch on 2 slots")).to_be_visible()
    expect(page.locator("#launch-preview")).to_contain_text("Starts now on tpu-1.")
    page.get_by_text("The same from a script").click()
    expect(page.locator("#launch-curl")).to_contain_text('"chips": 2')
    page.get_by_text("name, labels, environment, retries, secrets").click()
    page.get_by_label("Labels", exact=True).fill("from=form")
    page.get_by_role("button", name="Launch on 2 slots").dblclick()
    page.wait_for_url(re.compile(r"/jobs/[0-9]+$"))
    number = int(page.url.rpartition("/")[2])
    expect(page.locator("#job-header")).to_contain_text("succeeded", timeout=20_000)
    job = world.job(number)
    assert (job["parameters"], job["resources"]["chips"], job["labels"]) == (
        {"command": "echo launched from the form", "runtime": ""},
        2,
        {"from": "form"},
    )
    assert [one["number"] for one in world.client.get("jobs", params={"label": "from=form"}).json()["results"]] == [number]
    person.complaints[:] = [one for one in person.complaints if "422" not in one]  # the console's line for the answer with errors
    page.goto(world.url + COMMAND)  # what was launched is no draft any more
    expect(page.get_by_label("Command", exact=True)).to_have_value("")
    expect(page.locator("[data-draft-line]")).to_be_hidden()


def test_a_draft_survives_a_reload_until_it_is_discarded(world, a_person):
    page = a_person().open(DIGITS)
    page.get_by_label("Epochs", exact=True).fill("7")
    page.get_by_label("Compile with XLA").uncheck()
    page.get_by_label("Precision", exact=True).select_option(label="mixed_bfloat16")
    page.reload()
    expect(page.get_by_text("Draft restored.")).to_be_visible()
    expect(page.get_by_label("Epochs", exact=True)).to_have_value("7")
    expect(page.get_by_label("Compile with XLA")).not_to_be_checked()
    expect(page.locator("#launch-curl")).to_contain_text('"epochs": 7')
    page.get_by_label("Definition", exact=True).select_option(label="Command")
    expect(page.get_by_role("heading", name="Launch Command")).to_be_visible()
    expect(page.locator("[data-draft-line]")).to_be_hidden()  # a draft is of its definition
    page.get_by_label("Definition", exact=True).select_option(label="Handwritten digits (TensorFlow)")
    expect(page.get_by_label("Epochs", exact=True)).to_have_value("7")
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_label("Epochs", exact=True)).to_have_value("10")
    expect(page.get_by_label("Compile with XLA")).to_be_checked()
    page.reload()
    expect(page.get_by_label("Epochs", exact=True)).to_have_value("10")
    expect(page.locator("[data-draft-line]")).to_be_hidden()


def test_a_definition_chosen_before_the_scripts_run_is_heard(world, a_person):
    page = a_person().page
    wait_live(page)
    held = []

    def hold(route):
        held.append(route)

    page.route("**/*.js", hold)
    page.goto(world.url + COMMAND, wait_until="commit")
    page.get_by_label("Definition", exact=True).select_option(label="Handwritten digits (TensorFlow)")
    expect(page.get_by_role("heading", name="Launch Command")).to_be_visible()
    assert held
    page.unroute("**/*.js")  # lets go what is held
    expect(page.get_by_label("Epochs", exact=True)).to_have_value("10")
    page.go_back()  # and it is not chosen again
    expect(page.get_by_role("heading", name="Launch Command")).to_be_visible()
    expect(page.get_by_label("Definition", exact=True)).to_have_value("command")


def test_a_list_is_narrowed_in_place_and_by_a_label_on_its_rows(world, a_person):
    person = a_person()
    kept = world.launch("true", name="kept", labels={"sweep": "a"})
    other = world.launch("true", name="other", labels={"sweep": "b"})
    for number in (kept, other):
        world.wait(number)
    page = person.open("/jobs")
    wait_live(page)
    page.get_by_label("Name or number").fill("kept")
    expect(page.locator(f"#job-{other}")).to_have_count(0)
    expect(page.locator(f"#job-{kept}")).to_be_visible()
    page.wait_for_url("**/jobs?text=kept")
    page.get_by_role("link", name="Clear filters").click()
    wait_live(page)
    page.locator(f"#job-{kept}").get_by_role("link", name="sweep=a").click()
    page.wait_for_url("**/jobs?label=sweep%3Da")
    expect(page.locator("tbody tr")).to_have_count(1)
    wait_live(page)
    page.locator("label.chip", has_text="failed").click()
    expect(page.get_by_role("heading", name="No job matches")).to_be_visible()
    page.wait_for_url("**/jobs?state=failed&label=sweep%3Da")
    person.picture("jobs-no-match")
    page.locator("label.chip", has_text="failed").click()
    expect(page.locator(f"#job-{kept}")).to_be_visible()
    page.locator("#filter-active a", has_text="sweep=a").click()
    expect(page.locator(f"#job-{other}")).to_be_visible()
    wait_live(page)


def test_what_a_filter_no_longer_lets_through_leaves_without_moving_the_rows(world, a_person):
    page = a_person().page
    first, last = (world.launch("sleep 60", name=name, labels={"list": "live"}) for name in ("first", "last"))
    for number in (first, last):
        world.wait(number, "running")
    page.goto(f"{world.url}/jobs?state=running&label=list%3Dlive")
    wait_live(page)
    page.locator(f"#job-{first}").hover()
    place = page.locator(f"#job-{first}").bounding_box()
    world.cancel(last, force=True)
    expect(page.locator(f"#job-{last}[data-gone]")).to_be_visible(timeout=15_000)
    assert page.locator(f"#job-{first}").bounding_box() == place
    page.locator("h1").hover()
    expect(page.locator(f"#job-{last}")).to_have_count(0)
    world.cancel(first, force=True)
    expect(page.get_by_role("heading", name="No job matches")).to_be_visible(timeout=15_000)


def test_a_job_is_launched_without_scripts(world, browser, a_person):
    cookies = a_person().page.context.cookies()
    context = browser.new_context(java_script_enabled=False)
    context.add_cookies(cookies)
    page = context.new_page()
    page.goto(world.url + "/jobs/new")
    page.get_by_label("Definition", exact=True).select_option(label="Command")
    page.get_by_role("button", name="Show its form").click()
    page.get_by_role("button", name="Launch on 1 slot").click()
    expect(page.locator("#launch-errors")).to_contain_text("Command: is needed")
    page.get_by_label("Command", exact=True).fill("echo without scripts")
    page.get_by_role("button", name="Launch on 1 slot").click()
    page.wait_for_url(re.compile(r"/jobs/[0-9]+$"))
    assert world.job(int(page.url.rpartition("/")[2]))["parameters"] == {"command": "echo without scripts", "runtime": ""}
    page.goto(world.url + "/jobs")
    page.get_by_label("Name or number").fill("no such job")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="No job matches")).to_be_visible()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_the_form_fits_its_screen(world, a_person, scheme, width):
    person = a_person(width=width, height=900 if width > 1000 else 844, scheme=scheme)
    for name, path in (("launch-digits", DIGITS), ("launch-command", COMMAND)):
        page = person.open(path)
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        person.picture(f"{name}-{scheme}-{width}")
