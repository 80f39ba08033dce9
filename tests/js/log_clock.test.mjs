import assert from "node:assert/strict";
import test from "node:test";

import { formatMoment, parsePlace } from "panel/log_clock";

process.env.TZ = "Asia/Shanghai"; // eight hours ahead, all year
const NOON = Date.UTC(2026, 2, 1, 12);
const HOUR = 3600_000;

test("a moment is told in local time, in UTC or since the start, always as wide", () => {
  const shown = (mode, more) => formatMoment(NOON + 65_432, mode, { first: NOON, ...more });
  assert.equal(shown("local"), "20:01:05");
  assert.equal(shown("utc"), "12:01:05");
  assert.equal(shown("utc", { isLong: true }), "03-01 12:01:05");
  assert.equal(shown("since"), "+0:01:05.4");
  assert.equal(formatMoment(NOON + 100 * HOUR, "since", { first: NOON }), "+100:00:00.0");
  assert.equal(formatMoment(NOON - 5, "since", { first: NOON }), "+0:00:00.0", "a clock that was set back");
});

test("a number is a line, however it is written", () => {
  for (const text of ["1200", "1,200", "1.200", "1 200", "L1200", " l1200 ", "#1200", "1\u202f200"]) assert.deepEqual(parsePlace(text), { line: 1200 }, text);
});

test("a time of day is taken in the days of the log", () => {
  const log = { first: NOON, last: NOON + 30 * HOUR, isUtc: true };
  const at = (text, more) => (parsePlace(text, { ...log, ...more }).ms - NOON) / 1000;
  assert.equal(at("12:00:05", { last: NOON + HOUR }), 5);
  assert.equal(at("13:00", { last: NOON + HOUR }), 3600);
  assert.equal(at("11:59", { last: NOON + HOUR }), -60, "before it began");
  assert.equal(at("01:00"), 13 * 3600, "of the day after");
  assert.equal(at("12:30"), 24.5 * 3600, "of two days the last");
  assert.equal(at("12:00:00.25", { last: NOON }), 0.25);
  assert.equal((parsePlace("20:00:05", { ...log, last: NOON, isUtc: false }).ms - NOON) / 1000, 5, "in the browser's time");
});

test("a date is a date, with or without a zone", () => {
  const at = (text, isUtc = true) => parsePlace(text, { isUtc }).ms;
  assert.equal(at("2026-03-01 12:00"), NOON);
  assert.equal(at("2026-03-01T12:00:00.5"), NOON + 500);
  assert.equal(at("2026-03-01 20:00:00", false), NOON);
  assert.equal(at("2026-03-01 12:00Z", false), NOON);
  assert.equal(at("2026-03-01 20:00+08:00"), NOON);
  assert.equal(at("2026-03-01"), NOON - 12 * HOUR);
});

test("a plus is time since the start", () => {
  const since = (text) => (parsePlace(text, { first: NOON }).ms - NOON) / 1000;
  assert.deepEqual(["+90", "+90s", "+5 min", "+1h 20m", "+0:05:00", "+5:00", "+1.5h", "+250ms", "+2d"].map(since), [90, 90, 300, 4800, 300, 300, 5400, 0.25, 172800]);
});

test("what is neither a line nor a time is told to be none", () => {
  for (const text of ["", " ", "x", "+", "+x", "+5 parsecs", "25:00", "12:60", "1:2", "2026-13-01", "2026-02-31T99:00", "-5", "error"]) assert.equal(parsePlace(text, { first: NOON, last: NOON }), null, text);
});
