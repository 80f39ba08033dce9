from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from clusters.models import Cluster
from projects.models import AuditEntry

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("given", "kept"), [({}, 900), ({"lost_after": 0}, None), ({"lost_after": 60}, 60)])
def test_a_cluster_is_made_that_gives_up_silent_hosts_when_told(given, kept):
    call_command("add_cluster", "lab", **given)
    assert list(Cluster.objects.values_list("name", "accelerator", "lost_after_s")) == [("lab", "cpu", kept)]
    assert AuditEntry.objects.get().verb == "cluster.create"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("The Lab",), "name: "),
        (("known",), "name: .*exists"),
        (("lab", "--lost-after", "-5"), "lost_after_s: "),
        (("lab", "--files-root", "data"), "files_root: A folder's whole path"),
        (("lab", "--accelerator", "abacus"), "invalid choice"),
    ],
)
def test_what_cannot_be_made_is_said_in_a_sentence_and_nothing_is_made(arguments, said):
    call_command("add_cluster", "known")
    with pytest.raises(CommandError, match=said):
        call_command("add_cluster", *arguments)
    assert Cluster.objects.count() == 1
