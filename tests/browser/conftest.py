from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.road.world import World, a_world

HERE = Path(__file__).parent
CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
# What chromium says of a page that was left while its socket was still on the way: nothing is wrong with either.
LEFT_EARLY = "WebSocket is closed before the connection is established"
# A flag of whoever wants the pictures of the README drawn anew: SAVE_PICTURES=docs
PICTURES = os.environ.get("SAVE_PICTURES")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="no chromium here; Debian's package for it is chromium"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A panel with one host of four slots."""
    with a_world(tmp_path_factory.mktemp("world")) as world:
        world.add_agent("tpu-1").wait_ready()
        yield world


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


class Person:
    """Someone at a browser. Everything that the page complains of is kept: at the end there must be nothing."""

    def __init__(
        self,
        world: World,
        browser: Browser,
        *,
        width: int = 1440,
        height: int = 900,
        scheme: str = "light",
        locale: str = "en-US",
    ) -> None:
        self.world = world
        self.complaints: list[str] = []
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, locale=locale)  # type: ignore[arg-type]
        self.page: Page = context.new_page()
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._hear)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and LEFT_EARLY not in message.text:
            self.complaints.append(message.text)

    def sign_in(self, said: str = "") -> Person:
        """As whom `said` names, with the password that stands there; without it as the first user of all."""
        name, password = re.search(r"Sign in as (\S+) with the password (\S+)", said or self.world.said()).groups()  # type: ignore[union-attr]
        self.page.goto(self.world.url + "/jobs")
        self.page.fill("[name=username]", name)
        self.page.fill("[name=password]", password)
        self.page.click("form button")
        self.page.wait_for_url("**/jobs")
        return self

    def open(self, path: str) -> Page:
        self.page.goto(self.world.url + path)
        return self.page

    def picture(self, name: str) -> None:
        if PICTURES:
            self.page.screenshot(path=f"{PICTURES}/{name}.png")


@pytest.fixture
def a_person(world: World, browser: Browser) -> Iterator:
    """Makes people who are signed in."""
    made: list[Person] = []

    def make(said: str = "", **how) -> Person:
        made.append(Person(world, browser, **how).sign_in(said))
        return made[-1]

    yield make
    for person in made:
        person.page.context.close()
        assert person.complaints == []
