"""Hosts and tokens as a person sees them: a host that is added while one looks, and what an operator does with it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.road.world import Agent


def wait_live(page):
    """A page that is left while its socket opens complains of it."""
    expect(page.locator("[data-connection]").first).to_contain_text("live")


def test_a_host_is_added_and_appears_while_one_looks(world, a_person):
    person, watcher = a_person(), a_person()
    watcher.open("/hosts")
    wait_live(watcher.page)
    wait_live(person.page)
    page = person.open("/hosts/new")
    reach = page.locator("#reach li")
    expect(reach).to_have_count(2)
    expect(reach.first).to_contain_text("a host on this machine gets there, one elsewhere does not")
    expect(reach.last).to_contain_text("The Redis that comes with the panel listens on this machine only")
    page.get_by_role("button", name="Make the command").click()
    command = page.locator("#host-command")
    expect(command).to_contain_text(f"curl -fsSL {world.url}/agent/v1/install | PANEL_ENROLMENT_TOKEN=enrol_")
    expect(page.get_by_role("button", name="copy")).to_be_visible()
    expect(page.locator("#enrolment")).to_contain_text("Waiting for the machine")
    wait_live(page)
    expect(reach).to_have_count(2)
    person.picture("host-new")
    token = re.search(r"TOKEN=(\S+)", command.inner_text()).group(1)
    agent = Agent(world, "tpu-2", world.folder / "tpu-2", slots=6, token=token)
    world.agents.append(agent)
    agent.start()
    expect(page.locator("#enrolment")).to_contain_text("tpu-2 is here", timeout=15_000)
    expect(page.locator("#enrolment")).to_contain_text("6 chips joined local", timeout=15_000)
    expect(watcher.page.locator("#host-list")).to_contain_text("tpu-2", timeout=15_000)
    person.picture("host-here")
    page.get_by_role("link", name="See the host").click()
    expect(page).to_have_title("ready - tpu-2")
    number = world.launch("sleep 600", name="holder", resources={"accelerator": "cpu", "chips": 5})
    expect(page.locator("#host-chips .holders")).to_contain_text("holder", timeout=15_000)
    expect(page.locator("#host-charts canvas").first).to_be_visible(timeout=20_000)
    expect(page.locator("#host-charts .chart h3")).to_have_text(
        ["CPU, % of all cores", "memory", "disk", "network"], timeout=20_000
    )
    expect(watcher.page.locator("#host-list")).to_contain_text("1 of 6 free", timeout=15_000)
    wait_live(page)
    person.picture("host")
    page.get_by_role("link", name="holder").click()
    expect(page.get_by_role("heading", name=f"holder #{number}")).to_be_visible()
    wait_live(page)
    world.cancel(number, force=True)
    world.wait(number)


def test_an_operator_cordons_a_host_and_takes_it_back(world, a_person):
    person = a_person()
    wait_live(person.page)
    host = world.agents[0]
    page = person.open(f"/hosts/{host.host_id}")
    wait_live(page)
    page.get_by_role("button", name="Cordon").click()
    page.get_by_label("Why").fill("noisy fan")
    person.picture("host-cordon")
    page.get_by_role("button", name="Cordon tpu-1").click()
    expect(page.locator("#host-header")).to_contain_text("Cordoned: noisy fan")
    expect(page.locator("#host-events")).to_contain_text("Cordoned: noisy fan", timeout=10_000)
    expect(page).to_have_title("cordoned - tpu-1")
    page.get_by_role("button", name="Uncordon").click()
    expect(page.locator("#host-header .status").first).to_have_attribute("data-state", "ready")
    page.get_by_role("button", name="Retire").click()
    expect(page.get_by_role("heading", name="Retire tpu-1?")).to_be_visible()
    page.get_by_role("button", name="Keep it").click()
    assert world.host(host.host_id)["state"] == "ready"


def test_a_host_that_falls_silent_is_seen_to(world, a_person):
    agent = world.add_agent("tpu-9", slots=2).wait_ready()
    person = a_person()
    wait_live(person.page)
    page = person.open("/hosts")
    row = page.locator(f"#host-{agent.host_id}")
    expect(row).to_contain_text("ready")
    wait_live(page)
    agent.kill()
    expect(row).to_contain_text("silent", timeout=40_000)
    person.picture("hosts-silent")
    world.client.post(f"hosts/{agent.host_id}/retirement").raise_for_status()
    expect(row).to_have_count(0, timeout=10_000)


def test_a_token_is_made_used_and_revoked(world, a_person):
    person = a_person()
    page = person.page
    wait_live(page)
    page.get_by_role("button", name="Menu of admin").click()
    page.get_by_role("link", name="API tokens").click()
    page.get_by_label("Name").fill("laptop")
    page.get_by_label("May").select_option("read")
    page.get_by_role("button", name="Make the token").click()
    text = page.locator("#token-text").inner_text()
    assert world.client_of(text).get("me").json()["scope"] == "read"
    person.picture("tokens-made")
    page.goto(world.url + "/tokens")
    assert text not in page.content()
    page.get_by_role("button", name="Revoke laptop").first.click()
    person.picture("tokens-revoke")
    page.get_by_role("dialog").get_by_role("button", name="Revoke laptop").click()
    expect(page.get_by_text("laptop is revoked")).to_be_visible()
    assert world.client_of(text).get("me").status_code == 401


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_pages_fit_their_screen(world, a_person, scheme, width):
    person = a_person(width=width, height=900 if width > 1000 else 844, scheme=scheme)
    wait_live(person.page)
    for name, path in (
        ("hosts", "/hosts"),
        ("host", f"/hosts/{world.agents[0].host_id}"),
        ("host-new", "/hosts/new/reach"),
        ("tokens", "/tokens"),
    ):
        page = person.open(path)
        expect(page.locator("h1")).to_be_visible()
        if path.startswith("/hosts"):
            if "new" not in path:
                wait_live(page)
            if name == "host":
                page.locator("#host-charts").scroll_into_view_if_needed()  # charts are fetched once they are seen
                expect(page.locator("#host-charts canvas").first).to_be_visible(timeout=20_000)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        person.picture(f"{name}-{scheme}-{width}")
