import assert from "node:assert/strict";
import test from "node:test";

import { LineDecoder } from "panel/log_text";

const bytes = (text) => new TextEncoder().encode(text);
const texts = (lines) => lines.map(({ text }) => text);
const decode = (text) => new LineDecoder().push(bytes(text));
const only = (text) => decode(`${text}\n`)[0];
const looks = ({ marks }) => marks.map(([from, { classes, fg, bg }]) => [from, classes, ...[fg, bg].filter(Boolean)]);

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
  assert.deepEqual(looks(first), [[2, "bold fg-1"], [5, ""]]);
  assert.deepEqual(looks(second), [[0, "fg-2"]]);
  assert.equal(only("plain").marks, null);
});

test("colours beyond the sixteen come as they are", () => {
  assert.deepEqual(looks(only("\x1b[38;5;9mx")), [[0, "fg-9"]]);
  assert.deepEqual(looks(only("\x1b[38;5;196mx")), [[0, "fg-own", "rgb(255 0 0)"]]);
  assert.deepEqual(looks(only("\x1b[38;5;244mx")), [[0, "fg-own", "rgb(128 128 128)"]]);
  assert.deepEqual(looks(only("\x1b[38;2;10;200;30mx")), [[0, "fg-own", "rgb(10 200 30)"]]);
  assert.deepEqual(looks(only("\x1b[38:2:10:200:30mx")), [[0, "fg-own", "rgb(10 200 30)"]]);
  assert.deepEqual(looks(only("\x1b[38:2::10:200:30mx")), [[0, "fg-own", "rgb(10 200 30)"]]);
  assert.deepEqual(looks(only("\x1b[91;48;5;4mx")), [[0, "fg-9 bg-4"]]);
  assert.deepEqual(looks(only("\x1b[48;2;1;2;3;1mx")), [[0, "bold bg-own", "rgb(1 2 3)"]]);
  assert.deepEqual(looks(only("\x1b[58;2;1;2;3;31mx")), [[0, "fg-1"]], "the colour of a line below is read over");
});

test("colours that are none change nothing", () => {
  for (const code of ["38", "38;5", "38;5;256", "38;2;1;2", "38;2;999;0;0", "99", "?25", "38:5:x"]) assert.equal(only(`\x1b[${code}mx`).marks, null, code);
});

test("bold, dim, italic, lines, inverse and struck text are set and unset", () => {
  assert.deepEqual(looks(only("\x1b[1;2;3;4;7;9mx\x1b[22;23;24;27;29my")), [[0, "bold dim italic under inverse strike"], [1, ""]]);
  assert.deepEqual(looks(only("\x1b[4:3mx\x1b[4:0my")), [[0, "under"], [1, ""]]);
});

test("every other escape sequence and control is taken out", () => {
  assert.equal(only("\x1b]0;title\x07a\x1b[5nb\x1b[10;5Hc\x1b(Bd\x1b]8;;http://x\x1b\\e\x1b]8;;\x1b\\").text, "abcde");
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

test("garbage of sequences is gone, or stands there as text", () => {
  assert.equal(only("\x1b[1;2;3").text, "[1;2;3");
  assert.equal(only("\x1b[\x1b[31mx").text, "[x");
  assert.equal(only(`\x1b[${"1;".repeat(300)}mx`).text, `[${"1;".repeat(300)}mx`, "too long to be one");
  assert.equal(only("\x1b\x1b\x1b[0mx").text, "x");
  assert.equal(only("\x1bPq#0;2;0\x1b\\x\x1b_Ga=T;AAAA\x1b\\y").text, "xy", "pictures");
});

test("an escape sequence that never ends hides nothing behind it", () => {
  assert.deepEqual(texts(decode("a\x1b]0;secret\nb\n")), ["a]0;secret", "b"]);
  assert.ok(only(`\x1b]${"x".repeat(5000)}`).text.includes("xxxx"));
});

test("what is erased is not shown", () => {
  assert.equal(only("50 %\r\x1b[K").text, "");
  assert.equal(only("50 %\r\x1b[Kdone").text, "done");
  assert.equal(only("50 %\x1b[2Kdone").text, "done");
  assert.equal(only("50 %\x1b[2K\x1b[1Gdone").text, "done");
  assert.equal(only("kept\x1b[K").text, "kept");
  assert.equal(only("kept\x1b[0K too").text, "kept too");
});

test("bars of tqdm, pip and Keras show their last state, also while they are written", () => {
  const decoder = new LineDecoder();
  const states = ["\r  0%|          | 0/9 [00:00<?, ?it/s]", "\r 44%|████▍     | 4/9 [00:01<00:01]", "\r100%|██████████| 9/9 [00:02<00:00]"];
  for (const state of states) {
    decoder.push(bytes(state));
    assert.equal(decoder.open.text, state.slice(1));
  }
  assert.equal(decoder.push(bytes("\n"))[0].text, states[2].slice(1));
  assert.equal(only("   \x1b[38;5;237m━━━\x1b[0m 1/2 MB\r\x1b[2K   \x1b[32m━━━\x1b[0m 2/2 MB").text, "   ━━━ 2/2 MB");
  assert.equal(only("1/2 ━━━ 1s\b\b\b\b\b\b\b\b\b\b\r2/2 ━━━ 0s").text, "2/2 ━━━ 0s");
});

test("what would reorder the text or break its line is made visible", () => {
  assert.equal(only("rm \u202egnp.exe").text, "rm \ufffdgnp.exe");
  assert.equal(only("a\u2028b\u2029c\u061cd\u2066e").text, "a\ufffdb\ufffdc\ufffdd\ufffde");
});

test("a line without an end is bounded", () => {
  const decoder = new LineDecoder();
  for (let i = 0; i < 100; i++) decoder.push(bytes("x".repeat(1000)));
  assert.equal(decoder.open.text.length, 8192);
  assert.equal(decoder.open.cut, 100_000 - 8192);
  decoder.push(bytes("\rshort"));
  assert.deepEqual([decoder.open.text, decoder.open.cut], ["short", 0]);
});

test("as many characters of a line are kept as one asks for", () => {
  const [line] = new LineDecoder(0, Infinity).push(bytes(`${"x".repeat(20_000)}\n`));
  assert.deepEqual([line.text.length, line.cut], [20_000, 0]);
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
