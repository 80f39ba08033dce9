"""What a page shows for scripts launches exactly that: read back by curl's shell, by Python, and by tpu-panel itself."""

from __future__ import annotations

import io
import json
import subprocess

import httpx
import pytest

import tpu_panel
from jobs import as_script
from tests.client.fakes import Script, a_job, a_terminal
from tpu_panel import Panel
from tpu_panel.cli import launching, options

BODIES = {
    "the least": {"project": "vit", "definition": "train"},
    "all of it": {
        "project": "vit",
        "definition": "train",
        "version": 3,
        "parameters": {"epochs": 3, "rate": 1e-3, "compile": True, "layers": [64, 32], "more": {"a": None}},
        "resources": {"accelerator": "cpu", "chips": 2},
        "name": "a try",
        "labels": {"sweep": "a=b"},
        "environment": {"X": "1"},
        "secrets": ["WANDB_KEY", "HF_TOKEN"],
    },
    "with retries": {"project": "vit", "definition": "train", "retries": {"host_lost": {"times": 2, "delay_s": 10}}},
    "with notices": {"project": "vit", "definition": "train", "notify": {"events": [], "waits_longer_than_min": None}},
    "texts that could be something else": {
        "project": "vit",
        "definition": "train",
        "parameters": {
            "command": "echo 'it''s' \"$HOME\" `id`\nEND\n@x",
            "note": "@home",
            "word": "-x",
            "digits": "7",
            "none": "",
        },
        "name": "--follow",
        "labels": {"語": "中文 🙂"},
        "environment": {"A": "-1 = \\n \n"},
    },
}
SCHEMA = {
    "properties": {
        "epochs": {"type": "integer"},
        "rate": {"type": "number"},
        "compile": {"type": "boolean"},
        "layers": {"type": "array", "items": {"type": "integer"}},
        "more": {"type": "object"},
        "command": {"type": "string"},
        "note": {"type": "string"},
        "word": {"type": "string"},
        "digits": {"type": "string"},
        "none": {"type": "string"},
    }
}


@pytest.fixture(params=BODIES.values(), ids=BODIES)
def body(request):
    return request.param


def words_of(command, name):
    """What the shell gives the program of this name, and what stands on its standard input."""
    ends = f'{name}() {{ printf "%s\\0" "$@"; printf "\\0"; [ -t 0 ] || cat; }}\n'
    written = subprocess.run(["bash", "-c", ends + command], capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout
    words, _ends, text = written.decode().partition("\0\0")
    return words.split("\0"), text


def test_curl_sends_it(body):
    words, _text = words_of(as_script.launch_request(body), "curl")
    assert json.loads(words[words.index("--json") + 1]) == body


def test_python_launches_it_and_waits(body, monkeypatch, settings):
    asked = []

    class FakePanel:
        def __init__(self, url):
            asked.append(url)

        def launch(self, **given):
            asked.append(given)
            return self

        def wait(self):
            asked.append("waited")

    monkeypatch.setattr(tpu_panel, "Panel", FakePanel)
    exec(as_script.launch_python(body), {})
    assert asked == [settings.PUBLIC_URL, body, "waited"]


def test_the_command_line_launches_it_and_follows_it(body, monkeypatch):
    (launch, *written), text = words_of(as_script.launch_command(body), "tpu-panel")
    assert launch == "launch"
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    arguments = options.parser().parse_args([launch, *written])
    assert arguments.follow
    arguments.follow = False
    definition = {"slug": "train", "project": "vit", "parameters": SCHEMA}
    found = [httpx.Response(200, json={"results": [definition], "next_cursor": None})]
    if "version" in body:
        found.append(httpx.Response(200, json=definition))
    script = Script(*found, httpx.Response(201, json=a_job(state="queued")))
    assert launching.launch(Panel("http://panel.example", "tpu_x", transport=script.transport), a_terminal(), arguments) == 0
    assert json.loads(script.requests[-1].content) == body
