"""The list of jobs in a browser: selecting, what is done with many, keys, views, and jobs side by side."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.road.world import World


@pytest.fixture(scope="module")
def jobs(world: World) -> dict[str, int]:
    """Two that have measured something, one that failed, and three that wait for more than there is."""
    said = 'for i in 1 2 3 4 5; do echo "::metric name=loss step=$i::0.$((%d-i))"; done'
    first, second = (world.launch(said % value, name=f"train-{value}") for value in (9, 7))
    failed = world.launch("exit 3", name="fails")
    for number, state in ((first, "succeeded"), (second, "succeeded"), (failed, "failed")):
        world.wait(number, state)
    waiting = [world.launch("true", name=f"waits-{n}", resources={"chips": 64}) for n in range(3)]
    return {"first": first, "second": second, "failed": failed} | {f"waits-{n}": job for n, job in enumerate(waiting)}


def picked(page) -> list[int]:
    return [int(box.get_attribute("value")) for box in page.locator("[data-pick]:checked").all()]


def test_a_range_is_picked_and_canceled_after_a_question(world, a_person, jobs):
    extra = [world.launch("true", name="extra", resources={"chips": 64}) for _ in range(3)]
    page = a_person().open("/jobs?text=extra")
    bar = page.locator("[data-selection]")
    expect(bar).to_be_hidden()
    page.locator(f"#pick-{extra[2]}").check()
    page.locator(f"#pick-{extra[0]}").click(modifiers=["Shift"])
    expect(bar).to_contain_text("3 selected")
    world.cancel(extra[1])
    expect(page.locator(f"#job-{extra[1]}")).to_contain_text("canceled")  # drawn anew, and still picked
    assert picked(page) == extra[::-1]
    page.mouse.move(600, 700)
    bar.get_by_role("button", name="Cancel").click()
    dialog = page.locator("#bulk")
    expect(dialog).to_contain_text("Cancel 2 jobs?")
    expect(dialog).to_contain_text("1 job is left alone: it has ended already.")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert world.job(extra[0])["state"] == "queued"
    bar.get_by_role("button", name="Cancel").click()
    dialog.get_by_role("button", name="Cancel 2 jobs").click()
    expect(page.locator(".messages")).to_contain_text("2 jobs are canceled.")
    assert [world.job(number)["state"] for number in extra] == ["canceled"] * 3
    assert page.url.endswith("/jobs?text=extra") and picked(page) == []


def test_all_that_match_are_labeled(world, a_person, jobs):
    page = a_person().open("/jobs?text=waits")
    page.locator("[data-pick-all]").check()
    page.get_by_role("button", name="Select all that match the filter").click()
    page.locator("[data-selection]").get_by_role("button", name="Labels").click()
    page.locator("#bulk").get_by_label("Set", exact=True).fill("kind=late")
    page.locator("#bulk").get_by_role("button", name="Label 3 jobs").click()
    expect(page.locator(".messages")).to_contain_text("3 jobs have these labels now.")
    assert [world.job(jobs[f"waits-{n}"])["labels"] for n in range(3)] == [{"kind": "late"}] * 3
    assert world.job(jobs["failed"])["labels"] == {}


def test_a_filter_takes_the_choice_of_all_with_it(a_person, jobs):
    page = a_person().open("/jobs?text=waits")
    page.locator("[data-pick-all]").check()
    page.get_by_role("button", name="Select all that match the filter").click()
    expect(page.locator("[data-selection]")).to_contain_text("all that match")
    page.locator("#job-text").fill("train")
    expect(page.locator(f"#job-{jobs['first']}")).to_be_visible()
    expect(page.locator(f"#job-{jobs['waits-0']}")).to_be_hidden()
    assert picked(page) == []
    expect(page.locator("[data-selection-filter]")).to_have_value("?text=train")


def test_keys_go_through_the_list(a_person, jobs):
    page = a_person().open("/jobs?sort=number")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(f"#job-{jobs['second']}")).to_have_attribute("data-here", "")
    page.keyboard.press("x")
    page.keyboard.press("k")
    page.keyboard.press("X")
    assert picked(page) == [jobs["first"], jobs["second"]]
    page.keyboard.press("/")
    page.keyboard.type("jx")  # in a field they are letters
    expect(page.locator("#job-text")).to_have_value("jx")
    assert page.locator("#job-text").evaluate("field => field === document.activeElement")
    page.locator("#job-text").fill("")
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.locator("#list-keys")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    expect(page.locator("#list-keys")).to_be_hidden()
    expect(page.locator(f"#job-{jobs['first']}")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/*")


def test_two_are_compared_and_their_lines_drawn(a_person, jobs):
    page = a_person().open("/jobs?text=train&sort=number")
    page.locator("[data-pick]").nth(0).check()
    compare = page.locator("[data-selection]").get_by_role("button", name="Compare")
    expect(compare).to_be_disabled()
    page.locator("[data-pick]").nth(1).check()
    compare.click()
    expect(page.locator("h1")).to_have_text("Compare 2 jobs")
    chart = page.locator("#comparison-charts .chart").filter(has=page.get_by_role("heading", name="loss", exact=True))
    expect(chart.locator("canvas")).to_be_visible()
    expect(chart.locator(".key i")).to_have_text([f"train-9 #{jobs['first']}", f"train-7 #{jobs['second']}"])
    assert [key.get_attribute("data-key") for key in chart.locator(".key").all()] == ["1", "2"]
    for axis in ("relative", "wall", "step"):
        with page.expect_response(lambda answer, axis=axis: f"by={axis}" in answer.url and "rank=0" in answer.url):
            page.get_by_label("The horizontal axis").select_option(axis)
        expect(chart.locator("canvas")).to_be_visible()
    chart.locator("[data-chart-body]").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("+")
    expect(page.get_by_role("button", name="whole", exact=True)).to_be_visible()
    page.keyboard.press("0")
    chart.get_by_role("button", name="Picture, CSV, API").click()
    expect(page.locator(":popover-open [data-chart-csv]")).to_have_count(2)
    page.keyboard.press("Escape")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_a_comparison_fits_its_screen(a_person, jobs, scheme, width):
    person = a_person(width=width, height=900 if width > 1000 else 844, scheme=scheme)
    for numbers in ((jobs["first"],), (jobs["first"], jobs["second"])):
        page = person.open(f"/jobs/compare?jobs={','.join(map(str, numbers))}")
        chart = page.locator("#comparison-charts .chart").first
        chart.scroll_into_view_if_needed(timeout=15_000)
        expect(chart.locator("canvas")).to_be_visible(timeout=15_000)
        expect(page.locator("[data-connection]").first).to_contain_text("live")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        person.picture(f"comparison-{len(numbers)}-{scheme}-{width}")


def test_a_view_is_saved_opened_with_and_deleted(a_person, jobs):
    person = a_person()
    page = person.open("/jobs?state=failed&sort=-ended")
    page.get_by_role("button", name="Save view").click()
    dialog = page.locator("#view-new")
    dialog.get_by_label("Name").fill("what failed")
    dialog.get_by_label("My list of jobs opens with it").check()
    dialog.get_by_role("button", name="Save view").click()
    tab = page.locator("#views").get_by_role("link", name="what failed")
    expect(tab).to_have_attribute("aria-current", "page")
    person.open("/jobs")
    page.wait_for_url("**/jobs?state=failed&sort=-ended")
    page.locator("#views").get_by_role("link", name="All").click()
    expect(page.locator(f"#job-{jobs['first']}")).to_be_visible()
    tab.click()
    page.get_by_role("button", name="Change view what failed").click()
    page.get_by_role("button", name="Delete view").click()
    expect(page.locator(".messages")).to_contain_text("View what failed is deleted.")
    expect(tab).to_have_count(0)


def test_heads_sort_and_turn(a_person, jobs):
    page = a_person().open("/jobs?text=train")
    page.get_by_role("columnheader", name="Job").get_by_role("link").click()
    page.wait_for_url("**/jobs?text=train&sort=name")
    names = page.locator("td.name a")
    expect(names).to_have_text(["train-7", "train-9"])
    page.get_by_role("columnheader", name="Job").get_by_role("link").click()
    expect(names).to_have_text(["train-9", "train-7"])
    expect(page.get_by_role("columnheader", name="Job")).to_have_attribute("aria-sort", "descending")


def test_labels_of_one_job_are_changed_on_its_page(world, a_person, jobs):
    page = a_person().open(f"/jobs/{jobs['failed']}")
    page.locator("#labels-open").click()
    page.locator("#bulk").get_by_label("Set", exact=True).fill("why=disk")
    page.locator("#bulk").get_by_role("button", name="Label 1 job").click()
    expect(page.locator("#job-header")).to_contain_text("why=disk")
    assert world.job(jobs["failed"])["labels"] == {"why": "disk"}


@pytest.mark.parametrize("verb", ["Cancel", "Labels"])
def test_without_scripts_it_is_a_form(world, browser, a_person, jobs, verb):
    cookies = a_person().page.context.cookies()
    context = browser.new_context(java_script_enabled=False)
    context.add_cookies(cookies)
    page = context.new_page()
    page.goto(f"{world.url}/jobs?text=waits")
    page.locator(f"#pick-{jobs['waits-0']}").check()
    page.locator("#selection").get_by_role("button", name=verb).click()
    said = {"Cancel": "Cancel 1 job?", "Labels": "Labels of 1 job"}[verb]
    expect(page.locator("#bulk-title")).to_have_text(said)
    page.get_by_role("link", name="Keep it" if verb == "Cancel" else "Leave it").click()
    page.wait_for_url("**/jobs?text=waits")
    context.close()


def test_columns_are_chosen_and_tell_the_jobs_of_a_sweep_apart(world, a_person, jobs):
    person = a_person()
    page = person.open("/jobs?text=train-")
    expect(page.locator(f"#job-{jobs['first']} .changed")).to_contain_text("command=")
    page.get_by_role("button", name="Columns").click()
    dialog = page.locator("#columns")
    dialog.get_by_label("Project").uncheck()
    dialog.get_by_label("loss").check()
    person.picture("jobs-columns")
    dialog.get_by_role("button", name="Show").click()
    head = page.locator("#job-list thead")
    expect(head).to_contain_text("loss")
    expect(head).not_to_contain_text("Project")
    expect(page.locator(f"#job-{jobs['first']}")).to_contain_text("4")
    assert "text=train-" in page.url and "column=m.loss" in page.url
    person.picture("jobs-with-own-columns")
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("link", name="Usual columns").click()
    expect(head).to_contain_text("Project")
    assert "column=" not in page.url


def test_a_page_says_when_the_panel_does_not_answer_and_when_it_does_again(world, a_person, jobs):
    person = a_person()
    page = person.page
    page.route_web_socket("**", lambda socket: socket.close())
    page = person.open("/jobs")
    badge = page.locator("[data-connection]").first
    expect(badge).to_contain_text("polling since", timeout=15_000)
    page.route("**/jobs*", lambda route: route.abort())
    expect(badge).to_contain_text("no answer since", timeout=15_000)
    page.unroute("**/jobs*")
    page.route("**/jobs*", lambda route: route.fulfill(status=502))
    expect(badge).to_contain_text("no answer since")
    page.unroute("**/jobs*")
    expect(badge).to_contain_text("polling since", timeout=15_000)
    expect(page.locator("#job-list")).to_contain_text("train-9")
    person.complaints.clear()  # the browser's own lines for what was cut
