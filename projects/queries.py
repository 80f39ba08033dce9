"""Numbers that a query names."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as _

from projects.errors import Invalid


def whole(query: Mapping[str, str], name: str, default: int) -> int:
    """A number from 0 that a database holds; `default` where the query has none. Raises Invalid."""
    text = query.get(name) or str(default)
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise Invalid({name: _("a whole number from 0 is needed")})
    return int(text)
