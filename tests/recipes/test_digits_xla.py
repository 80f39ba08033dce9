from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator

from agent import metric_lines
from jobs.parameters import PLACE
from tests.recipes.recipe import TIMEOUT_S, Recipe, progress

NAME = "digits_xla"
STEPS_PER_EPOCH = 44  # 1,437 digits in batches of 32


class Trained(NamedTuple):
    files: Path
    said: str


@pytest.fixture(scope="module")
def recipe(runtime: Callable[[str], Path]) -> Recipe:
    return Recipe(NAME, runtime("torch_xla"))


@pytest.fixture(scope="module")
def trained(recipe: Recipe, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A run of the form as it stands, from the first step to the last."""
    files = tmp_path_factory.mktemp("trained")
    return Trained(files, recipe.run(files))


@pytest.fixture(scope="module")
def charts(trained: Trained) -> dict[str, list[tuple[int, float]]]:
    """What that run wrote for the panel, as an agent reads it."""
    return points(trained.files / "1")


@pytest.fixture(scope="module")
def looked(recipe: Recipe, trained: Trained) -> dict[str, Any]:
    """What the model that it exported makes of all digits, and how four ranks share them."""
    assert recipe.programs
    model = trained.files / "1" / "model" / "digits.pt2"
    look = [recipe.programs / "python", Path(__file__).with_name("look_xla.py"), model, trained.files / "source"]
    return json.loads(subprocess.run(look, capture_output=True, text=True, check=True, timeout=TIMEOUT_S).stdout)


@pytest.fixture(scope="module")
def prolonged(recipe: Recipe, trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """That run's checkpoints, of which the last is cut off, brought on by an epoch with torch.compile and in bfloat16."""
    files = tmp_path_factory.mktemp("prolonged")
    shutil.copytree(trained.files / "checkpoints", files / "checkpoints")
    last = files / "checkpoints" / "ckpt-440.pt"
    last.write_bytes(last.read_bytes()[:-1000])
    (files / "checkpoints" / "ckpt-430.part").write_bytes(b"of one that was killed")
    return Trained(files, recipe.run(files, attempt="2", epochs=11, precision="mixed_bfloat16", compile=True))


def test_parameters_are_a_schema_with_words_and_defaults():
    schema = Recipe(NAME).description["parameters"]
    Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    for part in schema["properties"].values():
        assert part["title"]
        assert part["description"]
        assert not list(Draft202012Validator(part).iter_errors(part["default"]))


def test_command_takes_every_parameter_and_no_other():
    recipe = Recipe(NAME).description
    used = PLACE.findall(" ".join(recipe["template"]["command"]))
    assert sorted(used) == sorted(recipe["parameters"]["properties"])


def test_form_and_command_line_have_the_same_defaults(monkeypatch):
    for name in ("PANEL_OUTPUT", "PANEL_CHECKPOINTS", "PANEL_METRICS"):
        monkeypatch.delenv(name, raising=False)
    form = {name: part["default"] for name, part in Recipe(NAME).description["parameters"]["properties"].items()}
    folders = {"output": "output", "checkpoints": "checkpoints", "metrics": "output/metrics.jsonl"}
    assert by_hand() == form | folders


def test_the_panel_says_where_points_of_charts_go(monkeypatch):
    monkeypatch.setenv("PANEL_OUTPUT", "/files/output")
    monkeypatch.setenv("PANEL_METRICS", "/files/metrics")
    assert by_hand()["metrics"] == "/files/metrics"


@pytest.mark.road
def test_a_run_learns_the_digits(trained):
    *_rest, metric, last = trained.said.splitlines()
    accuracy = float(re.fullmatch(r"test accuracy (0\.\d{3}|1\.000)", last)[1])
    assert accuracy > 0.95
    step, value = re.fullmatch(r"::metric name=test_accuracy step=(\d+)::(\S+)", metric).groups()
    assert int(step) == 10 * STEPS_PER_EPOCH
    assert float(value) == pytest.approx(accuracy, abs=0.0005)


@pytest.mark.road
def test_progress_rises_to_its_total(trained):
    steps = [step for step, _total in progress(trained.said)]
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1]) == (0, 10 * STEPS_PER_EPOCH)
    assert {total for _step, total in progress(trained.said)} == {10 * STEPS_PER_EPOCH}


@pytest.mark.road
def test_the_last_three_checkpoints_are_kept(trained):
    folder = trained.files / "checkpoints"
    assert sorted(path.name for path in folder.iterdir()) == ["ckpt-352.pt", "ckpt-396.pt", "ckpt-440.pt"]


@pytest.mark.road
def test_charts_have_their_points(charts):
    assert sorted(charts) == [
        "accuracy", "compile_count", "compile_time_s", "examples_per_s", "learning_rate", "loss", "step_time_s",
        "val_accuracy", "val_loss",
    ]  # fmt: skip
    assert [step for step, _value in charts["val_loss"]] == [STEPS_PER_EPOCH * epoch for epoch in range(1, 11)]
    assert [step for step, _value in charts["loss"]][:6] == [10, 20, 30, 40, 44, 54]
    assert charts["loss"][-1][1] < 0.2 < charts["loss"][0][1]
    assert charts["learning_rate"][-1][1] == pytest.approx(0.005 * 0.85**10, rel=1e-4)
    assert all(value > 0 for _step, value in charts["step_time_s"] + charts["examples_per_s"])


@pytest.mark.road
def test_nothing_is_compiled_after_the_first_epoch(charts):
    """A first step, which makes Adam's state, any other, and the test: three graphs. A fourth would mean that steps differ."""
    counts = dict(charts["compile_count"])
    assert counts[10] == 2
    assert {count for step, count in counts.items() if step > STEPS_PER_EPOCH} == {3}
    times = dict(charts["compile_time_s"])
    assert 0 < times[10] < times[54] == times[440]


@pytest.mark.road
def test_the_exported_model_takes_pixels_and_gives_probabilities(looked):
    served = looked["served"]
    assert served["inputs"] == ["pixels"]
    assert served["shape"] == [1797, 10]
    assert served["shape_of_one"] == [1, 10]
    assert served["sums_to_one"]
    assert served["accuracy"] > 0.97


@pytest.mark.road
def test_ranks_share_the_batches_of_one(looked):
    assert looked["shares"] == {"of_batch": [8, 8, 8, 8], "are_batches_of_one": True, "tested": 360, "of_test": [96, 96, 96, 96]}


@pytest.mark.road
def test_a_checkpoint_that_is_cut_off_is_passed_over(prolonged):
    assert re.search(r"^ckpt-440 is passed over, it can't be read: \S", prolonged.said, re.MULTILINE)
    assert "resumes from ckpt-396: 9 epochs and 0 steps are done" in prolonged.said
    assert progress(prolonged.said)[0] == (9 * STEPS_PER_EPOCH, 11 * STEPS_PER_EPOCH)
    assert progress(prolonged.said)[-1] == (11 * STEPS_PER_EPOCH, 11 * STEPS_PER_EPOCH)
    assert re.findall(r"^epoch (\d+) of 11", prolonged.said, re.MULTILINE) == ["10", "11"]
    names = sorted(path.name for path in (prolonged.files / "checkpoints").iterdir())
    assert names == ["ckpt-396.pt", "ckpt-440.pt", "ckpt-484.pt"]


@pytest.mark.road
def test_a_compiled_network_trains_in_bfloat16(prolonged):
    assert "1 ranks on CPU, batches of 32, mixed_bfloat16" in prolonged.said
    assert float(prolonged.said.rpartition("test accuracy ")[2]) > 0.95
    counts = points(prolonged.files / "2")["compile_count"]
    assert counts[0][1] >= 1
    assert counts[-1] == (11 * STEPS_PER_EPOCH, dict(counts)[10 * STEPS_PER_EPOCH + 10])


@pytest.mark.road
def test_a_stopped_run_is_resumed_as_if_it_had_never_stopped(recipe, trained, tmp_path):
    attempt = recipe.start(tmp_path, epochs=1000)
    attempt.wait_for_step(20)
    attempt.process.terminate()
    stopped = attempt.end(code=143)
    step = int(re.search(rf"^stopped at step (\d+) of {1000 * STEPS_PER_EPOCH}; ckpt-\1 is saved$", stopped, re.MULTILINE)[1])
    assert not (tmp_path / "1" / "model").exists()

    resumed = recipe.run(tmp_path, attempt="2")
    epochs, steps = divmod(step, STEPS_PER_EPOCH)
    assert f"resumes from ckpt-{step}: {epochs} epochs and {steps} steps are done" in resumed
    assert learned(stopped) + learned(resumed) == learned(trained.said)
    assert resumed.splitlines()[-1] == trained.said.splitlines()[-1]


@pytest.mark.road
def test_a_killed_run_goes_on_from_its_last_checkpoint(recipe, trained, tmp_path):
    attempt = recipe.start(tmp_path, epochs=1000)
    attempt.wait_for_step(2 * STEPS_PER_EPOCH + 10)
    attempt.process.kill()
    attempt.end(code=-9)
    last = max(int(path.stem.removeprefix("ckpt-")) for path in (tmp_path / "checkpoints").glob("ckpt-*.pt"))
    assert last >= 2 * STEPS_PER_EPOCH

    resumed = recipe.run(tmp_path, attempt="2")
    assert f"resumes from ckpt-{last}: {last // STEPS_PER_EPOCH} epochs and 0 steps are done" in resumed
    assert learned(resumed) == learned(trained.said)[-len(learned(resumed)) :]


@pytest.mark.road
def test_checkpoints_of_another_seed_are_refused(recipe, trained, tmp_path):
    shutil.copytree(trained.files / "checkpoints", tmp_path / "checkpoints")
    said = recipe.run(tmp_path, code=2, seed=1)
    assert "were made with seed 0, not 1" in said
    assert not (tmp_path / "1" / "model").exists()


def by_hand() -> dict[str, Any]:
    """The settings of an empty command line."""
    return vars(runpy.run_path(str(Recipe(NAME).folder / "settings.py"))["read"]([]))


def points(output: Path) -> dict[str, list[tuple[int, float]]]:
    """Name -> (step, value) of each point, in the order written."""
    found: dict[str, list[tuple[int, float]]] = {}
    with (output / "metrics.jsonl").open("rb") as lines:
        for name, step, _wall_ms, value in metric_lines.written(lines, now_ms=0):
            found.setdefault(name, []).append((step, value))
    return found


def learned(said: str) -> list[str]:
    """Loss and accuracy of all steps that it tells, without how fast they were."""
    return re.findall(r"^step \d+  loss \S+  accuracy \S+", said, re.MULTILINE)
