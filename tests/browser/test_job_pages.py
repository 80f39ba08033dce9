"""What a person sees: the list and a job's page change while they look, and fit a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

SHOWN = ("#job-header .sub .status", "[data-log-view]", "#job-log-choices")  # what says nothing of the time that went by
TRAINING = (
    'for i in $(seq 1 1000); do echo "::metric name=loss step=$i::0.$((2000 - i))"; echo "::progress step=$i total=1000";'
    ' echo "step $i of the training"; [ $i -lt 300 ] || sleep 0.2; done'
)


def test_a_job_is_watched_from_the_list_to_its_end(world, a_person):
    person = a_person()
    page = person.page
    number = world.launch(TRAINING, name="watched")
    row = page.locator(f"#job-{number}")
    expect(row).to_contain_text("running", timeout=15_000)  # without a reload
    row.get_by_role("link", name="watched").click()
    expect(page).to_have_title("running - watched #" + str(number))
    expect(page.locator("[data-log-view]")).to_contain_text("step 300 of the training")
    expect(page.locator("#job-progress")).to_contain_text("of 1,000", timeout=15_000)
    expect(page.locator(".chart h3").first).to_have_text("loss", timeout=15_000)
    expect(page.locator(".chart canvas").first).to_be_visible(timeout=15_000)
    expect(page.locator("[data-connection]").first).to_contain_text("live")
    before = page.locator("#job-progress .words").inner_text()
    expect(page.locator("#job-progress .words")).not_to_have_text(before, timeout=15_000)
    person.picture("job")
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.get_by_role("heading", name=f"Cancel watched #{number}?")).to_be_visible()
    page.get_by_role("button", name=f"Cancel job #{number}").click()
    expect(page.locator("#job-header")).to_contain_text("canceled", timeout=30_000)
    expect(page.locator("#job-header")).to_contain_text("Canceled by admin.")
    expect(page).to_have_title(f"canceled - watched #{number}")
    assert world.job(number)["state"] == "canceled"


def test_what_was_watched_live_is_what_a_fresh_load_shows(world, a_person):
    person = a_person()
    number = world.launch("for i in $(seq 1 50); do echo line $i; sleep 0.02; done; printf 'no end'")
    page = person.open(f"/jobs/{number}")
    expect(page.locator(SHOWN[0])).to_have_text("succeeded", timeout=20_000)
    expect(page.locator("[data-log-view]")).to_contain_text("no end")
    live = [page.locator(shown).inner_text() for shown in SHOWN]
    page.reload()
    expect(page.locator("[data-log-view]")).to_contain_text("no end")
    assert [page.locator(shown).inner_text() for shown in SHOWN] == live


def test_a_page_that_slept_while_its_panel_came_anew_wakes_to_what_a_fresh_load_shows(world, a_person, tmp_path):
    person = a_person()
    go = tmp_path / "go"
    number = world.launch(
        f"echo before; until [ -e {go} ]; do sleep 0.1; done; for i in $(seq 1 2000); do echo line $i; done; exit 3"
    )
    world.wait(number, "running")
    page = person.open(f"/jobs/{number}")
    expect(page.locator("[data-log-view]")).to_contain_text("before")
    expect(page.locator("[data-connection]").first).to_contain_text("live")
    devtools = page.context.new_cdp_session(page)
    devtools.send("Page.setWebLifecycleState", {"state": "frozen"})
    world.kill_part("uvicorn")
    world.wait_answers()
    go.touch()
    world.wait(number)
    assert world.complete_log(number).endswith(b"line 2000\n")
    devtools.send("Page.setWebLifecycleState", {"state": "active"})
    expect(page.locator(SHOWN[0])).to_have_text("failed", timeout=20_000)  # the time line, fetched by itself, says it earlier
    expect(page.locator("[data-log-view]")).to_contain_text("line 2000", timeout=20_000)
    expect(page.locator("[data-connection]").first).to_contain_text("live", timeout=20_000)
    person.complaints.clear()  # the browser's lines for a panel that was away
    woken = [page.locator(shown).inner_text() for shown in SHOWN]
    page.reload()
    expect(page.locator("[data-log-view]")).to_contain_text("line 2000")
    assert [page.locator(shown).inner_text() for shown in SHOWN] == woken


def test_while_a_runtime_is_built_its_words_are_the_log_and_stay_it_when_that_fails(world, a_person):
    page = a_person().page
    world.publish_runtime("broken", "no-such-package-anywhere==1.0\n")
    page.goto(f"{world.url}/jobs/{world.launch_of('broken', {'command': 'true'})}")
    log = page.locator("[data-log-view]")
    expect(log).to_contain_text("no-such-package-anywhere was not found", timeout=60_000)
    expect(page.locator(SHOWN[0])).to_have_text("failed", timeout=60_000)  # uv has said why, and ends yet
    page.reload()
    expect(log).to_contain_text("no-such-package-anywhere was not found")


def test_a_log_can_do_nothing_to_the_page(world, a_person):
    person = a_person()
    number = world.launch("printf '<img src=x onerror=document.title=1><b>bold</b>\\n\\033]0;title\\007\\033[31mred\\033[0m\\n'")
    world.wait(number)
    page = person.open(f"/jobs/{number}")
    view = page.locator("[data-log-view]")
    expect(view).to_contain_text("<img src=x onerror=document.title=1><b>bold</b>")
    expect(view).to_contain_text("red")
    assert view.locator("img, b").count() == 0
    expect(page).to_have_title(f"succeeded - command #{number}")


def test_files_come_and_go_while_one_looks_and_can_be_downloaded(world, a_person, tmp_path):
    person = a_person()
    go = tmp_path / "go"
    number = world.launch(
        f"until [ -e {go} ]; do sleep 0.1; done; mkdir $PANEL_OUTPUT/deep; echo the bytes > $PANEL_OUTPUT/deep/model.txt"
        f"; echo x > $PANEL_CHECKPOINTS/ckpt-1; until [ -e {go}.2 ]; do sleep 0.1; done; rm $PANEL_CHECKPOINTS/ckpt-1; sleep 60"
    )
    world.wait(number, "running")
    page = person.open(f"/jobs/{number}")
    files = page.locator("#job-files")
    expect(files).to_contain_text("$PANEL_OUTPUT")
    expect(page.locator("[data-connection]").first).to_contain_text("live")
    go.touch()
    expect(files.get_by_role("link", name="deep/model.txt")).to_be_visible(timeout=15_000)  # without a reload
    expect(files.get_by_role("heading", name="Checkpoints")).to_be_visible(timeout=15_000)
    (tmp_path / "go.2").touch()
    expect(files.get_by_role("heading", name="Checkpoints")).to_have_count(0, timeout=15_000)
    live = files.inner_text()
    page.reload()
    assert files.inner_text().split("\n")[:3] == live.split("\n")[:3]
    with page.expect_download(timeout=15_000) as download:  # by way of the page that waits for it
        files.get_by_role("link", name="deep/model.txt").click()
    assert (download.value.suggested_filename, Path(download.value.path()).read_text()) == ("model.txt", "the bytes\n")
    world.cancel(number, force=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_pages_fit_their_screen(world, a_person, scheme, width):
    number = world.launch("echo hello", name="a-job-with-quite-a-long-name-that-goes-on-and-on")
    world.wait(number)
    person = a_person(width=width, height=900 if width > 1000 else 844, scheme=scheme)
    for name, path in (("jobs", "/jobs"), ("job-short", f"/jobs/{number}")):
        page = person.open(path)
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if name == "jobs":
            row = page.locator(f"#job-{number}")
            expect(
                row.get_by_text(f"#{number} · first-project") if width < 1000 else row.get_by_text(str(number), exact=True)
            ).to_be_visible()
        person.picture(f"{name}-{scheme}-{width}")


def test_a_stranger_is_asked_to_sign_in_and_comes_back(world, browser, a_person):
    number = world.launch("echo hello")
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{world.url}/jobs/{number}")
    expect(page.locator("[name=password]")).to_be_visible()
    page.fill("[name=username]", "admin")
    page.fill("[name=password]", world.said().split("the password ")[1].split()[0])
    page.click("form button")
    page.wait_for_url(f"**/jobs/{number}")
    context.close()


def test_a_log_of_what_never_ran_says_that_nothing_was_printed(world, a_person):
    number = world.launch("true", resources={"accelerator": "cpu", "chips": 99})
    world.wait(number, "queued")
    page = a_person().open(f"/jobs/{number}")
    message = page.locator("[data-log-message]")
    expect(message).to_contain_text("No output yet.")
    expect(page.locator("[data-connection]").first).to_contain_text("live")
    world.cancel(number)
    expect(message).to_have_text("It printed nothing.", timeout=15_000)  # without a reload
    page.reload()
    expect(message).to_have_text("It printed nothing.")
    expect(page.locator("[data-connection]").first).to_contain_text("live")  # a page that is left before complains


def test_charts_name_the_attempts_once_a_second_one_measures(world, a_person, tmp_path):
    go = tmp_path / "go"
    number = world.launch(
        f"go={go}.1; [ -e {go}.ran ] && go={go}.2; touch {go}.ran; for i in 1 2 3; do echo ::metric name=loss step=$i::0.$i; done"
        "; until [ -e $go ]; do sleep 0.1; done; exit 3",
        retries={"user_code": {"times": 1, "delay_s": 0}},
    )
    person = a_person()
    page = person.open(f"/jobs/{number}")
    keys = page.locator(".chart", has=page.get_by_role("heading", name="loss")).locator(".key")
    expect(keys).to_have_text(["0.3"], timeout=20_000)
    Path(f"{go}.1").touch()
    expect(keys).to_have_text(["#10.3", "#20.3"], timeout=30_000)  # without a reload
    live = [keys.nth(place).get_attribute("data-key") for place in range(2)]
    page.reload()
    expect(keys).to_have_text(["#10.3", "#20.3"], timeout=20_000)
    assert [keys.nth(place).get_attribute("data-key") for place in range(2)] == live == ["1", "2"]
    Path(f"{go}.2").touch()
    world.wait(number)
