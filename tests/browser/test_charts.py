"""Charts as a person uses them: zoomed, on each axis, smoothed, searched among ten thousand names, taken away as files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

STEPS = 5000
TRAINING = f"""python3 - <<'P'
import json, os
out = open(os.environ["PANEL_METRICS"], "a")
for step in range(1, {STEPS} + 1):
    loss = float("nan") if 2000 <= step < 2010 else 5000 / step
    out.write(json.dumps({{"step": step, "time": 1.7e9 + step, "train/loss": loss, "lr": 0.1, "grad/norm": 2.0}}) + "\\n")
out.close()
os.makedirs(os.environ["PANEL_CHECKPOINTS"], exist_ok=True)
open(os.environ["PANEL_CHECKPOINTS"] + "/last.ckpt", "w").write("x")
P"""


@pytest.fixture(scope="module")
def trained(world) -> int:
    number = world.launch(TRAINING, name="trained")
    world.wait(number, "succeeded")
    return number


def chart(page: Page, title: str):
    return page.locator(".chart").filter(has=page.get_by_role("heading", name=title, exact=True))


def opened(person, number: int) -> Page:
    page = person.open(f"/jobs/{number}")
    expect(chart(page, "loss").locator("canvas")).to_be_visible(timeout=15_000)
    expect(chart(page, "loss").locator("[data-chart-legend]")).to_contain_text("train1")
    is_live(page)
    return page


def is_live(page: Page) -> None:
    """A page that is left before complains."""
    expect(page.locator("[data-connection]").first).to_contain_text("live")


def asked_of(page: Page) -> list[dict[str, str]]:
    """What is asked for from now on, of lines."""
    asked: list[dict[str, str]] = []

    def hear(request) -> None:
        if "/metrics/lines?" in request.url:
            asked.append({name: values[0] for name, values in parse_qs(urlsplit(request.url).query).items()})

    page.on("request", hear)
    return asked


def drag(page: Page, title: str, start: float, end: float) -> None:
    box = chart(page, title).locator(".u-over").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * start, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, box["y"] + 70, steps=4)
    page.mouse.up()


def test_dragging_asks_for_finer_buckets_of_that_stretch_for_all_charts_and_a_double_click_shows_all(world, a_person, trained):
    page = opened(a_person(), trained)
    asked = asked_of(page)
    with page.expect_response(lambda answer: "name=lr" in answer.url and "start=" in answer.url):
        drag(page, "loss", 0.2, 0.4)
    stretches = {(int(query["start"]), int(query["end"])) for query in asked}
    assert {query["name"] for query in asked} == {"train/loss", "lr"}, "those that are in view"
    ((start, end),) = stretches
    assert abs(start - STEPS * 0.2) < 60 and abs(end - STEPS * 0.4) < 60
    assert int(asked[0]["buckets"]) <= 2000
    whole = page.get_by_role("button", name="whole", exact=True)
    expect(whole).to_be_visible()
    asked.clear()
    with page.expect_response(lambda answer: "name=lr" in answer.url):
        chart(page, "loss").locator(".u-over").dblclick()
    expect(whole).to_be_hidden()
    assert all("start" not in query for query in asked)


def test_the_keyboard_moves_the_cross_hair_of_all_charts_and_zooms(world, a_person, trained):
    page = opened(a_person(), trained)
    body = chart(page, "loss").locator("[data-chart-body]")
    body.focus()
    page.keyboard.press("ArrowLeft")
    for title in ("loss", "lr"):
        expect(chart(page, title).locator("[data-chart-note]")).to_contain_text("5,000")
    asked = asked_of(page)
    page.keyboard.press("+")
    expect(page.get_by_role("button", name="whole", exact=True)).to_be_visible()
    page.keyboard.press("0")
    expect(page.get_by_role("button", name="whole", exact=True)).to_be_hidden()
    expect(chart(page, "loss").locator("canvas")).to_be_visible()
    assert all(int(query["start"]) >= 1 for query in asked if "start" in query)


def test_each_axis_is_asked_for_and_the_choice_stays(world, a_person, trained):
    page = opened(a_person(), trained)
    axis = page.get_by_label("The horizontal axis")
    for value in ("wall", "relative"):
        with page.expect_response(lambda answer, value=value: f"by={value}" in answer.url and "loss" in answer.url):
            axis.select_option(value)
    page.reload()
    is_live(page)
    expect(axis).to_have_value("relative")
    with page.expect_response(lambda answer: "by=step&" in answer.url and "loss" in answer.url):
        axis.select_option("step")
    page.get_by_role("button", name="How charts are drawn").click()
    with page.expect_response(lambda answer: "spacing=log" in answer.url and "loss" in answer.url):
        page.get_by_label("Logarithmic axis (not by time)").check()
    page.get_by_label("Logarithmic values").check()
    page.get_by_label("Smoothing").fill("0.9")
    expect(page.locator("#chart-look output")).to_have_text("0.90")
    page.keyboard.press("Escape")
    chart(page, "loss").locator("[data-chart-body]").focus()
    page.keyboard.press("ArrowLeft")
    expect(chart(page, "loss").locator("[data-chart-legend]")).to_contain_text(
        re.compile(r"train\d[\d.]* \([\d.]+\)")
    )  # smooth (measured)
    page.reload()
    is_live(page)
    expect(page.get_by_label("Logarithmic axis (not by time)")).to_be_checked()
    expect(page.locator("#chart-look output")).to_have_text("0.90")


def test_nan_is_told(world, a_person, trained):
    page = opened(a_person(), trained)
    expect(chart(page, "loss").locator("[data-chart-note]")).to_contain_text("NaN × 10")
    expect(chart(page, "lr").locator("[data-chart-note]")).not_to_contain_text("NaN")


def test_only_what_is_in_view_is_asked_for(world, a_person, trained):
    person = a_person()
    asked = asked_of(person.page)
    page = opened(person, trained)
    assert "grad/norm" not in {query["name"] for query in asked}
    with page.expect_response(lambda answer: "norm" in answer.url):
        page.get_by_text(re.compile(r"^\d+ more$")).click()
    expect(chart(page, "norm").locator("canvas")).to_be_visible()


def test_a_search_among_ten_thousand_names_is_the_servers(world, a_person, trained):
    world.manage(
        "shell",
        "-v0",
        "-c",
        "from monitoring.models import MetricSeries; from jobs.models import Job\n"
        f"job = Job.objects.get(pk={trained})\n"
        "names = [f'layer_{n}/std_{n}' for n in range(9_900)]\n"
        "rows = [MetricSeries(subject=job.subject, workload_id=job.workload_id, name=name) for name in names]\n"
        "MetricSeries.objects.bulk_create(rows)",
    )
    page = opened(a_person(), trained)
    try:
        expect(page.locator("#job-charts summary")).to_have_text(re.compile(r"^9,90\d more$"))
        assert page.locator(".chart").count() == 50
        page.get_by_label("Search the metrics by name").fill("layer_77 std_77 ")
        expect(page.locator(".chart h3")).to_have_count(50)  # 77, 770 to 779 and 7700 to 7799: the first page of them
        page.get_by_label("Search the metrics by name").fill("layer_7777")
        expect(page.locator(".chart h3")).to_have_text(["std_7777"])
        page.get_by_label("Search the metrics by name").fill("no such thing")
        expect(page.get_by_text("No metric has a name like that.")).to_be_visible()
        page.get_by_label("Search the metrics by name").fill("")
        expect(page.locator(".chart h3").first).to_have_text("loss")
        page.locator("#job-charts summary").click()
        page.get_by_role("button", name=re.compile("Show more")).click()
        expect(page.locator(".chart")).to_have_count(100)
    finally:
        world.manage(
            "shell",
            "-v0",
            "-c",
            "from monitoring.models import MetricSeries as M; M.objects.filter(name__startswith='layer_').delete()",
        )


def test_a_chart_is_taken_away_as_picture_csv_and_json(world, a_person, trained):
    page = opened(a_person(), trained)
    menu = chart(page, "loss").get_by_role("button", name="Picture, CSV, API")
    menu.click()
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG picture").click()
    assert download.value.suggested_filename == "loss.png"
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
    menu.click()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV, every point").click()
    rows = Path(download.value.path()).read_text().splitlines()
    assert (len(rows), rows[1].split(",")[:4]) == (1 + STEPS, ["train/loss", "1", "0", "1"])
    menu.click()
    link = page.get_by_role("link", name="JSON by the API").get_attribute("href")
    assert link == f"/api/v1/jobs/{trained}/metrics/lines?name=train%2Floss&by=step"


def test_lines_of_several_jobs_stand_in_one_chart(world, a_person, trained):
    other = world.launch("for i in 1 2 3; do echo ::metric name=train/loss step=$i::$i; done", name="other")
    world.wait(other, "succeeded")
    page = opened(a_person(), trained)
    sources = [{"address": f"/api/v1/jobs/{number}/metrics", "word": f"#{number}"} for number in (trained, other)]
    page.evaluate(
        """(sources) => {
            const one = document.querySelector("#job-charts").cloneNode(true);
            one.id = "compared";
            one.dataset.charts = "";
            one.querySelectorAll("[data-chart-list], [data-chart-more]").forEach((list) => list.replaceChildren());
            for (const { address, word } of sources) {
              const source = document.createElement("i");
              Object.assign(source.dataset, { chartSource: address, word });
              one.append(source);
            }
            document.querySelector(".beside").prepend(one);
            document.dispatchEvent(new Event("htmx:load"));
        }""",
        sources,
    )
    compared = page.locator("#compared .chart").filter(has=page.get_by_role("heading", name="loss", exact=True))
    compared.scroll_into_view_if_needed()
    keys = compared.locator(".key i")
    expect(keys).to_have_text([f"#{trained} train", f"#{other} train"])
    assert len({keys.nth(place).locator("..").get_attribute("data-key") for place in range(2)}) == 2
    compared.get_by_role("button", name="Picture, CSV, API").click()
    links = page.locator("#compared :popover-open [data-chart-csv]")
    expect(links).to_have_text([re.compile(f"#{trained}$"), re.compile(f"#{other}$")])


def test_with_the_socket_off_a_chart_grows_by_polling(world, a_person, tmp_path):
    go = tmp_path / "go"
    number = world.launch(
        f"echo ::metric name=loss step=1::1; until [ -e {go} ]; do sleep 0.1; done; echo ::metric name=loss step=2::0.5; sleep 60"
    )
    world.wait(number, "running")
    person = a_person(width=390, height=844, scheme="dark")
    person.page.route_web_socket("**", lambda socket: socket.close())
    page = person.open(f"/jobs/{number}")
    page.locator("#job-charts").scroll_into_view_if_needed(timeout=30_000)
    keys = chart(page, "loss").locator(".key b")
    expect(keys).to_have_text(["1"], timeout=20_000)
    go.touch()
    expect(keys).to_have_text(["0.5"], timeout=30_000)
    person.complaints.clear()  # the browser's own lines for a socket that is closed
    world.cancel(number, force=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_charts_fit_their_screen(world, a_person, trained, scheme, width):
    person = a_person(width=width, height=900 if width > 1000 else 844, scheme=scheme)
    page = person.open(f"/jobs/{trained}")
    chart(page, "loss").scroll_into_view_if_needed(timeout=15_000)
    expect(chart(page, "loss").locator("canvas")).to_be_visible(timeout=15_000)
    is_live(page)
    page.get_by_role("button", name="How charts are drawn").click()
    box = page.locator("#chart-look").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    person.picture(f"charts-{scheme}-{width}")
    kept = json.loads(page.evaluate("localStorage.getItem('panel.charts') ?? '{}'"))
    assert kept == {}, "nobody has changed anything"
