"""The main road as a new member of a team goes it: from the form to a trained model, with log and loss moving on the screen."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.road.world import until

MINUTE_MS = 60_000


def number_of(legend: Locator) -> float:
    """The value behind a chart's line."""
    return float(legend.inner_text().split()[-1])


@pytest.mark.parametrize(
    ("definition", "epochs"),
    [("digits-tensorflow", 20), ("digits-xla", 30)],
)
def test_a_new_member_trains_a_model_from_the_form(world, a_person, definition, epochs):
    name = f"ada-{epochs}"
    person = a_person(world.manage("add_user", name, "--role", "member"))
    page = person.page
    expect(page.locator("[data-connection]").first).to_contain_text("live")
    page.get_by_role("link", name="Launch", exact=True).first.click()
    page.wait_for_url("**/jobs/new**")
    person.open(f"/jobs/new?project=first-project&definition={definition}")
    page.get_by_label("Epochs", exact=True).fill(str(epochs))
    expect(page.locator("#launch-preview")).to_contain_text("Starts now on tpu-1.")
    page.get_by_role("button", name="Launch on 1 slot").click()
    page.wait_for_url(re.compile(r"/jobs/[0-9]+$"))
    header, log = page.locator("#job-header"), page.locator("[data-log-view]")
    expect(header).to_contain_text("running", timeout=15 * MINUTE_MS)  # the first time, the runtime is built
    loss = page.locator(".chart").filter(has=page.get_by_role("heading", name="loss", exact=True)).locator("[data-chart-legend]")
    expect(log).to_contain_text(re.compile(r"step \d+ +loss"), timeout=2 * MINUTE_MS)
    expect(loss).to_contain_text(re.compile(r"\d"), timeout=MINUTE_MS)
    first_loss, last_line = number_of(loss), log.inner_text().splitlines()[-1]
    until(lambda: log.inner_text().splitlines()[-1] != last_line, what="the log moves on the screen")
    until(lambda: number_of(loss) != first_loss, what="the loss moves on the screen")
    expect(header).to_contain_text("running")
    person.picture(f"training-{epochs}")
    expect(header).to_contain_text("succeeded", timeout=3 * MINUTE_MS)
    expect(log).to_contain_text(re.compile(r"test accuracy 0\.[89]\d+"))
    expect(page.locator("#job-progress")).to_contain_text("100")
    expect(loss).not_to_have_text("")
    assert number_of(loss) < first_loss
    expect(page.locator("#job-files")).to_contain_text("model/")
    expect(header).to_contain_text(name)
