// Going to a place of a log: a line, a moment, its first error, its start, its end.
import { parsePlace } from "panel/log_clock";

export class LogGo {
  #view;
  #tools;
  #form;
  #input;

  /** `tools`: {times, find, pick} of the same log. */
  constructor(view, tools) {
    this.#view = view;
    this.#tools = tools;
    this.#form = view.pane.querySelector("[data-log-go]");
    this.#input = this.#form.querySelector("input");
    view.on(this.#form, "submit", (event) => { event.preventDefault(); this.#typed(); });
    view.on(this.#form, "toggle", ({ newState }) => { if (newState === "closed") this.#closed(); });
    view.on(this.#form.querySelector("[data-log-go-start]"), "click", () => this.#then(() => view.toStart()));
    view.on(this.#form.querySelector("[data-log-go-end]"), "click", () => this.#then(() => view.toEnd()));
    view.on(this.#form.querySelector("[data-log-go-error]"), "click", () => this.#then(() => tools.find.errors()));
  }

  open() {
    this.#form.showPopover();
  }

  /** To a line of a log, by its number from 1; false: it cannot be shown. */
  async toLine(number, key) {
    const { moves } = this.#view;
    const place = await this.#place({ line: number - 1 }, key);
    if (!place || moves !== this.#view.moves) return false;
    return key === this.#view.source.key ? this.#view.showAt(place.offset) : this.#view.open(key, place.offset);
  }

  #closed() {
    this.#say("");
    this.#input.value = "";
  }

  async #typed() {
    const { times, pick } = this.#tools;
    const { moves } = this.#view;
    const bounds = await times.bounds().catch(() => ({ first: null, last: null }));
    const wanted = parsePlace(this.#input.value, { first: bounds.first ?? 0, last: bounds.last ?? 0, isUtc: times.isUtc });
    if (wanted === null || ("ms" in wanted && (bounds.first === null || Math.abs(wanted.ms) > 8.64e15))) {
      this.#say(wanted === null ? this.#form.dataset.unknownWords : this.#form.dataset.untimedWords);
      return;
    }
    const place = await this.#place("line" in wanted ? { line: Math.max(0, wanted.line - 1) } : { at: new Date(wanted.ms).toISOString() });
    if (!place || moves !== this.#view.moves || !(await this.#view.showAt(place.offset))) return;
    pick.pick(place.line + 1);
    this.#form.hidePopover();
    this.#view.view.focus({ preventScroll: true });
  }

  /** null: it was not answered, which is said. */
  async #place(query, key) {
    try {
      return await this.#view.source.json("place", query, undefined, key);
    } catch (error) {
      if (!error.status && !(error instanceof TypeError)) throw error;
      this.#say(error.message);
      return null;
    }
  }

  #then(go) {
    this.#form.hidePopover();
    this.#view.view.focus({ preventScroll: true });
    go();
  }

  #say(words) {
    const place = this.#form.querySelector("[data-log-go-error-words]");
    place.hidden = !words;
    place.textContent = words;
  }
}
