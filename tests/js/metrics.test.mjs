import assert from "node:assert/strict";
import test from "node:test";
import { columnsOf, extentOf, lineName, oddities, plain, smoothed } from "panel/metrics";

const bucket = (x, mean, nan_count = 0, count = 1) => ({ x, mean, nan_count, count });

test("a line is named by job, run, attempt and rank, as far as they tell lines apart", () => {
  assert.equal(lineName({ word: "train", attempt: 1, rank: 0 }), "train");
  assert.equal(lineName({ word: "train", attempt: 2, rank: 3, attempts: 2 }), "train #2 rank 3");
  assert.equal(lineName({ word: "", attempt: 1, rank: 0 }), "");
  assert.equal(lineName({ source: "#17 digits", word: "validation", attempt: 1, rank: 0 }), "#17 digits validation");
  assert.equal(lineName({ word: "used", attempt: null, rank: 0, attempts: 0 }), "used");
});

test("NaN and infinities break the line, and so does what a logarithmic axis has no place for", () => {
  assert.deepEqual(columnsOf([bucket(1, 0.5), bucket(2, null, 1), bucket(3, "Infinity")], "step"), [[1, 2, 3], [0.5, null, null]]);
  assert.deepEqual(columnsOf([bucket(1500, 1)], "wall"), [[1.5], [1]]);
  assert.deepEqual(columnsOf([bucket(0, 1), bucket(1, -1), bucket(2, 2)], "step", { logX: true, logY: true }), [[1, 2], [null, 2]]);
});

test("what is not drawn as a place is counted", () => {
  const buckets = [bucket(1, null, 3, 3), bucket(2, 0.5, 1, 4), bucket(3, "-Infinity", 0, 9), bucket(4, -1, 0, 2)];
  assert.deepEqual(oddities(buckets), { nans: 4, infinities: 1, below: 0 });
  assert.deepEqual(oddities(buckets, { logY: true }), { nans: 4, infinities: 1, below: 2 });
});

test("lines reach from the first to the last of their buckets", () => {
  assert.deepEqual(extentOf([{ buckets: [bucket(5, 1), bucket(9, 1)] }, { buckets: [] }, { buckets: [bucket(0, 1)] }]), [0, 9]);
  assert.deepEqual(extentOf([{ buckets: [bucket(0, 1), bucket(3, 1), bucket(9, 1)] }], { logX: true }), [3, 9]);
  assert.equal(extentOf([{ buckets: [] }]), null);
});

test("smoothing keeps a constant, begins at the first value, and passes over NaN", () => {
  const range = [0, 1000];
  assert.deepEqual(smoothed([[0, 1, 2], [4, 4, 4]], 0.9, { range }), [4, 4, 4]);
  assert.deepEqual(smoothed([[0, 1, 2], [1, null, 3]], 0.5, { range }).map((y) => y && Number(y.toFixed(4))), [1, null, 2.6]);
  assert.deepEqual(smoothed([[], []], 0.9, { range }), []);
});

test("smoothing is by distance: fewer buckets of the same curve give the same line", () => {
  const curve = (apart) => Array.from({ length: 1000 / apart + 1 }, (_, n) => n * apart);
  const y = (x) => Math.exp(-x / 200);
  const [fine, coarse] = [1, 10].map((apart) => { const xs = curve(apart); return smoothed([xs, xs.map(y)], 0.98, { range: [0, 1000] }); });
  for (const x of [100, 500, 1000]) assert.ok(Math.abs(fine[x] - coarse[x / 10]) < 0.02, `${x}: ${fine[x]} ${coarse[x / 10]}`);
  assert.ok(fine[1000] > y(1000), "it lags");
});

test("one point apart by a thousandth of the width it is the usual debiased average", () => {
  const ys = [3, 1, 4, 1, 5];
  let [sum, weight] = [0, 0.6];
  const usual = ys.map((value, n) => { sum = sum * weight + value * (1 - weight); return sum / (1 - weight ** (n + 1)); });
  const found = smoothed([[0, 1, 2, 3, 4], ys], weight, { range: [0, 1000] });
  found.forEach((value, n) => assert.ok(Math.abs(value - usual[n]) < 1e-9));
});

test("numbers are short and exact enough", () => {
  assert.deepEqual([0.43215, 1234567, 0.0000123, 0, null, "Infinity", "-Infinity"].map(plain), ["0.4322", "1,234,570", "1.23e-5", "0", "NaN", "∞", "-∞"]);
});
