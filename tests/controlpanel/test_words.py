"""The panel in another language: complete, and chosen by the browser or by the person."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from babel.messages import Catalog
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils import translation

from controlpanel import words
from controlpanel.templatetags import panel
from jobs.notice_messages import language_of
from tests.factories import a_member, a_user

CHINESE = "zh-hans"


@pytest.fixture
def a_repository(settings, tmp_path):
    """Some code and a catalogue of it: write(code=..., template=..., catalogue=...)."""
    settings.BASE_DIR = tmp_path
    source = words.source_of(CHINESE)
    head, _gap, _rest = (Path(__file__).parents[2] / source.relative_to(tmp_path)).read_text().partition("\n\n")

    def write(*, code: str = "", template: str = "", catalogue: str = "") -> None:
        for path, text in {
            tmp_path / "jobs/things.py": code,
            tmp_path / "templates/thing.html": "{% load i18n %}" + template,
            source: f"{head}\n\n{catalogue}",
        }.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


def said() -> list:
    return [message.id for message in words.said() if message.id]


# -- Complete ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("language", words.OTHERS)
def test_a_language_has_all_that_the_panel_says(language):
    """`manage.py draw_words` writes what is missing into locale/, for someone to translate."""
    assert words.faults(language) == []


def test_what_the_panel_says_is_found():
    found = {words._key(message) for message in words.said() if message.id}
    assert len(found) > 1400
    assert {
        ("", "Sign out"),  # {% trans %}
        ("", "Cancel %(name)s #%(number)s?"),  # {% blocktrans %}
        ("", "%(count)s slot"),  # ngettext
        ("", "queued"),  # gettext_lazy, of a state
        ("the current one of all lines that were found", "%%s of %%s"),  # {% trans ... context %}
    } <= found


def test_words_of_code_and_templates_are_found(a_repository):
    a_repository(
        code='_("one" " and two")\nngettext("%(n)s a", "%(n)s b", n)\npgettext("doors", "open")\nf(_("in a call"))\nlog("not")',
        template=(
            '<p>not this{% if a %}\n  {% trans "three\'s" %}\n{% endif %}\n'
            "\t{% blocktrans with a=b|c:'d' %}four {{ a }} 5%{% endblocktrans %}"
            '{{ _("five")|upper }}{# {% trans "no" %} #}{% include "x" with title=_("six") %}'
            "{% blocktrans count n=n %}{{ n }} x{% plural %}{{ n }} y{% endblocktrans %}"
        ),
    )
    of_code = {"one and two", ("%(n)s a", "%(n)s b"), "open", "in a call"}
    assert set(said()) == of_code | {"three's", "four %(a)s 5%%", "five", "six", ("%(n)s x", "%(n)s y")}


@pytest.mark.parametrize(
    ("catalogue", "fault"),
    [
        ("", "missing: '%(n)s jobs'"),
        ('msgid "%(n)s jobs"\nmsgstr ""\n', "not translated: '%(n)s jobs'"),
        ('#, fuzzy\nmsgid "%(n)s jobs"\nmsgstr "%(n)s 个作业"\n', "fuzzy: '%(n)s jobs'"),
        ('msgid "%(n)s jobs"\nmsgstr "%(m)s 个作业"\n', "placeholders ['%(m)s'] for ['%(n)s']: '%(n)s jobs'"),
        ('msgid "%(n)s jobs"\nmsgstr "%(n)d 个作业"\n', "placeholders ['%(n)d'] for ['%(n)s']: '%(n)s jobs'"),
        ('msgid "%(n)s jobs"\nmsgstr "作业"\n', "placeholders [] for ['%(n)s']: '%(n)s jobs'"),
        ('msgid "%(n)s jobs"\nmsgstr "%(n)s %(n)s 个作业"\n', "placeholders ['%(n)s', '%(n)s'] for ['%(n)s']: '%(n)s jobs'"),
        ('msgctxt "of hosts"\nmsgid "%(n)s jobs"\nmsgstr "%(n)s 个作业"\n', "missing: '%(n)s jobs'"),
    ],
)
def test_what_keeps_a_language_from_being_complete(a_repository, catalogue, fault):
    a_repository(code='_("%(n)s jobs")', catalogue=catalogue)
    assert fault in words.faults(CHINESE)


def test_a_word_that_the_panel_no_longer_says_is_a_fault(a_repository):
    a_repository(catalogue='msgid "Gone"\nmsgstr "已移除"\n')
    assert words.faults(CHINESE) == ["no longer said: 'Gone'"]


@pytest.mark.parametrize(
    ("forms", "faults"),
    [
        (["%(n)s job", "%(n)s jobs"], []),
        (["%(n)s job", "%(n)s works"], ["its plural differs: ('%(n)s job', '%(n)s works')"]),
        (["%(n)s job"], ["its plural differs: '%(n)s job'"]),
    ],
)
def test_a_plural_has_its_own_forms(a_repository, forms, faults):
    translated = "\n".join(
        [f'{name} "{form}"' for name, form in zip(["msgid", "msgid_plural"], forms, strict=False)]
        + ['msgstr[0] "%(n)s 个作业"' if len(forms) > 1 else 'msgstr "%(n)s 个作业"']
    )
    a_repository(code='ngettext("%(n)s job", "%(n)s jobs", n)', catalogue=f"{translated}\n")
    assert words.faults(CHINESE) == faults


def test_words_are_drawn_anew_and_translations_stay(a_repository, capsys):
    a_repository(code='_("New")\n_("Kept")', catalogue='msgid "Gone"\nmsgstr "已移除"\n\nmsgid "Kept"\nmsgstr "保留"\n')
    call_command("draw_words")
    assert capsys.readouterr().out == "zh-hans: not translated: 'New'\n"
    head, _gap, rest = words.source_of(CHINESE).read_text().partition("\n\n")
    assert "Plural-Forms: nplurals=1; plural=0;" in head
    assert rest == 'msgid "Kept"\nmsgstr "保留"\n\nmsgid "New"\nmsgstr ""\n'


def test_the_catalogue_stands_as_it_is_drawn(monkeypatch):
    """So that two branches which each add a word differ in these words only."""
    before = words.source_of(CHINESE).read_bytes()
    written = []
    monkeypatch.setattr(Path, "write_bytes", lambda _path, content: written.append(content))
    words.write(CHINESE, _sorted_anew(words.kept(CHINESE)))
    assert written == [before]


def _sorted_anew(catalog: Catalog) -> Catalog:
    catalog.update(words.said(), no_fuzzy_matching=True)
    return catalog


def test_no_script_has_words_of_its_own():
    """They come from data-attributes of the templates."""
    sentence = re.compile(r"""["'`>](?:[A-Z][a-z]+ [a-z]+[ .,a-z]*|[A-Z][a-z]{2,}[.!])["'`<]""")
    found = {
        f"{path.name}: {word}"
        for path in sorted((Path(settings.BASE_DIR) / "static/js").glob("*.js"))
        for line in path.read_text().splitlines()
        if not line.lstrip().startswith(("//", "*", "/*"))
        for word in sentence.findall(line.partition(" // ")[0])
    }
    assert found == set()


# -- Compiled ----------------------------------------------------------------------------------------------------
def test_a_catalogue_is_compiled_once_and_again_when_it_has_changed(a_repository, settings, tmp_path):
    settings.LOCALE_PATHS = [tmp_path / "made"]
    compiled = tmp_path / "made/zh_Hans/LC_MESSAGES/django.mo"
    a_repository(catalogue='msgid "Jobs"\nmsgstr "作业"\n')
    words.compile_all()
    assert "作业".encode() in compiled.read_bytes()
    first = compiled.stat().st_ino
    words.compile_all()
    assert compiled.stat().st_ino == first
    a_repository(catalogue='msgid "Jobs"\nmsgstr "任务"\n')
    words.compile_all()
    assert "任务".encode() in compiled.read_bytes()
    assert sorted(path.name for path in compiled.parent.iterdir()) == ["django.mo", "django.source"]


# -- Chosen ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("wanted", "title", "lang"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "登录", "zh-hans"),
        ("zh", "登录", "zh-hans"),
        ("en-US,zh;q=0.5", "Sign in", "en"),
        ("de,fr", "Sign in", "en"),
        ("", "Sign in", "en"),
    ],
)
def test_the_browser_says_in_which_language(db, languages, wanted, title, lang):
    page = Client().get("/sign-in", headers={"accept-language": wanted}).content.decode()
    assert f"<h1>{title}</h1>" in page
    assert f'<html lang="{lang}"' in page


def test_a_person_chooses_the_language_and_stays_where_they_were(db, languages):
    browser = Client(headers={"accept-language": "en"})
    browser.force_login(a_user(username="zhang"))
    answer = browser.post("/language", {"language": CHINESE, "next": "/tokens?a=1"})
    assert (answer.status_code, answer["Location"]) == (302, "/tokens?a=1")
    cookie = answer.cookies["django_language"]
    assert (cookie["max-age"], cookie["samesite"]) == (365 * 24 * 3600, "Lax")
    page = browser.get("/tokens").content.decode()
    assert '<html lang="zh-hans"' in page
    assert "还没有 token" in page
    assert f'value="{CHINESE}" lang="{CHINESE}" aria-current="true">简体中文</button>' in page
    assert ">English</button>" in page
    browser.post("/language", {"language": "en"})
    assert "No token yet" in browser.get("/tokens").content.decode()


def test_who_is_not_signed_in_chooses_too(db, languages):
    browser = Client(headers={"accept-language": "zh-CN"})
    assert 'action="/language"' in browser.get("/sign-in").content.decode()
    browser.post("/language", {"language": "en", "next": "/sign-in"})
    assert "<h1>Sign in</h1>" in browser.get("/sign-in").content.decode()


@pytest.mark.django_db
def test_mails_come_in_the_language_that_the_person_has_chosen():
    person, browser = a_user(), Client()
    browser.force_login(person)
    for language in (CHINESE, "xx"):
        browser.post("/language", {"language": language, "next": "/tokens"})
    assert language_of(User.objects.get(pk=person.pk)) == CHINESE
    assert language_of(a_user()) == "en"


@pytest.mark.parametrize("language", ["xx", "", "../../etc", "zh-hans" * 100])
def test_a_language_that_is_not_there_changes_nothing(db, language):
    answer = Client().post("/language", {"language": language, "next": "/sign-in"})
    assert (answer.status_code, answer["Location"]) == (302, "/sign-in")
    assert "django_language" not in answer.cookies


def test_the_choice_leads_to_no_other_site(db):
    answer = Client().post("/language", {"language": "en", "next": "https://evil.example/"})
    assert answer["Location"] == "/"


def test_a_choice_needs_the_panels_own_form(db):
    assert Client(enforce_csrf_checks=True).post("/language", {"language": "en"}).status_code == 403


def test_a_script_gets_its_errors_in_its_language(db, languages):
    browser = Client()
    browser.force_login(a_member(username="member"))
    answer = browser.get("/api/v1/jobs/17", headers={"accept-language": "zh-CN"})
    assert answer.status_code == 404
    assert answer.json()["message"] == "没有作业 17，或你不在其团队中。"
    assert answer["Content-Language"] == "zh-hans"
    assert browser.get("/api/v1/jobs/17").json()["message"] == "There is no job 17, or you are not in its team."


def test_spans_of_time_are_written_in_the_language(languages):
    with translation.override(CHINESE):
        assert panel.duration(192) == "3 分 12 秒"
        assert panel._ago(192) == "3 分钟前"
        assert panel.state_word("queued") == "排队中"
        assert json.loads(panel.span_words())[2] == "%(m)d 分 %(s)02d 秒"


def test_a_moment_is_written_in_the_language(languages):
    moment = datetime(2025, 12, 2, 9, 18, 4, tzinfo=UTC)
    with translation.override(CHINESE):
        assert panel.exact(moment) == "2025 年 12 月 2 日 09:18:04 UTC"
    assert panel.exact(moment) == "2 Dec 2025, 09:18:04 UTC"
