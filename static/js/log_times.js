// When lines were printed, beside them: in the browser's time, in UTC, since the log began, or not at all. The server's marks say by
// when the host had which byte; a line shows the last mark at its start or before.
import { formatMoment, MODES } from "panel/log_clock";
import { keep, recall } from "panel/log_kept";

const ASK_EVERY_MS = 1000; // for what was printed meanwhile
const DAY_MS = 20 * 3600 * 1000;

export class LogTimes {
  first = null; // Unix ms; null: not known
  #view;
  #button;
  #mode = recall("times", MODES);
  #offsets = [];
  #moments = [];
  #known = { from: 0, to: 0 }; // bytes whose marks are here
  #asking = null;
  #askedAt = 0;
  #timer = 0;

  constructor(view) {
    this.#view = view;
    this.#button = view.pane.querySelector("[data-log-times]");
    view.on(this.#button, "click", () => this.turn());
    view.decorators.push((row, line) => this.#decorate(row, line));
    view.addEventListener("open", () => this.#forget());
    view.addEventListener("draw", () => this.#askSoon());
    view.stopSignal.addEventListener("abort", () => this.#forget());
    this.#show();
  }

  get isUtc() {
    return this.#mode === "utc";
  }

  /** The moment of the last mark that is known. */
  get last() {
    return this.#moments.at(-1) ?? this.first;
  }

  /** The next way to show them. */
  turn() {
    this.#mode = MODES[(MODES.indexOf(this.#mode) + 1) % MODES.length];
    keep("times", this.#mode);
    this.#show();
    this.#view.draw();
  }

  /** First and last moment of the log, for whoever goes to one. */
  async bounds(signal) {
    const { source, head } = this.#view;
    const found = await source.json("times", { offset: Math.max(0, head - 1), limit: 1 }, signal);
    this.first = found.first_ms;
    return { first: found.first_ms, last: found.times.at(-1)?.[1] ?? found.first_ms };
  }

  #show() {
    const isOff = this.#mode === "off";
    this.#button.setAttribute("aria-pressed", String(!isOff));
    this.#button.querySelector("[data-word]").textContent = this.#button.dataset[`${this.#mode}Words`];
    this.#view.view.toggleAttribute("data-timed", !isOff);
  }

  #decorate(row, line) {
    const ms = this.#mode === "off" || line.kind ? null : this.#of(line.offset);
    const isLong = this.first !== null && this.last - this.first > DAY_MS;
    const words = ms === null ? "" : formatMoment(ms, this.#mode, { first: this.first, isLong });
    if (row.dataset.time !== words) row.dataset.time = words;
    if (words) this.#view.view.style.setProperty("--clock", words.length);
  }

  /** Unix ms, or null. */
  #of(offset) {
    let [low, high] = [0, this.#offsets.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#offsets[middle] <= offset) low = middle + 1;
      else high = middle;
    }
    return low ? this.#moments[low - 1] : null;
  }

  #askSoon() {
    if (this.#mode === "off" || this.#timer || this.#asking || !this.#missing()) return;
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      this.#ask();
    }, Math.max(0, this.#askedAt + ASK_EVERY_MS - Date.now()));
  }

  /** Bytes that are held and whose marks are not: after what is known when that joins, else all. */
  #missing() {
    const { start, end } = this.#view.lines;
    if (start >= end || (start >= this.#known.from && end <= this.#known.to)) return null;
    return start >= this.#known.from && start <= this.#known.to ? { from: this.#known.to, to: end } : { from: start, to: end };
  }

  async #ask() {
    const missing = this.#missing();
    if (!missing || this.#asking) return;
    this.#asking = new AbortController();
    this.#askedAt = Date.now();
    const { signal } = this.#asking;
    try {
      const { first_ms: first, times } = await this.#view.source.json("times", { offset: missing.from, limit: missing.to - missing.from }, signal);
      this.first = first;
      this.#take(times, missing);
    } catch (error) {
      if (error.name !== "AbortError" && !error.status && !(error instanceof TypeError)) throw error;
    } finally {
      if (this.#asking?.signal === signal) this.#asking = null;
    }
    if (!signal.aborted) this.#view.draw();
  }

  #take(times, { from, to }) {
    const joins = from === this.#known.to;
    const kept = joins ? Math.max(0, this.#offsets.findIndex((offset) => offset > this.#view.lines.start) - 1) : this.#offsets.length;
    this.#offsets.splice(0, kept);
    this.#moments.splice(0, kept);
    for (const [offset, ms] of times) {
      if (offset <= (this.#offsets.at(-1) ?? -1)) continue;
      this.#offsets.push(offset);
      this.#moments.push(ms);
    }
    this.#known = { from: joins ? Math.max(this.#known.from, this.#view.lines.start) : from, to };
  }

  #forget() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#asking?.abort();
    this.#asking = null;
    this.#offsets = [];
    this.#moments = [];
    this.#known = { from: 0, to: 0 };
    this.first = null;
  }
}
