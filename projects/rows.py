"""Many rows at once by one prepared statement, in a fifth of the time of bulk_create: no objects are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connection, models

PLAIN = (int, str, type(None))  # what a database takes as it is


def insert(model: type[models.Model], same: Mapping[str, Any], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows with the values `same`, by field, and each its own of `names`. A field's default is not filled in."""
    quote = connection.ops.quote_name
    fields = [model._meta.get_field(name) for name in [*same, *names]]
    shared = tuple(_prepared(field, value) for field, value in zip(fields, same.values(), strict=False))
    own = fields[len(same) :]
    values = [(*shared, *(_prepared(field, value) for field, value in zip(own, row, strict=True))) for row in rows]
    columns = ", ".join(quote(str(field.column)) for field in fields)  # type: ignore[union-attr]
    places = ", ".join(["%s"] * len(fields))
    with connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({places})", values)


def _prepared(field: Any, value: Any) -> Any:
    return value if type(value) in PLAIN else field.get_db_prep_save(value, connection)
