import assert from "node:assert/strict";
import test from "node:test";

import { LogHits } from "panel/log_hits";
import { spansIn } from "panel/log_marks";

/** A search over lines 0, 1, ... of which some match; an answer looks at `most` lines at once. */
class Server {
  asked = [];
  constructor(hits, lines = 100, most = 1000) {
    Object.assign(this, { hits, lines, most });
  }

  ask = async (query, signal) => {
    this.asked.push(query);
    await null;
    signal.throwIfAborted();
    const isUp = query.direction === "backward";
    const from = query.from ?? (isUp ? this.lines : 0);
    const [start, counted] = query.cursor ? query.cursor.split("/").map(Number) : [from, 0];
    const end = isUp ? Math.max(0, start - this.most) : Math.min(this.lines, start + this.most);
    const found = this.hits.filter((line) => (isUp ? line < start && line >= end : line >= start && line < end));
    if (isUp) found.reverse();
    const taken = query.limit ? found.slice(0, query.limit) : [];
    const isCut = query.limit > 0 && taken.length < found.length;
    const place = isCut ? (isUp ? taken.at(-1) : taken.at(-1) + 1) : end;
    const isOver = !isCut && (isUp ? end === 0 : end === this.lines);
    const count = counted + (isCut ? taken.length : found.length);
    return {
      results: taken.map((line) => ({ line, offset: line, end: line + 1 })),
      next_cursor: isOver ? null : `${place}/${count}`,
      resume_cursor: isOver && !isUp ? `${end}/${count}` : null,
      count,
      is_exact: isOver,
    };
  };
}

async function settled() {
  for (let i = 0; i < 200; i++) await null;
}

async function started(server, from, isUpwards) {
  const hits = new LogHits(server.ask, () => {});
  await hits.start({ q: "x", mode: "plain" }, from, isUpwards);
  await settled();
  return hits;
}

const seen = (hits) => [hits.current?.line ?? null, hits.index, hits.count, hits.isExact];

test("from the end upwards the newest is the last of all", async () => {
  assert.deepEqual(seen(await started(new Server([3, 50, 97]), 100, true)), [97, 3, 3, true]);
});

test("from the middle downwards it is the next, with its number", async () => {
  assert.deepEqual(seen(await started(new Server([3, 50, 97]), 20, false)), [50, 2, 3, true]);
});

test("when there is none further on, the nearest before is taken", async () => {
  assert.deepEqual(seen(await started(new Server([3]), 20, false)), [3, 1, 1, true]);
});

test("one goes on, back, and around both ends", async () => {
  const hits = await started(new Server([3, 50, 97]), 0, false);
  const went = [];
  for (const step of ["next", "next", "next", "previous", "previous", "next"]) {
    await hits[step]();
    went.push([hits.current.line, hits.index]);
  }
  assert.deepEqual(went, [[50, 2], [97, 3], [3, 1], [97, 3], [50, 2], [97, 3]]);
});

test("more than a page of them is gone through without a gap", async () => {
  const all = Array.from({ length: 170 }, (_, i) => i * 2);
  const hits = await started(new Server(all, 400), 200, false);
  const down = [hits.current.line];
  while (hits.index < 170) down.push((await hits.next()).line);
  assert.deepEqual(down, all.slice(100));
  const up = [];
  while (hits.index > 1) up.push((await hits.previous()).line);
  assert.deepEqual(up, all.slice(0, 169).reverse());
});

test("keys that are pressed at once are gone one after the other", async () => {
  const hits = await started(new Server([1, 2, 3, 4, 5]), 0, false);
  await Promise.all([hits.next(), hits.next(), hits.next()]);
  assert.equal(hits.current.line, 4);
});

test("answers that are cut by their time are put together", async () => {
  const hits = await started(new Server([3, 50, 97], 100, 7), 100, true);
  assert.deepEqual(seen(hits), [97, 3, 3, true]);
  await hits.previous();
  assert.deepEqual(seen(hits), [50, 2, 3, true]);
});

test("nothing found is told, and what is printed later is counted", async () => {
  const server = new Server([]);
  const hits = await started(server, 100, true);
  assert.deepEqual(seen(hits), [null, null, 0, true]);
  Object.assign(server, { lines: 130, hits: [120, 125] });
  hits.grow();
  await settled();
  assert.deepEqual([hits.count, hits.isExact], [2, true]);
  await hits.next();
  assert.equal(hits.current.line, 120);
});

test("while a log grows the count grows and the number stays", async () => {
  const server = new Server([3, 50]);
  const hits = await started(server, 0, false);
  for (let lines = 110; lines <= 130; lines += 10) {
    Object.assign(server, { lines, hits: [...server.hits, lines - 1] });
    hits.grow();
    await settled();
  }
  assert.deepEqual(seen(hits), [3, 1, 5, true]);
  await hits.previous();
  assert.deepEqual(seen(hits), [129, 5, 5, true]);
});

test("another search leaves nothing of the one before", async () => {
  const hits = new LogHits(new Server([3, 50, 97], 100, 1).ask, () => {});
  const [first, second] = await Promise.allSettled([hits.start({ q: "x" }, 0, false), hits.start({ q: "y" }, 100, true)]);
  assert.equal(first.value?.line, undefined, "it was given up");
  assert.deepEqual([second.value.line, hits.query.q], [97, "y"]);
  hits.stop();
  assert.deepEqual(seen(hits), [null, null, 0, false]);
});

test("a search that fails says so, and the next one is not held up", async () => {
  const server = new Server([3]);
  let isDown = true;
  const hits = new LogHits((query, signal) => (isDown ? Promise.reject(new TypeError("no network")) : server.ask(query, signal)), () => {});
  await assert.rejects(hits.start({ q: "x" }, 0, false), TypeError);
  isDown = false;
  assert.equal((await hits.next()).line, 3);
});

test("a text is marked wherever it stands in a line", () => {
  assert.deepEqual(spansIn("aXa ax", { q: "ax", case: "false" }), [[0, 2], [4, 6]]);
  assert.deepEqual(spansIn("aXa ax", { q: "ax", case: "true" }), [[4, 6]]);
  assert.deepEqual(spansIn("aaaa", { q: "aa", case: "true" }), [[0, 2], [2, 4]]);
  assert.deepEqual(spansIn("İ needle", { q: "needle", case: "false" }), [[2, 8]], "a letter that grows when it is made small");
  assert.deepEqual(spansIn("x", { q: "", case: "true" }), []);
  assert.equal(spansIn("a".repeat(1000), { q: "a", case: "true" }).length, 100);
});
