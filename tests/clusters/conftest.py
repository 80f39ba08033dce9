from __future__ import annotations

import pytest
from django.db import connection

from tests.monitoring.conftest import shared_database  # noqa: F401  a fixture


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("postgresql") and connection.vendor != "postgresql":
        pytest.skip("means something on PostgreSQL only: python -m tests.postgresql python -m pytest -m postgresql")
