import assert from "node:assert/strict";
import test from "node:test";
import { chartsOf, columnsOf, lineName, plain } from "panel/metrics";

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

test("a host's samples of one thing share a chart", () => {
  const charts = chartsOf(named("host.network_sent_bytes_per_s", "host.memory_used_bytes", "host.memory_total_bytes", "host.cpu_percent"));
  assert.deepEqual(charts, [
    { title: "host.cpu_percent", names: ["host.cpu_percent"] },
    { title: "host.memory_bytes", names: ["host.memory_total_bytes", "host.memory_used_bytes"] },
    { title: "host.network_bytes_per_s", names: ["host.network_sent_bytes_per_s"] },
  ]);
  assert.equal(lineName("host.memory_used_bytes", { attempt: null, rank: 0 }, 1), "used");
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
