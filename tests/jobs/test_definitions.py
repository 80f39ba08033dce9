import json

import pytest

from clusters import sources
from jobs import definitions, shipped
from jobs import wording as wordings
from jobs.models import DefinitionVersion, JobDefinition
from projects.actors import Actor
from projects.errors import Conflict, Invalid, NotFound
from projects.models import AuditEntry
from tests.factories import NOON, a_definition, a_project, a_user

pytestmark = pytest.mark.django_db


def test_what_is_published_is_version_one_and_audited():
    project, user = a_project(slug="vit"), a_user(username="ada")
    version = a_definition(project=project, by=user)
    assert (version.number, version.created_by, version.created_at) == (1, user, NOON)
    assert (version.definition.project, version.definition.slug, version.definition.title) == (project, "command", "Command")
    assert (version.template, version.resources) == (shipped.command()["template"], {"accelerator": "cpu", "chips": 1})
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.subject_title, entry.project, entry.data) == (
        "definition.publish",
        "command",
        project,
        {"version": 1},
    )


def test_the_same_wording_is_the_same_version():
    project = a_project()
    assert a_definition(project=project) == a_definition(project=project)
    assert (DefinitionVersion.objects.count(), AuditEntry.objects.count()) == (1, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"template": {"command": ["other"]}},
        {"parameters": shipped.command()["parameters"] | {"additionalProperties": True}},
        {"resources": {"accelerator": "cpu", "chips": 2}},
        {"title": "Another"},
        {"description": "More words"},
        {"retries": {"user_code": {"times": 1}}},
    ],
)
def test_another_wording_is_the_next_version_and_the_old_one_stays(change):
    project = a_project()
    old = a_definition(project=project)
    new = a_definition(project=project, **change)
    assert (new.number, new.definition) == (2, old.definition)
    old.refresh_from_db()
    assert (old.template, old.parameters) == (shipped.command()["template"], shipped.command()["parameters"])
    assert definitions.get_version(project, "command") == new
    assert a_definition(project=project).number == 3  # back to the first wording


def test_the_definition_has_the_title_of_its_newest_version():
    project = a_project()
    a_definition(project=project)
    a_definition(project=project, title="Shell")
    assert [version.title for version in DefinitionVersion.objects.order_by("number")] == ["Command", "Shell"]
    assert JobDefinition.objects.get().title == "Shell"


def test_a_version_is_never_changed():
    version = a_definition()
    version.template = {"command": ["rm"]}
    with pytest.raises(TypeError, match="immutable"):
        version.save()
    assert DefinitionVersion.objects.get().template == shipped.command()["template"]


def test_each_project_has_its_own():
    one, other = a_project(), a_project()
    a_definition(project=one)
    assert a_definition(project=other).number == 1
    assert JobDefinition.objects.count() == 2


def test_an_unknown_one_is_named_with_those_that_there_are():
    project = a_project()
    a_definition(project=project)
    a_definition(project=project, slug="another")
    with pytest.raises(NotFound) as refused:
        definitions.get_version(project, "train")
    assert (refused.value.code, refused.value.data) == ("no-such-definition", {"known": ["another", "command"]})
    with pytest.raises(NotFound):
        definitions.get_version(a_project(), "command")


def test_what_the_panel_ships_can_be_published(db):
    project, by = a_project(), Actor(user=a_user(is_superuser=True))
    for _ in range(2):
        for definition in shipped.shipped():
            definitions.ship(project=project, by=by, now=NOON, **definition)
    assert set(DefinitionVersion.objects.values_list("number", "is_shipped")) == {(1, True)}
    slugs = set(project.definitions.values_list("slug", flat=True))
    assert slugs == {"command", "script", "archive", "git", *(name.replace("_", "-") for name in sources.recipes())}


# -- Edited by people and scripts ------------------------------------------------------------------------------

COMMAND = {name: value for name, value in shipped.command().items() if name != "slug"}


@pytest.fixture
def of_vit(db):
    """edit(number of its base, title="..."): an edit of the definition `command`, which the panel has shipped."""
    project, user = a_project(slug="vit"), a_user(username="ada")
    definitions.ship(project=project, by=Actor(user=user), now=NOON, **shipped.command())

    def edit(base=None, slug="command", note="", **changed):
        wording = wordings.read(COMMAND | changed)
        return definitions.edit(project=project, slug=slug, wording=wording, by=Actor(user=user), now=NOON, note=note, base=base)

    return edit


def test_an_edit_makes_a_version_with_its_note_and_the_same_again_makes_none(of_vit):
    version, is_made = of_vit(1, title="Shell", note="A better name")
    assert (version.number, version.title, version.note, version.is_shipped, is_made) == (
        2,
        "Shell",
        "A better name",
        False,
        True,
    )
    assert of_vit(2, title="Shell", note="Once more") == (version, False)
    assert of_vit(1, title="Shell") == (version, False)  # two people with the same idea are no conflict
    assert DefinitionVersion.objects.count() == 2


def test_the_second_of_two_editors_is_told_who_was_first(of_vit):
    of_vit(1, title="Shell")
    with pytest.raises(Conflict) as refused:
        of_vit(1, title="Line")
    assert (refused.value.code, refused.value.data) == ("definition-changed", {"newest": 2, "base": 1})
    assert str(refused.value) == "ada published version 2 meanwhile; yours began from version 1."
    assert DefinitionVersion.objects.count() == 2
    assert of_vit(2, title="Line")[0].number == 3
    assert of_vit(None, title="Whatever there is")[0].number == 4


def test_a_new_one_needs_a_name_that_is_free(of_vit):
    with pytest.raises(Conflict) as refused:
        of_vit(definitions.NEW, title="Other")
    assert (refused.value.code, DefinitionVersion.objects.count()) == ("definition-exists", 1)
    assert of_vit(definitions.NEW, slug="other", title="Other")[0].number == 1


@pytest.mark.parametrize("slug", ["", "Big", "a_b", "-a", "a" * 64, "nul\0", "\u202ea"])
def test_a_name_fits_an_address(of_vit, slug):
    with pytest.raises(Invalid) as refused:
        of_vit(slug=slug)
    assert list(refused.value.fields) == ["slug"]


@pytest.mark.parametrize("note", ["x" * 201, "two\nlines", "nul\0", "\u202e"])
def test_a_note_is_a_line(of_vit, note):
    with pytest.raises(Invalid) as refused:
        of_vit(note=note, title="x")
    assert list(refused.value.fields) == ["note"]


def test_what_it_names_must_be_there(of_vit):
    with pytest.raises(Invalid) as refused:
        of_vit(template={"command": ["true"], "runtime": {"name": "jax"}}, note="x" * 201)
    assert sorted(refused.value.fields) == ["note", "template.runtime.name"]


def test_a_teams_edit_is_left_alone_until_it_says_again_what_is_shipped(of_vit, monkeypatch):
    of_vit(1, title="Ours")
    project, by = JobDefinition.objects.get().project, Actor(user=a_user())

    def ship(**changed):
        return definitions.ship(project=project, by=by, now=NOON, **shipped.command() | changed).number

    assert (ship(), ship(title="A new release")) == (2, 2)
    back, _is_made = of_vit(2)
    assert (back.number, back.is_shipped) == (3, True)
    assert ship(title="A new release") == 4
    assert DefinitionVersion.objects.get(number=4).is_shipped


# -- Archived --------------------------------------------------------------------------------------------------


def test_what_is_archived_is_launched_by_nobody_until_it_comes_back(of_vit):
    definition, by = JobDefinition.objects.get(), Actor(user=a_user())
    for _ in range(2):
        definitions.archive(definition=definition, by=by, now=NOON)
    definition.refresh_from_db()
    assert (definition.archived_at, definition.archived_by) == (NOON, by.user)
    assert not JobDefinition.objects.launchable().exists()
    with pytest.raises(Conflict) as refused:
        definitions.get_version(definition.project, "command")
    assert refused.value.code == "definition-archived"
    for _ in range(2):
        definitions.unarchive(definition=definition, by=by)
    assert definitions.get_version(definition.project, "command").number == 1
    verbs = AuditEntry.objects.filter(verb__contains="archive").order_by("pk").values_list("verb", flat=True)
    assert list(verbs) == ["definition.archive", "definition.unarchive"]


def test_a_launch_may_name_a_version(of_vit):
    of_vit(1, title="Shell")
    project = JobDefinition.objects.get().project
    assert [definitions.get_version(project, "command", number).title for number in (1, 2, None)] == ["Command", "Shell", "Shell"]
    for number in (0, 3, 10**30):
        with pytest.raises(NotFound) as refused:
            definitions.get_version(project, "command", number)
        assert refused.value.code == "no-such-version"


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Train ViT (large)", "train-vit-large"),
        ("Größe", "groe"),
        ("训练", ""),
        ("x" * 80, "x" * 63),
        ("_a_b_", "a-b"),
        ("a - ", "a"),
    ],
)
def test_a_title_makes_a_name(title, slug):
    assert definitions.name_of(title) == slug


# -- Shipped ---------------------------------------------------------------------------------------------------


def test_a_recipe_is_shipped_with_its_own_source(settings, tmp_path):
    settings.BASE_DIR = tmp_path
    (tmp_path / "recipes" / "digits_tf").mkdir(parents=True)
    recipe = {"title": "Digits", "template": {"command": ["python", "train.py"]}, "parameters": {}, "resources": {}}
    (tmp_path / "recipes" / "digits_tf" / "recipe.json").write_text(json.dumps(recipe))
    slugs = [definition["slug"] for definition in shipped.shipped()]
    digits = shipped.shipped()[-1]
    assert (slugs, digits["title"]) == (["command", "script", "archive", "git", "digits-tf"], "Digits")
    assert digits["template"] == {"command": ["python", "train.py"], "source": {"kind": "recipe", "name": "digits_tf"}}
