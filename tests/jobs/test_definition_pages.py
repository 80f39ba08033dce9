"""The pages of definitions: the list, one of them, two compared, and the editor in its three writings."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client

from jobs import definitions, shipped, urls
from jobs.models import DefinitionVersion, JobDefinition
from jobs.wording import Wording, read
from projects import secrets
from projects.actors import Actor
from projects.models import AuditEntry
from tests.factories import NOON, a_definition, a_job, a_project, a_team, a_user

pytestmark = pytest.mark.django_db
ALL, NEW, PREVIEW = "/definitions", "/definitions/new", "/definitions/preview"
ONE = "/definitions/vit/command"
EDIT = f"{ONE}/versions/new"
TRAIN = {
    "title": "Train",
    "template": {"command": ["python", "train.py", "${epochs}"]},
    "parameters": {"type": "object", "properties": {"epochs": {"type": "integer", "minimum": 1, "default": 3}}},
    "resources": {"accelerator": "cpu", "chips": 2},
}
FORM = {
    "project": "vit",
    "view": "form",
    "base": "0",
    "key": "a-key",
    "title": "Train",
    "source.kind": "none",
    "command.kind": "argv",
    "command": "python\ntrain.py\n${epochs}",
    "resources.accelerator": "cpu",
    "resources.chips": "2",
    "row": ["0"],
    "row.0.name": "epochs",
    "row.0.kind": "integer",
    "row.0.minimum": "1",
    "row.0.default": "3",
    "rest": '{"type": "object"}',
    "slug": "train",
    "note": "first",
}


@pytest.fixture
def as_(db):
    """as_(user): a browser in which that user is signed in."""

    def sign_in(user) -> Client:
        browser = Client(raise_request_exception=False)
        browser.force_login(user)
        return browser

    return sign_in


def text_of(answer):
    return answer.content.decode()


def as_text(said=TRAIN, *, base=1, **more):
    """What the editor of a definition sends when it is written as JSON."""
    text = said if isinstance(said, str) else json.dumps(said, indent=2)
    return {"project": "vit", "view": "json", "base": str(base), "key": "a-key", "text": text, "note": ""} | more


def problems(answer):
    return [(one.title, one.line, one.sentence) for one in answer.context["editor"].problems]


def said(slug="train"):
    version = DefinitionVersion.objects.filter(definition__slug=slug).order_by("-number").first()
    return Wording.of(version).document()


# -- The list ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_a_list_takes_ten_queries_however_many_there_are(as_, vision, count, django_assert_num_queries):
    for number in range(count):
        a_definition(project=vision.project, slug=f"train-{number}")
        a_project(team=vision.team, slug=f"project-{number}")
    a_job(project=vision.project, by=vision.member)
    browser = as_(vision.member)
    # session, user; definitions, their newest versions, their last jobs, these jobs; projects, where one may edit;
    # conditions, the navigation
    with django_assert_num_queries(10):
        answer = browser.get(ALL)
    assert text_of(answer).count('<tr id="definition-') == count + 1


def test_a_list_tells_what_each_did_last_and_leads_to_its_launch(as_, vision):
    job = a_job(project=vision.project, by=vision.member)
    text = text_of(as_(vision.member).get(ALL))
    assert f'href="/jobs/{job.pk}"' in text and 'href="/jobs/new?project=vit&amp;definition=command"' in text
    text = text_of(as_(vision.viewer).get(ALL))
    assert f'href="/jobs/{job.pk}"' in text and "/jobs/new?" not in text and f'href="{NEW}' not in text


def test_a_list_is_narrowed_and_goes_on(as_, vision):
    for number in range(3):
        a_definition(project=vision.project, slug=f"train-{number}", title=f"Train {number}")
    browser = as_(vision.viewer)
    answer = browser.get(f"{ALL}?text=train&limit=2")
    assert [one.slug for one, _job in answer.context["rows"]] == ["train-0", "train-1"]
    assert answer["HX-Push-Url"] == f"{ALL}?text=train&limit=2"
    assert [one.slug for one, _job in browser.get(ALL + answer.context["more"]).context["rows"]] == ["train-2"]
    assert "No definition matches" in text_of(browser.get(f"{ALL}?text=nothing"))
    assert browser.get(f"{ALL}?cursor=x").status_code == 422
    assert browser.get(f"{ALL}?project=none").status_code == 404


def test_an_empty_list_teaches_the_next_step(as_, vision):
    empty = a_project(team=vision.team, slug="empty")
    assert f'href="{NEW}?project=empty"' in text_of(as_(vision.member).get(f"{ALL}?project={empty.slug}"))
    assert "You are in no project yet" in text_of(as_(a_user()).get(ALL))


# -- One of them ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_a_page_takes_eleven_queries_however_much_there_is(as_, vision, count, django_assert_num_queries):
    for number in range(count):
        a_definition(project=vision.project, by=vision.member, description=f"{number}", template=shipped.command()["template"])
        a_job(project=vision.project, by=vision.member)
    browser = as_(vision.member)
    # session, user, definition, role; its versions; ids of these, ids of its jobs, these jobs; conditions, the navigation
    with django_assert_num_queries(11):
        answer = browser.get(ONE)
    assert len(answer.context["jobs"]) == count


def test_a_page_tells_versions_and_who_launched_what(as_, vision):
    job = a_job(project=vision.project, by=vision.member)
    a_definition(project=vision.project, by=vision.member, note="a <b> note", **TRAIN | {"slug": "command"})
    text = text_of(as_(vision.viewer).get(ONE))
    assert f'href="/jobs/{job.pk}"' in text and "a &lt;b&gt; note" in text and f'href="{ONE}/versions/1"' in text
    assert f'href="{EDIT}' not in text and "/archival" not in text and "/jobs/new?" not in text
    text = text_of(as_(vision.member).get(ONE))
    assert f'href="{EDIT}"' in text and f'action="{ONE}/archival"' in text
    old = text_of(as_(vision.member).get(f"{ONE}/versions/1"))
    assert (
        "This is not the newest version" in old and "definition=command&amp;version=1" in old and f'href="{EDIT}?from=1"' in old
    )
    assert as_(vision.member).get(f"{ONE}/versions/3").status_code == 404


def test_a_secret_that_the_project_has_not_is_told(as_, vision):
    template = TRAIN["template"] | {"secrets": ["MINE", "OTHER"]}
    a_definition(project=vision.project, **TRAIN | {"slug": "train", "template": template})
    secrets.put(project=vision.project, name="MINE", value="long enough", by=Actor(user=vision.member))
    assert as_(vision.viewer).get("/definitions/vit/train").context["missing_secrets"] == ["OTHER"]


def test_two_versions_are_compared_and_one_with_what_is_shipped(as_, vision):
    a_definition(project=vision.project, title="Second", resources={"accelerator": "cpu", "chips": 7})
    browser = as_(vision.viewer)
    found = [(one.path, one.kind) for one in browser.get(f"{ONE}/comparison").context["differences"]]
    assert found == [("title", "changed"), ("resources.chips", "changed")]
    assert browser.get(f"{ONE}/comparison?from=2&to=1").context["differences"][1].after == 1
    assert browser.get(f"{ONE}/comparison?from=1&to=shipped").context["differences"] == []
    assert "They say the same" in text_of(browser.get(f"{ONE}/comparison?from=2&to=2"))
    for query in ("from=9", "from=x", "to=-1", f"to={'9' * 40}", "from=%00"):
        assert browser.get(f"{ONE}/comparison?{query}").status_code == 404


def test_an_archived_one_is_out_of_list_and_form_until_it_is_taken_out(as_, vision):
    browser = as_(vision.member)
    assert browser.post(f"{ONE}/archival")["Location"] == ONE
    assert "Archived by member" in text_of(browser.get(ONE))
    assert browser.get(ALL).context["rows"] == []
    assert browser.get(f"{ALL}?archived=yes").context["rows"][0][0].slug == "command"
    assert browser.get("/jobs/new?project=vit&definition=command").status_code == 409
    assert browser.post(f"{ONE}/archival/removal")["Location"] == ONE
    assert JobDefinition.objects.get().archived_at is None
    assert list(AuditEntry.objects.filter(verb__endswith="archive").values_list("verb", flat=True).order_by("pk")) == [
        "definition.archive",
        "definition.unarchive",
    ]


# -- Who may -------------------------------------------------------------------------------------------------


PAGES = [str(found.pattern) for found in urls.urlpatterns if str(found.pattern).startswith("definitions")]
CLICKS = {"definitions/preview", *(path for path in PAGES if "archival" in path)}


@pytest.mark.parametrize(
    ("who", "looks", "edits"),
    [("viewer", 200, {403}), ("member", 200, {200, 302, 422}), ("stranger", 404, {404}), ("operator", 200, {200, 302, 422})],
)
def test_who_may_what(as_, vision, who, looks, edits):
    browser = as_(getattr(vision, who))
    assert len(PAGES) == 9
    for pattern in PAGES:
        path = f"/{pattern}".replace("<str:project>", "vit").replace("<str:slug>", "command").replace("<int:number>", "1")
        if pattern in CLICKS or pattern.endswith("new"):
            assert browser.post(path, {"project": "vit"}).status_code in edits, path
        if pattern.endswith("new"):
            assert browser.get(f"{path}?project=vit").status_code in edits, path
        elif pattern not in CLICKS and path != ALL:
            assert browser.get(path).status_code == looks, path
    if who in ("viewer", "stranger"):
        assert (DefinitionVersion.objects.count(), JobDefinition.objects.get().archived_at) == (1, None)
    for pattern in PAGES:
        path = f"/{pattern}".replace("<str:project>", "vit").replace("<str:slug>", "command").replace("<int:number>", "1")
        assert Client().post(path).status_code in (302, 405), path


# -- Making one ----------------------------------------------------------------------------------------------


def test_what_is_filled_in_is_published_once_for_two_clicks(as_, vision):
    browser = as_(vision.member)
    answers = [browser.post(NEW, FORM) for _ in range(2)]
    assert {answer["Location"] for answer in answers} == {"/definitions/vit/train"}
    assert said() == TRAIN
    version = DefinitionVersion.objects.get(definition__slug="train")
    assert (version.number, version.note, version.created_by) == (1, "first", vision.member)
    by_htmx = browser.post(NEW, FORM, headers={"HX-Request": "true"})
    assert (by_htmx.status_code, by_htmx["HX-Redirect"]) == (200, "/definitions/vit/train")
    taken = browser.post(NEW, FORM | {"key": "another"})
    assert (taken.status_code, "There is a definition train" in text_of(taken)) == (409, True)
    assert DefinitionVersion.objects.filter(definition__slug="train").count() == 1


def test_its_errors_stand_at_their_fields_and_all_that_was_typed_stays(as_, vision):
    wrong = FORM | {"title": "", "row.0.default": "many", "resources.chips": "<b>", "slug": "A b", "row.0.more": "{"}
    answer = as_(vision.member).post(NEW, wrong)
    assert answer.status_code == 422
    text = text_of(answer)
    for id_, sentence in (
        ("definition-title", "is needed"),
        ("definition-resources-chips", "a whole number from 1 is needed"),
        ("definition-row-0-more", "line 1: A name in double quotes is needed."),
    ):
        assert f'<p class="errors" id="{id_}-error">{sentence}</p>' in text
    assert 'value="&lt;b&gt;"' in text and "many</textarea>" in text and 'value="A b"' in text
    answer = as_(vision.member).post(NEW, wrong | {"title": "x", "resources.chips": "1", "row.0.more": ""})
    assert '<p class="errors" id="definition-row-0-default-error">a whole number is needed</p>' in text_of(answer)
    assert JobDefinition.objects.count() == 1


def test_it_is_started_from_a_recipe_a_job_or_another_definition(as_, vision):
    a_definition(project=vision.project, **TRAIN | {"slug": "train"})
    job = a_job(project=vision.project, by=vision.member, command="echo of the job")
    browser = as_(vision.member)

    def title(query):
        return browser.get(f"{NEW}?project=vit&{query}").context["editor"].form.texts["title"]

    assert (
        title("from=recipe:digits_xla")
        == read({name: value for name, value in shipped.recipe("digits_xla").items() if name != "slug"}).title
    )
    assert title("from=definition:vit/train") == "Train"
    assert (title(f"job=%23{job.pk}"), title(f"from=job:{job.pk}")) == (job.name, job.name)
    form = browser.get(f"{NEW}?project=vit&job={job.pk}").context["editor"].form
    assert "echo of the job" in [row.texts["default"] for row in form.rows]
    for query in (
        "from=x",
        "from=recipe:none",
        "from=definition:vit/none",
        "job=99999",
        "job=x",
        "from=%00",
        "from=definition:vit/train@9",
    ):
        assert browser.get(f"{NEW}?project=vit&{query}").status_code == 404, query
    a_project(team=vision.stranger.memberships.get().team, slug="strangers")
    assert as_(vision.stranger).get(f"{NEW}?project=strangers&from=job:{job.pk}").status_code == 404


# -- Editing one ---------------------------------------------------------------------------------------------


def test_an_edit_makes_the_next_version_and_the_same_again_none(as_, vision):
    browser = as_(vision.member)
    assert browser.post(EDIT, as_text(note="mine"))["Location"] == ONE
    assert (said("command"), DefinitionVersion.objects.order_by("-pk").first().note) == (TRAIN, "mine")
    again = browser.post(EDIT, as_text(base=2, key="other"), follow=True)
    assert "Nothing has changed: version 2 says this already" in text_of(again)
    assert DefinitionVersion.objects.count() == 2


def test_it_is_seen_as_form_as_yaml_and_as_json_and_nothing_is_lost(as_, vision):
    browser = as_(vision.member)
    page = browser.post(EDIT, as_text() | {"to": "yaml"})
    editor = page.context["editor"]
    assert (editor.view, "epochs:" in editor.text, page.status_code) == ("yaml", True, 200)
    assert re.findall(r'name="to" value="(\w+)" aria-pressed="(\w+)"', text_of(page)) == [
        ("form", "false"),
        ("yaml", "true"),
        ("json", "false"),
    ]
    editor = browser.post(EDIT, as_text(editor.text, view="yaml") | {"to": "form"}).context["editor"]
    assert (editor.view, editor.form.document()) == ("form", TRAIN)
    assert DefinitionVersion.objects.count() == 1


def test_what_the_form_has_no_field_for_keeps_it_a_text_and_says_why(as_, vision):
    strange = TRAIN | {"template": TRAIN["template"] | {"unheard": 1}}
    answer = as_(vision.member).post(EDIT, as_text(strange) | {"to": "form"})
    assert answer.context["editor"].view == "json"
    assert problems(answer)[0][:2] == ("template.unheard", 9)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("{", 1, "A name in double quotes is needed."),
        ("[]", 1, "A definition is an object"),
        (json.dumps(TRAIN | {"parameters": {"properties": {"a": {"$ref": "http://x/y"}}}}, indent=2), 13, "asks no network"),
        (json.dumps(TRAIN | {"parameters": {"type": "nonsense"}}, indent=2), 11, "there is no such type"),
        (json.dumps(TRAIN | {"title": "x" * 1_000_000}), 1, "It is larger than 512 KiB."),
        ("[" * 100_000, 1, "nested too deeply"),
    ],
)
def test_what_is_wrong_in_a_text_is_told_with_its_line(as_, vision, text, line, words):
    answer = as_(vision.member).post(EDIT, as_text(text))
    assert answer.status_code == 422
    assert any(found == line and words in sentence for _title, found, sentence in problems(answer)), problems(answer)
    assert DefinitionVersion.objects.count() == 1


@pytest.mark.thorough
@pytest.mark.parametrize("field", [*(name for name in FORM if name not in ("project", "view", "row")), "text"])
@pytest.mark.parametrize("value", ["x" * 1_000_000, "nul\0", "\u202e", "${nothing}"], ids=["1MB", "nul", "bidi", "place"])
def test_whatever_stands_in_a_field_is_answered(as_, vision, field, value):
    browser = as_(vision.member)
    for sent in (FORM | {field: value}, as_text() | {field: value}):
        for path in (NEW, PREVIEW):
            assert browser.post(path, sent).status_code < 500, (path, field)


def test_rows_come_go_and_move(as_, vision):
    browser = as_(vision.member)

    def names(act, **more):
        editor = browser.post(NEW, FORM | more | {"act": act}).context["editor"]
        return [row.texts.get("name", "") for row in editor.form.rows]

    two = {"row": ["0", "7"], "row.7.name": "lr", "row.7.kind": "number"}
    assert names("add") == ["epochs", ""]
    assert (names("up:7", **two), names("down:0", **two), names("up:0", **two)) == (
        ["lr", "epochs"],
        ["lr", "epochs"],
        ["epochs", "lr"],
    )
    assert (names("remove:0", **two), names("remove:x", **two), names("nonsense", **two)) == (
        ["lr"],
        ["epochs", "lr"],
        ["epochs", "lr"],
    )
    assert JobDefinition.objects.count() == 1


# -- The form that it makes ------------------------------------------------------------------------------------


def test_the_preview_draws_the_fields_or_tells_what_is_wrong(as_, vision):
    browser = as_(vision.member)
    text = text_of(browser.post(PREVIEW, FORM))
    assert "Nothing is wrong with it." in text and re.search(r'name="parameters.epochs" value="3"', text)
    text = text_of(browser.post(PREVIEW, FORM | {"row.0.minimum": "9", "title": ""}))
    assert 'href="#definition-title"' in text and 'name="parameters.epochs"' not in text
    assert DefinitionVersion.objects.count() == 1


# -- Two people ----------------------------------------------------------------------------------------------


def others(vision, **more):
    """What someone else publishes meanwhile."""
    changed = {"title": "Theirs", **more}
    definitions.publish(
        project=vision.project, by=Actor(user=vision.operator), now=NOON, **shipped.command() | changed, note="why"
    )


def test_the_second_of_two_is_shown_what_changed_and_loses_nothing(as_, vision):
    browser, mine = as_(vision.member), Wording.of(vision.version).document() | {"description": "mine"}
    others(vision)
    answer = browser.post(EDIT, as_text(mine))
    assert answer.status_code == 409
    text = text_of(answer)
    assert "operator published version 2 meanwhile; yours began from version 1." in text
    assert (
        "<del>Command</del>" in text and "<ins>Theirs</ins>" in text and "You have changed other things than they have." in text
    )
    assert '"description": "mine"' in text.replace("&quot;", '"')
    assert DefinitionVersion.objects.count() == 2
    merged = browser.post(EDIT, as_text(mine) | {"act": "merge"})
    assert (merged.context["editor"].base, merged.context["merged"]) == (2, {"number": 2, "both": []})
    assert browser.post(EDIT, as_text(merged.context["editor"].text, base=2)).status_code == 302
    assert (said("command")["title"], said("command")["description"]) == ("Theirs", "mine")


def test_where_both_changed_the_same_the_typed_stands_and_is_told(as_, vision):
    mine = Wording.of(vision.version).document() | {"title": "Mine"}
    others(vision)
    browser = as_(vision.member)
    assert "Both of you have changed: Title." in text_of(browser.post(EDIT, as_text(mine)))
    merged = browser.post(EDIT, as_text(mine) | {"act": "merge"})
    assert (merged.context["merged"]["both"], '"Mine"' in merged.context["editor"].text) == (["Title"], True)


def test_who_publishes_over_it_does_so_over_what_was_shown_only(as_, vision):
    mine = Wording.of(vision.version).document() | {"title": "Mine"}
    others(vision)
    others(vision, title="Newer")
    browser = as_(vision.member)
    assert browser.post(EDIT, as_text(mine, over="2")).status_code == 409
    assert browser.post(EDIT, as_text(mine, over="3")).status_code == 302
    assert said("command")["title"] == "Mine"


def test_a_base_that_was_never_there_is_answered(as_, vision):
    browser = as_(vision.member)
    for base in ("9", "x", "0", "9" * 30):
        answer = browser.post(EDIT, as_text(base=base))
        assert answer.status_code < 500, base
        assert browser.post(EDIT, as_text(base=base) | {"act": "merge"}).status_code < 500, base
    assert DefinitionVersion.objects.count() == 1


def test_a_stranger_teams_definition_is_not_there(as_, vision):
    other = a_project(team=a_team(), slug="theirs")
    a_definition(project=other)
    browser = as_(vision.member)
    for path in ("", "/versions/1", "/comparison", "/versions/new"):
        assert browser.get(f"/definitions/theirs/command{path}").status_code == 404
    assert browser.post(NEW, FORM | {"project": "theirs"}).status_code == 404
