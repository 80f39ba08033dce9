"""Numbers and switches that a request to the API names. Each raises Invalid with the field's name."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request

from projects.errors import Invalid


def whole(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    if not text.isdecimal() or len(text) > 18:
        raise Invalid({name: "A whole number from 0 is needed."})
    return int(text)


def flag(body: Any, name: str) -> bool:
    value = body.get(name, False) if isinstance(body, dict) else None
    if not isinstance(value, bool):
        raise Invalid({name: "true or false is needed."})
    return value
