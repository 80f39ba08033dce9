"""A job's metrics by API: charts, lines on each axis, marks, and all points as a file."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agent import protocol
from clusters import scheduling
from clusters.models import OutputFile
from jobs import attempts
from jobs.models import Job
from monitoring import metrics
from monitoring.metric_chunks import CHUNK_POINTS, Columns
from tests.clusters import steps
from tests.clusters.steps import after
from tests.factories import NOON, a_host, a_job
from tests.jobs.conftest import body

pytestmark = pytest.mark.django_db
NOON_MS = int(NOON.timestamp() * 1000)


@pytest.fixture
def trained(vision, script) -> SimpleNamespace:
    """A job of two attempts, which ran from 10 s and 110 s on; each measured a loss a second, the second from step 3 on."""
    a_host(name="tpu-1", heard_at=after(10_000))
    job = a_job(project=vision.project, by=vision.member, retries={"user_code": {"times": 1, "delay_s": 1}})
    for begin, first in ((10, 1), (110, 3)):
        scheduling.schedule(now=after(begin))
        workload = Job.objects.for_display().get(pk=job.pk).workload
        steps.claim(workload, now=after(begin))
        steps.says(workload, state=protocol.RUNNING, now=after(begin))
        taken = range(first, first + 4)
        walls = [NOON_MS + 1000 * (begin + 1 + n) for n in range(4)]
        metrics.append(
            job.subject,
            {"train/loss": Columns(taken, walls, [1 / n for n in taken]), "system.processes": Columns(walls, walls, [3.0] * 4)},
            workload_id=workload.pk,
        )
        if begin == 10:
            file = steps.a_file(workload, "step-2/weights", area="checkpoints")
            OutputFile.objects.filter(pk=file.pk).update(modified_at=after(12.5))
            steps.says(workload, now=after(60), **steps.FAILED)
            attempts.follow(now=after(60))
            attempts.begin_due(now=after(100))
    viewer = script(vision.viewer, scope="read")
    return SimpleNamespace(job=job, workload=workload, get=lambda path: viewer.get(f"/api/v1/jobs/{job.pk}/metrics{path}"))


def lines(trained, query):
    found = trained.get(f"/lines?name=train/loss&{query}").json()["lines"]
    return [(line["attempt"], [bucket["x"] for bucket in line["buckets"]]) for line in found]


def test_lines_of_one_rank(trained):
    points = {"train/loss": Columns([1], [NOON_MS], [1.0])}
    metrics.append(trained.job.subject, points, workload_id=trained.workload.pk, rank=3)
    found = {
        query: trained.get(f"/lines?name=train/loss{query}").json()["lines"] for query in ("", "&rank=0", "&rank=3", "&rank=9")
    }
    ranks = {query: [(line["attempt"], line["rank"]) for line in lines] for query, lines in found.items()}
    assert ranks == {"": [(1, 0), (2, 0), (2, 3)], "&rank=0": [(1, 0), (2, 0)], "&rank=3": [(2, 3)], "&rank=9": []}
    assert trained.get("/lines?name=train/loss&rank=first").status_code == 422


def test_charts_have_their_names_and_who_measured(trained):
    assert trained.get("/charts").json() == {
        "results": [
            {"title": "loss", "is_sampled": False, "names": [{"name": "train/loss", "line": "train"}]},
            {"title": "system.processes", "is_sampled": True, "names": [{"name": "system.processes", "line": ""}]},
        ],
        "next_cursor": None,
        "count": 2,
        "attempts": [1, 2],
        "last_ms": NOON_MS + 114_000,
    }
    assert [chart["title"] for chart in trained.get("/charts?q=loss").json()["results"]] == ["loss"]
    assert sorted(row["attempt"] for row in trained.get("?q=loss").json()["metrics"]) == [1, 2]


def test_series_come_by_name_and_by_pages(trained):
    pages, cursor = [], ""
    while cursor is not None:
        found = trained.get(f"?limit=3&cursor={cursor}").json()
        pages.append([(row["name"], row["attempt"]) for row in found["metrics"]])
        cursor = found["next_cursor"]
    assert [len(page) for page in pages] == [3, 1]
    both = [[(name, attempt) for attempt in (1, 2)] for name in ("system.processes", "train/loss")]
    assert [sorted(sum(pages, [])[cut : cut + 2]) for cut in (0, 2)] == both
    assert trained.get("?limit=4").json()["next_cursor"] is None
    assert trained.get("?limit=x").status_code == 422
    of_another_search = trained.get("?limit=1").json()["next_cursor"]
    assert trained.get(f"?q=loss&cursor={of_another_search}").status_code == 422


def test_each_axis_has_its_x(trained):
    assert lines(trained, "by=step") == [(1, [1, 2, 3, 4]), (2, [3, 4, 5, 6])]
    wall = [[NOON_MS + 1000 * (begin + n) for n in range(1, 5)] for begin in (10, 110)]
    assert lines(trained, "by=wall") == [(1, wall[0]), (2, wall[1])]
    assert lines(trained, "by=relative") == [(1, [1000, 2000, 3000, 4000]), (2, [1000, 2000, 3000, 4000])]
    (first, _second) = trained.get("/lines?name=train/loss&by=relative").json()["lines"]
    assert first["origin_ms"] == NOON_MS + 10_000


def test_a_zoom_of_a_relative_axis_is_of_each_attempts_own_time(trained):
    assert lines(trained, "by=relative&start=2000&end=3000") == [(1, [2000, 3000]), (2, [2000, 3000])]
    assert lines(trained, "by=step&start=2&end=3&spacing=log") == [(1, [2, 3]), (2, [3])]


@pytest.mark.parametrize("query", ["by=x", "spacing=x", "start=-1"])
def test_a_wrong_question_is_named(trained, query):
    answer = trained.get(f"/lines?name=train/loss&{query}")
    assert (answer.status_code, list(answer.json()["details"])) == (422, [query.partition("=")[0]])


def test_marks_are_where_attempts_began_and_checkpoints_were_written(trained):
    found = trained.get("/marks").json()["results"]
    assert [(mark["kind"], mark["attempt"], mark["at"], mark["step"], mark["name"]) for mark in found] == [
        ("attempt", 1, "2026-03-01T12:00:10Z", 1, ""),
        ("checkpoint", 1, "2026-03-01T12:00:12.500000Z", 2, "step-2"),
        ("attempt", 2, "2026-03-01T12:01:50Z", 3, ""),
    ]


def test_a_checkpoint_of_many_files_is_one_mark_at_its_newest(trained):
    for name, at in (("step-4/a", 112), ("step-4/b", 113.5)):
        file = steps.a_file(trained.workload, name, area="checkpoints")
        OutputFile.objects.filter(pk=file.pk).update(modified_at=after(at))
    found = [mark for mark in trained.get("/marks").json()["results"] if mark["name"] == "step-4"]
    assert [(mark["attempt"], mark["at"], mark["step"]) for mark in found] == [(2, "2026-03-01T12:01:53.500000Z", 5)]


def test_all_points_come_as_a_file_in_chunks(trained):
    many = range(10, 10 + 2 * CHUNK_POINTS)
    metrics.append(trained.job.subject, {'a,"b': Columns(many, many, [0.5] * len(many))}, workload_id=trained.workload.pk)
    answer = trained.get("/file?name=train/loss&name=a%2C%22b&name=none")
    rows = body(answer).decode().splitlines()
    assert rows[:3] == [
        "name,attempt,rank,step,ms,value",
        f"train/loss,1,0,1,{NOON_MS + 11_000},1.0",
        f"train/loss,1,0,2,{NOON_MS + 12_000},0.5",
    ]
    assert (len(rows), rows[-1]) == (1 + 8 + len(many), f'"a,""b",2,0,{many[-1]},{many[-1]},0.5')
    assert answer["Content-Disposition"] == f'attachment; filename="job-{trained.job.pk}-metrics.csv"'


def test_a_name_that_a_spreadsheet_would_compute_is_made_text(trained):
    metrics.append(trained.job.subject, {"=1+1": Columns([1], [1], [float("nan")])}, workload_id=trained.workload.pk)
    metrics.append(trained.job.subject, {"@one": Columns([1], [1], [-1.0])}, workload_id=trained.workload.pk)
    assert body(trained.get("/file?name=%3D1%2B1")).decode().splitlines()[1] == "'=1+1,2,0,1,1,nan"
    assert body(trained.get("/file?name=@one")).decode().splitlines()[1] == "'@one,2,0,1,1,-1.0"


def test_a_file_is_of_one_to_fifty_names(trained):
    assert list(trained.get("/file").json()["details"]) == ["name"]
    assert trained.get("/file?" + "&".join(["name=x"] * 51)).status_code == 422


def test_a_stranger_sees_none_of_it(trained, vision, script):
    stranger = script(vision.stranger)
    for path in ("", "/charts", "/lines?name=train/loss", "/marks", "/file?name=train/loss"):
        assert stranger.get(f"/api/v1/jobs/{trained.job.pk}/metrics{path}").status_code == 404, path
