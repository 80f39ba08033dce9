import pytest

from clusters import wheel


@pytest.fixture
def wheels(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    wheel.folder().mkdir()
    (wheel.folder() / "agent-1.0-py3-none-any.whl").write_bytes(b"a wheel")
    (wheel.folder() / ".built").write_text("x")
    (tmp_path / "secret_key").write_text("secret")
    (tmp_path / "other.whl").write_text("not handed out")


def test_a_wheel_is_found_by_its_true_name(wheels):
    assert wheel.find("agent-1.0-py3-none-any.whl").read_bytes() == b"a wheel"


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".built", "../secret_key", "../other.whl", "/etc/passwd", "agent-2.0-py3-none-any.whl", "x\0.whl"]
)
def test_nothing_else_is(wheels, name):
    assert wheel.find(name) is None
