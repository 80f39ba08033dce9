"""A log of 1 GB in a browser: how soon is its end on the screen, and any line, any moment, any hit?

    python -m benchmarks.log_viewer [--lines 10000000] [--looks 20]

Starts a panel of its own, makes the log directly in its store (benchmarks/large_log.py), and drives a chromium. Prints JSON.
`page_ms` is from the start of the navigation to the log's last lines drawn, all scripts started and in the cache but for the
first time; `open_ms` is the log's own part of that; the others are from the key that was pressed to the line drawn. `steady`
is the tab's memory while a job prints a thousand lines a second.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks import large_log
from benchmarks.launch import spread
from tests.road.world import World, a_world

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
# Milliseconds from a key, or from a place that was typed, to a row that fits.
PRESS = """
([key, number]) => new Promise((resolve) => {
  const view = document.querySelector("[data-log-view]");
  const began = performance.now();
  const isThere = () => [...view.querySelectorAll(".log-row")].some((row) => row.dataset.line === number);
  const look = () => requestAnimationFrame(isThere() ? () => resolve(performance.now() - began) : look);
  view.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  look();
})
"""
GO = """
([place, number]) => new Promise((resolve) => {
  const form = document.querySelector("[data-log-go]");
  form.querySelector("input").value = place;
  let began = 0;
  const picked = document.querySelector("[data-log-view]").getElementsByClassName("log-row");
  const isPicked = () => [...picked].some(({ dataset }) => "picked" in dataset && (!number || dataset.line === number));
  const look = () => requestAnimationFrame(isPicked() ? () => resolve(performance.now() - began) : look);
  document.querySelector("[data-log-pick-none]").click();
  requestAnimationFrame(() => requestAnimationFrame(() => {
    began = performance.now();
    form.requestSubmit();
    look();
  }));
})
"""
STEADY = (
    "i=0; while [ $i -lt {turns} ]; do i=$((i+1));"
    " seq -f 'line %.0f of a training that prints much' $((i*20-19)) $((i*20)); sleep 0.02; done"
)
OPENED = """
() => new Promise((resolve) => {
  const look = () => {
    if (!document.querySelector(".log-row")) return requestAnimationFrame(look);
    requestAnimationFrame(() => {
      const now = performance.now();
      const asked = performance.getEntriesByType("resource").find(({ name }) => /\\/log\\?/.test(name)).startTime;
      resolve({ page: now, open: now - asked });
    });
  };
  look();
})
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--looks", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, a_world(Path(name)) as world, sync_playwright() as playwright:
        world.add_agent("bench").wait_ready()
        number = world.launch("true")
        world.wait(number)
        log = large_log.fill(world.environment | {"REDIS_URL": world.redis_url}, number, options.lines)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        sign_in(page, world)
        opened = [look_at_end(page, f"{world.url}/jobs/{number}") for _ in range(options.looks)]
        figures: dict[str, Any] = {
            "log": log,
            "page_ms": spread(one["page"] for one in opened),
            "open_ms": spread(one["open"] for one in opened),
            **jumps(page, log, options.looks),
            "steady": steady(page, world, options.seconds),
        }
        browser.close()
    print(json.dumps(figures, indent=2))


def sign_in(page: Page, world: World) -> None:
    name, password = re.search(r"Sign in as (\S+) with the password (\S+)", world.said()).groups()  # type: ignore[union-attr]
    page.goto(world.url + "/")
    page.fill("[name=username]", name)
    page.fill("[name=password]", password)
    page.click("form button")
    page.wait_for_url(world.url + "/")


def look_at_end(page: Page, address: str) -> dict[str, float]:
    page.goto(address, wait_until="commit")
    return page.evaluate(OPENED)


def jumps(page: Page, log: dict[str, int], looks: int) -> dict[str, Any]:
    chance = random.Random(2)
    seconds = (log["last_ms"] - log["first_ms"]) // 1000

    def go(place: str, wanted: str = "") -> float:
        return page.evaluate(GO, [place, wanted])

    numbers = [chance.randint(1, log["lines"]) for _ in range(looks)]
    by_line = [go(str(number), f"{number:,}") for number in numbers]
    by_time = [go(f"+{chance.randrange(seconds)}s") for _ in range(looks)]
    ends = [page.evaluate(PRESS, [key, f"{line:,}"]) for key, line in [("g", 1), ("G", log["lines"])] * looks]
    return {"by_line_ms": spread(by_line), "by_time_ms": spread(by_time), "start_and_end_ms": spread(ends)}


def steady(page: Page, world: World, seconds: int) -> dict[str, Any]:
    """A thousand lines a second, followed, the last third without a frame, as in a tab behind others."""
    number = world.launch(STEADY.format(turns=seconds * 50))
    world.wait(number, "running")
    page.goto(f"{world.url}/jobs/{number}")
    page.wait_for_selector(".log-row")
    found = [weigh(page)]
    for third in range(3):
        if third == 2:
            page.evaluate("window.requestAnimationFrame = () => 1")
        page.wait_for_timeout(seconds * 1000 // 3)
        found.append(weigh(page))
    world.wait(number)
    return {
        "lines": seconds * 1000,
        "seconds": seconds,
        "heap_mb": [round(heap / 1e6, 1) for heap, _elements in found],
        "elements": [elements for _heap, elements in found],
    }


def weigh(page: Page) -> tuple[int, int]:
    """Bytes of its scripts' heap, and how many elements its log has."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("HeapProfiler.collectGarbage")
    heap = devtools.send("Runtime.getHeapUsage")["usedSize"]
    devtools.detach()
    return heap, page.locator("[data-log-view] *").count()


if __name__ == "__main__":
    main()
