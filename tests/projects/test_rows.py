"""Many rows by one statement."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from projects.models import AuditEntry
from projects.rows import insert
from tests.factories import NOON, a_project

pytestmark = pytest.mark.django_db


def test_rows_are_as_the_models_own(django_assert_num_queries):
    project = a_project()
    same = {"at": NOON, "verb": "job.cancel", "user": None, "user_name": "名 '\"%s", "token_id": None, "data": {"force": False}}
    names = ("project", "subject_kind", "subject_id", "subject_title")
    with django_assert_num_queries(1):
        insert(AuditEntry, same, names, [(project.pk, "job", "1", "a"), (None, "job", "2", "b")])
    one, two = AuditEntry.objects.order_by("pk")
    assert (one.at, one.data, one.project, one.subject_id, one.user_name) == (NOON, {"force": False}, project, "1", "名 '\"%s")
    assert (two.project, two.subject_title) == (None, "b")


def test_a_row_that_the_database_refuses_leaves_none():
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(AuditEntry, {"at": NOON}, ("verb",), [("a",), (None,)])
    assert not AuditEntry.objects.exists()
