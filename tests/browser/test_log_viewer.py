"""What one does with a log: search it, go to places, link to lines, copy, wrap, see times; and what its text cannot do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.log_viewer import weigh

VIEW, ROWS, COUNT, FIND = "[data-log-view]", ".log-row", "[data-log-count]", "[data-log-q]"
LINES = 30_000  # too many to be held by the page at once


def rows(page: Page) -> list[str]:
    """Numbers of the lines that are wholly in view."""
    return page.evaluate(
        """() => {
          const { top, bottom } = document.querySelector("[data-log-view]").getBoundingClientRect();
          const isSeen = (row) => row.getBoundingClientRect().top >= top - 1 && row.getBoundingClientRect().bottom <= bottom + 1;
          return [...document.querySelectorAll(".log-row")].filter(isSeen).map((row) => row.dataset.line);
        }"""
    )


def row(page: Page, number: int):
    return page.locator(f'{ROWS}[data-line="{number:,}"]')


def marked(page: Page, name: str = "log-hit") -> list[str]:
    """What is highlighted, as text."""
    return page.evaluate("(name) => [...(CSS.highlights.get(name) ?? [])].map(String)", name)


def frames(page: Page) -> None:
    """Until what was scrolled is drawn."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))")


def press(page: Page, *keys: str) -> None:
    """Keys in the log, where the page's own focus is."""
    page.locator(VIEW).focus()
    for key in keys:
        page.keyboard.press(key)


def go_to(page: Page, number: int) -> None:
    press(page, ":")
    page.keyboard.type(str(number))
    page.keyboard.press("Enter")
    expect(row(page, number)).to_have_attribute("data-picked", "")


@pytest.fixture(scope="module")
def large(world) -> int:
    """A job that printed LINES lines of 30 or more characters, one of them in ten thousand with a needle."""
    number = world.launch(
        "python3 -c \"print('\\n'.join(f'line {i} of many, loss {i % 7}.{i % 11}' + (' needle' if i % 10000 == 5000 else '')"
        f' for i in range(1, {LINES + 1})))"',
        name="large",
    )
    assert world.wait(number)["state"] == "succeeded"
    world.complete_log(number)
    return number


@pytest.fixture
def person(large, a_person):
    """Who looks at the end of the large job's log."""
    person = a_person()
    expect(row(person.open(f"/jobs/{large}"), LINES)).to_be_visible()
    return person


@pytest.fixture
def page(person) -> Page:
    return person.page


# -- Keys --------------------------------------------------------------------------------------------------


def test_the_keys_are_told_of_by_a_key_and_by_a_button(page):
    keys = page.locator("#log-keys")
    press(page, "?")
    expect(keys).to_contain_text("next line that was found")
    page.keyboard.press("j")  # those of the log rest meanwhile
    page.keyboard.press("?")
    expect(keys).to_be_hidden()
    page.get_by_role("button", name="Keys of the log (?)").click()
    expect(keys).to_be_visible()
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()


# -- Search ------------------------------------------------------------------------------------------------


def test_a_search_finds_lines_of_the_whole_log_and_goes_through_them_by_keys(page):
    press(page, "/")
    expect(page.locator(FIND)).to_be_focused()
    page.keyboard.type("needle")
    expect(page.locator(COUNT)).to_have_text("3 of 3")  # from the end upwards
    expect(row(page, 25_000)).to_be_visible()
    expect(row(page, 24_995)).to_be_visible()  # with what is around it
    assert marked(page, "log-current") == ["needle"]
    page.keyboard.press("Shift+Enter")
    expect(page.locator(COUNT)).to_have_text("2 of 3")
    expect(row(page, 15_000)).to_have_attribute("data-current", "")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator(COUNT)).to_have_text("1 of 3")  # around the end
    expect(row(page, 5000)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(VIEW)).to_be_focused()
    page.keyboard.press("n")
    expect(page.locator(COUNT)).to_have_text("2 of 3")
    page.keyboard.press("N")
    expect(row(page, 5000)).to_have_attribute("data-current", "")
    page.keyboard.press("Escape")
    expect(page.locator(FIND)).to_have_value("")
    assert (marked(page), marked(page, "log-current")) == ([], [])
    expect(row(page, 5000)).to_be_visible()  # one stays where one was


def test_all_lines_in_view_are_marked_also_while_one_scrolls(page):
    press(page, "/")
    page.keyboard.type("LOSS")
    expect(page.locator(COUNT)).to_have_text(f"{LINES:,} of {LINES:,}")
    assert set(marked(page)) == {"loss"}
    press(page, "g")
    expect(row(page, 1)).to_be_visible()
    assert len(marked(page)) >= len(rows(page))


def test_expressions_and_capitals_can_be_told_apart_and_a_wrong_one_is_told_in_words(page, person):
    press(page, "/")
    page.keyboard.type(r"line 2999\d of")
    expect(page.locator(COUNT)).to_have_text("no line")
    page.locator("[data-log-regex]").click()
    expect(page.locator(COUNT)).to_have_text("10 of 10")
    page.wait_for_function("() => CSS.highlights.get('log-hit')?.size === 9")
    assert marked(page, "log-current") == ["line 29999 of"]
    page.locator("[data-log-case]").click()
    page.locator(FIND).fill("LINE 3")
    expect(page.locator(COUNT)).to_have_text("no line")
    page.locator(FIND).fill("(line")
    expect(page.locator("[data-log-error]")).to_have_text("missing ): (line")
    page.locator(FIND).fill("line 30000")
    expect(page.locator("[data-log-error]")).to_be_hidden()
    page.locator("[data-log-regex]").click()
    expect(page.locator(COUNT)).to_have_text("1 of 1")
    person.complaints.clear()  # the browser's line for what was refused


def test_a_search_goes_on_while_its_log_grows(world, a_person, tmp_path):
    go = tmp_path / "go"
    number = world.launch(f"echo needle 1; until [ -e {go} ]; do sleep 0.1; done; echo needle 2; echo needle 3; sleep 60")
    world.wait(number, "running")
    page = a_person().open(f"/jobs/{number}")
    expect(page.locator(VIEW)).to_contain_text("needle 1")
    press(page, "/")
    page.keyboard.type("needle")
    expect(page.locator(COUNT)).to_have_text("1 of 1")
    go.touch()
    expect(page.locator(COUNT)).to_have_text("1 of 3", timeout=15_000)
    page.keyboard.press("Enter")
    expect(page.locator(COUNT)).to_have_text("2 of 3")
    expect(row(page, 2)).to_have_attribute("data-current", "")
    world.cancel(number, force=True)


def test_the_first_error_is_a_key_away_and_further_ones_are_next(world, a_person):
    number = world.launch(
        "seq 1 3000; echo '0 errors so far'; echo 'ValueError: shapes differ'; seq 1 3000; echo Killed; seq 1 3000", name="broken"
    )
    world.wait(number)
    page = a_person().open(f"/jobs/{number}")
    expect(row(page, 9003)).to_be_visible()
    press(page, "e")
    expect(page.locator(COUNT)).to_have_text("1 of 2")
    expect(row(page, 3002)).to_have_attribute("data-current", "")
    press(page, "n")
    expect(row(page, 6003)).to_have_attribute("data-current", "")
    assert marked(page, "log-current") == ["Killed"]


def test_lines_that_match_are_a_download(page):
    press(page, "/")
    page.keyboard.type("needle")
    expect(page.locator(COUNT)).to_have_text("3 of 3")
    with page.expect_download() as download:
        page.locator("[data-log-matching]").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert [line.split(" of ")[0] for line in lines] == ["line 5000", "line 15000", "line 25000"]


def test_what_carriage_returns_have_overwritten_is_found_at_its_line(world, a_person):
    number = world.launch(r"seq 1 200; printf ' 10%%|#  |\r 50%%|## |\r100%%|###|\n'; seq 1 200")
    world.wait(number)
    page = a_person().open(f"/jobs/{number}")
    expect(row(page, 401)).to_be_visible()
    press(page, "/")
    page.keyboard.type("50%")
    expect(page.locator(COUNT)).to_have_text("1 of 1")
    expect(row(page, 201)).to_have_attribute("data-current", "")
    expect(row(page, 201)).to_have_text("100%|###|")


# -- Places ------------------------------------------------------------------------------------------------


def test_one_goes_to_lines_times_and_ends(page):
    press(page, ":")
    page.keyboard.type("12,345")
    page.keyboard.press("Enter")
    expect(row(page, 12_345)).to_have_attribute("data-picked", "")
    assert page.url.endswith("#1.0.output:L12345")
    expect(page.locator("[data-log-pill]")).to_have_text("↓ To the end")
    press(page, ":")
    page.locator("[data-log-go] input").fill("tomorrow")
    page.keyboard.press("Enter")
    expect(page.locator("[data-log-go]")).to_contain_text("neither a line nor a time")
    page.get_by_role("button", name="End", exact=True).click()
    expect(row(page, LINES)).to_be_visible()
    press(page, "g")
    expect(row(page, 1)).to_be_visible()
    assert rows(page)[0] == "1"
    press(page, "G")
    expect(row(page, LINES)).to_be_visible()


def test_the_whole_log_can_be_scrolled_through_from_any_place(page):
    press(page, ":")
    page.keyboard.type("15000")
    page.keyboard.press("Enter")
    expect(row(page, 15_000)).to_be_visible()
    seen = {int(number.replace(",", "")) for number in rows(page)}
    for _ in range(12):
        page.evaluate("document.querySelector('[data-log-view]').scrollTop += 400")
        frames(page)
        seen |= {int(number.replace(",", "")) for number in rows(page)}
    assert seen == set(range(min(seen), max(seen) + 1)) and max(seen) > 15_200


def test_a_link_leads_to_its_lines_and_picking_makes_one(world, large, a_person):
    page = a_person().open(f"/jobs/{large}#1.0.output:L12000-L12003")
    expect(row(page, 12_001)).to_be_visible()
    assert [page.locator(f"{ROWS}[data-picked]").nth(i).get_attribute("data-line") for i in range(4)] == [
        "12,000",
        "12,001",
        "12,002",
        "12,003",
    ]
    row(page, 12_002).click(position={"x": 8, "y": 8})
    expect(page.locator(f"{ROWS}[data-picked]")).to_have_count(1)
    assert page.url.endswith("#1.0.output:L12002")
    row(page, 12_005).click(position={"x": 8, "y": 8}, modifiers=["Shift"])
    expect(page.locator(f"{ROWS}[data-picked]")).to_have_count(4)
    assert page.url.endswith("#1.0.output:L12002-L12005")
    expect(page.locator("[data-log-picked]")).to_contain_text("Lines 12,002 to 12,005")
    page.reload()
    expect(page.locator(f"{ROWS}[data-picked]")).to_have_count(4)
    page.evaluate("location.hash = '#L29'")
    expect(row(page, 29)).to_have_attribute("data-picked", "")
    press(page, "Escape")
    expect(page.locator(f"{ROWS}[data-picked]")).to_have_count(0)
    assert "#" not in page.url


def test_a_link_leads_to_another_attempt_too(world, a_person, tmp_path):
    ran = tmp_path / "ran"
    number = world.launch(
        f"[ -e {ran} ] || for i in $(seq 1 500); do echo first try $i; done; [ -e {ran} ] && echo second; touch {ran}; exit 3",
        retries={"user_code": {"times": 1, "delay_s": 0}},
    )
    world.wait(number)
    page = a_person().open(f"/jobs/{number}#1.0.output:L250")
    expect(row(page, 250)).to_have_text("first try 250")
    expect(row(page, 250)).to_have_attribute("data-picked", "")
    page.goto(f"{world.url}/jobs/{number}#7.0.output:L1")  # there is none: what is usual is shown
    page.reload()
    expect(page.locator(VIEW)).to_contain_text("second")


# -- How lines are shown -----------------------------------------------------------------------------------


def test_long_lines_are_wrapped_on_demand_and_stay_so(world, a_person):
    number = world.launch("for i in 1 2 3; do printf '%0500d\\n' $i; printf '温度\\t%0100d\\n' $i; done; echo end", name="long")
    world.wait(number)
    page = a_person().open(f"/jobs/{number}")
    expect(row(page, 7)).to_be_visible()
    height = "(row) => row.offsetHeight"
    assert row(page, 1).evaluate(height) == 19
    press(page, "w")
    page.wait_for_function("() => document.querySelector('.log-row')?.offsetHeight > 19")
    tall = [row(page, number).evaluate(height) for number in range(1, 8)]
    assert all(one % 19 == 0 for one in tall) and tall[0] >= 5 * 19 and tall[6] == 19
    assert page.evaluate("document.querySelector('.log-space').offsetHeight") == sum(tall)
    assert page.evaluate("(view) => view.scrollWidth - view.clientWidth", page.locator(VIEW).element_handle()) == 0
    page.reload()
    expect(page.locator("[data-log-wrap]")).to_have_attribute("aria-pressed", "true")
    page.wait_for_function("() => document.querySelector('.log-row')?.offsetHeight > 19")
    press(page, "w")
    page.wait_for_function("() => document.querySelector('.log-row')?.offsetHeight === 19")


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_what_is_read_stays_where_it_is_while_lines_come(world, a_person, tmp_path, is_wrapped):
    go = tmp_path / "go"
    number = world.launch(
        f"for i in $(seq 1 400); do printf 'line %d %0200d\\n' $i $i; done; until [ -e {go} ]; do sleep 0.1; done;"
        " for i in $(seq 401 25400); do echo more $i; done; sleep 60"
    )
    world.wait(number, "running")
    page = a_person().open(f"/jobs/{number}")
    expect(row(page, 400)).to_be_visible()
    if is_wrapped:
        press(page, "w")
    press(page, "f")
    page.evaluate("document.querySelector('[data-log-view]').scrollTop -= 1500")
    frames(page)
    expect(page.locator("[data-log-follow]")).to_have_attribute("aria-pressed", "false")
    first = rows(page)[0]
    place = f"document.querySelector('.log-row[data-line=\"{first}\"]').getBoundingClientRect().top"
    before = page.evaluate(place)
    go.touch()
    expect(page.locator("[data-log-pill]")).to_be_visible(timeout=15_000)
    expect(page.locator("[data-log-pill]")).to_have_text(re.compile(r"25,000 new lines|To the end"), timeout=20_000)
    assert (rows(page)[0], page.evaluate(place)) == (first, before)
    press(page, "G")
    expect(row(page, 25_400)).to_be_visible(timeout=20_000)
    world.cancel(number, force=True)


def test_times_are_shown_in_three_ways_or_not_at_all(world, a_person):
    number = world.launch("echo early; sleep 1.2; echo late; sleep 0.2")
    world.wait(number)
    page = a_person().open(f"/jobs/{number}")
    expect(row(page, 2)).to_be_visible()
    time = lambda number: row(page, number).get_attribute("data-time")  # noqa: E731
    assert time(1) in (None, "")
    press(page, "t")
    expect(row(page, 2)).to_have_attribute("data-time", re.compile(r"^\d\d:\d\d:\d\d$"))
    press(page, "t")
    expect(page.locator("[data-log-times]")).to_contain_text("UTC")
    press(page, "t")
    expect(row(page, 1)).to_have_attribute("data-time", "+0:00:00.0")
    expect(row(page, 2)).to_have_attribute("data-time", re.compile(r"^\+0:00:01\.\d$"))
    page.reload()
    expect(row(page, 2)).to_have_attribute("data-time", re.compile(r"^\+0:00:01\.\d$"))
    for wanted, line in (("+1s", 1), ("+5 min", 2), ("2000-01-01", 1)):
        press(page, ":")
        page.locator("[data-log-go] input").fill(wanted)
        page.keyboard.press("Enter")
        expect(row(page, line)).to_have_attribute("data-picked", "")
        press(page, "Escape")
    press(page, "t")
    expect(row(page, 2)).to_have_attribute("data-time", "")


def test_keys_move_by_lines_and_switch_following(world, a_person):
    number = world.launch("seq 1 500; sleep 60")
    world.wait(number, "running")
    page = a_person().open(f"/jobs/{number}")
    expect(row(page, 500)).to_be_visible()
    top = rows(page)[0]
    press(page, "k", "k", "k")
    expect(page.locator("[data-log-follow]")).to_have_attribute("aria-pressed", "false")
    frames(page)
    assert rows(page)[0] == str(int(top) - 3)
    press(page, "j")
    frames(page)
    assert rows(page)[0] == str(int(top) - 2)
    press(page, "f")
    expect(page.locator("[data-log-follow]")).to_have_attribute("aria-pressed", "true")
    assert rows(page)[-1] == "500"
    keys = page.evaluate("[...document.querySelectorAll('#log-keys [data-key] kbd')].map((key) => key.textContent)")
    assert sorted(keys) == sorted(["/", "n", "N", "e", "j", "k", "g", "G", ":", "f", "w", "t", "Esc", "?"])
    world.cancel(number, force=True)


# -- Copying -----------------------------------------------------------------------------------------------


def test_what_is_copied_is_the_text_itself(world, a_person):
    number = world.launch(r"printf 'a\tb  c \n\n  \033[31mred\033[0m %0300d\n温度 🙂\n<b>&amp;</b>\nend\n' 7")
    world.wait(number)
    page = a_person().open(f"/jobs/{number}")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(row(page, 6)).to_be_visible()
    press(page, "w", "t")  # neither breaks nor times are copied
    frames(page)
    page.evaluate("""() => {
      const rows = document.querySelectorAll(".log-row");
      getSelection().setBaseAndExtent(rows[0].lastElementChild.firstChild, 2, rows[4].lastElementChild.firstChild, 4);
    }""")
    page.keyboard.press("Control+c")
    whole = ["a\tb  c ", "", "  red " + "7".rjust(300, "0"), "温度 🙂", "<b>&amp;</b>"]
    assert page.evaluate("navigator.clipboard.readText()") == "\n".join([whole[0][2:], *whole[1:4], whole[4][:4]])
    row(page, 1).click(position={"x": 8, "y": 8})
    row(page, 6).click(position={"x": 8, "y": 8}, modifiers=["Shift"])
    page.locator("[data-log-pick-text]").click()
    expect(page.locator("[data-log-pick-text]")).to_contain_text("copied")
    assert page.evaluate("navigator.clipboard.readText()") == "\n".join([*whole, "end", ""])
    page.locator("[data-log-pick-link]").click()
    expect(page.locator("[data-log-pick-link]")).to_contain_text("copied")
    assert page.evaluate("navigator.clipboard.readText()") == f"{world.url}/jobs/{number}#1.0.output:L1-L6"


def test_a_line_that_is_shown_cut_is_copied_whole(world, a_person):
    number = world.launch("echo before; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo after")
    world.wait(number)
    page = a_person().open(f"/jobs/{number}")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(row(page, 2)).to_contain_text("991,808 more characters")
    row(page, 2).click(position={"x": 8, "y": 8})
    page.locator("[data-log-pick-text]").click()
    expect(page.locator("[data-log-pick-text]")).to_contain_text("copied")
    assert page.evaluate("navigator.clipboard.readText()") == "x" * 1_000_000 + "\n"


# -- What a log cannot do ----------------------------------------------------------------------------------

HOSTILE = r"""
import sys
w = sys.stdout.buffer.write
w(b"first\n")
w(b"<img src=x onerror=alert(1)><style>*{display:none}</style></span></div><script>alert(1)</script>\n")
w(b"\x1b]0;title\x07\x1b]8;;javascript:alert(1)\x1b\\link\x1b]8;;\x1b\\ \x1b[2J\x1b[H\x1b[?1049h")
w(b"\x1b[38;5;1mred\x1b[0m\x1b[99999999999999A\n")
w("rm \u202egnp.exe \u2066x\u2069 a\u2028b\n".encode())
w(("z" + "\u0301" * 3000 + "\n").encode())
w(b"\xff\xfe\x00\x80 broken\n")
w(b"\x1b[" + b"1;" * 100000 + b"m weird\n")
w(b"\x1b]52;c;Z2FyYmFnZQ==\x07clipboard\n")
w(b"\x1b[38;2;255;255;255mwhite on white\x1b[0m \x1b[8mhidden\x1b[0m\n")
w(b"\r" * 100000 + b"returns\n")
w(b"y" * 1200000 + b"\n")
w(b"last\n")
"""


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_the_text_of_a_log_can_do_nothing_to_the_page(world, a_person, tmp_path, is_wrapped):
    (tmp_path / "hostile.py").write_text(HOSTILE)
    number = world.launch(f"python3 {tmp_path / 'hostile.py'}", name="hostile")
    world.wait(number)
    page = a_person().open(f"/jobs/{number}")
    expect(row(page, 12)).to_have_text("last")
    if is_wrapped:
        press(page, "w")
    press(page, "g")
    view = page.locator(VIEW)
    expect(row(page, 2)).to_have_text(
        "<img src=x onerror=alert(1)><style>*{display:none}</style></span></div><script>alert(1)</script>"
    )
    expect(row(page, 3)).to_have_text("link red")
    expect(row(page, 4)).to_have_text("rm \ufffdgnp.exe \ufffdx\ufffd a\ufffdb")
    go_to(page, 9)
    expect(row(page, 8)).to_have_text("clipboard")
    expect(row(page, 9)).to_have_text("white on white hidden")
    white = row(page, 9).locator("span span").first.evaluate("(span) => getComputedStyle(span).color")
    assert white.startswith("oklch(0.52")  # it can be read
    assert view.locator("img, style, script, a").count() == 0
    assert page.title() == f"succeeded - hostile #{number}"
    go_to(page, 11)
    expect(row(page, 10)).to_have_text("returns")
    expect(row(page, 11)).to_contain_text("1,191,808 more characters")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440
    page.evaluate("document.querySelector('[data-log-view]').scrollTop = 0")
    frames(page)
    piled = row(page, 5).evaluate("(row) => [row.offsetHeight, getComputedStyle(row.lastElementChild).overflowY]")
    assert piled[0] % 19 == 0 and piled[1] == "clip"


def test_bars_show_their_last_state_also_while_they_are_written(world, a_person, tmp_path):
    go = tmp_path / "go"
    number = world.launch(
        rf"printf '\r  0%%|    | 0/4'; printf '\r 50%%|##  | 2/4'; until [ -e {go} ]; do sleep 0.1; done"
        r"; printf '\r100%%|####| 4/4\ndone\n'; sleep 60"
    )
    world.wait(number, "running")
    page = a_person().open(f"/jobs/{number}")
    expect(row(page, 1)).to_have_text("50%|## | 2/4")
    go.touch()
    expect(row(page, 2)).to_have_text("done", timeout=15_000)
    expect(row(page, 1)).to_have_text("100%|####| 4/4")
    world.cancel(number, force=True)


def test_dropped_output_is_marked_with_its_amount(world, a_person):
    number = world.launch("echo before; echo after")
    world.wait(number)
    world.complete_log(number)
    world.manage(
        "shell",
        "-c",
        "from monitoring.models import Log, LogGap; from jobs.models import Job;"
        f"log = Log.objects.get(subject=Job.objects.get(pk={number}).subject, part='output');"
        "LogGap.objects.create(log=log, offset=7, dropped_bytes=2048, from_ms=1, to_ms=2);"
        "Log.objects.filter(pk=log.pk).update(dropped_bytes=2048)",
    )
    page = a_person().open(f"/jobs/{number}")
    gap = page.locator(f'{ROWS}[data-kind="gap"]')
    expect(gap).to_have_text("2.0 KiB of output was dropped by the host here")
    expect(row(page, 2)).to_have_text("after")


def test_a_tab_that_follows_a_thousand_lines_a_second_stays_as_large_as_it_is(world, a_person):
    """Thirty thousand lines fill what it holds; what comes after makes it no larger, whether it is seen or not."""
    number = world.launch(
        "for i in $(seq 1 4500); do seq -f 'line %.0f of a training' $((i*20-19)) $((i*20)); sleep 0.005; done; sleep 90"
    )
    world.wait(number, "running")
    page = a_person().open(f"/jobs/{number}")

    def weigh_at(number: int) -> tuple[int, int]:
        expect(page.locator(VIEW)).to_contain_text(re.compile(rf"line [{number // 10_000}-9]\d{{4}} of"), timeout=60_000)
        return weigh(page)

    heap, elements = weigh_at(30_000)
    later_heap, later_elements = weigh_at(60_000)
    page.evaluate("window.requestAnimationFrame = () => 1")  # a tab behind others gets no frames
    page.wait_for_function("() => document.querySelectorAll('.log-row').length > 0")
    expect(page.locator("[data-connection]").first).to_contain_text("live")
    world_lines = world.client.get(f"jobs/{number}/log", params={"tail": 200}).headers
    assert int(world_lines["X-Log-Line"]) > 60_000
    hidden_heap, hidden_elements = weigh(page)
    assert later_heap < heap + 4_000_000 and hidden_heap < heap + 4_000_000, (heap, later_heap, hidden_heap)
    assert abs(later_elements - elements) < 60 and abs(hidden_elements - elements) < 60
    world.cancel(number, force=True)


# -- Small screens -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_all_of_it_is_behind_one_button_and_nothing_sticks_out(world, large, a_person, scheme):
    person = a_person(width=390, height=844, scheme=scheme)
    page = person.open(f"/jobs/{large}")
    expect(row(page, LINES)).to_be_visible()
    expect(page.locator("[data-log-wrap]")).to_be_hidden()
    page.get_by_role("button", name="More for this log").click()
    page.locator("[data-log-wrap]").click()
    expect(page.locator("[data-log-wrap]")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    page.locator(FIND).fill("needle")
    expect(page.locator(COUNT)).to_have_text("3 of 3")
    expect(row(page, 25_000)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    person.picture(f"log-{scheme}-390")
