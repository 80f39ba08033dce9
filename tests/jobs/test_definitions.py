import json

import pytest

from clusters import sources
from jobs import definitions, shipped
from jobs.models import DefinitionVersion, JobDefinition
from projects.actors import Actor
from projects.errors import NotFound
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
    [{"template": {"command": ["other"]}}, {"parameters": {"type": "object"}}, {"resources": {"accelerator": "cpu", "chips": 2}}],
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
    for definition in shipped.shipped():
        definitions.publish(project=project, by=by, now=NOON, **definition)
    slugs = set(project.definitions.values_list("slug", flat=True))
    assert slugs == {"command", "script", "archive", "git", *(name.replace("_", "-") for name in sources.recipes())}


def test_a_recipe_is_shipped_with_its_own_source(settings, tmp_path):
    settings.BASE_DIR = tmp_path
    (tmp_path / "recipes" / "digits_tf").mkdir(parents=True)
    recipe = {"title": "Digits", "template": {"command": ["python", "train.py"]}, "parameters": {}, "resources": {}}
    (tmp_path / "recipes" / "digits_tf" / "recipe.json").write_text(json.dumps(recipe))
    slugs = [definition["slug"] for definition in shipped.shipped()]
    digits = shipped.shipped()[-1]
    assert (slugs, digits["title"]) == (["command", "script", "archive", "git", "digits-tf"], "Digits")
    assert digits["template"] == {"command": ["python", "train.py"], "source": {"kind": "recipe", "name": "digits_tf"}}
