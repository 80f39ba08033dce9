// data-charts="/api/v1/jobs/17/metrics": a chart for each metric, drawn while it is in view and while it grows.
//
// Of several jobs in the same charts: data-charts="", and inside an element for each, whose word begins the names of its lines:
//   <i data-chart-source="/api/v1/jobs/17/metrics" data-word="#17" hidden></i>
// data-one-line: each of them has one line in a chart, its last attempt's first rank, named by its word alone and of the same colour
// on every chart; and each name has a chart of its own.
//
// templates/charts/_head.html and _parts.html draw all of the inside; data-live on the same element names the subjects that have news.
//
// data-by="wall": over time whatever the reader likes elsewhere. data-span-s: the last stretch only, which buttons with
// data-chart-span change. data-shown: how many show without a click. data-sampled-by: the axis of what has no steps.
// data-marks: attempts and checkpoints are marked.
//
// Dragging zooms all charts of the axis, and asks for buckets of that stretch; a double click, the button [data-chart-whole] or
// the key 0 shows all again. chart_plot.js draws one chart and says how to use it alone.
import { behave } from "panel/behaviour";
import { ChartLook } from "panel/chart_look";
import { MOST_NAMES, Panel } from "panel/chart_panel";
import { Source } from "panel/chart_source";
import { extentOf, lineName } from "panel/metrics";

const EVERY_MS = 1000;
const MORE_EVERY_MS = 10_000; // where there are more names than are shown
const ALWAYS_SHOWN = 2;
const SEARCH_AFTER_MS = 200;
const TITLE_WORDS = {
  "system.cpu_percent": "cpuWords",
  "system.memory_bytes": "memoryWords",
  "system.processes": "processesWords",
  "host.cpu_percent": "cpuWords",
  "host.memory_bytes": "memoryWords",
  "host.disk_bytes": "diskWords",
  "host.network_bytes_per_s": "networkWords",
};
const HOST_COLOURS = { "": 1, used: 1, total: 2, free: 3, received: 1, sent: 2 }; // each chart has its own

class Charts {
  panels = new Map(); // title -> Panel
  charts = new Map(); // title -> {title, is_sampled, names}
  colours = new Map(); // line's name -> number of its colour
  marks = []; // of all sources, each with its source
  ranges = {}; // axis -> [start, end] of a zoom
  extents = {}; // axis -> as far as the lines reach
  behind = 0; // of the newest point, in ms: a host that is silent shows its last hour, too
  known = 0; // attempts, when colours were given
  pages = 1;

  constructor(root) {
    this.root = root;
    const own = [...root.querySelectorAll("[data-chart-source]")];
    const kind = { hasMarks: "marks" in root.dataset, isOneLine: "oneLine" in root.dataset };
    this.sources = own.length ? own.map(({ dataset }) => new Source(dataset.chartSource, { word: dataset.word, ...kind })) : [new Source(root.dataset.charts, kind)];
    this.span = Number(root.dataset.spanS ?? 0) * 1000;
    this.forgetColours();
    this.shown = Number(root.dataset.shown ?? ALWAYS_SHOWN);
    this.list = root.querySelector("[data-chart-list]");
    this.more = root.querySelector("[data-chart-more]");
    this.probe = root.querySelector("[data-chart-probe]");
    this.whole = root.querySelector("[data-chart-whole]");
    this.search = root.querySelector("[data-chart-search]");
    this.next = root.querySelector("[data-chart-next]");
    this.look = new ChartLook(root, (name) => this.turned(name));
    this.seen = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => this.panelOf(target)?.show(isIntersecting)));
    this.sized = new ResizeObserver((entries) => entries.forEach(({ target }) => this.panelOf(target)?.plot.fit()));
    this.spans = [...root.querySelectorAll("[data-chart-span]")];
    for (const button of this.spans) button.addEventListener("click", () => this.lookBack(button));
    this.whole?.addEventListener("click", () => this.zoom(this.by, null, { all: true }));
    this.search?.addEventListener("input", () => this.searched());
    this.next?.addEventListener("click", () => { this.pages += 1; this.lookNow(); });
    this.hear = ({ type, detail }) => (type === "live:event" || type === "live:change" ? this.lookForMarks() : this.news(detail?.names));
    for (const type of ["live:metrics", "live:poll", "live:event", "live:change"]) root.addEventListener(type, this.hear);
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => this.redraw();
    this.theme.addEventListener("change", this.repaint);
    document.addEventListener("theme:change", this.repaint);
    this.widen();
    this.news();
    this.lookForMarks();
  }

  get by() { return this.look.by; }

  panelOf = (element) => [...this.panels.values()].find((panel) => panel.body === element);

  /** Names with new points; none: whatever there is. */
  news(names) {
    const known = new Set([...this.panels.values()].flatMap((panel) => panel.names.map(({ name }) => name)));
    if (!names || names.some((name) => !known.has(name) && !name.startsWith("progress/"))) this.lookSoon();
    for (const panel of this.panels.values()) {
      if (!names || panel.names.some(({ name }) => names.includes(name))) panel.stale();
    }
  }

  lookSoon() {
    const every = this.hasMore || this.q ? MORE_EVERY_MS : EVERY_MS;
    if (!this.looking) this.looking = setTimeout(() => this.lookNow(), this.lookedAt ? Math.max(0, this.lookedAt + every - Date.now()) : 0);
  }

  get q() { return this.search?.value.trim() ?? ""; }

  /** Which charts there are: as many pages of names as are shown, of each source. */
  async lookNow() {
    this.lookedAt = Date.now();
    const { q, pages } = this;
    const answers = await Promise.all(this.sources.map((source) => pagesOf(source, q, pages)));
    clearTimeout(this.looking);
    this.looking = 0;
    if (this.hasEnded || q !== this.q || pages !== this.pages || answers.includes(null)) return;
    this.behind = Math.max(0, Date.now() - Math.max(0, ...answers.map((answer) => answer.last_ms ?? 0)));
    this.hasMore = answers.some((answer) => answer.next_cursor);
    const charts = (this.charts = merged(answers));
    this.met();
    this.giveColours();
    for (const [title, panel] of this.panels) if (!charts.has(title)) this.drop(title, panel);
    for (const [title, chart] of charts) {
      if (!this.panels.has(title)) this.add(title);
      this.panels.get(title).take(chart);
    }
    this.order([...charts.keys()], Math.max(charts.size, ...answers.map(({ count }) => count)));
  }

  /** With a second attempt lines get its number in their names, on every chart. */
  met() {
    const attempts = Math.max(...this.sources.map((source) => source.attempts.size));
    const [before, now] = [this.known > 1, attempts > 1];
    this.known = attempts;
    if (before === now) return;
    this.forgetColours(); // as a fresh load would give them
    this.giveColours();
    this.redraw();
  }

  /** In the order of the charts, whichever is drawn first: the same on each load. Other ranks' lines come after these. */
  giveColours() {
    for (const { names } of this.charts.values()) {
      for (const source of this.sources) {
        for (const { line: word } of names.slice(0, MOST_NAMES)) {
          for (const attempt of [...(source.attempts.size ? source.attempts : [null])].sort((a, b) => a - b)) {
            this.colourOf(this.wordOf(lineName({ source: source.word, word, attempt, rank: 0, attempts: source.attempts.size })));
          }
        }
      }
    }
  }

  add(title) {
    const panel = new Panel(this, title);
    this.panels.set(title, panel);
    this.seen.observe(panel.body);
    this.sized.observe(panel.body);
  }

  drop(title, panel) {
    this.seen.unobserve(panel.body);
    this.sized.unobserve(panel.body);
    this.panels.delete(title);
    panel.end();
  }

  /** The first few are always shown, the others on demand. Only what is out of place is moved: a chart under the pointer stays. */
  order(titles, count) {
    const shown = this.q || this.look.isWide ? titles.length : this.shown;
    titles.forEach((title, place) => {
      const { element } = this.panels.get(title);
      const list = place < shown ? this.list : this.more;
      const before = list.children[place < shown ? place : place - shown] ?? null;
      if (before !== element) list.insertBefore(element, before);
    });
    const rest = Math.max(0, count - shown);
    const details = this.more.closest("details");
    details.hidden = titles.length <= shown;
    details.querySelector("summary").textContent = details.dataset.words.replace("%s", rest.toLocaleString("en"));
    if (this.next) {
      this.next.hidden = !this.hasMore;
      this.next.textContent = this.next.dataset.words.replace("%s", (count - titles.length).toLocaleString("en"));
      (details.hidden ? this.list : this.more).after(this.next);
    }
    const none = this.root.querySelector("[data-chart-none]");
    if (none) none.hidden = count > 0 || !this.q;
    if (this.search) this.search.closest("label").hidden = !this.q && count <= this.shown && document.activeElement !== this.search;
    this.root.hidden = count === 0 && !this.q;
  }

  searched() {
    clearTimeout(this.searching);
    this.pages = 1;
    this.searching = setTimeout(() => this.lookNow(), SEARCH_AFTER_MS);
  }

  async lookForMarks() {
    const found = await Promise.all(this.sources.map(async (source) => (await source.marks()).map((mark) => ({ ...mark, source }))));
    this.marks = found.flat();
    this.redraw();
  }

  /** A control has been used. */
  turned(name) {
    if (name === "isWide") {
      this.widen();
      this.lookNow();
    } else if (name === "by") {
      for (const panel of this.panels.values()) panel.plot.end();
      this.showWhole();
      for (const panel of this.panels.values()) panel.stale();
    } else if (name === "logX") {
      this.extents = {};
      for (const panel of this.panels.values()) panel.stale();
    } else this.redraw();
  }

  widen() {
    this.root.toggleAttribute("data-wide", this.look.isWide);
  }

  lookBack(button) {
    this.span = Number(button.dataset.chartSpan) * 1000;
    for (const one of this.spans) one.ariaPressed = String(one === button);
    this.zoom(this.by, null);
  }

  /** All charts of the axis; `range` in the API's units, null: all there is. */
  zoom(by, range, { all = false } = {}) {
    if (!range && !this.ranges[by] && !all && !this.span) return;
    if (all) this.ranges = {};
    else this.ranges[by] = range;
    this.showWhole();
    this.redraw(); // at once, with what is there
    for (const panel of this.panels.values()) if (all || panel.by === by) panel.stale();
  }

  showWhole() {
    if (this.whole) this.whole.hidden = !Object.values(this.ranges).some(Boolean);
  }

  /** What is asked for and what is drawn of an axis; `key` tells ranges apart. */
  rangeOf(by) {
    const range = this.ranges[by];
    if (range) return { asked: { start: range[0], end: range[1] }, drawn: range, key: range.join() };
    if (!this.span) return { asked: {}, drawn: this.extents[by] ?? null, key: "" };
    const end = Date.now() - this.behind;
    return { asked: { start: end - this.span }, drawn: [end - this.span, end], key: `span ${this.span}` };
  }

  /** All charts of an axis reach as far as the longest of them, so that what is below one another is of the same moment. */
  reach(by, lines, logX) {
    const [now, before] = [extentOf(lines, { logX }), this.extents[by]];
    if (!now || this.ranges[by]) return;
    const extent = before ? [Math.min(before[0], now[0]), Math.max(before[1], now[1])] : now;
    this.extents[by] = extent;
    if (before && before.join() !== extent.join()) this.redraw();
  }

  redraw() {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0;
      for (const panel of this.panels.values()) panel.draw();
    });
  }

  forgetColours() {
    this.colours.clear();
    for (const source of this.sources) if (source.isOneLine) this.colourOf(source.word);
    if (this.span) for (const [name, colour] of Object.entries(HOST_COLOURS)) this.colours.set(this.wordOf(name), colour);
  }

  colourOf(name) {
    if (!this.colours.has(name)) this.colours.set(name, this.colours.size + 1);
    return this.colours.get(name);
  }

  titleOf = (title) => this.root.dataset[TITLE_WORDS[title]] ?? title;

  /** The lines of a host's charts have words of the page's language. */
  wordOf = (name) => this.root.dataset[`${name}Words`] ?? name;

  /** A token as the page has it now, light or dark: a canvas knows neither. */
  ink(token) {
    this.probe.style.color = `var(${token})`;
    return getComputedStyle(this.probe).color;
  }

  end() {
    this.hasEnded = true;
    clearTimeout(this.looking);
    clearTimeout(this.searching);
    cancelAnimationFrame(this.drawing);
    this.seen.disconnect();
    this.sized.disconnect();
    this.theme.removeEventListener("change", this.repaint);
    document.removeEventListener("theme:change", this.repaint);
    for (const panel of this.panels.values()) panel.end();
  }
}

/** The first pages of a source's charts as one; null: one of them was not answered. */
async function pagesOf(source, q, pages) {
  let [found, cursor] = [null, ""];
  for (let page = 0; page < pages; page += 1) {
    const answer = await source.charts({ ...(q && { q }), ...(cursor && { cursor }) });
    if (!answer) return null;
    found = { ...answer, results: [...(found?.results ?? []), ...answer.results] };
    cursor = answer.next_cursor;
    if (!cursor) break;
  }
  return found;
}

/** Title -> chart, with the names that any of the answers has. */
function merged(answers) {
  const charts = new Map();
  for (const chart of answers.flatMap(({ results }) => results)) {
    const known = charts.get(chart.title);
    const names = known ? [...known.names, ...chart.names.filter(({ name }) => !known.names.some((one) => one.name === name))] : chart.names;
    charts.set(chart.title, { ...chart, names });
  }
  return charts;
}

behave("[data-charts]", (root) => {
  const charts = new Charts(root);
  return () => charts.end();
});
