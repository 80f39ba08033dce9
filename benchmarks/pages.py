"""Each page as a browser gets it: the server's time, bytes, requests, when its largest part is painted, and all JavaScript sent.

    python -m benchmarks.pages [--looks 20]

Starts a panel and a host of its own, trains the demo's model there, and drives a chromium. Prints JSON. `server_ms` is a GET on
a connection that stays, without the browser; its baseline is the smallest thing that a signed-in person may ask for, the list of
conditions. `first` is with an empty cache, `again` with a full one. `painted_ms` is the largest contentful paint. Bytes are as
sent, compressed; `page_bytes_plain` is the page itself before that.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import BrowserContext, sync_playwright

from benchmarks.launch import spread
from tests.browser.conftest import ARGUMENTS, Person
from tests.road.world import World, a_world

PAGES = {
    "home": "/",
    "jobs": "/jobs",
    "job": "/jobs/{job}",
    "compare": "/jobs/compare?jobs={job},{other}",
    "launch": "/jobs/new?project=first-project&definition=digits-tensorflow",
    "definitions": "/definitions",
    "definition": "/definitions/first-project/digits-tensorflow",
    "clusters": "/hosts",
    "host": "/hosts/{host}",
    "team": "/teams/first-team",
    "audit": "/audit",
    "api reference": "/api-reference",
}
# What was loaded, and when the largest part was painted. Encoded sizes: as they came over the line.
LOADED = """
() => new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const entries = performance.getEntriesByType("resource");
    const size = (one) => one.transferSize ? one.encodedBodySize : 0;
    const [page] = performance.getEntriesByType("navigation");
    resolve({
      painted_ms: list.getEntries().at(-1).startTime,
      requests: 1 + entries.filter((one) => one.transferSize).length,
      page_bytes: page.encodedBodySize,
      page_bytes_plain: page.decodedBodySize,
      bytes: page.encodedBodySize + entries.reduce((sum, one) => sum + size(one), 0),
      scripts: entries.filter(({ name }) => name.endsWith(".js")).map((one) => [one.name, size(one)]),
    });
  }).observe({ type: "largest-contentful-paint", buffered: true });
})
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--looks", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, a_world(Path(name)) as world, sync_playwright() as playwright:
        numbers = fill(world)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        context = Person(world, browser).sign_in().page.context
        paths = {name: path.format(**numbers) for name, path in PAGES.items()}
        figures: dict[str, Any] = {"server_baseline_ms": server_ms(world, context, "/conditions", options.looks)}
        figures["pages"] = {
            name: {"server_ms": server_ms(world, context, path, options.looks)} | painted(world, browser, context, path)
            for name, path in paths.items()
        }
        figures["all_scripts_bytes"] = sum(sent_scripts.values())
        browser.close()
    print(json.dumps(figures, indent=2))


def fill(world: World) -> dict[str, Any]:
    """What the demo leaves behind, and a second job beside it."""
    host = world.add_agent("bench").wait_ready()
    job, other = (world.launch_of("digits-tensorflow", {"epochs": epochs}) for epochs in (5, 3))
    for number in (job, other):
        world.wait(number, within_s=600)
    return {"job": job, "other": other, "host": host.host_id}


def server_ms(world: World, context: BrowserContext, path: str, looks: int) -> dict[str, float]:
    cookies = {one["name"]: one["value"] for one in context.cookies()}  # type: ignore[typeddict-item]
    found = []
    with httpx.Client(base_url=world.url, cookies=cookies) as client:
        client.get(path).raise_for_status()
        for _look in range(looks):
            began = time.perf_counter()
            client.get(path).raise_for_status()
            found.append((time.perf_counter() - began) * 1000)
    return spread(found)


sent_scripts: dict[str, int] = {}  # address -> bytes, of all pages


def painted(world: World, browser: Any, signed_in: BrowserContext, path: str) -> dict[str, Any]:
    """With a cache of its own, that is empty at first."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, storage_state=signed_in.storage_state())
    page, found = context.new_page(), {}
    for turn in ("first", "again"):
        page.goto(world.url + path)
        page.wait_for_load_state("networkidle")
        loaded = page.evaluate(LOADED)
        sent_scripts.update({name: size for name, size in loaded.pop("scripts") if size})
        found[turn] = loaded | {"painted_ms": round(loaded["painted_ms"])}
    context.close()
    return found


if __name__ == "__main__":
    main()
