"""`jobs`, `job`, `hosts` and `metrics`: what there is, in tables or as JSON."""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator
from typing import Any

from tpu_panel.cli import tables, words
from tpu_panel.cli.parameters import pairs
from tpu_panel.cli.statuses import Status, UsageError
from tpu_panel.cli.tables import Column
from tpu_panel.cli.terminal import Terminal
from tpu_panel.panel import Panel

JOBS = [
    Column("job", is_figure=True),
    Column("state", is_state=True),
    Column("name", gives=2),
    Column("project", gives=4),
    Column("by", gives=3),
    Column("launched", is_figure=True),
    Column("ran", is_figure=True),
    Column("progress", is_figure=True),
    Column("why", gives=5, is_sentence=True),
]
ATTEMPTS = [
    Column("attempt", is_figure=True),
    Column("state", is_state=True),
    Column("outcome"),
    Column("began"),
    Column("why", gives=1, is_sentence=True),
]
HOSTS = [
    Column("host", gives=2),
    Column("state", is_state=True),
    Column("cluster", gives=1),
    Column("accelerator"),
    Column("free", is_figure=True),
    Column("chips", is_figure=True),
    Column("heard", is_figure=True),
    Column("disk free", is_figure=True),
    Column("why", gives=3, is_sentence=True),
]
SERIES = [
    Column("metric", gives=1),
    Column("attempt", is_figure=True),
    Column("rank", is_figure=True),
    Column("points", is_figure=True),
    Column("last step", is_figure=True),
    Column("last value", is_figure=True),
]
FILTERS = ["project", "definition", "accelerator", "cluster", "text", "since", "created_after", "created_before", "sort"]
BUCKETS = ["x", "count", "nan_count", "least", "greatest", "mean", "last"]
SHOWN = ["least", "greatest", "last"]
BUCKETS_OF_TABLE, BUCKETS_OF_DATA = 20, 2000


def jobs(panel: Panel, terminal: Terminal, arguments: argparse.Namespace) -> int:
    filters = {
        name: getattr(arguments, name) for name in ("project", "definition", "accelerator", "cluster", "text", "since", "sort")
    }
    filters |= {"created_after": arguments.created_after, "created_before": arguments.created_before}
    if arguments.mine and arguments.owner:
        raise UsageError("Either --mine or --owner.")
    found = panel.jobs(
        limit=None if arguments.all else arguments.limit,
        state=arguments.state,
        labels=pairs("--label", arguments.labels),
        owner="me" if arguments.mine else arguments.owner,
        **filters,
    )
    if arguments.json:
        terminal.print(json.dumps([job.data for job in found]))
        return Status.DONE
    rows = [_job_row(job.data) for job in found]
    if not rows:
        terminal.note("No job is like that.")
        return Status.DONE
    _print(terminal, tables.lines(terminal, JOBS, rows))
    if not arguments.all and len(rows) == arguments.limit:
        terminal.note(f"These are the first {len(rows)}; --limit and --all show more.")
    return Status.DONE


def _job_row(job: dict[str, Any]) -> list[str]:
    why = "" if job["state"] in ("running", "succeeded") else job["reason"]["sentence"]
    return [
        str(job["number"]),
        job["state"],
        job["name"],
        job["project"],
        job["created_by"] or "",
        words.ago(job["created_at"]),
        words.run_time(job),
        "" if job["ended_at"] else words.progress(job),
        why,
    ]


def job(panel: Panel, terminal: Terminal, arguments: argparse.Namespace) -> int:
    found = panel.job(arguments.number)
    if arguments.json:
        terminal.print(json.dumps(found.data))
        return Status.DONE
    data, resources = found.data, found.data["resources"]
    clean = words.plain
    rows = [
        ("job", f"{found.number}  {clean(found.name)}"),
        ("state", terminal.state(found.state)),
        ("why", clean(found.reason)),
        ("progress", words.progress(data)),
        ("project", clean(found.project)),
        ("definition", clean(f"{data['definition']} version {data['version']}")),
        ("source", clean(_source(data["source"]))),
        ("resources", clean(f"{resources['chips']} x {resources['accelerator']} {resources['cluster']}".rstrip())),
        ("labels", clean(", ".join(f"{name}={value}" for name, value in data["labels"].items()))),
        ("secrets", clean(", ".join(data["secrets"]))),
        ("launched", clean(f"{words.ago(data['created_at'])} by {data['created_by'] or 'somebody'}")),
        ("ran", words.run_time(data)),
        ("again of", str(data["relaunch_of"] or "")),
        ("page", found.url),
    ]
    _print(terminal, tables.pairs(terminal, rows))
    if data["parameters"]:
        terminal.print()
        shown = [(clean(name), words.cut(clean(json.dumps(value)), 200)) for name, value in data["parameters"].items()]
        _print(terminal, tables.pairs(terminal, shown))
    attempts = found.attempts()
    if len(attempts) > 1:
        terminal.print()
        rows_of = [
            [str(a["number"]), a["state"], a["outcome"], words.ago(a["created_at"]), a["reason"]["sentence"]] for a in attempts
        ]
        _print(terminal, tables.lines(terminal, ATTEMPTS, rows_of))
    return Status.DONE


def _source(source: dict[str, Any]) -> str:
    """What its code is, in a few words; "": it brings none."""
    if source.get("kind") == "git":
        return f"{source['address']} {source.get('ref', '')} {source.get('commit', '')[:12]}".rstrip()
    return "" if source.get("kind") == "none" else str(source.get("title") or source.get("kind", ""))


def hosts(panel: Panel, terminal: Terminal, arguments: argparse.Namespace) -> int:
    found = panel.hosts()
    if arguments.json:
        terminal.print(json.dumps([host.data for host in found]))
        return Status.DONE
    if not found:
        terminal.note(f"There are no hosts yet. The page {panel.url}/hosts shows how to add one.")
        return Status.DONE
    rows = [
        [
            host.name,
            "silent" if host.is_silent else host.state,
            host.cluster,
            host.data["accelerator"],
            str(host.free_chips),
            str(host.chips),
            words.ago(host.data["heard_at"]),
            words.size(host.data["disk_free_bytes"]),
            host.data["cordon_reason"],
        ]
        for host in found
    ]
    _print(terminal, tables.lines(terminal, HOSTS, rows))
    return Status.DONE


def metrics(panel: Panel, terminal: Terminal, arguments: argparse.Namespace) -> int:
    found = panel.job(arguments.number)
    if arguments.name is None:
        series = found.metrics()
        if arguments.json:
            terminal.print(json.dumps(series))
        elif arguments.csv:
            _print_csv(terminal, ["name", "attempt", "rank", "points", "last_step", "last_ms", "last_value"], series)
        elif series:
            _print(terminal, tables.lines(terminal, SERIES, [_series_row(one) for one in series]))
        else:
            terminal.note(f"Job {found.number} has measured nothing yet.")
        return Status.DONE
    usual = BUCKETS_OF_DATA if arguments.csv or arguments.json else BUCKETS_OF_TABLE
    lines = found.metric(arguments.name, by=arguments.by, buckets=arguments.buckets or usual)
    if not lines:
        known = sorted({one["name"] for one in found.metrics()})
        raise UsageError(f"Job {found.number} has no metric {arguments.name}; it has {', '.join(known) or 'none yet'}.")
    if arguments.json:
        terminal.print(json.dumps(lines))
    elif arguments.csv:
        _print_csv(terminal, ["attempt", "rank", *BUCKETS], _bucket_rows(lines))
    else:
        columns = [
            Column(name, is_figure=True) for name in ("attempt", "rank", arguments.by, "points", "least", "greatest", "last")
        ]
        shown = [
            [str(b["attempt"] or ""), str(b["rank"]), str(b["x"]), str(b["count"])] + [words.number(b[name]) for name in SHOWN]
            for b in _bucket_rows(lines)
        ]
        _print(terminal, tables.lines(terminal, columns, shown))
    return Status.DONE


def _series_row(one: dict[str, Any]) -> list[str]:
    last_step = "" if one["last_step"] is None else str(one["last_step"])
    return [
        one["name"],
        str(one["attempt"] or ""),
        str(one["rank"]),
        str(one["points"]),
        last_step,
        words.number(one["last_value"]),
    ]


def _bucket_rows(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for line in lines:
        yield from ({"attempt": line["attempt"], "rank": line["rank"], **bucket} for bucket in line["buckets"])


def _print_csv(terminal: Terminal, columns: list[str], rows: Any) -> None:
    writer = csv.DictWriter(terminal.out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    terminal.out.flush()


def _print(terminal: Terminal, lines: list[str]) -> None:
    for line in lines:
        terminal.print(line)
