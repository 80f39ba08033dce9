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

from jobs.parameters import PLACE
from tests.recipes.recipe import TIMEOUT_S, Recipe, progress

NAME = "digits_tensorflow"
STEPS_PER_EPOCH = 44  # 1,437 digits in batches of 32


class Trained(NamedTuple):
    files: Path
    said: str


@pytest.fixture(scope="module")
def recipe(runtime: Callable[[str], Path]) -> Recipe:
    return Recipe(NAME, runtime("tensorflow"))


@pytest.fixture(scope="module")
def trained(recipe: Recipe, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A run of the form as it stands, from the first step to the last."""
    files = tmp_path_factory.mktemp("trained")
    return Trained(files, recipe.run(files))


@pytest.fixture(scope="module")
def left(recipe: Recipe, trained: Trained) -> dict[str, Any]:
    """What that run left, as TensorFlow reads it."""
    assert recipe.programs
    look = [recipe.programs / "python", Path(__file__).with_name("look_tensorflow.py"), trained.files / "1"]
    return json.loads(subprocess.run(look, capture_output=True, text=True, check=True, timeout=TIMEOUT_S).stdout)


@pytest.fixture(scope="module")
def prolonged(recipe: Recipe, trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> str:
    """That run's checkpoints brought on by an epoch, on two devices and in bfloat16."""
    files = tmp_path_factory.mktemp("prolonged")
    shutil.copytree(trained.files / "checkpoints", files / "checkpoints")
    return recipe.run(files, attempt="2", epochs=11, precision="mixed_bfloat16", cpu_devices=2)


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
    monkeypatch.delenv("PANEL_OUTPUT", raising=False)
    monkeypatch.delenv("PANEL_CHECKPOINTS", raising=False)
    by_hand = vars(runpy.run_path(str(Recipe(NAME).folder / "settings.py"))["read"]([]))
    form = {name: part["default"] for name, part in Recipe(NAME).description["parameters"]["properties"].items()}
    assert by_hand == form | {"output": "output", "checkpoints": "checkpoints"}


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
    assert sorted(path.stem for path in folder.glob("ckpt-*.index")) == ["ckpt-352", "ckpt-396", "ckpt-440"]
    assert 'model_checkpoint_path: "ckpt-440"' in (folder / "checkpoint").read_text()


@pytest.mark.road
def test_charts_have_their_scalars(left):
    scalars = left["scalars"]
    assert sorted(scalars) == [
        "accuracy", "examples_per_s", "learning_rate", "loss", "step_time_s", "val_accuracy", "val_loss",
    ]  # fmt: skip
    assert [step for step, _value in scalars["val_loss"]] == [STEPS_PER_EPOCH * epoch for epoch in range(1, 11)]
    assert [step for step, _value in scalars["loss"]][:6] == [10, 20, 30, 40, 44, 54]
    assert scalars["loss"][-1][1] < 0.2 < scalars["loss"][0][1]
    assert scalars["learning_rate"][-1][1] == pytest.approx(0.003 * 0.85**10, rel=1e-4)
    assert all(value > 0 for _step, value in scalars["step_time_s"] + scalars["examples_per_s"])


@pytest.mark.road
def test_the_exported_model_takes_pixels_and_gives_probabilities(left):
    served = left["served"]
    assert served["input"] == ["pixels", "float32", [None, 8, 8]]
    assert served["shape"] == [1797, 10]
    assert served["sums_to_one"]
    assert served["accuracy"] > 0.97


@pytest.mark.road
def test_every_digit_is_in_one_of_the_parts(left):
    assert left["examples"] == {"train": 1437, "test": 360}


@pytest.mark.road
def test_more_epochs_go_on_from_the_last_checkpoint(prolonged):
    assert "resumes from ckpt-440: 10 epochs and 0 steps are done" in prolonged
    assert progress(prolonged)[0] == (10 * STEPS_PER_EPOCH, 11 * STEPS_PER_EPOCH)
    assert progress(prolonged)[-1] == (11 * STEPS_PER_EPOCH, 11 * STEPS_PER_EPOCH)
    assert re.findall(r"^epoch (\d+) of 11", prolonged, re.MULTILINE) == ["11"]


@pytest.mark.road
def test_two_devices_train_in_bfloat16(prolonged):
    assert "2 replicas, batches of 32, mixed_bfloat16" in prolonged
    assert float(prolonged.rpartition("test accuracy ")[2]) > 0.95


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
def test_checkpoints_of_another_seed_are_refused(recipe, trained, tmp_path):
    shutil.copytree(trained.files / "checkpoints", tmp_path / "checkpoints")
    said = recipe.run(tmp_path, code=2, seed=1)
    assert "were made with seed 0, not 1" in said
    assert not (tmp_path / "1" / "model").exists()


def learned(said: str) -> list[str]:
    """Loss and accuracy of all steps that it tells, without how fast they were."""
    return re.findall(r"^step \d+  loss \S+  accuracy \S+", said, re.MULTILINE)
