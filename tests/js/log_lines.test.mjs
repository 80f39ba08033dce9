import assert from "node:assert/strict";
import test from "node:test";

import { LogLines } from "panel/log_lines";

const bytes = (text) => new TextEncoder().encode(text);
const shown = (lines) => lines.lines.map(({ kind, number, text }) => (kind ? kind : `${number}:${text}`));
const numbered = (from, to) => Array.from({ length: to - from }, (_, i) => `line ${from + i}\n`).join("");

test("a log that is loaded from its start is numbered", () => {
  const lines = new LogLines();
  lines.begin(bytes("a\nb\nc"), 0);
  assert.deepEqual(shown(lines), ["1:a", "2:b"]);
  assert.deepEqual([lines.open.number, lines.open.text, lines.count, lines.end], [3, "c", 3, 5]);
});

test("a tail begins with its first whole line", () => {
  const lines = new LogLines();
  lines.begin(bytes("rest\nwhole\n"), 50);
  assert.deepEqual(shown(lines), ["null:whole"]);
  assert.equal(lines.start, 55);
});

test("a tail is numbered when the number of its first line is known", () => {
  const lines = new LogLines();
  lines.begin(bytes("rest\nwhole\nmore"), 50, 6);
  assert.deepEqual(shown(lines), ["8:whole"]);
  assert.equal(lines.open.number, 9);
});

test("older lines join without loss, and number all once the start is reached", () => {
  const whole = numbered(0, 40);
  const lines = new LogLines();
  lines.begin(bytes(whole.slice(200)), 200);
  const id = lines.first;
  const at = lines.at(id).text;
  lines.prepend(bytes(whole.slice(90, lines.start)), 90);
  lines.prepend(bytes(whole.slice(0, lines.start)), 0);
  assert.equal(lines.at(id).text, at, "a line keeps its id");
  assert.deepEqual(shown(lines), Array.from({ length: 40 }, (_, i) => `${i + 1}:line ${i}`));
});

test("older lines take their numbers from the newer ones", () => {
  const lines = new LogLines();
  lines.begin(bytes("x\nc\n"), 100, 10);
  lines.prepend(bytes("x\nb\nx\n"), 96);
  assert.deepEqual(shown(lines), ["10:b", "11:x", "12:c"]);
});

test("a line that is read stays, however much comes at once", () => {
  const lines = new LogLines(100);
  lines.begin(bytes(numbered(0, 90)), 0);
  assert.deepEqual(lines.append(bytes(numbered(90, 3000)), 80), { added: 2910, dropped: 0 });
  assert.deepEqual([lines.first, lines.lines.length, lines.isDetached], [0, 100, true]);
  assert.equal(lines.end, numbered(0, 100).length);
  assert.equal(lines.append(bytes(numbered(100, 3000)), 2950).dropped, 2900, "one that stays anyway is in nobody's way");
  assert.deepEqual([lines.at(2950).text, lines.isDetached], ["line 2950", false]);
});

test("what is held stays bounded while it is followed", () => {
  const lines = new LogLines(100);
  lines.begin(new Uint8Array(), 0);
  let dropped = 0;
  for (let i = 0; i < 50; i++) dropped += lines.append(bytes(numbered(i * 100, i * 100 + 100))).dropped;
  assert.ok(lines.lines.length <= 1100);
  assert.equal(dropped + lines.lines.length, 5000);
  assert.deepEqual([lines.first, lines.lines[0].number, lines.lines.at(-1).text], [dropped, dropped + 1, "line 4999"]);
  assert.equal(lines.start, lines.lines[0].offset);
});

test("reading far back lets go of the end, and going on from there joins again", () => {
  const whole = bytes(numbered(0, 300));
  const lines = new LogLines(100);
  const half = whole.length - 1000;
  lines.begin(whole.subarray(half), half);
  lines.prepend(whole.subarray(0, lines.start), 0);
  assert.equal(lines.isDetached, true);
  assert.deepEqual([lines.lines.length, lines.open, lines.lines.at(-1).text], [100, null, "line 99"]);
  lines.append(whole.subarray(lines.end));
  assert.equal(lines.isDetached, false);
  assert.deepEqual([lines.lines.at(-1).text, lines.lines.at(-1).number, lines.end], ["line 299", 300, whole.length]);
});

test("a gap stands where bytes were dropped, once, and has no number", () => {
  const lines = new LogLines();
  lines.begin(bytes("a\nb\nc\n"), 0);
  const gap = { offset: 2, dropped_bytes: 512, from_ms: 1 };
  assert.equal(lines.gap(gap), true);
  assert.equal(lines.gap(gap), false);
  assert.equal(lines.gap({ ...gap, offset: 99 }), false);
  lines.append(bytes("d\n"));
  assert.deepEqual(shown(lines), ["1:a", "gap", "2:b", "3:c", "4:d"]);
  assert.equal(lines.lines[1].dropped, 512);
});

test("lines are found by offset and by number, over gaps", () => {
  const lines = new LogLines();
  lines.begin(bytes("x\nbb\ncc\ndd\nopen"), 100, 6);
  lines.gap({ offset: 105, dropped_bytes: 9 });
  const found = (id) => (id === null ? null : lines.at(id).text);
  assert.deepEqual([99, 101, 102, 104, 105, 107, 111, 114, 115].map((offset) => found(lines.idAt(offset))), [null, null, "bb", "bb", "cc", "cc", "open", "open", null]);
  assert.deepEqual([7, 8, 9, 10, 11, 12].map((number) => found(lines.idOf(number))), [null, "bb", "cc", "dd", "open", null]);
});

test("few long lines are held instead of many, at either end", () => {
  const long = (from, to) => bytes(Array.from({ length: to - from }, (_, i) => `${from + i} ${"x".repeat(8000)}\n`).join(""));
  const lines = new LogLines();
  lines.begin(new Uint8Array(), 0);
  for (let i = 0; i < 30; i++) lines.append(long(i * 100, i * 100 + 100));
  const chars = lines.lines.reduce((sum, { text }) => sum + text.length, 0);
  assert.ok(chars < 7_000_000, `${chars} characters`);
  assert.equal(lines.lines.at(-1).number, 3000);
  assert.equal(lines.isDetached, false);
  const back = new LogLines();
  const whole = long(0, 2000);
  const cut = whole.length - 1_000_000;
  back.begin(whole.subarray(cut), cut);
  back.prepend(whole.subarray(0, back.start), 0);
  assert.ok(back.lines.length < 900 && back.isDetached);
  assert.equal(back.lines[0].number, 1);
});

test("a stretch in the middle ends with its last whole line", () => {
  const lines = new LogLines();
  lines.begin(bytes("rest\nwhole\nhalf"), 50, 6);
  lines.detach();
  assert.deepEqual([lines.open, lines.end, lines.count], [null, 61, 1]);
  lines.append(bytes("half of it\n"));
  assert.deepEqual([lines.at(1).text, lines.at(1).number, lines.end], ["half of it", 9, 72]);
});
