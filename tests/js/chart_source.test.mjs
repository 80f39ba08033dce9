import assert from "node:assert/strict";
import test from "node:test";
import { Source, lastAttempt, nameByName } from "panel/chart_source";

const names = (...some) => some.map((name) => ({ name, line: name.split("/")[0] }));

test("a chart of two names becomes two charts, and the count says so", () => {
  const answer = { results: [{ title: "loss", is_sampled: false, names: names("train/loss", "eval/loss") }, { title: "lr", is_sampled: false, names: names("lr") }], count: 9, next_cursor: "50" };
  const apart = nameByName(answer);
  assert.deepEqual(apart.results.map(({ title, names: [{ name, line }], names: { length } }) => [title, name, line, length]), [["train/loss", "train/loss", "", 1], ["eval/loss", "eval/loss", "", 1], ["lr", "lr", "", 1]]);
  assert.deepEqual([apart.count, apart.next_cursor], [10, "50"]);
});

test("of several attempts the last one is drawn", () => {
  assert.deepEqual(lastAttempt([{ attempt: 10 }, { attempt: 9 }, { attempt: 2 }]), [{ attempt: 10 }]);
  assert.deepEqual(lastAttempt([]), []);
});

test("a source of one line asks for the first rank alone", async () => {
  const asked = [];
  globalThis.fetch = async (address) => {
    asked.push(address);
    return { ok: true, json: async () => ({ lines: [{ attempt: 1, rank: 0 }, { attempt: 2, rank: 0 }] }) };
  };
  const [one, all] = [true, false].map((isOneLine) => new Source("/m", { isOneLine }));
  assert.deepEqual(await one.lines("loss", { by: "step" }), [{ attempt: 2, rank: 0 }]);
  assert.equal((await all.lines("loss", { by: "step" })).length, 2);
  assert.deepEqual(asked, ["/m/lines?name=loss&by=step&rank=0", "/m/lines?name=loss&by=step"]);
  assert.deepEqual([one.attempts.size, all.attempts.size], [0, 2]);
});
