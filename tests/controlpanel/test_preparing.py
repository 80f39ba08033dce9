"""What must stand before the panel starts: each step made once, and safe to repeat."""

from __future__ import annotations

import json
import stat

import pytest

from clusters import enrolment, wheel
from clusters.models import Cluster, EnrolmentToken, Host
from clusters.states import HostState
from controlpanel import local_agent, preparing
from jobs.models import DefinitionVersion
from monitoring import streams
from tests.clusters.steps import after
from tests.factories import NOON, a_host, a_project, a_user


@pytest.fixture
def var(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    return settings.VAR_DIR


# -- Redis ---------------------------------------------------------------------------------------------------


def test_a_redis_that_lets_the_panel_make_users_is_fine(valkey):
    preparing.check_redis()
    assert "panel-probe" not in valkey.client().acl_users()


def test_a_redis_that_is_away_is_told(settings):
    with pytest.raises(preparing.NotReady, match="Redis does not answer"):
        preparing.check_redis()


def test_a_redis_that_lets_the_panel_make_no_users_is_told(valkey, settings):
    valkey.client().execute_command("ACL", "SETUSER", "weak", "on", ">password", "~*", "+@all", "-acl")
    settings.REDIS_URL = f"redis://weak:password@127.0.0.1:{valkey.port}/0"
    try:
        with pytest.raises(preparing.NotReady, match="does not let the panel make users"):
            preparing.check_redis()
    finally:
        valkey.client().execute_command("ACL", "DELUSER", "weak")


def test_a_wrong_password_is_told(valkey, settings):
    settings.REDIS_URL = f"redis://panel:wrong@127.0.0.1:{valkey.port}/0"
    with pytest.raises(preparing.NotReady):
        preparing.check_redis()
    assert streams.client().connection_pool.connection_kwargs["password"] == "wrong"


# -- Rows ----------------------------------------------------------------------------------------------------


def test_the_first_sign_in_is_told_once(db):
    assert preparing.first_people(NOON).startswith("Sign in as admin with the password ")
    assert preparing.first_people(NOON) == ""


def test_every_project_gets_what_is_shipped_once_and_anew_when_its_wording_changes(db, monkeypatch):
    projects = [a_project(), a_project()]
    a_user(username="operator", is_superuser=True)
    wordings = [{"slug": "x", "title": "X", "template": {"command": ["x"]}, "parameters": {}, "resources": {}}]
    monkeypatch.setattr(preparing.shipped, "shipped", lambda: wordings)
    for _ in range(2):
        preparing.shipped_definitions(NOON)
    assert DefinitionVersion.objects.count() == 2
    wordings[0]["template"] = {"command": ["y"]}
    preparing.shipped_definitions(after(1))
    for project in projects:
        versions = DefinitionVersion.objects.filter(definition__project=project).order_by("number")
        assert [(version.number, version.template["command"]) for version in versions] == [(1, ["x"]), (2, ["y"])]
        assert versions[0].created_by.username == "operator"


# -- The local host ------------------------------------------------------------------------------------------


def test_the_local_agent_finds_a_token_that_only_its_owner_reads(db, var):
    preparing.local_host(NOON)
    cluster = Cluster.objects.get()
    assert (cluster.name, cluster.accelerator, cluster.lost_after_s, cluster.files_shared) == ("local", "cpu", None, True)
    path = local_agent.token_file(var)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    identity = enrolment.enrol(token=path.read_text(), machine_id="m", name="here", chips=2, now=after(23 * 3600))
    assert Host.objects.get().slice.cluster == cluster and identity.host_id


def test_a_host_of_this_database_needs_no_token(db, var):
    preparing.local_host(NOON)
    host = a_host(cluster=Cluster.objects.get())
    local_agent.state_folder(var).mkdir(parents=True)
    (local_agent.state_folder(var) / "agent.json").write_text(json.dumps({"host_id": str(host.pk)}))
    preparing.local_host(after(1))
    assert not local_agent.token_file(var).exists()
    assert (Cluster.objects.count(), EnrolmentToken.objects.count()) == (1, 1)


@pytest.mark.parametrize("known", ["retired", "of another database", "no id at all"])
def test_a_host_that_this_database_does_not_serve_gets_a_token(db, var, known):
    host_id = {
        "retired": lambda: str(a_host(state=HostState.RETIRED).pk),
        "of another database": lambda: "01a23647-4630-7a52-9201-7a661b47aeb3",
        "no id at all": lambda: "tpu-1",
    }[known]()
    local_agent.state_folder(var).mkdir(parents=True)
    (local_agent.state_folder(var) / "agent.json").write_text(json.dumps({"host_id": host_id}))
    preparing.local_host(NOON)
    assert EnrolmentToken.objects.get().token_hash == enrolment.hashed(local_agent.token_file(var).read_text())


def test_an_admins_changes_to_the_local_cluster_stay(db, var):
    preparing.local_host(NOON)
    Cluster.objects.update(lost_after_s=60)
    preparing.local_host(after(1))
    assert Cluster.objects.get().lost_after_s == 60


# -- Files ---------------------------------------------------------------------------------------------------


def test_static_files_are_collected_when_they_changed(settings, tmp_path, monkeypatch):
    source, calls = tmp_path / "static", []
    source.mkdir()
    (source / "a.css").write_text("a")
    settings.STATICFILES_DIRS, settings.STATIC_ROOT = [source, ("named", source)], tmp_path / "collected"

    def collect(*_names, **_options):
        calls.append(1)
        settings.STATIC_ROOT.mkdir(exist_ok=True)

    monkeypatch.setattr(preparing, "call_command", collect)
    for _ in range(2):
        preparing.static_files()
    assert len(calls) == 1
    (source / "b.css").write_text("b")
    preparing.static_files()
    assert len(calls) == 2


def test_the_agents_wheel_is_built_when_its_source_changed_or_it_is_gone(settings, tmp_path, var, monkeypatch):
    settings.BASE_DIR = tmp_path
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "loop.py").write_text("1")
    built = []

    def build():
        wheel.folder().mkdir(parents=True, exist_ok=True)
        (wheel.folder() / "agent-1.0.whl").write_text("w")
        built.append(1)

    monkeypatch.setattr(wheel, "build", build)
    for _ in range(2):
        preparing.agent_wheel()
    assert len(built) == 1
    (tmp_path / "agent" / "loop.py").write_text("22")
    preparing.agent_wheel()
    assert len(built) == 2
    (wheel.folder() / "agent-1.0.whl").unlink()
    preparing.agent_wheel()
    assert len(built) == 3
