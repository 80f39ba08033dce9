import assert from "node:assert/strict";
import test from "node:test";

import { LineDecoder } from "panel/log_text";

const bytes = (text) => new TextEncoder().encode(text);
const texts = (lines) => lines.map(({ text }) => text);
const decode = (text) => new LineDecoder().push(bytes(text));
const only = (text) => decode(`${text}\n`)[0];

test("lines carry the offsets of their bytes", () => {
  const lines = new LineDecoder(100).push(bytes("één\ntwee\n\n"));
  assert.deepEqual(lines.map(({ offset, end, text }) => [offset, end, text]), [[100, 106, "één"], [106, 111, "twee"], [111, 112, ""]]);
});

test("a line that has not ended is open, and ends later", () => {
  const decoder = new LineDecoder();
  assert.deepEqual(decoder.push(bytes("half")), []);
  assert.equal(decoder.open.text, "half");
  assert.deepEqual(texts(decoder.push(bytes(" whole\nnext"))), ["half whole"]);
  assert.equal(decoder.open.text, "next");
  assert.deepEqual(texts(decoder.push(bytes("\n"))), ["next"]);
  assert.equal(decoder.open, null);
});

test("a character that is cut between two pieces is whole again", () => {
  const decoder = new LineDecoder();
  for (const byte of bytes("loss ≤ 1 🙂\n")) {
    const lines = decoder.push(Uint8Array.of(byte));
    if (lines.length) assert.deepEqual(texts(lines), ["loss ≤ 1 🙂"]);
  }
  assert.equal(decoder.open, null);
});

test("bytes that are no UTF-8 spoil neither the line nor the next one", () => {
  assert.deepEqual(texts(new LineDecoder().push(Uint8Array.of(0x61, 0xff, 0x62, 0xe2, 0x0a, 0x63, 0x0a))), ["a\ufffdb\ufffd", "c"]);
});

test("a carriage return shows the last state of the line", () => {
  assert.equal(only("10 %\r50 %\r100 %").text, "100 %");
  assert.equal(only("windows line\r").text, "windows line");
  assert.equal(only("long state\rok").text, "ok");
  const decoder = new LineDecoder();
  decoder.push(bytes("\r 7 %"));
  decoder.push(bytes("\r"));
  assert.equal(decoder.open.text, " 7 %", "until something is written over it");
});

test("colours become class names and go on over lines", () => {
  const [first, second] = decode("a \x1b[1;31mred\x1b[0m b\x1b[32m\ngreen\x1b[m\n");
  assert.equal(first.text, "a red b");
  assert.deepEqual(first.marks, [[2, "bold fg-1"], [5, ""]]);
  assert.deepEqual(second.marks, [[0, "fg-2"]]);
  assert.equal(only("plain").marks, null);
});

test("palette and true colours come down to the sixteen", () => {
  assert.deepEqual(only("\x1b[38;5;196mx").marks, [[0, "fg-1"]]);
  assert.deepEqual(only("\x1b[38;2;10;200;30mx").marks, [[0, "fg-2"]]);
  assert.deepEqual(only("\x1b[38;5;244mx").marks, [[0, "fg-7"]]);
  assert.deepEqual(only("\x1b[91;48;5;4mx").marks, [[0, "fg-9 bg-4"]]);
  assert.equal(only("\x1b[38mx").marks, null);
});

test("every other escape sequence and control is taken out", () => {
  assert.equal(only("\x1b]0;title\x07a\x1b[2Kb\x1b[10;5Hc\x1b(Bd\x1b]8;;http://x\x1b\\e\x1b]8;;\x1b\\").text, "abcde");
  assert.equal(only("bell\x07 null\x00 c1\x9b back\b").text, "bell null c1 back");
  assert.equal(only("tab\tstays").text, "tab\tstays");
});

test("an escape sequence that is cut between two pieces is still one", () => {
  for (const text of ["a\x1b[1;31mb\n", "a\x1b]0;some title\x1b\\b\n"]) {
    const decoder = new LineDecoder();
    const lines = [...bytes(text)].flatMap((byte) => decoder.push(Uint8Array.of(byte)));
    assert.deepEqual(texts(lines), ["ab"]);
  }
});

test("an escape sequence that never ends hides nothing behind it", () => {
  assert.deepEqual(texts(decode("a\x1b]0;secret\nb\n")), ["a]0;secret", "b"]);
  assert.ok(only(`\x1b]${"x".repeat(5000)}`).text.includes("xxxx"));
});

test("what would reorder the text is made visible", () => {
  assert.equal(only("rm \u202egnp.exe").text, "rm \ufffdgnp.exe");
});

test("a line without an end is bounded", () => {
  const decoder = new LineDecoder();
  for (let i = 0; i < 100; i++) decoder.push(bytes("x".repeat(1000)));
  assert.equal(decoder.open.text.length, 8192);
  assert.equal(decoder.open.cut, 100_000 - 8192);
  decoder.push(bytes("\rshort"));
  assert.deepEqual([decoder.open.text, decoder.open.cut], ["short", 0]);
});

test("any cut into pieces gives the same lines", () => {
  const text = "\x1b[33mwarn\x1b[0m größe\r\nstep 1\rstep 2\n\x1b]0;t\x07x\x1b[38;5;12my\x1b[0m\nend\n";
  const whole = decode(text);
  for (let size = 1; size < 9; size++) {
    const decoder = new LineDecoder();
    const lines = [];
    for (let at = 0; at < bytes(text).length; at += size) lines.push(...decoder.push(bytes(text).subarray(at, at + size)));
    assert.deepEqual(lines, whole, `pieces of ${size}`);
  }
});
