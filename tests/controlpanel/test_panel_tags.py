"""What the tags and filters write, exactly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.template import Context, Template

from clusters.states import HostState, RankState, WorkloadState
from controlpanel.templatetags import panel
from jobs.states import JobState

NOON = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)
ALL_STATES = [*JobState, *WorkloadState, *RankState, *HostState, "silent"]


@pytest.fixture
def noon(monkeypatch):
    monkeypatch.setattr(panel.timezone, "now", lambda: NOON)


@pytest.fixture
def icons(settings, tmp_path: Path) -> Path:
    settings.ICONS_DIR = tmp_path / "icons"
    settings.ICONS_DIR.mkdir()
    return settings.ICONS_DIR


def render(template: str, **context) -> str:
    return Template(template).render(Context(context))


# -- status ------------------------------------------------------------------------------------------
def test_a_state_is_shape_word_and_colour():
    assert render("{% status state %}", state="queued") == (
        '<span class="status" data-state="queued"><svg viewBox="0 0 14 14" aria-hidden="true">'
        '<circle cx="7" cy="7" r="5.2" fill="none" stroke="currentColor" stroke-width="1.6"/></svg><span>queued</span></span>'
    )


def test_a_state_without_its_word_is_an_ornament():
    assert "<span>" not in render("{% status 'failed' word=False %}")


def test_every_state_has_a_shape_and_a_word():
    assert set(panel.SHAPES) == set(panel.WORDS) == set(map(str, ALL_STATES))
    assert set(panel.SHAPES.values()) == set(panel.GLYPHS)


def test_states_of_a_job_have_shapes_of_their_own():
    assert len({panel.SHAPES[state] for state in JobState}) == len(JobState)


def test_an_unknown_state_is_named_and_escaped():
    html = render("{% status state %}", state="<new>")
    assert 'data-state="&lt;new&gt;"' in html
    assert "<span>&lt;new&gt;</span>" in html


# -- icon --------------------------------------------------------------------------------------------
def test_an_icon_is_inlined_without_what_its_package_adds(icons: Path):
    (icons / "plus.svg").write_text(
        '<svg\n  xmlns="http://www.w3.org/2000/svg"\n  class="icon icon-tabler">\n'
        '  <path stroke="none" d="M0 0h24v24H0z" fill="none" />\n  <path d="M12 5l0 14" />\n</svg>'
    )
    assert render("{% icon 'plus' %}") == (
        '<svg class="icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-linecap="round" stroke-linejoin="round"'
        ' aria-hidden="true"><path d="M12 5l0 14" /></svg>'
    )


def test_without_npm_the_error_says_what_to_run(settings, tmp_path: Path):
    settings.ICONS_DIR = tmp_path / "nowhere"
    with pytest.raises(ImproperlyConfigured, match="npm ci"):
        render("{% icon 'plus' %}")


def test_an_icon_that_does_not_exist_is_named(icons: Path):
    with pytest.raises(ImproperlyConfigured, match="'no-such-thing'"):
        render("{% icon 'no-such-thing' %}")


def test_an_icon_is_not_read_from_elsewhere(icons: Path):
    (icons.parent / "secret.svg").write_text("<svg></svg>")
    with pytest.raises(ImproperlyConfigured, match="not the name of an icon"):
        render("{% icon '../secret' %}")


# -- moments and spans ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "just now"),
        (4.9, "just now"),
        (5, "5 s ago"),
        (59.9, "59 s ago"),
        (192, "3 min ago"),
        (3600, "1 h ago"),
        (30 * 3600, "30 h ago"),
        (49 * 3600, "2 d ago"),
        (-0.5, "just now"),
        (-90, "in 1 min"),
    ],
)
def test_ago(noon, seconds: float, text: str):
    assert f">{text}</time>" in render("{{ moment|ago }}", moment=NOON - timedelta(seconds=seconds))


def test_ago_has_the_exact_moment(noon):
    assert render("{{ moment|ago }}", moment=NOON - timedelta(seconds=192)) == (
        '<time datetime="2026-03-02T11:56:48+00:00" title="2 Mar 2026, 11:56:48 UTC" data-ago>3 min ago</time>'
    )


def test_a_moment_that_is_not_known_is_unknown():
    assert render("{{ moment|ago }} {{ moment|exact }}", moment=None) == "unknown unknown"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.04, "0.1 s"),
        (0.44, "0.4 s"),
        (48, "48 s"),
        (59.99, "59 s"),
        (60, "1 min 00 s"),
        (192, "3 min 12 s"),
        (6420, "1 h 47 min"),
        (86400 + 4 * 3600, "1 d 04 h"),
        (-3, "0 s"),
        (timedelta(minutes=3, seconds=2), "3 min 02 s"),
        (None, "unknown"),
    ],
)
def test_duration(seconds, text: str):
    assert render("{{ seconds|duration }}", seconds=seconds) == text


def test_what_has_ended_took_a_fixed_time():
    assert render("{% elapsed start end %}", start=NOON, end=NOON + timedelta(seconds=192)) == "3 min 12 s"


def test_what_goes_on_is_counted_on_by_the_page(noon):
    html = render("{% elapsed start %}", start=NOON - timedelta(seconds=192))
    assert html == '<span data-since="2026-03-02T11:56:48+00:00">3 min 12 s</span>'


def test_what_has_not_begun_has_taken_nothing():
    assert render("{% elapsed start %}", start=None) == ""


# -- amounts and texts ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1536, "1.5 KiB"),
        (418 * 1024**2, "418 MiB"),
        (int(4.1 * 1024**3), "4.1 GiB"),
        (None, "unknown"),
    ],
)
def test_size(count, text: str):
    assert render("{{ count|size }}", count=count) == text


def test_a_short_text_stays_as_it_is():
    assert render("{{ text|middle:20 }}", text="<short>") == "&lt;short&gt;"


def test_a_long_text_is_cut_in_its_middle_for_the_eye_only():
    assert render("{{ text|middle:9 }}", text="/data/c4/en/train<1>") == (
        '<span class="middle" title="/data/c4/en/train&lt;1&gt;">/dat<i></i><span>a/c4/en/trai</span>n&lt;1&gt;</span>'
    )
