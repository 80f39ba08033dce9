from __future__ import annotations

import hashlib
import json
import os
import sys

import pytest

from controlpanel import local_agent

HOST = "01a23647-4630-7a52-9201-7a661b47aeb3"


@pytest.fixture
def var(tmp_path, monkeypatch):
    for name in ("AGENT_VENV", "AGENT_RUNTIMES"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "agent").mkdir()
    return tmp_path


@pytest.fixture
def calls(monkeypatch):
    """The command lines that would install something, without installing it."""
    made = []
    monkeypatch.setattr(local_agent, "_call", made.append)
    return made


def a_wheel(var, name="agent-1.0-py3-none-any.whl", data=b"a wheel", at=100):
    path = var / "wheels" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (at, at))
    return path


@pytest.mark.parametrize("text", [None, "", "{", "{}", "[]", '{"host_id": 7}', '{"host_id": "tpu-1"}'])
def test_who_has_not_enrolled_is_no_host(var, text):
    local_agent.state_folder(var).mkdir()
    if text is not None:
        (local_agent.state_folder(var) / "agent.json").write_text(text)
    assert local_agent.enrolled_host(var) == ""


def test_who_has_enrolled_says_which_host_it_is(var):
    local_agent.state_folder(var).mkdir()
    (local_agent.state_folder(var) / "agent.json").write_text(json.dumps({"host_id": HOST, "token": "t"}))
    assert local_agent.enrolled_host(var) == HOST


def test_its_command_names_panel_state_and_slots_and_no_token(var, calls):
    a_wheel(var)
    local_agent.token_file(var).write_text("enrol_secret\n")
    command, token = local_agent.command(var, panel="http://127.0.0.1:8000", slots=6)
    assert token == "enrol_secret"
    assert command == [
        str(var / "agent" / "venv" / "bin" / "python"),
        *("-m", "agent", "run", "--panel", "http://127.0.0.1:8000"),
        *("--state", str(var / "agent" / "state"), "--chips", "6"),
    ]
    local_agent.token_file(var).unlink()
    assert local_agent.command(var, panel="http://x", slots=1)[1] == ""


def test_without_a_wheel_there_is_no_agent(var):
    with pytest.raises(local_agent.NotInstalled, match="wheel is missing"):
        local_agent.command(var, panel="http://x", slots=1)


def test_a_wheel_is_installed_once_and_again_when_its_bytes_change(var, calls):
    wheel = a_wheel(var)
    for _ in range(2):
        local_agent.command(var, panel="http://x", slots=1)
    assert [call[1:3] for call in calls] == [["-m", "venv"], ["-m", "pip"], ["-m", "pip"]]
    assert calls[0] == [sys.executable, "-m", "venv", str(var / "agent" / "venv")]
    assert all(call[-1] == str(wheel) for call in calls[1:])
    digest = hashlib.sha256(b"a wheel").hexdigest()
    assert (var / "agent" / "venv" / "installed").read_text() == f"{wheel.name} {digest}"
    a_wheel(var, data=b"other code of the same version")
    local_agent.command(var, panel="http://x", slots=1)
    assert len(calls) == 6


def test_the_newest_wheel_counts(var, calls):
    a_wheel(var, "agent-2.0-py3-none-any.whl", at=100)
    newest = a_wheel(var, "agent-1.9-py3-none-any.whl", at=200)
    local_agent.command(var, panel="http://x", slots=1)
    assert calls[-1][-1] == str(newest)


def test_a_venv_may_be_shared(var, calls, monkeypatch):
    a_wheel(var)
    monkeypatch.setenv("AGENT_VENV", str(var / "shared"))
    command, _token = local_agent.command(var, panel="http://x", slots=1)
    assert command[0] == str(var / "shared" / "bin" / "python")
    assert not (var / "agent" / "venv").exists()


def test_an_installation_that_fails_is_tried_again_and_says_why(var, monkeypatch):
    a_wheel(var)
    fails = [sys.executable, "-c", "import sys; print('first'); sys.exit('no space left')"]
    call = local_agent._call
    monkeypatch.setattr(local_agent, "_call", lambda _command: call(fails))
    for _ in range(2):
        with pytest.raises(local_agent.NotInstalled, match="could not be installed: no space left"):
            local_agent.command(var, panel="http://x", slots=1)
    assert not (var / "agent" / "venv" / "installed").exists()
