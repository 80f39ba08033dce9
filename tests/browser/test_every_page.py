"""Every page as a person meets it: light, dark and narrow, with nothing in it and with much; looked at by axe, too.

The pictures are kept in var/pictures, for people to look at. A page that is added to the addresses must be added here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.urls import get_resolver
from django.urls.resolvers import URLPattern
from playwright.sync_api import Browser

from tests.browser.axe import violations
from tests.browser.conftest import Person
from tests.road.world import World, a_world

PICTURES = Path(__file__).parents[2] / "var/pictures"
WIDTHS = {"wide": 1440, "narrow": 390}
SCHEMES = {"light": ["wide", "narrow"], "dark": ["wide"]}  # a narrow page has the colours of a wide one

# name of its address -> where it is in the full world; {} are the numbers that it has there
PAGES = {
    "home": "/",
    "palette": "/palette?q=digits",
    "api-reference": "/api-reference#launch_job",
    "sign-in": "/sign-in",
    "token-list": "/tokens",
    "job-list": "/jobs",
    "job-launch": "/jobs/new?project=first-project&definition=digits-tensorflow",
    "job": "/jobs/{running}",
    "job failed": "/jobs/{failed}",
    "job waiting": "/jobs/{waiting}",
    "job canceled": "/jobs/{canceled}",
    "job-comparison": "/jobs/compare?jobs={running},{failed}",
    "job-cancellations": "/jobs/cancellations?job={running}&job={failed}",
    "job-relaunches": "/jobs/relaunches?job={failed}",
    "job-labels": "/jobs/labels?job={failed}",
    "team-list": "/teams",
    "team": "/teams/first-team",
    "project-secrets": "/projects/first-project/secrets",
    "team-tokens": "/teams/first-team/tokens",
    "audit": "/audit",
    "invitation": "/invitations/{invitation}",
    "definition-list": "/definitions",
    "definition-new": "/definitions/new?project=first-project",
    "definition": "/definitions/first-project/digits-tensorflow",
    "definition-version": "/definitions/first-project/edited/versions/1",
    "definition-edit": "/definitions/first-project/edited/versions/new",
    "definition-edit yaml": "/definitions/first-project/edited/versions/new?view=yaml",
    "definition-comparison": "/definitions/first-project/edited/comparison?from=1&to=2",
    "host-list": "/hosts",
    "host": "/hosts/{host}",
    "host-new": "/hosts/new",
    "not found": "/jobs/999999",
}
EMPTY = {
    name: PAGES[name] for name in ("home", "job-list", "job-launch", "definition-list", "host-list", "token-list", "palette")
}
IN_CHINESE = ("home", "job-list", "job", "job failed", "job-launch", "host", "team")
# Addresses that answer with no page of their own: parts of one, files, and what is sent by POST.
NO_PAGES = {
    "client-archive",
    "conditions",
    "openapi-document",
    "host-reach",
    "host-enrolment",  # what POST to host-new leads to; it holds a secret, and tests/browser/test_host_pages.py goes there
    "job-file",
    "definition-preview",
    "job-launch-preview",
    "home-seen",
    "language",
    "audit-csv",
    "job-view",
    "job-view-deletion",
    "job-view-list",
    "project-secret-removal",
    "project-name",
    "team-invitation-revocation",
    "team-invitations",
    "team-member",
    "team-member-removal",
    "team-projects",
    "team-token-revocation",
    "sign-out",
    "token-revocation",
    "job-cancellation",
    "job-relaunch",
    "definition-archival",
    "definition-archival-removal",
    "host-cordon",
    "host-drain",
    "host-cordon-removal",
    "host-retirement",
}


@dataclass(frozen=True)
class Scene:
    world: World
    numbers: dict[str, object]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Jobs in each state with logs, charts and files; a definition with two versions; a host that works and one that does not."""
    with a_world(tmp_path_factory.mktemp("full")) as world:
        host = world.add_agent("tpu-1").wait_ready()
        world.add_agent("tpu-2").wait_ready().kill()
        said = {
            "title": "Edited by a team",
            "template": {"command": ["echo", "${epochs}"]},
            "parameters": {"type": "object", "properties": {"epochs": {"type": "integer", "default": 3}}},
            "resources": {"accelerator": "cpu", "chips": 1},
        }
        world.client.post("definitions", json=said | {"project": "first-project", "slug": "edited"}).raise_for_status()
        changed = said | {"title": "Edited twice by a team"}
        world.client.post("definitions/first-project/edited/versions", json=changed).raise_for_status()
        point = 'echo "::metric name=loss step=$i::0.$((90 / i))"; echo "::progress step=$i total=40"'
        loss = f"for i in 1 2 3 4 5 6 7 8; do {point}; done; "
        done = world.launch(f"{loss} echo done > $PANEL_OUTPUT/model.txt", name="digits", labels={"sweep": "a"})
        failed = world.launch(
            f"{loss} printf '\\033[31mValueError\\033[0m: no such layer\\n' >&2; exit 3", name="digits with a fault"
        )
        canceled = world.launch("sleep 60", name="not wanted any more")
        world.wait(done, "succeeded")
        world.wait(failed, "failed")
        world.wait(canceled, "running")
        world.client.post(f"jobs/{canceled}/cancellation", json={"force": True}).raise_for_status()
        running = world.launch(f"{loss} sleep 3600", name="digits, a longer one")
        world.wait(running, "running")
        waiting = world.launch(
            "true", name="a name that is as long as it may be, so that it has to give way somewhere", resources={"chips": 64}
        )
        world.wait(canceled, "canceled")
        invited = world.client.post("teams/first-team/invitations", json={"role": "viewer"}).raise_for_status().json()
        yield Scene(
            world,
            {
                "running": running,
                "failed": failed,
                "waiting": waiting,
                "canceled": canceled,
                "host": host.host_id,
                "invitation": invited["link"].rpartition("/")[2],
            },
        )


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with a_world(tmp_path_factory.mktemp("empty")) as world:
        yield Scene(world, {})


@pytest.fixture(scope="module")
def people(browser: Browser) -> Iterator:
    """people(scene, scheme): someone who is signed in there, and who stays for the next page."""
    known: dict[tuple[int, str, str], Person] = {}

    def get(scene: Scene, scheme: str, locale: str = "en-US") -> Person:
        key = (scene.world.port, scheme, locale)
        if key not in known:
            known[key] = Person(scene.world, browser, scheme=scheme, locale=locale).sign_in()
        return known[key]

    yield get
    for person in known.values():
        person.page.context.close()


def test_every_address_of_a_page_is_known_here():
    found = {one.name for one in _patterns(get_resolver().url_patterns) if one.name}
    assert found == {name.split()[0] for name in PAGES if name != "not found"} | NO_PAGES


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", PAGES)
def test_a_full_page(full, people, name, scheme):
    look(people(full, scheme), f"{name}-full", PAGES[name].format(**full.numbers), scheme)


@pytest.mark.parametrize("name", IN_CHINESE)
def test_a_page_in_chinese(full, people, name):
    """The pictures show boxes where the machine has no Chinese font; Debian's fonts-noto-cjk is one."""
    person = people(full, "light", "zh-CN")
    look(person, f"{name}-chinese", PAGES[name].format(**full.numbers), "light")
    assert person.page.locator("html").get_attribute("lang") == "zh-hans"


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_page(empty, people, name):
    look(people(empty, "light"), f"{name}-empty", EMPTY[name], "light")


def look(person: Person, name: str, path: str, scheme: str) -> None:
    """No violation, nothing wider than the screen, no complaint of the browser; and its pictures."""
    page, wrong = person.page, list[str]()
    for words in SCHEMES[scheme]:
        width = WIDTHS[words]
        page.set_viewport_size({"width": width, "height": 900})
        person.open(path)
        page.wait_for_load_state("networkidle")
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURES / f"{name.replace(' ', '-')}-{scheme}-{words}.png", full_page=True)
        wrong += [f"{words}: {one}" for one in violations(page)]
        wide = page.evaluate("document.documentElement.scrollWidth")
        wrong += [f"{wide} px wide on {width}"] if wide > width else []
    wrong += [one for one in person.complaints if "404" not in one or name != "not found-full"]
    person.complaints.clear()
    assert wrong == []


def _patterns(found):
    for one in found:
        if isinstance(one, URLPattern):
            yield one
        elif not str(one.pattern).startswith(("api/", "agent/")):
            yield from _patterns(one.url_patterns)
