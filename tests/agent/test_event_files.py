from __future__ import annotations

import math
import subprocess
from pathlib import Path

import pytest

from agent import event_files
from agent.event_files import BadFile
from tests.recipes.conftest import _programs

WRITE = """
import sys, math
import tensorflow as tf
writer = tf.summary.create_file_writer(sys.argv[1])
with writer.as_default():
    for step in range(3):
        tf.summary.scalar("loss", 1.0 / (step + 1), step=step)
    tf.summary.scalar("zero", 0.0, step=7)
    tf.summary.scalar("bad", math.nan, step=8)
    tf.summary.scalar("half", tf.constant(0.5, tf.float16), step=9)
    tf.summary.histogram("weights", [1.0, 2.0], step=1)
    tf.summary.text("words", "hello", step=1)
    tf.summary.scalar("far", 3.0, step=2**40)
writer.close()
with tf.io.TFRecordWriter(sys.argv[1] + "/events.out.tfevents.0.old") as records:
    event = tf.compat.v1.Event(wall_time=12.5, step=4)
    event.summary.value.add(tag="simple", simple_value=0.25)
    records.write(event.SerializeToString())
"""


@pytest.mark.road
def test_scalars_of_the_real_writer_are_read(tmp_path: Path):
    """The contract with TensorFlow's own writer, of both generations of scalars."""
    python = _programs("tensorflow") / "python"
    subprocess.run([python, "-c", WRITE, str(tmp_path)], check=True, capture_output=True)
    found = {}
    for path in sorted(tmp_path.rglob("*tfevents*")):
        data = path.read_bytes()
        scalars, taken = event_files.read(data)
        assert taken == len(data)
        found |= {(scalar.tag, scalar.step): scalar for scalar in scalars}
    assert {key: round(scalar.value, 6) for key, scalar in found.items() if not math.isnan(scalar.value)} == {
        ("loss", 0): 1.0,
        ("loss", 1): 0.5,
        ("loss", 2): 0.333333,
        ("zero", 7): 0.0,
        ("half", 9): 0.5,
        ("far", 2**40): 3.0,
        ("simple", 4): 0.25,
    }
    assert math.isnan(found["bad", 8].value)
    assert found["simple", 4].wall_s == 12.5


def test_half_a_record_waits_for_its_rest():
    data = bytes.fromhex("0900000000000000")
    assert event_files.read(data) == ([], 0)
    assert event_files.read(b"") == ([], 0)


def test_what_is_no_record_is_said():
    with pytest.raises(BadFile, match="no record at 0"):
        event_files.read(b"x" * 40)
