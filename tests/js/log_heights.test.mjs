import assert from "node:assert/strict";
import test from "node:test";

import { LogHeights } from "panel/log_heights";
import { LogLines } from "panel/log_lines";

const bytes = (text) => new TextEncoder().encode(text);

function heights(text, columns) {
  const lines = new LogLines();
  lines.begin(bytes(text), 0);
  const found = new LogHeights();
  found.columns = columns;
  found.update(lines);
  return { found, lines };
}

test("lines that are not wrapped are a row each", () => {
  const { found } = heights("a\nb\nc", 0);
  assert.deepEqual([found.total, found.top(2), found.at(1.5), found.at(-3), found.at(99)], [3, 2, 1, 0, 2]);
});

test("a wrapped line takes the rows that it needs, an empty one its own", () => {
  const { found } = heights(`${"x".repeat(10)}\n\n${"x".repeat(11)}\nx\n`, 10);
  assert.deepEqual([0, 1, 2, 3, 4].map((index) => found.top(index)), [0, 1, 2, 4, 5]);
  assert.deepEqual([0, 0.9, 1, 2, 3.9, 4, 5, 9].map((row) => found.at(row)), [0, 0, 1, 2, 2, 3, 3, 3]);
});

test("what is wide or has tabs is guessed until it was measured", () => {
  const { found, lines } = heights("温度温度温度\n\tx\nplain\n", 8);
  assert.deepEqual([found.top(1), found.top(2), found.top(3)], [2, 4, 5]);
  assert.deepEqual(lines.lines.map((line) => found.isExact(line)), [false, false, true]);
  assert.equal(found.measured(lines.lines[0], 3), true);
  assert.equal(found.measured(lines.lines[0], 3), false);
  found.update(lines);
  assert.deepEqual([found.top(1), found.isExact(lines.lines[0])], [3, true]);
});

test("another width and lines that come are reckoned anew", () => {
  const { found, lines } = heights(`${"x".repeat(10)}\n`, 10);
  lines.append(bytes(`${"x".repeat(20)}\nopen that grows`));
  found.update(lines);
  assert.equal(found.total, 5);
  lines.append(bytes(" on and on"));
  found.update(lines);
  assert.equal(found.total, 6);
  found.columns = 100;
  found.update(lines);
  assert.equal(found.total, 3);
});
