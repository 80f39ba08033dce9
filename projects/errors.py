"""Errors that a person or a script can act on: a code, a sentence, data. Form, page and API render the same (answers.py)."""

from __future__ import annotations

from typing import Any


class PanelError(Exception):
    """Base of the errors that are answers. `status` is HTTP's; `permanent` says that a retry cannot help."""

    status = 400
    permanent = True

    def __init__(self, code: str, sentence: str, /, **data: Any) -> None:  # data may have a "code" of its own
        super().__init__(sentence)
        self.code = code
        self.sentence: str = _sendable(sentence)
        self.data: dict[str, Any] = _sendable(data)

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.sentence, "details": self.data}


def _sendable(value: Any) -> Any:
    """An error may quote what it is about, and JSON carries halves of characters that no answer can."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_sendable(name): _sendable(part) for name, part in value.items()}
    return [_sendable(part) for part in value] if isinstance(value, list) else value


class NotFound(PanelError):
    """It does not exist, or the asker may not know that it does."""

    status = 404


class Forbidden(PanelError):
    """The asker may see it, but not do this."""

    status = 403


class Conflict(PanelError):
    """It is in a state in which this cannot be done."""

    status = 409


class Gone(PanelError):
    """It was there and has ended for good."""

    status = 410


class Invalid(PanelError):
    """The input is wrong; `details` maps a field's path to what is wrong with it."""

    status = 422

    def __init__(self, fields: dict[str, str], code: str = "invalid", sentence: str = "") -> None:
        super().__init__(
            code, sentence or "; ".join(f"{path}: {text}" if path else text for path, text in fields.items()), **fields
        )
        self.fields: dict[str, str] = self.data


class Unauthorized(PanelError):
    """Who asks is not known."""

    status = 401
