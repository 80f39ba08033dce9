// What a search has found, marked in the lines that are drawn, without touching them: CSS custom highlights, where the browser has
// them, and a mark at the row of the hit that is looked at. A plain text is looked for here; for what only the server can tell,
// an expression or errors, it is asked for the lines in view.

const NAMES = ["log-hit", "log-current"];
const ASK_AFTER_MS = 120;
const MOST = 200; // of one answer; there are fewer rows

export class LogMarks {
  #view;
  #query = null;
  #current = null;
  #told = new Map(); // offset of a line -> its hit, as the server told
  #known = { from: 0, to: 0, version: "" }; // what it was asked for
  #timer = 0;
  #asking = null;

  constructor(view) {
    this.#view = view;
    view.addEventListener("draw", () => this.draw());
    view.decorators.push((row, line) => row.toggleAttribute("data-current", this.#current !== null && line.offset === this.#current.offset && !line.kind));
  }

  show(query, current) {
    if (query !== this.#query) this.#forget();
    this.#query = query;
    this.#current = current;
    this.#view.draw();
  }

  stop() {
    this.#forget();
    this.#query = this.#current = null;
    NAMES.forEach((name) => globalThis.CSS?.highlights?.delete(name));
    this.#view.draw();
  }

  /** Where the current hit's first mark is, from the view's left edge: [left, right], or null. */
  currentPlace() {
    let place = null;
    if (!this.#query) return place;
    this.#view.rows.forEach((row, line) => {
      if (line.offset !== this.#current?.offset || line.kind) return;
      const [range] = this.#spansOf(line).slice(0, 1).map((span) => rangeOf(row, span));
      if (!range) return;
      const { left, right } = range.getBoundingClientRect();
      const edge = this.#view.view.getBoundingClientRect().left;
      place = [left - edge, right - edge];
    });
    return place;
  }

  draw() {
    if (!this.#query) return;
    const found = { "log-hit": [], "log-current": [] };
    this.#view.rows.forEach((row, line) => {
      if (line.kind) return;
      const ranges = this.#spansOf(line).map((span) => rangeOf(row, span)).filter(Boolean);
      found[line.offset === this.#current?.offset ? "log-current" : "log-hit"].push(...ranges);
    });
    if (globalThis.CSS?.highlights) NAMES.forEach((name) => CSS.highlights.set(name, new Highlight(...found[name])));
    if (this.#query.mode !== "plain") this.#askSoon();
  }

  #spansOf(line) {
    if (this.#query.mode === "plain") return spansIn(line.text, this.#query);
    const hit = this.#told.get(line.offset) ?? (line.offset === this.#current?.offset ? this.#current : null);
    if (!hit || hit.is_overwritten) return [];
    const [from, to] = [hit.cut_before, hit.cut_before + hit.text.length];
    const letters = /[\ud800-\udbff]/.test(hit.text) ? [...hit.text] : null; // the server counts characters, we count halves of some
    const at = (place) => from + (letters ? letters.slice(0, place).join("").length : place);
    return line.text.slice(from, to) === hit.text.slice(0, line.text.length - from) ? hit.text_spans.map(([one, other]) => [at(one), at(other)]) : [];
  }

  #askSoon() {
    if (this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      this.#askNow();
    }, ASK_AFTER_MS);
  }

  async #askNow() {
    let [from, to] = [Infinity, 0];
    this.#view.rows.forEach((_row, line) => { [from, to] = [Math.min(from, line.offset), Math.max(to, line.end)]; });
    if (this.#asking || !this.#query || from >= to || (from >= this.#known.from && to <= this.#known.to)) return;
    const asking = (this.#asking = new AbortController());
    try {
      const { q, mode, case: hasCase } = this.#query;
      const answer = await this.#view.source.json("search", { q, mode, case: hasCase, from, until: to, limit: MOST }, asking.signal);
      this.#told = new Map(answer.results.map((hit) => [hit.offset, hit]));
      this.#known = { from, to: Math.min(to, answer.next_cursor ? answer.reached : to) };
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#known = { from, to }; // it is not asked again for the same
    } finally {
      if (this.#asking === asking) this.#asking = null;
    }
    this.draw();
  }

  #forget() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#asking?.abort();
    this.#asking = null;
    this.#told.clear();
    this.#known = { from: 0, to: 0 };
  }
}

/** Where a text stands in another. Letters whose small form is of another length are found as they are only. */
export function spansIn(text, { q, case: hasCase }) {
  const isFolded = hasCase !== "true" && text.toLowerCase().length === text.length && q.toLowerCase().length === q.length;
  const [place, wanted] = isFolded ? [text.toLowerCase(), q.toLowerCase()] : [text, q];
  const found = [];
  for (let at = place.indexOf(wanted); at >= 0 && wanted && found.length < 100; at = place.indexOf(wanted, at + wanted.length)) found.push([at, at + wanted.length]);
  return found;
}

/** Of characters of a row's text; null where they are not shown. */
function rangeOf(row, [from, to]) {
  const range = document.createRange();
  const texts = document.createTreeWalker(row.lastElementChild, NodeFilter.SHOW_TEXT);
  let [at, isBegun] = [0, false];
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const length = node.data.length;
    if (!isBegun && from <= at + length) {
      range.setStart(node, from - at);
      isBegun = true;
    }
    if (isBegun && to <= at + length) {
      range.setEnd(node, to - at);
      return range;
    }
    at += length;
  }
  return null;
}
