import assert from "node:assert/strict";
import test from "node:test";
import { chartsOf, clock, columnsOf, lineName, plain } from "panel/metrics";

const named = (...names) => names.map((name) => ({ name }));

test("loss comes first, runs of one metric share a chart, the system's come last, progress is no chart", () => {
  const charts = chartsOf(named("system.cpu_percent", "train/accuracy", "lr", "train/loss", "val_loss", "progress/step"));
  assert.deepEqual(charts, [
    { title: "loss", names: ["train/loss", "val_loss"] },
    { title: "accuracy", names: ["train/accuracy"] },
    { title: "lr", names: ["lr"] },
    { title: "system.cpu_percent", names: ["system.cpu_percent"] },
  ]);
});

test("a line is named by run, attempt and rank, as far as they tell lines apart", () => {
  assert.equal(lineName("train/loss", { attempt: 1, rank: 0 }, 1), "train");
  assert.equal(lineName("train/loss", { attempt: 2, rank: 3 }, 2), "train #2 rank 3");
  assert.equal(lineName("val_loss", { attempt: 1, rank: 0 }, 1), "validation");
  assert.equal(lineName("loss", { attempt: 1, rank: 0 }, 1), "");
});

test("NaN and infinities break the line", () => {
  const bucket = (x, mean, nan_count = 0) => ({ x, mean, nan_count, count: 1 });
  assert.deepEqual(columnsOf([bucket(1, 0.5), bucket(2, null, 1), bucket(3, "Infinity")], "step"), [[1, 2, 3], [0.5, null, null]]);
  assert.deepEqual(columnsOf([bucket(1500, 1)], "wall"), [[1.5], [1]]);
});

test("numbers are short and exact enough", () => {
  assert.deepEqual([0.43215, 1234567, 0.0000123, 0, null].map(plain), ["0.4322", "1,234,570", "1.23e-5", "0", "NaN"]);
});

test("an axis of time writes what tells its moments apart", () => {
  const at = Date.UTC(2026, 2, 1, 12, 0, 5) / 1000;
  assert.deepEqual(clock([at, at + 5]).map((text) => text.slice(-3)), [":05", ":10"]);
  assert.match(clock([at, at + 600])[0], /^\d\d:\d\d$/);
  assert.match(clock([at, at + 86400])[0], /^\d+ Mar$/);
});
