"""One pasted command makes a machine a host: what the panel serves for it. tests/road/test_enrolment.py runs it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.test import Client

from clusters import install, wheel

AGENT = django_settings.BASE_DIR / "agent"
ODD = "https://panel.example/it's $(id) `id` %s"


def served(path: str):
    return Client(raise_request_exception=False).get(f"/agent/v1/{path}")


@pytest.fixture
def a_wheel(settings, tmp_path) -> Path:
    settings.VAR_DIR = tmp_path
    wheel.folder().mkdir()
    for age, name in ((200, "agent-1.0-py3-none-any.whl"), (100, "agent-2.0-py3-none-any.whl")):
        (wheel.folder() / name).write_bytes(name.encode())
        os.utime(wheel.folder() / name, (1e9 - age, 1e9 - age))
    return wheel.folder() / "agent-2.0-py3-none-any.whl"


# -- The script ----------------------------------------------------------------------------------------------


def test_everybody_may_have_the_script_and_no_cache_keeps_it(db):
    answer = served("install")
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/x-shellscript; charset=utf-8")
    assert "no-store" in answer["Cache-Control"]
    assert answer.content.startswith(b"#!/bin/sh\n") and answer.content.rstrip().splitlines()[-1].startswith(b'main "$@"')


@pytest.mark.parametrize("public_url", ["https://panel.example", ODD])
def test_every_shell_here_can_read_it(settings, public_url):
    settings.PUBLIC_URL = public_url
    for shell in (["sh"], ["bash", "--posix"]):
        done = subprocess.run([*shell, "-n"], input=install.script(), capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_what_the_panel_puts_into_it_stays_a_word(settings):
    settings.PUBLIC_URL = ODD
    (line,) = [line for line in install.script().splitlines() if line.startswith("panel=")]
    assert shlex.split(line) == [f"panel={ODD}"]
    command = install.command("enrol_x; rm y")
    assert shlex.split(command)[:3] == ["curl", "-fsSL", f"{ODD}/agent/v1/install"]
    assert shlex.split(command)[-2:] == ["PANEL_ENROLMENT_TOKEN=enrol_x; rm y", "sh"]


def test_the_command_is_one_that_people_know(settings):
    settings.PUBLIC_URL = "https://panel.example"
    assert (
        install.command("enrol_abc") == "curl -fsSL https://panel.example/agent/v1/install | PANEL_ENROLMENT_TOKEN=enrol_abc sh"
    )


def test_without_a_token_it_does_nothing_and_says_where_one_is(settings, tmp_path):
    settings.PUBLIC_URL = "https://panel.example"
    done = subprocess.run(
        ["sh"],
        input=install.script(),
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    sentence = "tpu-panel-agent: PANEL_ENROLMENT_TOKEN is not set: copy the whole command from https://panel.example/hosts/new.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", sentence)
    assert list(tmp_path.iterdir()) == []


def test_half_a_script_does_nothing(settings, tmp_path):
    half = install.script().rpartition("main")[0]
    done = subprocess.run(
        ["sh"], input=half, capture_output=True, text=True, check=False, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    )
    assert (done.returncode, done.stdout, done.stderr, list(tmp_path.iterdir())) == (0, "", "", [])


# -- What it installs ----------------------------------------------------------------------------------------


def test_the_list_ends_with_the_newest_wheel_by_its_hash(a_wheel, settings):
    settings.PUBLIC_URL = "https://panel.example"
    answer = served("requirements.txt")
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; charset=utf-8")
    digest = subprocess.run(["sha256sum", a_wheel], capture_output=True, text=True, check=True).stdout.split()[0]
    last = f"https://panel.example/agent/v1/wheels/agent-2.0-py3-none-any.whl --hash=sha256:{digest}"
    assert answer.content.decode() == f"{(AGENT / 'requirements.txt').read_text()}{last}\n"


def test_a_panel_without_a_wheel_says_so(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    answer = served("requirements.txt")
    assert (answer.status_code, answer.json()["code"]) == (404, "no-such-wheel")


def entries() -> dict[str, tuple[str, list[str]]]:
    """name -> (version, hashes) of the committed list."""
    text = (AGENT / "requirements.txt").read_text()
    whole = "\n".join(line for line in text.splitlines() if not line.startswith("#")).replace("\\\n", " ")
    found = {}
    for line in whole.splitlines():
        name, version = re.match(r"([a-z0-9-]+)==([^ ;]+)", line).groups()
        found[name] = version, re.findall(r"--hash=sha256:([0-9a-f]{64})\b", line)
    return found


def test_everything_in_the_list_has_hashes():
    assert entries()
    assert [name for name, (_version, hashes) in entries().items() if not hashes] == []


def test_the_list_has_what_the_agent_needs_in_the_versions_that_it_takes():
    from packaging.requirements import Requirement

    wanted = [Requirement(text) for text in tomllib.loads((AGENT / "pyproject.toml").read_text())["project"]["dependencies"]]
    assert wanted
    for requirement in wanted:
        version, _hashes = entries()[requirement.name]
        assert requirement.specifier.contains(version), (
            f"agent/requirements.txt is stale: {requirement} (its first lines say how)"
        )


def test_the_list_names_no_place_to_load_from():
    text = (AGENT / "requirements.txt").read_text()
    assert not re.search(r"://|--index|--find-links|--extra|file:|/home/|/opt/|/work/", text)
