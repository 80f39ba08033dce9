"""Definitions in a browser: one is made, edited in three writings, edited by two at once, and archived."""

from __future__ import annotations

from playwright.sync_api import expect

MADE = "/definitions/first-project/train-tiny"


def forgive(person):
    """The console's lines for answers with errors, which the page itself tells."""
    person.complaints[:] = [one for one in person.complaints if "422" not in one and "409" not in one]


SAID = {
    "title": "Train tiny",
    "template": {"command": ["echo", "${epochs}"]},
    "parameters": {"type": "object", "properties": {"epochs": {"type": "integer", "default": 3}}},
    "resources": {"accelerator": "cpu", "chips": 1},
}


def make(world, slug):
    world.client.post("definitions", json=SAID | {"project": "first-project", "slug": slug}).raise_for_status()


def publish(world, slug, **more):
    """What someone else does meanwhile."""
    world.client.post(f"definitions/first-project/{slug}/versions", json=SAID | more).raise_for_status()


def test_one_is_made_with_its_form_beside_and_launched(world, a_person):
    person = a_person()
    page = person.open("/definitions/new?project=first-project")
    page.locator("#definition-save").click()
    expect(page.locator("#definition-errors")).to_be_focused()
    expect(page.locator("#definition-title-error")).to_have_text("is needed")
    page.locator("#definition-title").fill("Train tiny")
    page.locator("#definition-command").fill("echo\n${epochs}")
    expect(page.locator("#definition-preview")).to_contain_text("names no parameter")
    page.get_by_role("button", name="Add a parameter").click()
    expect(page.locator("#definition-row-0-name")).to_be_focused()
    page.locator("#definition-row-0-name").fill("epochs")
    page.locator("#definition-row-0-kind").select_option("integer")
    expect(page.locator("#definition-row-0-choices")).to_be_hidden()
    page.locator("#definition-row-0-default").fill("3")
    expect(page.locator("#definition-preview").get_by_label("epochs")).to_have_value("3")
    page.reload()
    expect(page.get_by_text("Draft restored.")).to_be_visible()
    expect(page.locator("#definition-row-0-name")).to_have_value("epochs")
    page.locator("#definition-save").click()
    page.wait_for_url(f"**{MADE}")
    assert world.client.get("definitions/first-project/train-tiny").json()["template"] == {"command": ["echo", "${epochs}"]}
    page.locator(".head").get_by_role("link", name="Launch").click()
    expect(page.get_by_role("heading", name="Launch Train tiny")).to_be_visible()
    forgive(person)


def test_it_is_edited_as_text_with_errors_at_their_lines(world, a_person):
    make(world, "as-text")
    person = a_person()
    page = person.open("/definitions/first-project/as-text/versions/new")
    page.get_by_role("button", name="YAML").click()
    area = page.locator("#definition-text")
    area.fill(area.input_value().replace("integer", "nonsense"))
    expect(page.locator("#definition-preview")).to_contain_text("there is no such type")
    expect(page.locator(".gutter [data-wrong]")).to_have_count(1)
    page.locator("#definition-save").click()
    page.locator("#definition-errors").get_by_role("link").first.click()
    expect(area).to_be_focused()
    assert "nonsense" in page.evaluate("getSelection().toString()")
    area.fill(area.input_value().replace("nonsense", "number"))
    page.get_by_role("button", name="Form", exact=True).click()
    expect(page.locator("#definition-row-0-kind")).to_have_value("number")
    forgive(person)


def test_the_second_of_two_is_shown_what_changed_and_takes_it(world, a_person):
    make(world, "of-two")
    person = a_person()
    page = person.open("/definitions/first-project/of-two/versions/new")
    page.locator("#definition-description").fill("mine")
    publish(world, "of-two", title="Theirs")
    page.locator("#definition-save").click()
    expect(page.locator("#definition-conflict")).to_contain_text("published version 2 meanwhile")
    expect(page.locator("#definition-conflict ins")).to_have_text("Theirs")
    expect(page.locator("#definition-description")).to_have_value("mine")
    page.get_by_role("button", name="Take theirs into mine").click()
    expect(page.locator("#definition-title")).to_have_value("Theirs")
    page.locator("#definition-save").click()
    page.wait_for_url("**/definitions/first-project/of-two")
    found = world.client.get("definitions/first-project/of-two").json()
    assert (found["version"], found["title"], found["description"]) == (3, "Theirs", "mine")
    forgive(person)


def test_one_is_searched_and_archived(world, a_person):
    make(world, "of-yesterday")
    person = a_person()
    page = person.open("/definitions")
    page.locator("#definition-search").fill("yesterday")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert page.url.endswith("text=yesterday")
    page.locator("tbody tr a").first.click()
    page.get_by_role("button", name="Archive", exact=True).click()
    page.get_by_role("button", name="Archive it").click()
    expect(page.get_by_text("it is in no list")).to_be_visible()
    assert "of-yesterday" not in world.client.get("definitions").text
