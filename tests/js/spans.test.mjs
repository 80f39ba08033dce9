import assert from "node:assert/strict";
import test from "node:test";
import { size } from "panel/spans";

const KIB = 1024, MIB = 1024 ** 2, GIB = 1024 ** 3;

test("a size has one to four digits and a unit of 1024", () => {
  assert.deepEqual([512, 1.5 * KIB, 418 * MIB, 9.96 * GIB].map((bytes) => size(bytes)), ["512 B", "1.5 KiB", "418 MiB", "10.0 GiB"]);
});

test("sizes in a row have the decimals that tell them apart, and no more", () => {
  const row = (start, apart) => [0, 1, 2].map((number) => size(start + number * apart, apart));
  assert.deepEqual(row(0, 256 * MIB), ["0 B", "256 MiB", "512 MiB"]);
  assert.deepEqual(row(GIB, GIB), ["1 GiB", "2 GiB", "3 GiB"]);
  assert.deepEqual(row(GIB, 256 * MIB), ["1.00 GiB", "1.25 GiB", "1.50 GiB"]);
  assert.deepEqual(row(13 * MIB, 128 * KIB), ["13.000 MiB", "13.125 MiB", "13.250 MiB"]);
  assert.equal(new Set(row(GIB, 64 * KIB)).size, 3);
});
