import assert from "node:assert/strict";
import test from "node:test";

import { formatLink, parseLink } from "panel/log_links";

const of = { attempt: "2", rank: "0", part: "output" };

test("a link names a log and lines of it", () => {
  assert.deepEqual(parseLink("#2.0.output:L120-L140"), { ...of, from: 120, to: 140 });
  assert.deepEqual(parseLink("#2.0.output:L120"), { ...of, from: 120, to: 120 });
  assert.deepEqual(parseLink("#L7-9"), { attempt: null, rank: null, part: null, from: 7, to: 9 });
});

test("lines may be named in any order, and there is no line 0", () => {
  assert.deepEqual(parseLink("#L9-L7"), { attempt: null, rank: null, part: null, from: 7, to: 9 });
  assert.deepEqual(parseLink("#L0"), { attempt: null, rank: null, part: null, from: 1, to: 1 });
});

test("a link may name the end of a log", () => {
  assert.deepEqual(parseLink("#2.0.output:end"), { ...of, from: null, to: null });
  assert.equal(parseLink("#end"), null);
});

test("what is no link is none", () => {
  for (const fragment of ["", "#", "#page", "#L", "#Lx", "#L1-", "#1.output:L1", "#1.0.OUT:L1", "#L1234567890123456", "#L1 "]) assert.equal(parseLink(fragment), null, fragment);
});

test("what is formatted is parsed to the same", () => {
  for (const link of [{ ...of, from: 1, to: 1 }, { ...of, from: 120, to: 140 }, { attempt: null, rank: null, part: null, from: 3, to: 4 }]) {
    assert.deepEqual(parseLink(formatLink(link)), link);
  }
});
