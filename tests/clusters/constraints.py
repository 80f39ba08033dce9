"""Every constraint of a model has a case that breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from django.db import IntegrityError, connection, models, transaction

Cases = dict[str, Callable[[], object]]


def named(found: Iterable[type[models.Model]]) -> set[str]:
    """Names of what is written in `Meta.constraints`, and `table.column` of what a field says by itself."""
    names: set[str] = set()
    for model in found:
        names |= {constraint.name for constraint in model._meta.constraints}
        names |= {
            f"{model._meta.model_name}.{field.name}"
            for field in model._meta.local_fields
            if field.unique and not field.primary_key
        }
    return names


def broken(name: str, cases: Cases, found: Iterable[type[models.Model]]) -> None:
    """The case is refused by this very constraint, not by another one."""
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        cases[name]()
    words = str(refused.value)
    assert any(mark in words for mark in _marks(name, list(found))), words


def _marks(name: str, found: list[type[models.Model]]) -> list[str]:
    """What the database says of it: SQLite names the columns of a unique constraint, PostgreSQL the constraint."""
    if "." in name:
        model_name, field_name = name.split(".")
        model = next(model for model in found if model._meta.model_name == model_name)
        column = model._meta.get_field(field_name).column
        return [f"{model._meta.db_table}.{column}", f'"{model._meta.db_table}_{column}']
    model, constraint = next((m, c) for m in found for c in m._meta.constraints if c.name == name)
    if isinstance(constraint, models.UniqueConstraint) and connection.vendor == "sqlite":
        columns = [model._meta.get_field(field).column for field in constraint.fields]
        return [", ".join(f"{model._meta.db_table}.{column}" for column in columns)]
    return [name]
