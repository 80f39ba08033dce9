"""The first page while a person looks at it."""

from __future__ import annotations

from playwright.sync_api import expect


def test_it_leads_to_the_first_launch_and_then_shows_what_runs_and_how_it_ended(world, a_person, tmp_path):
    person, go = a_person(), tmp_path / "go"
    page = person.open("/")
    expect(page.get_by_role("heading", name="Three steps to the first launch")).to_be_visible()
    expect(page.get_by_role("link", name="Launch the first job")).to_be_visible()
    world.launch(f"until [ -e {go} ]; do sleep 0.1; done; exit 3", name="watched")
    mine = page.get_by_role("region", name="My jobs")  # without a reload
    expect(mine.get_by_role("row")).to_contain_text("running", timeout=15_000)
    expect(page.locator(".pools")).to_contain_text("3 of 4 slots free")
    go.touch()
    ended = page.get_by_role("region", name="Ended in the last 24 hours")
    expect(ended.get_by_role("row")).to_contain_text("watched", timeout=15_000)
    expect(ended.get_by_role("row")).to_contain_text("exit code 3")
    expect(mine).to_contain_text("Nothing of yours runs or waits.")
    ended.get_by_role("button", name="Mark as seen").click()
    expect(page.get_by_role("region", name="My jobs")).to_be_visible()
    expect(ended).to_have_count(0)
