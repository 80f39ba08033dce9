"""What the panel, or the way to it, says no with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class PanelError(Exception):
    """`code` is for programs and stays, the message is for people; `details` is what it is about, `status` HTTP's or 0."""

    def __init__(self, code: str, message: str, *, status: int = 0, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.details = dict(details or {})

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "details": self.details, "status": self.status}


class Unreachable(PanelError):
    """The panel does not answer, or what answers is not a panel. Whether it has heard the question is not known."""


class NotSignedIn(PanelError):
    """There is no token, or the panel does not know it."""


class Forbidden(PanelError):
    """The role or the token's scope does not allow it."""


class NotFound(PanelError):
    """It does not exist, or the token's owner may not know that it does."""


class Conflict(PanelError):
    """It is in a state in which this cannot be done."""


class Invalid(PanelError):
    """Something that was sent is wrong; `details` has a sentence for each field."""


class TooManyRequests(PanelError):
    """Asked too often; `retry_after_s` says when to go on."""

    @property
    def retry_after_s(self) -> float:
        return float(self.details.get("retry_after_s", 1.0))


class WaitTimeout(PanelError, TimeoutError):
    """A job has not ended within the time that was waited for it. It goes on."""


OF_STATUS: dict[int, type[PanelError]] = {
    400: Invalid,
    401: NotSignedIn,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: NotFound,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: TooManyRequests,
}


def of_answer(status: int, body: Any, *, retry_after_s: float | None = None) -> PanelError | None:
    """The error that a panel's JSON tells of; None when it is none of a panel's."""
    if not isinstance(body, dict) or not isinstance(body.get("code"), str) or not isinstance(body.get("message"), str):
        return None
    details = dict(body["details"]) if isinstance(body.get("details"), dict) else {}
    if retry_after_s is not None:
        details["retry_after_s"] = retry_after_s
    return OF_STATUS.get(status, PanelError)(body["code"], body["message"], status=status, details=details)


STRANGE = (LookupError, TypeError, ValueError, AttributeError, RecursionError)  # what reading an answer of another shape raises


def strange(url: str, error: Exception) -> Unreachable:
    """Of an answer that lacks what a panel's has, or has it of another kind."""
    why = f"{type(error).__name__}: {error}"[:200]
    return Unreachable(
        "strange-answer", f"{url} gave an answer that cannot be understood. Is it a panel of this release? ({why})"
    )
