// data-overlay="17,18": the metrics of several jobs, a chart for each name with a line for each job, drawn while it is in view.
// A line is the first rank of the job's last attempt. By time, each job's begins at 0. A cross-hair over all charts.
import uPlot from "uplot";
import { behave } from "panel/behaviour";
import { columnsOf, plain } from "panel/metrics";

const HEIGHT = 168;
const SHOWN = 12; // charts without a search
const EVERY_MS = 10_000; // while one of them runs, it grows
const isOfSystem = (name) => /^(system\.|progress\/)/.test(name);

class Overlay {
  charts = new Map(); // name -> Chart
  names = new Map(); // name -> Set of jobs that have it
  by = "step";

  constructor(root) {
    this.root = root;
    this.jobs = [...root.querySelectorAll("[data-overlay-job]")].map((one) => ({ number: one.dataset.overlayJob, title: one.textContent, colour: one.dataset.colour, isDashed: Boolean(one.dataset.dashed) }));
    this.list = root.querySelector("[data-overlay-list]");
    this.probe = root.querySelector("[data-overlay-probe]");
    this.find = root.querySelector("[data-overlay-find]");
    this.axis = root.querySelector("[data-overlay-axis]");
    this.seen = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => this.chartOf(target)?.show(isIntersecting)));
    this.sized = new ResizeObserver((entries) => entries.forEach(({ target }) => this.chartOf(target)?.fit()));
    this.find.addEventListener("input", () => this.arrange());
    this.axis.addEventListener("click", () => this.turn());
    this.repaint = () => this.charts.forEach((chart) => chart.draw());
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.theme.addEventListener("change", this.repaint);
    document.addEventListener("theme:change", this.repaint);
    this.timer = setInterval(() => !document.hidden && this.look(), EVERY_MS);
    this.look();
  }

  chartOf = (body) => [...this.charts.values()].find((chart) => chart.body === body);

  async look() {
    const answers = await Promise.all(this.jobs.map(({ number }) => load(`/api/v1/jobs/${number}/metrics`)));
    if (this.hasEnded) return;
    const points = new Map();
    answers.forEach((answer, place) => {
      for (const { name, points: count } of answer?.metrics ?? []) {
        if (isOfSystem(name)) continue;
        if (!this.names.has(name)) this.names.set(name, new Set());
        this.names.get(name).add(this.jobs[place]);
        points.set(name, (points.get(name) ?? 0) + count);
      }
    });
    this.root.hidden = this.names.size === 0;
    this.arrange();
    for (const [name, chart] of this.charts) chart.news(points.get(name) ?? 0);
  }

  /** Those that most jobs have come first. */
  arrange() {
    const wanted = this.find.value.trim().toLowerCase();
    const found = [...this.names].filter(([name]) => name.toLowerCase().includes(wanted));
    found.sort(([a, of], [b, others]) => others.size - of.size || (a < b ? -1 : 1));
    const shown = found.slice(0, SHOWN).map(([name]) => name);
    for (const [name, chart] of this.charts) {
      if (shown.includes(name)) continue;
      chart.end();
      this.charts.delete(name);
    }
    shown.forEach((name, place) => {
      if (!this.charts.has(name)) this.charts.set(name, new Chart(this, name));
      const { element } = this.charts.get(name);
      if (this.list.children[place] !== element) this.list.insertBefore(element, this.list.children[place] ?? null);
    });
    const rest = this.root.querySelector("[data-overlay-rest]");
    rest.hidden = found.length <= SHOWN;
    rest.textContent = rest.dataset.words.replace("%s", found.length - SHOWN);
  }

  turn() {
    this.by = this.by === "step" ? "wall" : "step";
    this.axis.textContent = this.axis.dataset[this.by];
    for (const chart of this.charts.values()) chart.read();
  }

  ink(token) {
    this.probe.style.color = `var(${token})`;
    return getComputedStyle(this.probe).color;
  }

  end() {
    this.hasEnded = true;
    clearInterval(this.timer);
    this.seen.disconnect();
    this.sized.disconnect();
    this.theme.removeEventListener("change", this.repaint);
    document.removeEventListener("theme:change", this.repaint);
    for (const chart of this.charts.values()) chart.end();
  }
}

class Chart {
  lines = [];
  points = -1; // of all jobs, when it was read
  isShown = false;

  constructor(overlay, name) {
    this.overlay = overlay;
    this.name = name;
    this.element = overlay.root.querySelector("[data-overlay-chart]").content.firstElementChild.cloneNode(true);
    this.element.querySelector("h3").textContent = name;
    this.body = this.element.querySelector("[data-overlay-body]");
    this.legend = this.element.querySelector("[data-overlay-legend]");
    overlay.seen.observe(this.body);
    overlay.sized.observe(this.body);
  }

  show(isShown) {
    this.isShown = isShown;
    if (isShown && !this.isRead) this.read();
  }

  news(points) {
    if (points === this.points) return;
    this.points = points;
    this.isRead = false;
    if (this.isShown) this.read();
  }

  async read() {
    if (!this.isShown) {
      this.isRead = false;
      return;
    }
    this.isRead = true;
    const { by } = this.overlay;
    const asked = new URLSearchParams({ name: this.name, by, buckets: Math.max(50, Math.round(this.body.clientWidth)) });
    const jobs = this.overlay.jobs.filter((job) => this.overlay.names.get(this.name)?.has(job));
    const answers = await Promise.all(jobs.map(({ number }) => load(`/api/v1/jobs/${number}/metrics/lines?${asked}`)));
    if (this.hasEnded || by !== this.overlay.by) return;
    this.lines = jobs.map((job, place) => ({ job, buckets: lastAttempt(answers[place]?.lines ?? []) })).filter(({ buckets }) => buckets.length);
    this.draw();
  }

  draw() {
    if (!this.isShown || !this.lines.length || this.hasEnded) return;
    const { by } = this.overlay;
    const tables = this.lines.map(({ buckets }) => {
      const [xs, ys] = columnsOf(buckets, by);
      return [by === "wall" ? xs.map((x) => x - xs[0]) : xs, ys];
    });
    this.plot?.destroy();
    const axis = { stroke: this.overlay.ink("--muted"), grid: { stroke: this.overlay.ink("--line"), width: 1 }, ticks: { show: false }, font: "12px Inter Variable, sans-serif" };
    const words = (_plot, ticks) => ticks.map((tick) => (by === "step" ? tick.toLocaleString("en") : span(tick)));
    this.plot = new uPlot({
      width: this.body.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      padding: [8, 8, 0, 0],
      cursor: { sync: { key: `overlay ${by}` }, drag: { x: true, y: false }, points: { size: 6 } },
      scales: { x: { time: false } },
      axes: [{ ...axis, size: 28, values: words }, { ...axis, size: 60, values: (_plot, ticks) => ticks.map(plain) }],
      series: [{}, ...this.lines.map(({ job, buckets }) => ({ label: job.title, stroke: this.overlay.ink(`--series-${job.colour}`), width: 1.5, dash: job.isDashed ? [6, 4] : undefined, spanGaps: true, points: { show: buckets.length === 1 } }))],
      hooks: { setCursor: [(plot) => this.tell(plot.cursor.idx)] },
    }, tables.length > 1 ? uPlot.join(tables) : tables[0], this.body);
    this.tell();
  }

  /** The values at the cross-hair, else the last ones. */
  tell(place = null) {
    this.legend.replaceChildren(...this.lines.map(({ job, buckets }, number) => {
      const key = this.overlay.root.querySelector("[data-overlay-key]").content.firstElementChild.cloneNode(true);
      const value = typeof place === "number" ? this.plot?.data[number + 1]?.[place] : buckets.at(-1)?.last;
      key.dataset.key = job.colour;
      key.firstElementChild.textContent = job.title;
      key.lastElementChild.textContent = value === undefined || (value === null && typeof place === "number") ? "" : plain(value);
      return key;
    }));
  }

  fit() {
    if (this.plot && this.plot.width !== this.body.clientWidth) this.plot.setSize({ width: this.body.clientWidth, height: HEIGHT });
  }

  end() {
    this.hasEnded = true;
    this.plot?.destroy();
    this.element.remove();
  }
}

/** Buckets of the first rank of the last attempt. */
function lastAttempt(lines) {
  const first = lines.filter(({ rank }) => rank === 0).sort((a, b) => (a.attempt ?? 0) - (b.attempt ?? 0));
  return first.at(-1)?.buckets ?? [];
}

/** 90 is "1:30", 3700 is "1:01:40". */
function span(seconds) {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  if (seconds < 10 && seconds % 1) return `0:0${seconds.toFixed(1)}`;
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

async function load(url) {
  try {
    const response = await fetch(url, { headers: { Accept: "application/json" } });
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

behave("[data-overlay]", (root) => {
  const overlay = new Overlay(root);
  return () => overlay.end();
});
