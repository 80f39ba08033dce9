"""Labels and environments as a text with one name=value a line, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from jobs.schema_form import json_of


def text_of_pairs(pairs: Mapping[str, str]) -> str:
    """The text from which `pairs_of` makes these pairs again: lines, or a JSON object where lines cannot hold them."""
    text = "\n".join(f"{name}={value}" for name, value in pairs.items())
    is_plain = pairs_of(text, strip=True) == (dict(pairs), "")
    return text if is_plain else json.dumps(dict(pairs), ensure_ascii=False, indent=2)


def pairs_of(text: str, *, strip: bool) -> tuple[dict[str, Any], str]:
    """(name -> value, what is no pair in a sentence or ""). `strip`: blanks around a value are not part of it."""
    text = text.replace("\r\n", "\n")
    if text.lstrip().startswith("{") and isinstance(found := json_of(text), dict):
        return found, ""
    pairs: dict[str, str] = {}
    fault = ""
    for number, line in enumerate(text.split("\n"), start=1):
        name, equals, value = line.partition("=")
        name = name.strip()
        if not line.strip():
            continue
        if not equals:
            fault = fault or _("line %(number)s has no “=”") % {"number": number}
        elif name in pairs:
            fault = fault or _("line %(number)s names %(name)s again") % {"number": number, "name": name}
        pairs[name] = value.strip() if strip else value
    return pairs, fault
