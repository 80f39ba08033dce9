from types import SimpleNamespace

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection, transaction

from projects import audit
from projects.actors import Actor
from projects.models import AuditEntry
from tests.factories import a_project, a_user


@pytest.mark.django_db
def test_an_entry_says_who_did_what_to_what_through_what():
    user, project = a_user(username="ada"), a_project()
    job = SimpleNamespace(kind="job", key="17", title="vit-b16")
    audit.record("job.cancel", by=Actor(user=user, token_id=5), subject=job, project=project, force=True)
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.user, entry.user_name, entry.token_id, entry.project) == ("job.cancel", user, "ada", 5, project)
    assert (entry.subject_kind, entry.subject_id, entry.subject_title, entry.data) == ("job", "17", "vit-b16", {"force": True})


@pytest.mark.django_db
def test_the_panel_itself_has_no_name_and_a_subject_may_be_three_words_or_none():
    nobody = Actor(user=AnonymousUser())
    audit.record("host.lost", by=nobody, subject=("host", "7", "tpu-3"))
    audit.record("panel.start", by=nobody)
    assert list(
        AuditEntry.objects.order_by("pk").values_list("user", "user_name", "subject_kind", "subject_id", "subject_title")
    ) == [
        (None, "", "host", "7", "tpu-3"),
        (None, "", "", "", ""),
    ]


@pytest.mark.django_db(transaction=True)
def test_an_entry_outside_a_transaction_is_refused():
    with pytest.raises(RuntimeError, match="outside a transaction"):
        audit.record("job.cancel", by=Actor(user=a_user()))
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db
def test_what_is_rolled_back_leaves_no_entry():
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        audit.record("job.cancel", by=Actor(user=a_user()))
        raise ZeroDivisionError
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db
def test_a_projects_audit_is_read_newest_first_by_its_index():
    project, by = a_project(), Actor(user=a_user())
    for verb in ("one", "two", "three"):
        audit.record(verb, by=by, project=project)
    audit.record("elsewhere", by=by, project=a_project())
    newest = AuditEntry.objects.filter(project=project).newest_first()
    assert [entry.verb for entry in newest] == ["three", "two", "one"]
    if connection.vendor == "sqlite":  # PostgreSQL rightly scans three rows
        assert "audit_of_a_project" in newest.explain()
        assert "TEMP B-TREE" not in newest.explain()
