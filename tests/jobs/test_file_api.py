"""Files of a job over HTTP: listed, fetched from their host, and downloaded whole or in part."""

from __future__ import annotations

import json

import pytest
from django.core.files.storage import storages
from django.utils import timezone

from agent.protocol import FETCH_PIECE_BYTES, FileLine
from clusters import fetches, files, pieces, scheduling
from clusters.models import Fetch, OutputFile, Rank
from jobs.downloads import Unsatisfiable, range_of
from projects.errors import Gone
from tests.clusters import steps
from tests.factories import NOON, a_host, a_job
from tests.jobs.conftest import body

pytestmark = pytest.mark.django_db
BIG = bytes(range(256)) * (FETCH_PIECE_BYTES // 256) + b"the rest"


@pytest.fixture
def job(vision):
    """It runs on tpu-1."""
    a_host(name="tpu-1")
    job = a_job(project=vision.project, by=vision.member)
    scheduling.schedule(now=NOON)
    steps.claim(job.workload)
    return job


@pytest.fixture
def viewer(script, vision):
    return script(vision.viewer, scope="read")


def get(viewer, file, **headers):
    return viewer.get(f"/api/v1/jobs/{job_of(file)}/files/{file.pk}", **headers)


def job_of(file) -> str:
    return file.rank.workload.subject.key


# -- The list ------------------------------------------------------------------------------------------------


def test_files_are_listed_with_all_that_is_known_of_them(viewer, job):
    file = steps.a_file(job.workload, "a/b.bin", size=7)
    files.note(file.rank, [FileLine("output", "gone", 1, 1), FileLine("output", "gone", gone=True)])
    assert viewer.get(f"/api/v1/jobs/{job.pk}/files").json() == {
        "results": [
            {
                "id": file.pk,
                "area": "output",
                "path": "a/b.bin",
                "size_bytes": 7,
                "modified_at": "2026-03-01T12:00:00Z",
                "attempt": 1,
                "rank": 0,
                "host": "tpu-1",
                "link": f"/jobs/{job.pk}/files/{file.pk}",
            }
        ],
        "has_more": False,
        "next_cursor": None,
    }


def test_a_list_goes_on_at_its_cursor(viewer, job):
    made = [steps.a_file(job.workload, str(number)).pk for number in range(3)]
    first = viewer.get(f"/api/v1/jobs/{job.pk}/files?limit=2").json()
    assert [file["id"] for file in first["results"]] == made[:2]
    last = viewer.get(f"/api/v1/jobs/{job.pk}/files?limit=2&cursor={first['next_cursor']}").json()
    assert ([file["id"] for file in last["results"]], last["next_cursor"]) == (made[2:], None)
    assert viewer.get(f"/api/v1/jobs/{job.pk}/files?cursor=x").status_code == 422


def test_that_there_are_more_than_are_listed_is_said(viewer, job):
    steps.a_file(job.workload)
    Rank.objects.update(has_more_files=True)
    assert viewer.get(f"/api/v1/jobs/{job.pk}/files").json()["has_more"] is True


@pytest.mark.parametrize("count", [1, 3])
def test_a_list_takes_five_queries_however_many_there_are(viewer, job, count, django_assert_num_queries):
    for number in range(count):
        steps.a_file(job.workload, str(number))
    viewer.get("/api/v1/jobs")  # notes the token's use
    with django_assert_num_queries(5):  # token, job, role, files, attempts
        assert len(viewer.get(f"/api/v1/jobs/{job.pk}/files").json()["results"]) == count


# -- On its way ----------------------------------------------------------------------------------------------


def test_a_file_is_asked_for_and_its_way_can_be_followed(viewer, job):
    file = steps.a_file(job.workload, size=len(BIG))
    answers = [get(viewer, file), get(viewer, file)]
    for answer in answers:
        assert (answer.status_code, answer["Retry-After"]) == (202, "1")
        assert answer.json() == {
            "state": "wanted",
            "received_bytes": 0,
            "size_bytes": len(BIG),
            "host": "tpu-1",
            "sentence": "",
        }
    fetch = Fetch.objects.get()
    put(fetch, 0, BIG[:FETCH_PIECE_BYTES])
    answer = get(viewer, file)
    assert (answer.status_code, answer.json()["state"], answer.json()["received_bytes"]) == (202, "coming", FETCH_PIECE_BYTES)
    put(fetch, FETCH_PIECE_BYTES, b"the rest")
    assert body(get(viewer, file)) == BIG


def put(fetch, offset, data):
    size = len(BIG)
    return fetches.take_piece(fetch.pk, host=fetch.host, offset=offset, size_bytes=size, data=data, now=timezone.now())


def test_a_silent_host_is_said_to_be(viewer, job):
    file = steps.a_file(job.workload)
    steps.the_inbox_has_read(until=steps.after(60))
    answer = get(viewer, file)
    assert answer.status_code == 202
    assert answer.json()["sentence"] == "Host tpu-1 is silent; the file comes when it is back."


def test_a_file_that_does_not_come_says_why(viewer, job, settings):
    settings.FETCH_MAX_BYTES = 5
    answer = get(viewer, steps.a_file(job.workload, size=10))
    assert (answer.status_code, answer.json()["code"]) == (409, "file-too-large")
    assert answer.json()["details"]["place"] == f"files/vit/{job.pk}/1/model.bin"
    file = steps.a_file(job.workload, "gone.bin", size=1)
    files.note(file.rank, [FileLine("output", "gone.bin", gone=True)])
    assert (get(viewer, file).status_code, get(viewer, file).json()["code"]) == (410, "file-gone")
    assert not Fetch.objects.exists()


def test_who_may_not_see_it_learns_nothing_and_orders_nothing(script, vision, job):
    file = steps.a_file(job.workload)
    other = a_job(project=vision.project, by=vision.member)
    stranger, viewer = script(vision.stranger), script(vision.viewer, scope="read")
    assert stranger.get(f"/api/v1/jobs/{job.pk}/files").status_code == 404
    assert get(stranger, file).status_code == 404
    for path in (f"/api/v1/jobs/{other.pk}/files/{file.pk}", f"/api/v1/jobs/{job.pk}/files/{10**30}"):
        answer = viewer.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "no-such-file")
    assert viewer.get(f"/api/v1/jobs/{other.pk}/files").json()["results"] == []
    assert not Fetch.objects.exists()


# -- There ---------------------------------------------------------------------------------------------------


@pytest.fixture
def there(job) -> OutputFile:
    """A file that was fetched: a piece and a bit."""
    file = steps.a_file(job.workload, "a/model \N{SNOWMAN}\n.html", size=len(BIG))
    steps.fetched(file, BIG)
    return file


def test_a_file_is_a_download_and_never_a_page(viewer, there):
    answer = get(viewer, there)
    headers = {name: answer[name] for name in ("Content-Type", "X-Content-Type-Options", "Accept-Ranges", "Content-Length")}
    assert (answer.status_code, body(answer) == BIG) == (200, True)
    assert headers == {
        "Content-Type": "application/octet-stream",
        "X-Content-Type-Options": "nosniff",
        "Accept-Ranges": "bytes",
        "Content-Length": str(len(BIG)),
    }
    assert answer["Content-Disposition"] == "attachment; filename*=utf-8''model%20%E2%98%83_.html"


@pytest.mark.parametrize(
    ("header", "start", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=5-9", 5, 10),
        (f"bytes={FETCH_PIECE_BYTES - 2}-{FETCH_PIECE_BYTES + 2}", FETCH_PIECE_BYTES - 2, FETCH_PIECE_BYTES + 3),
        (f"bytes={FETCH_PIECE_BYTES}-", FETCH_PIECE_BYTES, len(BIG)),
        ("bytes=-4", len(BIG) - 4, len(BIG)),
        ("bytes=0-999999999999", 0, len(BIG)),
    ],
)
def test_a_range_is_answered_alone(viewer, there, header, start, end):
    answer = get(viewer, there, Range=header)
    assert (answer.status_code, body(answer) == BIG[start:end]) == (206, True)
    assert (answer["Content-Range"], answer["Content-Length"]) == (f"bytes {start}-{end - 1}/{len(BIG)}", str(end - start))


@pytest.mark.parametrize("header", [f"bytes={len(BIG)}-", "bytes=-0", "bytes=999999999999-999999999999"])
def test_a_range_behind_the_end_is_416(viewer, there, header):
    answer = get(viewer, there, Range=header)
    assert (answer.status_code, answer["Content-Range"]) == (416, f"bytes */{len(BIG)}")
    assert json.loads(answer.content)["code"] == "range-not-satisfiable"


@pytest.mark.parametrize(
    "header", ["bytes=-", "bytes=9-5", "bytes=0-1,5-6", "lines=1-2", "bytes=x-y", "bytes=" + "9" * 5000 + "-"]
)
def test_what_is_no_single_range_gets_the_whole(viewer, there, header):
    answer = get(viewer, there, Range=header)
    assert (answer.status_code, int(answer["Content-Length"])) == (200, len(BIG))


def test_a_range_of_what_was_fetched_before_gets_the_whole_of_what_is_there_now(viewer, there):
    tag = get(viewer, there)["ETag"]
    assert get(viewer, there, **{"Range": "bytes=0-0", "If-Range": tag}).status_code == 206
    assert get(viewer, there, **{"Range": "bytes=0-0", "If-Range": '"other"'}).status_code == 200


def test_an_empty_file_is_an_empty_download(viewer, job):
    file = steps.a_file(job.workload, size=0)
    steps.fetched(file, b"")
    answer = get(viewer, file)
    assert (answer.status_code, body(answer)) == (200, b"")
    assert get(viewer, file, Range="bytes=0-").status_code == 416


def test_bytes_that_the_storage_has_lost_are_fetched_again(viewer, there):
    lost = Fetch.objects.get().pk
    pieces.drop(lost)
    answer = get(viewer, there)
    assert (answer.status_code, answer.json()["code"]) == (410, "fetched-bytes-lost")
    assert (get(viewer, there).status_code, Fetch.objects.get().pk > lost) == (202, True)


def test_a_piece_that_is_lost_in_the_middle_breaks_one_download_and_no_second(viewer, there):
    lost = Fetch.objects.get().pk
    storage = storages["default"]
    storage.delete(f"fetched/{lost}/{FETCH_PIECE_BYTES:016d}")
    answer = get(viewer, there)
    with pytest.raises(Gone):
        body(answer)
    assert (get(viewer, there).status_code, Fetch.objects.get().pk > lost) == (202, True)


def test_a_range_is_read_without_a_file():
    assert range_of("", 10) is None
    assert range_of("bytes=3-", 10) == (3, 10)
    with pytest.raises(Unsatisfiable):
        range_of("bytes=0-", 0)
