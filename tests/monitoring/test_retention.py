"""What is stored of old work, and what the database knows of its rows."""

from __future__ import annotations

import pytest
from django.db import connection

from monitoring import retention
from monitoring.models import Condition

from .conftest import NOON


@pytest.mark.django_db
def test_sqlite_counts_its_rows_when_told():
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL looks by itself")
    Condition.objects.create(code="test", since=NOON)
    retention.count_anew()
    with connection.cursor() as cursor:
        found = cursor.execute("SELECT stat FROM sqlite_stat1 WHERE tbl = 'monitoring_condition'").fetchall()
    assert found == [("1 1",)]
