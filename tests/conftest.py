from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.utils import translation
from django.utils.translation import trans_real

from controlpanel import words
from tests.valkey import Valkey


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("postgresql") and connection.vendor != "postgresql":
        pytest.skip("means something on PostgreSQL only: python -m tests.postgresql python -m pytest -m postgresql")


@pytest.fixture(scope="session")
def valkey_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    """One real Valkey for each test process."""
    server = Valkey(tmp_path_factory.mktemp("valkey")).start()
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def _surroundings(settings, tmp_path, request):
    """Each test has its own folders, and an empty Valkey when it touches one."""
    settings.STORAGES = settings.STORAGES | {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": tmp_path / "stored"}},
        "logs": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": tmp_path / "logs"}},
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    settings.SECRETS_KEY_FILE = tmp_path / "secrets_key"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # nothing listens there: a test that needs Redis asks for `valkey`


@pytest.fixture
def valkey(settings, valkey_server: Valkey) -> Valkey:
    """The test process's Valkey, emptied."""
    settings.REDIS_URL = valkey_server.url
    valkey_server.client().flushall()
    return valkey_server


@pytest.fixture
def languages(settings, tmp_path) -> Iterator[None]:
    """The catalogues as `manage.py prepare` makes them; Django reads them anew before and after."""
    settings.LOCALE_PATHS = [tmp_path / "locale"]
    words.compile_all()
    trans_real._translations.clear()
    yield
    translation.deactivate()  # of the last request
    trans_real._translations.clear()
