from __future__ import annotations

from tests.monitoring.conftest import shared_database  # noqa: F401  a fixture
