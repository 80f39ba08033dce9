"""With what `tpu-panel` ends. A followed job's command may end with any of these too: it has the last word."""

from __future__ import annotations

from enum import IntEnum

from tpu_panel.errors import Forbidden, Invalid, NotSignedIn, PanelError, Unreachable, WaitTimeout
from tpu_panel.job import Job


class Status(IntEnum):
    DONE = 0
    FAILED = 1  # the job failed without an exit code of its own, or the panel refused; what --check asks of would not start now
    USAGE = 64  # what was written is wrong (64, 69 and 77 are those of sysexits.h)
    UNREACHABLE = 69
    NOT_ALLOWED = 77  # not signed in, or without the right
    TIMED_OUT = 124  # as timeout(1)
    CANCELED = 125
    INTERRUPTED = 130  # Ctrl-C: what was followed goes on
    BROKEN_PIPE = 141  # nobody reads any more


class UsageError(PanelError):
    """What was written on the command line cannot be meant."""

    def __init__(self, message: str) -> None:
        super().__init__("usage", message)


def of_error(error: PanelError) -> Status:
    match error:
        case NotSignedIn() | Forbidden():
            return Status.NOT_ALLOWED
        case WaitTimeout():
            return Status.TIMED_OUT
        case Unreachable():
            return Status.UNREACHABLE
        case UsageError() | Invalid():
            return Status.USAGE
    return Status.USAGE if error.code in ("not-an-address", "no-such-file", "too-large") else Status.FAILED


def of_job(job: Job) -> int:
    """Of a job that has ended: its command's own exit code, where it has one."""
    match job.state:
        case "succeeded":
            return Status.DONE
        case "canceled":
            return Status.CANCELED
    return job.exit_code or Status.FAILED
