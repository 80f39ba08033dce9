from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from jobs import shipped
from jobs.models import JobDefinition
from projects.models import Project
from tests.factories import a_project

pytestmark = pytest.mark.django_db


def test_a_project_has_at_once_what_the_panel_ships():
    team = a_project().team
    call_command("add_project", "segmentation", team=team.slug)
    found = JobDefinition.objects.filter(project__slug="segmentation").values_list("slug", flat=True)
    assert set(found) == {wording["slug"] for wording in shipped.shipped()}


@pytest.mark.parametrize(("slug", "team", "said"), [("x", "none", "no team none"), ("No Slug", None, "slug: ")])
def test_what_cannot_be_made_is_said_in_a_sentence_and_nothing_is_made(slug, team, said):
    known = a_project().team.slug
    with pytest.raises(CommandError, match=said):
        call_command("add_project", slug, team=team or known)
    assert Project.objects.count() == 1
