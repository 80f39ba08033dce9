// One chart of a page: asks for its lines while it is in view, says their values, and gives them away as files.
import { COLOURS, Plot } from "panel/chart_plot";
import { savePicture } from "panel/chart_picture";
import { amountOf, placeOf } from "panel/chart_words";
import { lineName, oddities } from "panel/metrics";

const EVERY_MS = 1000;
export const MOST_NAMES = 20; // of one chart

export class Panel {
  names = []; // [{name, line}]
  lines = [];
  isShown = false;
  isStale = true;
  isSampled = false;
  askedAt = 0;

  constructor(charts, title) {
    this.charts = charts;
    this.title = title;
    this.element = charts.root.querySelector("[data-chart]").content.firstElementChild.cloneNode(true);
    this.words = charts.titleOf(title);
    this.element.querySelector("h3").textContent = this.words;
    this.legend = this.element.querySelector("[data-chart-legend]");
    this.note = this.element.querySelector("[data-chart-note]");
    this.body = this.element.querySelector("[data-chart-body]");
    this.body.setAttribute("aria-label", (charts.root.dataset.keysWords ?? "%s").replace("%s", this.words));
    this.plot = new Plot(this.body, { paint: (token) => charts.ink(token), zoom: (range) => charts.zoom(this.by, range), point: (index) => this.tell(index) });
    this.offer();
  }

  /** What is sampled has no steps: only time. */
  get by() {
    return this.isSampled && this.charts.by === "step" ? (this.charts.root.dataset.sampledBy ?? "wall") : this.charts.by;
  }

  get look() {
    const { logX, logY, smoothing } = this.charts.look;
    return { logX: logX && this.by !== "wall", logY: logY && !this.isSampled, smoothing: this.isSampled ? 0 : smoothing };
  }

  take({ names, is_sampled: isSampled }) {
    this.isSampled = isSampled;
    const [before, now] = [this.names, names].map((some) => some.map(({ name }) => name).join("\n"));
    this.names = names;
    if (before !== now) this.stale();
  }

  show(isShown) {
    this.isShown = isShown;
    if (!isShown) return;
    if (this.isStale) this.stale();
    else this.draw();
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
    const { logX } = this.look;
    const range = this.charts.rangeOf(by);
    const query = { by, buckets: Math.min(2000, Math.max(50, Math.round(this.body.clientWidth))), ...(logX && { spacing: "log" }), ...range.asked };
    const wanted = this.charts.sources.flatMap((source) => this.names.slice(0, MOST_NAMES).map((name) => ({ source, ...name })));
    const answers = await Promise.all(wanted.map(({ source, name }) => source.lines(name, query)));
    if (this.charts.hasEnded || by !== this.by || range.key !== this.charts.rangeOf(by).key) return; // it has been asked again
    if (answers.includes(null)) return;
    this.lines = answers.flatMap((lines, number) => lines.map((line) => ({ ...line, source: wanted[number].source, metric: wanted[number].name, word: wanted[number].line })));
    this.charts.met();
    this.charts.reach(by, this.lines, logX);
    this.draw();
    if (this.isStale) this.stale();
  }

  draw() {
    if (!this.isShown || !this.lines.length) return;
    for (const line of this.lines) {
      line.name = this.charts.wordOf(lineName({ ...line, source: line.source.word, attempts: line.source.attempts.size }));
      line.colour = this.charts.colourOf(line.name);
    }
    const { by, look } = this;
    this.plot.draw({ title: this.title, by, lines: this.lines, marks: this.marks(by), range: this.charts.rangeOf(by).drawn, ...look });
    this.tell(null);
  }

  /** On the axis of this chart; of a relative one each attempt's own. */
  marks(by) {
    const first = new Map(this.lines.filter(({ origin_ms: origin }) => origin !== null).map(({ source, attempt, origin_ms: origin }) => [`${source.address} ${attempt}`, origin]));
    return this.charts.marks.flatMap(({ source, kind, attempt, at, step, name }) => {
      const origin = first.get(`${source.address} ${attempt}`);
      const x = { step, wall: Date.parse(at), relative: origin === undefined ? null : Date.parse(at) - origin }[by];
      if (x === null || x === undefined || (kind === "attempt" && (attempt === 1 || by === "relative"))) return [];
      return [{ x, kind, name: kind === "attempt" ? `#${attempt}` : name }];
    });
  }

  /** The values at the cross-hair, else the last ones; and what the chart cannot show. */
  tell(index = null) {
    const written = amountOf(this.title);
    const found = index === null ? [] : this.plot.values(index);
    const rows = this.lines.map(({ name, colour, buckets }, number) => {
      const { value, raw } = found[number] ?? {};
      const last = buckets.at(-1);
      const text = index === null ? written(last?.last ?? null) : value === null || value === undefined ? "" : written(value);
      return { name, colour, text: raw === null || raw === undefined || !text ? text : `${text} (${written(raw)})` };
    });
    if (this.legend.childElementCount !== rows.length) this.legend.replaceChildren(...rows.map(() => this.charts.root.querySelector("[data-chart-key]").content.firstElementChild.cloneNode(true)));
    rows.forEach(({ name, text, colour }, number) => {
      const row = this.legend.children[number];
      row.dataset.key = ((colour - 1) % COLOURS) + 1;
      row.toggleAttribute("data-dashed", colour > COLOURS);
      row.firstElementChild.textContent = name;
      row.lastElementChild.textContent = text;
    });
    this.noted(index);
  }

  noted(index) {
    if (!this.note) return;
    const { root } = this.charts;
    const sum = { nans: 0, infinities: 0, below: 0 };
    for (const { buckets } of this.lines) for (const [kind, count] of Object.entries(oddities(buckets, this.look))) sum[kind] += count;
    const words = [];
    const x = index === null ? undefined : this.plot.xAt(index);
    if (x !== undefined) words.push(placeOf(this.by, x));
    const mark = index === null ? null : this.plot.markAt(index);
    if (mark) words.push(mark.kind === "checkpoint" ? root.dataset.checkpointWords.replace("%s", mark.name) : root.dataset.attemptWords.replace("%s", mark.name.slice(1)));
    if (sum.nans) words.push(`NaN × ${sum.nans.toLocaleString("en")}`);
    if (sum.infinities) words.push(`±∞ × ${sum.infinities.toLocaleString("en")}`);
    if (sum.below) words.push(root.dataset.belowWords.replace("%s", sum.below.toLocaleString("en")));
    if (this.names.length > MOST_NAMES) words.push(root.dataset.mostWords.replace("%s", MOST_NAMES).replace("%t", this.names.length.toLocaleString("en")));
    this.note.textContent = words.join(" · ");
  }

  /** As a picture, as CSV, and where a script has it from. */
  offer() {
    const [button, menu] = ["button", "list"].map((part) => this.element.querySelector(`[data-chart-menu-${part}]`));
    if (!button) return;
    button.popoverTargetElement = menu;
    button.setAttribute("aria-label", button.title);
    menu.addEventListener("toggle", ({ newState }) => {
      if (newState !== "open") return;
      const { right, bottom } = button.getBoundingClientRect();
      menu.style.top = `${Math.min(bottom + 4, innerHeight - menu.offsetHeight - 8)}px`;
      menu.style.left = `${Math.max(8, right - menu.offsetWidth)}px`;
      this.links(menu);
    });
    menu.addEventListener("click", ({ target }) => {
      if (target.closest("[data-chart-picture]")) savePicture(this.plot.canvas, { title: this.words, keys: [...this.legend.children], paint: (token) => this.charts.ink(token) });
      if (target.closest("a, button")) menu.hidePopover();
    });
  }

  links(menu) {
    const names = this.names.slice(0, MOST_NAMES).map(({ name }) => name);
    for (const [what, part, query] of [["file", "csv", names.map((name) => ["name", name])], ["lines", "api", [["name", names[0]], ["by", this.by]]]]) {
      const template = menu.querySelector(`[data-chart-${part}]`);
      menu.querySelectorAll(`[data-chart-${part}]`).forEach((link) => link !== template && link.remove());
      this.charts.sources.forEach((source, number) => {
        const link = number ? template.cloneNode(true) : template;
        link.href = source.link(what, new URLSearchParams(query));
        link.querySelector("[data-of]").textContent = source.word;
        if (number) template.parentElement.insertBefore(link, template.nextSibling);
      });
    }
  }

  end() {
    clearTimeout(this.timer);
    this.plot.end();
    this.element.remove();
  }
}
