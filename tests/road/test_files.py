"""Files of a job, from the command that writes them to the download: listed as they appear, the same to the byte."""

from __future__ import annotations

import hashlib
import shutil
from typing import Any

import httpx

from tests.road.world import until

WRITES = (
    "mkdir -p $PANEL_OUTPUT/deep; head -c 10485760 /dev/urandom > $PANEL_OUTPUT/deep/model.bin"
    "; sha256sum < $PANEL_OUTPUT/deep/model.bin; echo one > $PANEL_CHECKPOINTS/ckpt-1; ln -s /etc/passwd $PANEL_OUTPUT/link"
)


def files_of(world, number: int) -> dict[str, dict[str, Any]]:
    found = world.client.get(f"jobs/{number}/files").raise_for_status().json()["results"]
    return {file["path"]: file for file in found}


def downloaded(world, number: int, file_id: int) -> httpx.Response:
    """The answer once it is no 202."""
    path = f"jobs/{number}/files/{file_id}"
    return until(lambda: (answer := world.client.get(path)).status_code != 202 and answer, 60, f"file {file_id}", every_s=0.1)


def test_what_a_command_writes_is_listed_and_downloaded_to_the_byte(world, agent):
    number = world.launch(f"{WRITES}; sleep 30")
    world.wait(number, "running")
    found = until(lambda: len(files_of(world, number)) == 2 and files_of(world, number), what="files of a running job")
    until(lambda: files_of(world, number)["deep/model.bin"]["size_bytes"] == 10 * 2**20, what="its whole size")
    assert found["ckpt-1"]["area"] == "checkpoints"
    model = files_of(world, number)["deep/model.bin"]
    assert (model["area"], model["attempt"], model["host"]) == ("output", 1, "host-a")
    answer = downloaded(world, number, model["id"])
    digest = until(lambda: world.log(number), what="digest").decode().split()[0]
    assert (answer.status_code, len(answer.content)) == (200, 10 * 2**20)
    assert hashlib.sha256(answer.content).hexdigest() == digest
    part = world.client.get(f"jobs/{number}/files/{model['id']}", headers={"Range": "bytes=4194300-4194310"})
    assert (part.status_code, part.content) == (206, answer.content[4194300:4194311])
    world.cancel(number, force=True)
    world.wait(number)


def test_the_last_file_of_a_short_command_is_told_and_comes_when_its_workload_is_forgotten(world, agent):
    number = world.launch("echo last > $PANEL_OUTPUT/last.txt")
    workload = world.wait(number)["workload"]
    file = until(lambda: files_of(world, number).get("last.txt"), what="the last file")
    folder = agent.folder(workload)
    until((folder / "done").exists, what="all of it is with the panel")
    shutil.rmtree(folder)  # as the agent itself does an hour later
    assert downloaded(world, number, file["id"]).content == b"last\n"


def test_a_file_is_brought_by_the_agent_that_comes_back(world, agent):
    number = world.launch("head -c 20000000 /dev/urandom | tee $PANEL_OUTPUT/model.bin | sha256sum")
    world.wait(number)
    file = until(lambda: files_of(world, number).get("model.bin"), what="file")
    agent.kill()
    assert world.client.get(f"jobs/{number}/files/{file['id']}").status_code == 202
    agent.start().wait_session()
    answer = downloaded(world, number, file["id"])
    assert hashlib.sha256(answer.content).hexdigest() == world.complete_log(number).decode().split()[0]


def test_a_file_that_went_away_says_so(world, agent):
    number = world.launch("echo x > $PANEL_OUTPUT/x")
    world.wait(number)
    file = until(lambda: files_of(world, number).get("x"), what="file")
    (agent.state / "files" / "first-project" / str(number) / "1" / "x").unlink()
    answer = downloaded(world, number, file["id"])
    assert (answer.status_code, answer.json()["message"]) == (409, "The file is no longer there.")
    assert files_of(world, number) == {}


def test_an_order_for_a_file_elsewhere_is_refused_by_the_host(world, agent):
    """Whatever the panel's tables say: a host opens nothing outside the folder of the attempt."""
    number = world.launch("echo x > $PANEL_OUTPUT/x")
    world.wait(number)
    file = until(lambda: files_of(world, number).get("x"), what="file")
    for path in ("../../../../../../../etc/passwd", "../../../../agent.json"):
        world.manage(
            "shell",
            "-v0",
            "-c",
            f"from clusters.models import *; OutputFile.objects.filter(pk={file['id']}).update(path={path!r})",
        )
        answer = downloaded(world, number, file["id"])
        assert (answer.status_code, answer.json()["code"]) == (409, "fetch-failed")
        assert answer.json()["message"] == "The path leads out of the folder of the job's files."
        world.manage("shell", "-v0", "-c", "from clusters.models import *; Fetch.objects.all().delete()")
