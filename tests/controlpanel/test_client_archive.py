"""The client as anyone gets it: what its folder holds, and nothing else."""

from __future__ import annotations

import io
import tarfile

from django.conf import settings

from controlpanel import client_archive


def names_of(data: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert all(entry.isreg() for entry in archive)
        return archive.getnames()


def test_anyone_may_have_the_client(client):
    answer = client.get("/client.tar.gz")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/gzip")
    assert answer["Content-Disposition"] == 'attachment; filename="tpu-panel-client.tar.gz"'
    names = names_of(answer.content)
    for name in ("pyproject.toml", "README.md", "tpu_panel/__init__.py", "tpu_panel/py.typed", "tpu_panel/cli/main.py"):
        assert f"tpu-panel-client/{name}" in names
    sources = {f"tpu-panel-client/{path.relative_to(settings.BASE_DIR / 'client')}" for path in code()}
    assert {name for name in names if name.endswith(".py")} == sources


def code():
    return (settings.BASE_DIR / "client" / "tpu_panel").rglob("*.py")


def test_what_building_and_running_leave_behind_is_not_handed_out(tmp_path):
    for name in ("pyproject.toml", "build/lib/a.py", "x.egg-info/a.py", "tpu_panel/a.py", "tpu_panel/__pycache__/a.py", "notes"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert names_of(client_archive.packed(tmp_path)) == ["tpu-panel-client/pyproject.toml", "tpu-panel-client/tpu_panel/a.py"]


def test_the_same_client_is_the_same_archive(tmp_path):
    (tmp_path / "a.py").write_text("x")
    first = client_archive.packed(tmp_path)
    (tmp_path / "a.py").touch()
    assert client_archive.packed(tmp_path) == first
