import pytest

from projects import services
from projects.actors import Actor
from projects.errors import Invalid
from projects.models import AuditEntry, Project, Team
from tests.factories import a_team, a_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def by(db):
    return Actor(user=a_user(username="operator", is_superuser=True))


def audited():
    return list(AuditEntry.objects.order_by("pk").values_list("verb", "subject_title", "data"))


def test_a_team_begins_empty(by):
    team = services.create_team(slug="vision", name="Vision", by=by)
    assert list(Team.objects.values_list("pk", "slug", "name")) == [(team.pk, "vision", "Vision")]
    assert not team.memberships.exists()
    assert audited() == [("team.create", "vision", {})]


def test_a_project_is_its_teams(by):
    team = a_team(slug="vision")
    project = services.create_project(team=team, slug="vit", name="ViT", by=by)
    assert (Project.objects.get().team, Project.objects.get().slug) == (team, "vit")
    assert audited() == [("project.create", "vit", {"team": "vision"})]
    assert AuditEntry.objects.get().project == project


@pytest.mark.parametrize("slug", ["", "Vision", "-a", "a-", "a_b", "a" * 64, "vision\n", "é"])
def test_a_slug_that_is_none_is_refused(by, slug):
    team = a_team()
    for create in (
        lambda: services.create_team(slug=slug, name="x", by=by),
        lambda: services.create_project(team=team, slug=slug, name="x", by=by),
    ):
        with pytest.raises(Invalid) as wrong:
            create()
        assert list(wrong.value.fields) == ["slug"]
    assert (Team.objects.count(), Project.objects.count(), audited()) == (1, 0, [])


def test_a_slug_that_is_taken_is_refused_even_when_another_was_quicker(by, monkeypatch):
    one, other = a_team(slug="vision"), a_team(slug="speech")
    services.create_project(team=one, slug="vit", name="ViT", by=by)
    for _ in ("looked at", "taken between look and insert"):
        for create in (
            lambda: services.create_team(slug="vision", name="x", by=by),
            lambda: services.create_project(team=other, slug="vit", name="x", by=by),
        ):
            with pytest.raises(Invalid) as wrong:
                create()
            assert list(wrong.value.fields) == ["slug"]
        monkeypatch.setattr("django.db.models.Model.validate_unique", lambda *_args, **_more: None)
    assert (Team.objects.count(), Project.objects.count(), len(audited())) == (2, 1, 1)


def test_a_name_is_changed_and_the_slug_stays(by):
    project = services.create_project(team=a_team(slug="vision"), slug="vit", name="ViT", by=by)
    services.rename_project(project=project, name="  Vision 视觉 رؤية ", by=by)
    services.rename_team(team=project.team, name="Seeing", by=by)
    services.rename_team(team=project.team, name="Seeing", by=by)
    assert Project.objects.values_list("slug", "name", "team__slug", "team__name").get() == (
        "vit",
        "Vision 视觉 رؤية",
        "vision",
        "Seeing",
    )
    assert audited()[1:] == [
        ("project.rename", "vit", {"was": "ViT", "name": "Vision 视觉 رؤية"}),
        ("team.rename", "vision", {"was": "A team", "name": "Seeing"}),
    ]


@pytest.mark.parametrize(
    "name", ["", "   ", "x" * 101, "x" * 1_000_000, "a\0b"], ids=["none", "blank", "long", "megabyte", "nul"]
)
def test_a_name_that_is_none_changes_nothing(by, name):
    project = services.create_project(team=a_team(slug="vision"), slug="vit", name="ViT", by=by)
    for rename in (
        lambda: services.rename_project(project=project, name=name, by=by),
        lambda: services.rename_team(team=project.team, name=name, by=by),
    ):
        with pytest.raises(Invalid) as wrong:
            rename()
        assert list(wrong.value.fields) == ["name"]
    assert (project.name, Project.objects.get().name, len(audited())) == ("ViT", "ViT", 1)
