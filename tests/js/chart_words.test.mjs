import assert from "node:assert/strict";
import test from "node:test";
import { amountOf, placeOf, sinceStart, ticksOf } from "panel/chart_words";

test("time since the start is a clock, with days when there are some", () => {
  assert.deepEqual([0, 0.5, 5, 65, 3661, 90061, -65].map(sinceStart), ["0:00", "0:00.5", "0:05", "1:05", "1:01:01", "1 d 01:01", "-1:05"]);
});

test("ticks that an axis leaves out have no words", () => {
  assert.deepEqual(ticksOf("step", [1, null, 1000]), ["1", "", "1,000"]);
  assert.deepEqual(ticksOf("relative", [60, null]), ["1:00", ""]);
  assert.equal(ticksOf("wall", [0, 60]).length, 2);
});

test("bytes are written as sizes, also a second, and what is no number as it is", () => {
  assert.equal(amountOf("system.memory_bytes")(2048), "2.0 KiB");
  assert.equal(amountOf("host.network_bytes_per_s")(2048), "2.0 KiB/s");
  assert.equal(amountOf("system.memory_bytes")(null), "NaN");
  assert.equal(amountOf("loss")("Infinity"), "∞");
});

test("the place of the cross-hair is written as its axis is", () => {
  assert.equal(placeOf("step", 1234), "1,234");
  assert.equal(placeOf("relative", 90), "1:30");
});
