import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.db import connection

from agent import launching
from projects import secrets, variables
from projects.actors import Actor
from projects.errors import Conflict, Invalid, NotFound
from projects.models import AuditEntry, Secret
from tests.factories import a_project, a_user

pytestmark = pytest.mark.django_db

VALUE = "hunter2-hunter2"


@pytest.fixture
def project(db):
    return a_project()


@pytest.fixture
def by(db):
    return Actor(user=a_user(username="ada"))


def test_a_secret_comes_back_as_it_was_put(project, by):
    secrets.put(project=project, name="WANDB_KEY", value="schlüssel\n" + VALUE, by=by)
    secrets.put(project=project, name="OTHER", value=VALUE, by=by)
    assert secrets.reveal(project.pk, ["WANDB_KEY"]) == {"WANDB_KEY": "schlüssel\n" + VALUE}
    assert secrets.reveal(project.pk, []) == {}
    assert secrets.names(project) == ["OTHER", "WANDB_KEY"]
    assert Secret.objects.get(name="OTHER").updated_by == by.user


def test_its_value_stands_nowhere_in_clear(project, by, settings):
    secrets.put(project=project, name="KEY", value=VALUE, by=by)
    with connection.cursor() as cursor:
        for table in ("projects_secret", "projects_auditentry"):
            cursor.execute(f"SELECT * FROM {table}")
            assert VALUE.encode() not in b" ".join(
                bytes(x) if isinstance(x, bytes | memoryview) else str(x).encode() for x in cursor.fetchone()
            )
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.subject_kind, entry.subject_title, entry.project) == ("secret.put", "secret", "KEY", project)
    assert entry.data == {"made": True}


def test_put_again_it_has_the_new_value(project, by):
    first = secrets.put(project=project, name="KEY", value=VALUE, by=by)
    second = secrets.put(project=project, name="KEY", value=VALUE + "!", by=by)
    assert secrets.reveal(project.pk, ["KEY"]) == {"KEY": VALUE + "!"}
    assert (second.pk, second.updated_at > first.updated_at) == (first.pk, True)
    assert [entry.data["made"] for entry in AuditEntry.objects.order_by("pk")] == [True, False]


@pytest.mark.parametrize("value", ["", "1234567", "€€", "x" * (64 * 1024 + 1), "\ud800" * 8])
def test_a_value_of_a_wrong_size_is_refused(project, by, value):
    with pytest.raises(Invalid) as wrong:
        secrets.put(project=project, name="KEY", value=value, by=by)
    assert list(wrong.value.fields) == ["value"]
    assert not Secret.objects.exists() and not AuditEntry.objects.exists()


@pytest.mark.parametrize("value", ["12345678", "€€€", "x" * 64 * 1024])
def test_a_value_is_measured_in_bytes(project, by, value):
    secrets.put(project=project, name="KEY", value=value, by=by)
    assert secrets.reveal(project.pk, ["KEY"]) == {"KEY": value}


@pytest.mark.parametrize("name", ["", "1KEY", "A-B", "KEY\n", "É", "A" * 101])
def test_a_name_that_is_no_variables_is_refused(project, by, name):
    with pytest.raises(Invalid) as wrong:
        secrets.put(project=project, name=name, value=VALUE, by=by)
    assert list(wrong.value.fields) == ["name"]
    assert not Secret.objects.exists()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("PANEL_RANK", "the panel's own"),
        ("VIRTUAL_ENV", "the panel's own"),
        ("PATH", "steers how programs start"),
        ("HOME", "steers how programs start"),
        ("LD_PRELOAD", "steers how programs start"),
        ("LD_LIBRARY_PATH", "steers how programs start"),
        ("LC_ALL", "steers how programs start"),
        ("PYTHONPATH", "steers how programs start"),
        ("PYTHONUNBUFFERED", "steers how programs start"),
        ("BASH_ENV", "steers how programs start"),
    ],
)
def test_a_name_that_would_break_or_take_over_the_command_is_refused(project, by, name, why):
    with pytest.raises(Invalid, match=why) as wrong:
        secrets.put(project=project, name=name, value=VALUE, by=by)
    assert list(wrong.value.fields) == ["name"]
    assert not Secret.objects.exists()


def test_what_a_host_gives_each_command_is_no_name_of_a_secret():
    assert [name for name in launching.PASSED_ON if not variables.is_obeyed(name)] == []


@pytest.mark.parametrize("name", ["PATH_TOKEN", "HOMES", "PYTHONANYWHERE_TOKEN", "LDAP_PASSWORD", "path"])
def test_a_name_that_only_resembles_such_a_one_is_taken(project, by, name):
    secrets.put(project=project, name=name, value=VALUE, by=by)
    assert secrets.names(project) == [name]


def test_a_secret_of_another_project_is_missing(project, by):
    secrets.put(project=a_project(), name="KEY", value=VALUE, by=by)
    secrets.put(project=project, name="MINE", value=VALUE, by=by)
    with pytest.raises(Conflict) as missing:
        secrets.reveal(project.pk, ["MINE", "KEY", "ALSO"])
    assert (missing.value.code, missing.value.data) == ("secret-missing", {"names": ["ALSO", "KEY"]})
    assert "ALSO, KEY" in missing.value.sentence


def test_a_removed_secret_is_gone(project, by):
    secrets.put(project=project, name="KEY", value=VALUE, by=by)
    secrets.remove(project=project, name="KEY", by=by)
    assert not Secret.objects.exists()
    assert [entry.verb for entry in AuditEntry.objects.order_by("pk")] == ["secret.put", "secret.remove"]
    with pytest.raises(NotFound):
        secrets.remove(project=project, name="KEY", by=by)
    assert AuditEntry.objects.count() == 2


def test_with_another_key_secrets_cannot_be_read(project, by, settings):
    secrets.put(project=project, name="KEY", value=VALUE, by=by)
    kept = Path(settings.SECRETS_KEY_FILE).read_bytes()
    for key in (None, b"", b"no key", b"A" * 43 + b"="):
        Path(settings.SECRETS_KEY_FILE).unlink(missing_ok=True)
        if key is not None:
            Path(settings.SECRETS_KEY_FILE).write_bytes(key)
        with pytest.raises(Conflict) as unreadable:
            secrets.reveal(project.pk, ["KEY"])
        assert unreadable.value.code == "secret-unreadable"
        assert VALUE not in unreadable.value.sentence
    Path(settings.SECRETS_KEY_FILE).write_bytes(kept)
    assert secrets.reveal(project.pk, ["KEY"]) == {"KEY": VALUE}


def test_reading_makes_no_key(project, by, settings):
    secrets.put(project=project, name="KEY", value=VALUE, by=by)
    Path(settings.SECRETS_KEY_FILE).unlink()
    with pytest.raises(Conflict):
        secrets.reveal(project.pk, ["KEY"])
    assert not Path(settings.SECRETS_KEY_FILE).exists()


def test_the_key_is_its_owners_alone_and_made_once(project, by, settings):
    secrets.put(project=project, name="KEY", value=VALUE, by=by)
    made = Path(settings.SECRETS_KEY_FILE)
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    before = made.read_bytes()
    secrets.put(project=project, name="OTHER", value=VALUE, by=by)
    assert made.read_bytes() == before
    assert [path for path in made.parent.iterdir() if path.name.startswith(made.name)] == [made]


def test_many_makers_of_the_key_agree_on_one(settings, tmp_path):
    settings.SECRETS_KEY_FILE = tmp_path / "new" / "key"
    gate, sealed = threading.Barrier(8), []

    def make():
        gate.wait()
        sealed.append(secrets._fernet(make=True).encrypt(b"x"))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [secrets._fernet(make=False).decrypt(one) for one in sealed] == [b"x"] * 8
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["key"]


def test_the_cipher_is_not_loaded_before_it_is_needed():
    code = "import django; django.setup(); import projects.secrets, sys; print('cryptography' in sys.modules)"
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "controlpanel.settings"}
    output = subprocess.check_output([sys.executable, "-c", code], cwd=django_settings.BASE_DIR, env=environment, text=True)
    assert output.strip() == "False"
