"""The list of jobs and the first page, with 100,000 jobs in the database: time, queries and bytes of each look.

    python -m benchmarks.lists [--jobs 100000] [--looks 50] [--only name]

On SQLite, or on what DATABASE_URL says (`python -m tests.postgresql python -m benchmarks.lists`), which must be empty. Looks
through Django's own client, in one process, as the member of one team and as an operator who sees all. Prints JSON. The
baseline of a list is the bare SQL of its rows, run and fetched without Django.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
from typing import Any

from benchmarks import many_jobs
from benchmarks.launch import spread

MOST_MS, MOST_BYTES = 200, 100 * 1024
SORTS = ("-number", "number", "name", "-name", "state", "-state", "owner", "-owner", "-started", "started", "-ended", "ended")
SORTS += ("-run", "run", "-wait", "wait")


def looks(count: int) -> dict[str, str]:
    """Name -> address."""
    filters = {
        "state, frequent": "state=succeeded",
        "state, rare": "state=running",
        "states": "state=failed&state=canceled",
        "owner": "owner=person-10",
        "owner me": "owner=me",
        "definition": "definition=train-1",
        "accelerator": "accelerator=cpu",
        "cluster": "cluster=local",
        "cluster, none": "cluster=spare",
        "label": f"label=sweep%3Ds{count // 300}",
        "label, frequent": "label=kind%3Da",
        "label, none": "label=kind%3Dz",
        "text": "text=vit-77",
        "text, none": "text=nowhere",
        "number": f"text=%23{count // 2}",
        "since": "created_before=2024-01-03",
        "state and owner": "state=failed&owner=person-10",
        "state and label": f"state=failed&label=sweep%3Ds{count // 300}",
        "state, sorted": "state=failed&sort=-run",
    }
    return (
        {"list": "/jobs", "home": "/"}
        | {f"sort {sort}": f"/jobs?sort={sort}" for sort in SORTS}
        | {f"filter {name}": f"/jobs?{query}" for name, query in filters.items()}
        | {"api": "/api/v1/jobs", "api, 200": "/api/v1/jobs?limit=200&fields=number,state,name"}
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--looks", type=int, default=50)
    parser.add_argument("--only", default="", help="names of looks that contain it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"PANEL_VAR": folder, "DJANGO_SETTINGS_MODULE": "controlpanel.settings"}
        os.environ["REDIS_URL"] = "redis://127.0.0.1:1/0"  # nobody watches
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connection

        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        began = time.perf_counter()
        people = many_jobs.store(options.jobs)
        figures: dict[str, Any] = {"database": connection.vendor, "jobs": options.jobs}
        figures["filled_s"] = round(time.perf_counter() - began, 1)
        for who, name in people.items():
            figures[who] = measure(name, options)
    figures["too_slow"] = [f"{who}: {name}" for who in people for name, found in figures[who].items() if found["p99"] > MOST_MS]
    figures["too_large"] = [
        f"{who}: {name}" for who in people for name, found in figures[who].items() if found["bytes"] > MOST_BYTES
    ]
    print(json.dumps(figures, indent=2))


def measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get(username=name))
    found = {}
    for title, address in looks(options.jobs).items():
        if options.only in title:
            found[title] = look(client, address, options.looks)
    if options.only in "deep page":
        for sort in ("-number", "name", "-run"):
            found[f"deep page {sort}"] = look(client, deep(client, f"/jobs?sort={sort}"), options.looks)
    return found


def look(client: Any, address: str, times: int) -> dict[str, Any]:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address)
    assert answer.status_code == 200, (address, answer.content[:500])
    pages, bare = [], []
    count = len(queries)
    rows = [query["sql"] for query in queries if '"jobs_job"."parameters"' in query["sql"]]
    for _ in range(times):
        began = time.perf_counter()
        client.get(address)
        pages.append((time.perf_counter() - began) * 1000)
    for _ in range(times if rows else 0):
        began = time.perf_counter()
        for sql in rows:
            with connection.cursor() as cursor:
                cursor.execute(sql)
                cursor.fetchall()
        bare.append((time.perf_counter() - began) * 1000)
    found: dict[str, Any] = spread(pages) | {"queries": count, "bytes": len(answer.content)}
    if bare:
        found |= {"bare_p50": spread(bare)["p50"], "ratio": round(spread(pages)["p50"] / max(0.1, spread(bare)["p50"]), 1)}
    return found


def deep(client: Any, address: str, pages: int = 40) -> str:
    """The address of a page far behind the first."""
    for _ in range(pages):
        answer = client.get(address)
        older = re.findall(r'href="([^"]*cursor=[^"]*)"', answer.content.decode())
        if not older:
            break
        address = "/jobs" + older[-1].replace("&amp;", "&")
    return address


if __name__ == "__main__":
    main()
