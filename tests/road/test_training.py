"""A model trains: the recipe with its runtime, its metrics, its progress and its files, from the launch to the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.road.world import Agent, until


def lines(world, number: int, name: str) -> list[dict[str, Any]]:
    answer = world.client.get(f"jobs/{number}/metrics/lines", params={"name": name, "buckets": 2000}).raise_for_status()
    return answer.json()["lines"]


def test_digits_train_with_tensorflow_and_tell_how_it_goes(world, agent):
    number = world.launch_of("digits-tensorflow", {"epochs": 3})
    world.wait(number, "running", "failed", within_s=600)  # the first time, the runtime is built
    job = world.wait(number, within_s=120)
    text = world.complete_log(number).decode()
    assert job["state"] == "succeeded", text[-2000:]
    accuracy = float(text.splitlines()[-1].removeprefix("test accuracy "))
    assert accuracy > 0.8

    metrics = until(
        lambda: {m["name"]: m for m in world.client.get(f"jobs/{number}/metrics").json()["metrics"] if "test_accuracy" in str(m)},
        what="metrics",
    )
    metrics = {m["name"]: m for m in world.client.get(f"jobs/{number}/metrics").json()["metrics"]}
    assert abs(metrics["test_accuracy"]["last_value"] - accuracy) < 1e-3
    assert metrics["test_accuracy"]["attempt"] == 1
    losses = [name for name in metrics if name.endswith("loss")]
    assert losses, sorted(metrics)
    (line,) = lines(world, number, losses[0])
    steps = [bucket["x"] for bucket in line["buckets"]]
    assert steps == sorted(steps)
    assert line["buckets"][-1]["last"] < line["buckets"][0]["last"]

    progress = world.job(number)["progress"]
    assert (progress["percent"], progress["step"]) == (100, progress["total"])
    output = agent.state / "files" / "first-project" / str(number)
    assert (output / "1" / "model" / "saved_model.pb").exists()
    assert list((output / "checkpoints").iterdir())


def test_digits_train_with_torch_xla_and_tell_how_often_xla_compiled(world, agent):
    number = world.launch_of("digits-xla", {"epochs": 3, "compile": True})
    world.wait(number, "running", "failed", within_s=900)  # the first time, the runtime is built
    job = world.wait(number, within_s=180)
    text = world.complete_log(number).decode()
    assert job["state"] == "succeeded", text[-2000:]
    assert float(text.splitlines()[-1].removeprefix("test accuracy ")) > 0.8
    assert "PJRT" not in text and "on CPU" in text  # the panel said which device
    wanted = {"loss", "val_loss", "test_accuracy", "compile_count", "compile_time_s"}
    metrics = until(
        lambda: (
            (found := {m["name"]: m for m in world.client.get(f"jobs/{number}/metrics").json()["metrics"]})
            and wanted <= set(found)
            and found
        ),
        what="metrics",
    )
    assert metrics["compile_count"]["last_value"] >= 1
    (line,) = lines(world, number, "loss")
    assert line["buckets"][-1]["last"] < line["buckets"][0]["last"]
    assert (world.job(number)["progress"]["percent"], world.job(number)["source"]["title"]) == (100, "recipe digits_xla")
    areas = {"output", "checkpoints"}  # the last look at its files comes after its end
    until(lambda: {file["area"] for file in world.client.get(f"jobs/{number}/files").json()["results"]} == areas, what="files")


def test_metrics_of_each_kind_arrive_once_and_survive_the_agent(world, agent, tmp_path):
    go = tmp_path / "go"
    both = 'echo "::metric name=loss step=$i::0.$i"; echo "{\\"step\\": $i, \\"lr\\": 0.5}" >> $PANEL_METRICS'
    number = world.launch(
        f"for i in $(seq 1 50); do {both}; done; echo '::progress step=50 total=100'"
        f"; while [ ! -e {go} ]; do sleep 0.05; done"
        '; for i in $(seq 51 100); do echo "::metric name=loss step=$i::0.$i"; done; printf "::progress step=100 total=100"'
    )
    until(lambda: (world.job(number)["progress"] or {}).get("percent") == 50, what="half way")
    agent.kill()
    go.touch()
    agent.start()
    world.wait(number)
    until(lambda: world.job(number)["progress"]["percent"] == 100, what="all of it")
    (loss,) = lines(world, number, "loss")
    assert [(bucket["x"], bucket["last"]) for bucket in loss["buckets"]] == [(i, float(f"0.{i}")) for i in range(1, 101)]
    (rate,) = lines(world, number, "lr")
    assert [bucket["x"] for bucket in rate["buckets"]] == list(range(1, 51))
    until((agent.folder(world.job(number)["workload"]) / "done").exists, what="nothing left to ship")


@pytest.fixture
def builder(world, agent, tmp_path) -> Iterator[Agent]:
    """The only host, with no runtimes yet."""
    agent.kill()
    builder = world.add_agent("builder", slots=2, runtimes=tmp_path / "runtimes").wait_ready()
    until(lambda: world.host(agent.host_id)["is_silent"], what="the other host is not heard any more")
    yield builder
    builder.kill()


def prepared(world, number: int) -> bytes:
    return world.client.get(f"jobs/{number}/log", params={"part": "prepare"}).content


def test_two_jobs_that_want_the_same_runtime_build_it_once(world, builder, tmp_path):
    world.publish_runtime("tiny", "six==1.17.0\n")
    jobs = [world.launch_of("tiny", {"command": "python -c 'import six; print(six.__version__)'"}) for _ in range(2)]
    assert [world.wait(number)["state"] for number in jobs] == ["succeeded", "succeeded"]
    assert [world.complete_log(number) for number in jobs] == [b"1.17.0\n"] * 2
    (runtime,) = (tmp_path / "runtimes").iterdir()
    assert [path.name for path in (runtime / "builds").iterdir()] == ["1"]
    until(lambda: all(b"six==1.17.0" in prepared(world, number) for number in jobs), what="both tell of the build")
    assert prepared(world, jobs[0]) == prepared(world, jobs[1])
    assert "rank.preparing" in world.codes(jobs[0])
    again = world.launch_of("tiny", {"command": "echo quick"})
    assert world.wait(again)["state"] == "succeeded"
    assert prepared(world, again) == b""


def test_a_runtime_that_cannot_be_built_fails_the_job_with_uvs_own_words_and_may_be_tried_again(world, builder, tmp_path):
    world.publish_runtime("broken", "no-such-package-anywhere==1.0\n")
    for attempt in ("1", "2"):
        number = world.launch_of("broken", {"command": "true"})
        job = world.wait(number)
        assert (job["state"], job["reason"]["code"]) == ("failed", "prepare-failed")
        assert "no-such-package-anywhere" in job["reason"]["sentence"]
        until(lambda number=number: b"no-such-package-anywhere" in prepared(world, number), what="the build's log")
        (runtime,) = (tmp_path / "runtimes").iterdir()
        assert sorted(path.name for path in (runtime / "builds").iterdir())[-1] == attempt
    until(lambda: world.host(builder.host_id)["free_chips"] == 2, what="chips are free")


def test_a_preset_that_pins_nothing_is_refused_at_launch(world):
    world.publish_runtime("loose", "six\n")
    answer = world.client.post(
        "jobs", json={"project": "first-project", "definition": "loose", "parameters": {"command": "true"}}
    )
    assert (answer.status_code, list(answer.json()["details"])) == (422, ["runtime"])
