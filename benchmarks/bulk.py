"""Ten thousand jobs that wait, canceled by one request: how long it takes.

    python -m benchmarks.bulk [--jobs 20000] [--waiting 10000] [--rounds 3]

On SQLite, or on what DATABASE_URL says, which must be empty. Through the API in one process, by a filter; Redis is not there, and
nobody watches. Prints JSON. The baseline of the same run writes as many rows of the same tables by bare SQL in one transaction.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from datetime import UTC, datetime
from typing import Any

from benchmarks import many_jobs

MOST_S = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--waiting", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"PANEL_VAR": folder, "DJANGO_SETTINGS_MODULE": "controlpanel.settings"}
        os.environ["REDIS_URL"] = "redis://127.0.0.1:1/0"
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connection

        call_command("migrate", verbosity=0)
        many_jobs.store(options.jobs, waiting=options.waiting)
        rounds = [canceled(options.waiting) for _ in range(options.rounds)]
        figures: dict[str, Any] = {"database": connection.vendor, "waiting": options.waiting, "canceled_s": rounds}
        figures["bare_s"] = [bare() for _ in range(options.rounds)]
    figures["ratio"] = round(min(figures["canceled_s"]) / min(figures["bare_s"]), 1)
    figures["too_slow"] = max(rounds) > MOST_S
    print(json.dumps(figures, indent=2))


def canceled(count: int) -> float:
    """Seconds of the request. Afterwards they wait again."""
    from django.contrib.auth.models import User
    from django.test import Client

    from clusters.models import Workload
    from jobs.models import Job
    from projects import tokens
    from projects.actors import Actor

    user = User.objects.get(username="operator")
    _token, text = tokens.issue(user=user, name="bench", scope="launch", expires_at=None, by=Actor(user=user))
    client = Client(SERVER_NAME="127.0.0.1", headers={"Authorization": f"Bearer {text}"})
    numbers = list(Job.objects.filter(state="queued").values_list("pk", flat=True))
    began = time.perf_counter()
    answer = client.post("/api/v1/jobs/cancellations", {"filter": "state=queued"}, content_type="application/json")
    took = time.perf_counter() - began
    assert answer.status_code == 202 and answer.json()["done"] == count == len(numbers), answer.content[:500]
    assert Job.objects.filter(state="canceled", pk__in=numbers).count() == count
    workloads = Job.objects.filter(pk__in=numbers).values("workload")
    Workload.objects.filter(pk__in=workloads).update(state="waiting", wanted="run", ended_at=None)
    Job.objects.filter(pk__in=numbers).update(state="queued", ended_at=None)
    return round(took, 2)


def bare() -> float:
    """Seconds of the rows alone: three tables updated, two events and an entry of the audit for each job."""
    from django.db import connection, transaction

    from jobs.models import Job

    jobs = list(Job.objects.filter(state="queued").values_list("pk", "workload_id", "subject_id"))
    now = datetime.now(UTC)
    workloads = [(pk.hex if connection.vendor == "sqlite" else pk,) for _job, pk, _subject in jobs]
    events = [(subject, 1000 + n, now, "x", "Canceled.", "{}", "") for _job, _pk, subject in jobs for n in (1, 2)]
    entries = [(now, "x", "", "job", str(job), "train", "{}") for job, _pk, _subject in jobs]
    began = time.perf_counter()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany("UPDATE jobs_job SET reason_code = 'canceled' WHERE id = %s", [(job,) for job, *_rest in jobs])
        cursor.executemany("UPDATE clusters_workload SET stop_code = 'canceled' WHERE id = %s", workloads)
        cursor.executemany("UPDATE monitoring_subject SET seq = seq + 2 WHERE id = %s", [(one[2],) for one in jobs])
        names = "subject_id, seq, at, code, sentence, data, by_name"
        cursor.executemany(f"INSERT INTO monitoring_event ({names}) VALUES (%s, %s, %s, %s, %s, %s, %s)", events)
        names = "at, verb, user_name, subject_kind, subject_id, subject_title, data"
        cursor.executemany(f"INSERT INTO projects_auditentry ({names}) VALUES (%s, %s, %s, %s, %s, %s, %s)", entries)
        took = time.perf_counter() - began
        transaction.set_rollback(True)
    return round(took, 2)


if __name__ == "__main__":
    main()
