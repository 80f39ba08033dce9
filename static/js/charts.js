// data-charts="/api/v1/jobs/17/metrics": a chart for each metric, drawn while it is in view and while it grows. data-by="wall":
// over time; data-span-s: its last stretch only, which buttons with data-chart-span change; data-shown: how many show without a click.
// Dragging zooms, and asks for buckets of that stretch; a double click shows all again. One cross-hair over all charts.
import uPlot from "uplot";
import { behave } from "panel/behaviour";
import { chartsOf, columnsOf, isSampled, lineName, plain } from "panel/metrics";
import { size } from "panel/spans";

const EVERY_MS = 1000;
const HEIGHT = 168;
const ALWAYS_SHOWN = 2;
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
const POWERS_OF_TWO = Array.from({ length: 51 }, (_, power) => 2 ** power);
const COLOURS = 6; // --series-1 ... of tokens.css

class Charts {
  panels = new Map(); // title -> Panel
  colours = new Map(); // line's name -> number of its colour
  attempts = new Set(); // numbers of those that measured something
  behind = 0; // of the newest point, in ms: a host that is silent shows its last hour, too

  constructor(root) {
    this.root = root;
    this.by = root.dataset.by ?? "step";
    this.span = Number(root.dataset.spanS ?? 0) * 1000;
    this.forgetColours();
    this.shown = Number(root.dataset.shown ?? ALWAYS_SHOWN);
    this.list = root.querySelector("[data-chart-list]");
    this.more = root.querySelector("[data-chart-more]");
    this.probe = root.querySelector("[data-chart-probe]");
    this.seen = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => this.panelOf(target)?.show(isIntersecting)));
    this.sized = new ResizeObserver((entries) => entries.forEach(({ target }) => this.panelOf(target)?.fit()));
    this.hear = ({ detail }) => this.news(detail?.names);
    this.axis = root.querySelector("[data-chart-axis]");
    this.axis?.addEventListener("click", () => this.turn());
    this.spans = [...root.querySelectorAll("[data-chart-span]")];
    for (const button of this.spans) button.addEventListener("click", () => this.lookBack(button));
    for (const type of ["live:metrics", "live:poll"]) root.addEventListener(type, this.hear);
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => this.panels.forEach((panel) => panel.draw());
    this.theme.addEventListener("change", this.repaint);
    document.addEventListener("theme:change", this.repaint);
    this.news();
  }

  panelOf = (element) => [...this.panels.values()].find((panel) => panel.body === element);

  /** Names with new points; none: whatever there is. */
  news(names) {
    const known = new Set([...this.panels.values()].flatMap((panel) => panel.names));
    if (!names || names.some((name) => !known.has(name))) this.look();
    for (const panel of this.panels.values()) {
      if (!names || panel.names.some((name) => names.includes(name))) panel.stale();
    }
  }

  look() {
    if (!this.looking) this.looking = setTimeout(() => this.lookNow(), this.lookedAt ? EVERY_MS : 0);
  }

  async lookNow() {
    this.lookedAt = Date.now();
    const answer = await load(this.root.dataset.charts);
    this.looking = 0;
    if (!answer || this.hasEnded) return;
    this.behind = Math.max(0, Date.now() - Math.max(0, ...answer.metrics.map((one) => one.last_ms)));
    this.meet(answer.metrics.map((one) => one.attempt));
    for (const { title, names } of chartsOf(answer.metrics)) {
      if (!this.panels.has(title)) this.add(title);
      this.panels.get(title).take(names);
    }
    this.order(chartsOf(answer.metrics).map(({ title }) => title));
    this.root.hidden = this.panels.size === 0;
  }

  /** With a second attempt lines get its number in their names, on every chart. */
  meet(attempts) {
    const before = this.attempts.size;
    for (const attempt of attempts) this.attempts.add(attempt);
    if (before === this.attempts.size) return;
    if (before === 1) this.forgetColours(); // as a fresh load would give them
    for (const panel of this.panels.values()) panel.rename();
  }

  add(title) {
    const panel = new Panel(this, title);
    this.panels.set(title, panel);
    this.seen.observe(panel.body);
    this.sized.observe(panel.body);
  }

  /** The first few are always shown, the others on demand. Only what is out of place is moved: a chart under the pointer stays. */
  order(titles) {
    titles.forEach((title, place) => {
      const { element } = this.panels.get(title);
      const list = place < this.shown ? this.list : this.more;
      const before = list.children[place < this.shown ? place : place - this.shown] ?? null;
      if (before !== element) list.insertBefore(element, before);
    });
    const rest = Math.max(0, titles.length - this.shown);
    const details = this.more.closest("details");
    details.hidden = rest === 0;
    details.querySelector("summary").textContent = details.dataset.words.replace("%s", rest);
  }

  turn() {
    this.by = this.by === "step" ? "wall" : "step";
    this.axis.textContent = this.by === "step" ? this.axis.dataset.step : this.axis.dataset.wall;
    for (const panel of this.panels.values()) panel.zoom(null);
  }

  lookBack(button) {
    this.span = Number(button.dataset.chartSpan) * 1000;
    for (const one of this.spans) one.ariaPressed = String(one === button);
    for (const panel of this.panels.values()) panel.zoom(null);
  }

  /** What is asked for while nothing is zoomed. */
  get stretch() {
    return this.span ? { start: Date.now() - this.behind - this.span } : {};
  }

  forgetColours() {
    this.colours.clear();
    if (this.span) for (const [name, colour] of Object.entries(HOST_COLOURS)) this.colours.set(this.wordOf(name), colour);
  }

  colourOf(name) {
    if (!this.colours.has(name)) this.colours.set(name, (this.colours.size % COLOURS) + 1);
    return this.ink(`--series-${this.colours.get(name)}`);
  }

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
    this.seen.disconnect();
    this.sized.disconnect();
    this.theme.removeEventListener("change", this.repaint);
    document.removeEventListener("theme:change", this.repaint);
    for (const panel of this.panels.values()) panel.end();
  }
}

class Panel {
  names = [];
  lines = [];
  range = null; // [start, end] of a zoom
  isShown = false;
  isStale = true;
  askedAt = 0;

  constructor(charts, title) {
    this.charts = charts;
    this.title = title;
    this.element = charts.root.querySelector("[data-chart]").content.firstElementChild.cloneNode(true);
    this.element.querySelector("h3").textContent = charts.root.dataset[TITLE_WORDS[title]] ?? title;
    this.legend = this.element.querySelector("[data-chart-legend]");
    this.body = this.element.querySelector("[data-chart-body]");
    charts.list.append(this.element);
  }

  /** What is sampled has no steps: only time. */
  get by() {
    return isSampled(this.title) ? "wall" : this.charts.by;
  }

  take(names) {
    if (names.join() === this.names.join()) return;
    this.names = names;
    this.stale();
  }

  show(isShown) {
    this.isShown = isShown;
    if (isShown && this.isStale) this.stale();
  }

  stale() {
    this.isStale = true;
    if (this.isShown && !this.timer) this.timer = setTimeout(() => this.read(), Math.max(0, this.askedAt + EVERY_MS - Date.now()));
  }

  async read() {
    this.timer = 0;
    this.askedAt = Date.now();
    this.isStale = false;
    const { by } = this;
    const stretch = this.range ? { start: this.range[0], end: this.range[1] } : this.charts.stretch;
    const asked = { by, buckets: Math.max(50, Math.round(this.body.clientWidth)), ...stretch };
    const answers = await Promise.all(this.names.map((name) => load(`${this.charts.root.dataset.charts}/lines?${new URLSearchParams({ name, ...asked })}`)));
    if (this.charts.hasEnded || by !== this.by || answers.includes(null)) return;
    this.charts.meet(answers.flatMap(({ lines }) => lines.map(({ attempt }) => attempt)));
    this.lines = answers.flatMap(({ name: metric, lines }) => lines.map((line) => ({ ...line, metric })));
    this.rename();
    if (this.isStale) this.stale();
  }

  rename() {
    for (const line of this.lines) line.name = this.charts.wordOf(lineName(line.metric, line, this.charts.attempts.size));
    this.draw();
  }

  zoom(range) {
    this.range = range;
    this.stale();
  }

  fit() {
    if (this.plot && this.plot.width !== this.body.clientWidth) this.plot.setSize({ width: this.body.clientWidth, height: HEIGHT });
  }

  draw() {
    if (!this.isShown || !this.lines.length) return;
    const { by } = this;
    const tables = this.lines.map(({ buckets }) => columnsOf(buckets, by));
    const data = tables.length > 1 ? uPlot.join(tables) : tables[0];
    const look = JSON.stringify([by, this.lines.map(({ name, buckets }) => [name, buckets.length === 1]), this.charts.ink("--line")]);
    if (this.plot && this.look === look) this.plot.setData(data);
    else this.plotAnew(data, by, look);
    this.tell();
  }

  plotAnew(data, by, look) {
    this.plot?.destroy();
    this.look = look;
    const axis = { stroke: this.charts.ink("--muted"), grid: { stroke: this.charts.ink("--line"), width: 1 }, ticks: { show: false }, font: "12px Inter Variable, sans-serif" };
    this.plot = new uPlot({
      width: this.body.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      padding: [8, 8, 0, 0],
      cursor: { sync: { key: `charts ${by}` }, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
      scales: { x: { time: by === "wall", ...(by === "wall" && { range: ({ data: [xs] }, least, greatest) => (xs.length === 1 ? [xs[0] - 30, xs[0] + 30] : [least, greatest]) }) } },
      axes: [{ ...axis, size: 28, space: by === "wall" ? 76 : 50, values: (_, ticks) => (by === "step" ? ticks.map((tick) => tick.toLocaleString("en")) : moments(ticks)) }, this.amountAxis(axis)],
      series: [{}, ...this.lines.map(({ name, buckets }) => ({ label: name, stroke: this.charts.colourOf(name), width: 1.5, spanGaps: this.lines.length > 1, points: { show: buckets.length === 1 } }))],
      hooks: {
        setCursor: [(plot) => this.tell(plot.cursor.idx)],
        setSelect: [(plot) => this.selected(plot)],
      },
    }, data, this.body);
    this.plot.over.addEventListener("dblclick", () => this.range && this.zoom(null));
  }

  /** Ticks that are round as they are written: bytes are counted in powers of two. */
  amountAxis(axis) {
    const written = amountOf(this.title);
    const wide = (words) => Math.max(60, 12 + 7 * Math.max(0, ...(words ?? []).map(({ length }) => length)));
    const values = (_plot, ticks, _axis, _space, apart) => ticks.map((tick) => written(tick, apart));
    return { ...axis, size: (_plot, words) => wide(words), values, ...(isOfBytes(this.title) && { incrs: POWERS_OF_TWO }) };
  }

  selected(plot) {
    if (plot.select.width < 4) return;
    const scale = this.by === "wall" ? 1000 : 1;
    const [start, end] = [plot.select.left, plot.select.left + plot.select.width].map((x) => Math.max(0, Math.round(plot.posToVal(x, "x") * scale)));
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    if (end > start) this.zoom([start, end]);
  }

  /** The values at the cross-hair, else the last ones. */
  tell(place = null) {
    const rows = this.lines.map(({ name, buckets }, number) => {
      const value = place === null ? buckets.at(-1)?.last : this.plot?.data[number + 1]?.[place];
      return { name, text: value === undefined ? "" : amountOf(this.title)(value), colour: this.charts.colours.get(name) };
    });
    if (this.legend.childElementCount !== rows.length) this.legend.replaceChildren(...rows.map(() => this.charts.root.querySelector("[data-chart-key]").content.firstElementChild.cloneNode(true)));
    rows.forEach(({ name, text, colour }, number) => {
      const row = this.legend.children[number];
      row.dataset.key = colour ?? 1;
      row.firstElementChild.textContent = name;
      row.lastElementChild.textContent = text;
    });
  }

  end() {
    clearTimeout(this.timer);
    this.plot?.destroy();
  }
}

/** Ticks of a time axis on one line, as fine as they stand apart: in the reader's own time. */
function moments(ticks) {
  const apart = ticks.length > 1 ? ticks[1] - ticks[0] : 60;
  const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...(apart < 60 && { second: "2-digit" }) };
  const look = apart < 86400 ? clock : { day: "numeric", month: "short" };
  return ticks.map((tick) => new Date(tick * 1000).toLocaleString("en-GB", look));
}

const isOfBytes = (title) => /_bytes(_per_s)?$/.test(title);

/** How values of a chart are written; `apart`: how far the next one is, where they stand in a row. */
function amountOf(title) {
  if (!isOfBytes(title)) return (value) => plain(value);
  return title.endsWith("_per_s") ? (value, apart) => `${size(value, apart)}/s` : size;
}

/** JSON, or null when there is none now: the next news asks again. */
async function load(url) {
  try {
    const response = await fetch(url, { headers: { Accept: "application/json" } });
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

behave("[data-charts]", (root) => {
  const charts = new Charts(root);
  return () => charts.end();
});
