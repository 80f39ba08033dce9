// Lines that were picked by their numbers: a click picks one, with Shift up to another. The address of the page then leads to
// them, for whoever opens it; they can be copied as text.
import { wholeText } from "panel/log_copy";
import { formatLink } from "panel/log_links";

export class LogPick {
  from = 0; // numbers from 1; 0: none
  to = 0;
  #view;
  #bar;
  #first = 0; // where the picking began

  /** `names` tells the log that is shown: () => {attempt, rank, part} */
  constructor(view, names) {
    this.#view = view;
    this.names = names;
    this.#bar = view.pane.querySelector("[data-log-picked]");
    view.decorators.push((row, line) => row.toggleAttribute("data-picked", !line.kind && line.number >= this.from && line.number <= this.to));
    view.on(view.view, "click", (event) => this.#clicked(event));
    view.on(view.view, "mousedown", (event) => { if (event.shiftKey && isNumber(event)) event.preventDefault(); }); // no text is selected by it
    view.on(this.#part("link"), "click", (event) => this.#copy(event.currentTarget, () => this.link));
    view.on(this.#part("text"), "click", (event) => this.#copy(event.currentTarget, () => this.#text()));
    view.on(this.#part("none"), "click", () => this.clear());
    view.addEventListener("open", () => this.#set(0, 0));
  }

  #part(name) {
    return this.#bar.querySelector(`[data-log-pick-${name}]`);
  }

  get link() {
    return new URL(formatLink({ ...this.names(), from: this.from, to: this.to }), location.href).href;
  }

  pick(from, to = from) {
    this.#first = from;
    this.#set(Math.min(from, to), Math.max(from, to));
    history.replaceState(history.state, "", formatLink({ ...this.names(), from: this.from, to: this.to }));
  }

  clear() {
    if (!this.from) return;
    this.#set(0, 0);
    history.replaceState(history.state, "", location.pathname + location.search);
  }

  #clicked(event) {
    const number = isNumber(event) ? this.#view.rows.lineOf(event.target)?.number : null;
    if (!number) return;
    if (!event.shiftKey || !this.#first) this.#first = number;
    if (this.from === number && this.to === number) {
      this.clear();
      return;
    }
    const first = this.#first;
    this.pick(first, number);
    this.#first = first;
    this.#view.pause();
  }

  #set(from, to) {
    [this.from, this.to] = [from, to];
    if (!from) this.#first = 0;
    this.#bar.hidden = !from;
    const { lineWords, rangeWords } = this.#bar.dataset;
    const words = from === to ? lineWords.replace("%s", from.toLocaleString()) : rangeWords.replace("%s", from.toLocaleString()).replace("%s", to.toLocaleString());
    if (from) this.#part("words").textContent = words;
    this.#view.draw();
  }

  async #text() {
    const { source } = this.#view;
    const [start, end] = await Promise.all([source.json("place", { line: this.from - 1 }), source.json("place", { line: this.to })]);
    const upTo = end.line < this.to ? this.#view.head : end.offset; // it was the last
    return wholeText(source, start.offset, Math.max(upTo, start.offset + 1));
  }

  async #copy(button, make) {
    const words = button.querySelector("[data-word]");
    const before = (button.dataset.before ??= words.textContent);
    let said = this.#bar.dataset.failedWords;
    try {
      const text = await make();
      if (text === null) said = this.#bar.dataset.muchWords;
      else {
        await navigator.clipboard.writeText(text);
        said = this.#bar.dataset.copiedWords;
      }
    } catch { /* no https, no leave, or no answer */ }
    words.textContent = said;
    setTimeout(() => { words.textContent = before; }, 2000);
  }
}

/** The click was on what stands before a line's text. */
function isNumber({ target, clientX }) {
  return target.classList.contains("log-row") && clientX < target.lastElementChild.getBoundingClientRect().left;
}
