"""How long a job ran and waited, in whole milliseconds, as SQLite and PostgreSQL alike can say and index it."""

from __future__ import annotations

from typing import Any

from django.db.models import BigIntegerField, F, Func, Q
from django.db.models.functions import Coalesce


class Milliseconds(Func):
    """From one moment to another; null where one of them is."""

    arity = 2
    output_field = BigIntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        template = "CAST(ROUND((julianday(%(expressions)s)) * 86400000.0) AS INTEGER)"
        return self.as_sql(compiler, connection, template=template, arg_joiner=") - julianday(", **more)

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        template = "CAST(EXTRACT(EPOCH FROM (%(expressions)s)) * 1000 AS bigint)"
        return self.as_sql(compiler, connection, template=template, arg_joiner=" - ", **more)


HAS_RUN = Q(ended_at__isnull=False) & Q(started_at__isnull=False)
RUNS = Q(started_at__isnull=False, ended_at=None)
NEVER_RAN = Q(started_at=None)
WAITS = Q(started_at=None, ended_at=None)
HAS_WAITED = Q(started_at__isnull=False) | Q(ended_at__isnull=False)


def run_ms() -> Milliseconds:
    """Of a job that HAS_RUN."""
    return Milliseconds(F("ended_at"), F("started_at"))


def wait_ms() -> Milliseconds:
    """Until it first ran, or ended without that; of a job that HAS_WAITED."""
    return Milliseconds(Coalesce(F("started_at"), F("ended_at")), F("created_at"))
