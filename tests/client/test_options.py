"""What may be written on the command line, and with what it ends."""

from __future__ import annotations

import pytest

from tests.client.fakes import Script, a_job
from tpu_panel.cli import options
from tpu_panel.cli.statuses import Status, UsageError, of_error, of_job
from tpu_panel.errors import Conflict, Forbidden, Invalid, NotFound, NotSignedIn, PanelError, Unreachable, WaitTimeout
from tpu_panel.job import Job


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("x"), 64),
        (Invalid("x", "x"), 64),
        (PanelError("not-an-address", "x"), 64),
        (PanelError("no-such-file", "x"), 64),
        (Unreachable("x", "x"), 69),
        (NotSignedIn("x", "x"), 77),
        (Forbidden("x", "x"), 77),
        (WaitTimeout("x", "x"), 124),
        (NotFound("x", "x"), 1),
        (Conflict("x", "x"), 1),
        (PanelError("internal", "x", status=500), 1),
    ],
)
def test_each_error_has_its_status(error, status):
    assert of_error(error) == status


def test_a_job_that_ended_has_its_status():
    found = [of_job(Job(Script().connection(), a_job(state=state))) for state in ("succeeded", "canceled")]
    assert found == [0, 125]


@pytest.mark.parametrize("text", ["17", "#17", "http://panel.example/jobs/17"])
def test_a_job_is_named_as_people_copy_it(text):
    assert options.parser().parse_args(["job", text]).number == 17


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nonsense"],
        ["job"],
        ["job", "x"],
        ["job", "-1"],
        ["logs", "1", "--rank", "-1"],
        ["wait", "1", "--timeout", "soon"],
        ["wait", "1", "--timeout", "nan"],
        ["jobs", "--state", "asleep"],
        ["completion", "tcsh"],
        ["launch", "x", "--chips", "many"],
    ],
)
def test_what_cannot_be_meant_ends_with_64(words, capsys):
    with pytest.raises(SystemExit) as ended:
        options.parser().parse_args(words)
    assert ended.value.code == Status.USAGE
    assert capsys.readouterr().err.startswith("usage: tpu-panel")


def test_each_command_tells_of_itself(capsys):
    for name in options.COMMANDS:
        with pytest.raises(SystemExit) as ended:
            options.parser().parse_args([name, "--help"])
        assert ended.value.code == 0
        assert ("--json" in capsys.readouterr().out) == (name != "completion")
