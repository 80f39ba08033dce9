// The search in a log's head: what is typed is looked for, in all of the log, by the server; the hit that is looked at comes into
// view, with what is around it.
import { LogHits } from "panel/log_hits";
import { LogMarks } from "panel/log_marks";

const TYPED_MS = 300; // after the last letter
const AGAIN_MS = 1000; // after too many have searched at once
const GREW_MS = 1500; // between two looks at what was printed meanwhile

export class LogFind {
  #view;
  #form;
  #input;
  #hits;
  #marks;
  #typed = 0;
  #grew = 0;
  #origin = null; // where one was when one began to type: {from, isUpwards}

  constructor(view) {
    this.#view = view;
    this.#form = view.pane.querySelector("[data-log-find]");
    this.#input = this.#part("q");
    this.#marks = new LogMarks(view);
    this.#hits = new LogHits((query, signal) => this.#ask(query, signal), () => this.#show());
    view.on(this.#form, "submit", (event) => { event.preventDefault(); this.next(); });
    view.on(this.#input, "focus", () => { this.#origin ??= this.#here(); });
    view.on(this.#input, "input", () => this.#typing());
    view.on(this.#input, "keydown", (event) => this.#key(event));
    for (const name of ["case", "regex", "errors"]) view.on(this.#part(name), "click", () => this.#toggle(name));
    view.on(this.#part("next"), "click", () => this.next());
    view.on(this.#part("previous"), "click", () => this.previous());
    view.on(this.#part("clear"), "click", () => this.clear());
    view.addEventListener("open", () => this.#again());
    view.addEventListener("grow", () => this.#grown());
    view.stopSignal.addEventListener("abort", () => { clearTimeout(this.#typed); clearTimeout(this.#grew); this.#hits.stop(); this.#marks.stop(); });
  }

  #part(name) {
    return this.#form.querySelector(`[data-log-${name}]`);
  }

  get isOn() {
    return this.#hits.isOn;
  }

  focus() {
    this.#press("errors", false);
    this.#input.focus();
    this.#input.select();
  }

  next() {
    return this.#move(() => this.#hits.next());
  }

  previous() {
    return this.#move(() => this.#hits.previous());
  }

  /** Lines that tell of errors, from the first of the log on. */
  errors() {
    this.#press("errors", true);
    return this.#start({ from: 0, isUpwards: false });
  }

  clear() {
    clearTimeout(this.#typed);
    this.#input.value = "";
    this.#press("errors", false);
    this.#origin = null;
    this.#end();
  }

  // -- What is asked for -------------------------------------------------------------------------------
  get #query() {
    const isErrors = this.#isPressed("errors");
    const mode = isErrors ? "errors" : this.#isPressed("regex") ? "regex" : "plain";
    const query = { q: isErrors ? "" : this.#input.value, mode, case: String(this.#isPressed("case")) };
    return query.q || isErrors ? query : null;
  }

  #isPressed(name) {
    return this.#part(name).getAttribute("aria-pressed") === "true";
  }

  #press(name, isOn) {
    this.#part(name).setAttribute("aria-pressed", String(isOn));
    const isErrors = this.#isPressed("errors");
    this.#input.disabled = isErrors;
    this.#input.placeholder = isErrors ? this.#input.dataset.errorsWords : this.#input.dataset.words;
  }

  #toggle(name) {
    this.#origin ??= this.#here();
    this.#press(name, !this.#isPressed(name));
    if (name !== "errors") this.#input.focus();
    this.#start(name === "errors" ? this.#here() : this.#origin);
  }

  #typing() {
    clearTimeout(this.#typed);
    this.#press("errors", false);
    this.#typed = setTimeout(() => this.#start(this.#origin ?? this.#here()), this.#input.value ? TYPED_MS : 0);
  }

  #key(event) {
    if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      this.previous();
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (!this.#input.value) this.clear();
      this.#view.view.focus({ preventScroll: true });
    }
  }

  /** Downwards from what is read; upwards from the end when one follows it. */
  #here() {
    const line = this.#view.isFollowing ? null : this.#view.rows.firstInView();
    return line ? { from: line.offset, isUpwards: false } : { from: this.#view.head, isUpwards: true };
  }

  // -- What is done ------------------------------------------------------------------------------------
  async #start({ from, isUpwards }) {
    clearTimeout(this.#typed);
    this.#typed = 0;
    const query = this.#query;
    if (!query) {
      this.#end();
      return;
    }
    this.#say("");
    const started = this.#hits.start(query, from, isUpwards);
    this.#show();
    await this.#go(started);
  }

  async #move(move) {
    if (this.#typed || !this.#hits.isOn) await this.#start(this.#origin ?? this.#here());
    else await this.#go(move());
  }

  async #go(found) {
    try {
      const hit = await found;
      this.#show();
      if (!hit || hit !== this.#hits.current) return;
      if (!(await this.#view.showAt(hit.offset)) || hit !== this.#hits.current) return;
      this.#marks.show(this.#hits.query, hit);
      requestAnimationFrame(() => {
        const place = this.#view.rows.isWrapped ? null : this.#marks.currentPlace();
        if (place) this.#view.rows.showSideways(...place);
      });
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#hits.stop();
      this.#show();
      this.#say(error.fields?.q ?? error.fields?.cursor ?? this.#view.pane.dataset.searchFailedWords);
    }
  }

  #end() {
    this.#hits.stop();
    this.#marks.stop();
    this.#say("");
    this.#show();
  }

  /** The same in another log. */
  #again() {
    this.#origin = null;
    if (this.#hits.isOn) this.#start({ from: 0, isUpwards: false });
  }

  async #ask(query, signal) {
    for (;;) {
      try {
        return await this.#view.source.json("search", query, signal);
      } catch (error) {
        if (error.status !== 429) throw error;
        await new Promise((resolve) => { setTimeout(resolve, AGAIN_MS); });
      }
    }
  }

  #grown() {
    if (!this.#hits.isOn || this.#grew) return;
    this.#grew = setTimeout(() => {
      this.#grew = 0;
      this.#hits.grow();
    }, GREW_MS);
  }

  // -- What is seen ------------------------------------------------------------------------------------
  #show() {
    const { isOn, count, isExact, index } = this.#hits;
    this.#form.toggleAttribute("data-on", isOn);
    const { ofWords, linesWords, noLineWords } = this.#view.pane.dataset;
    const total = `${count.toLocaleString()}${isExact ? "" : "+"}`;
    let words = isOn ? "…" : "";
    if (isOn && count) words = index ? ofWords.replace("%s", index.toLocaleString()).replace("%s", total) : linesWords.replace("%s", total);
    else if (isOn && isExact) words = noLineWords;
    const place = this.#part("count");
    if (place.textContent !== words) place.textContent = words;
    this.#part("next").disabled = this.#part("previous").disabled = !isOn || (isExact && !count);
    this.#part("matching").hidden = !count;
    if (isOn) this.#part("matching").href = this.#view.source.address(this.#hits.query, "matching-lines");
    this.#marks.show(this.#hits.query, this.#hits.current);
  }

  #say(words) {
    const place = this.#part("error");
    place.hidden = !words;
    if (place.textContent !== words) place.textContent = words;
    this.#input.toggleAttribute("aria-invalid", Boolean(words));
    if (words) this.#input.setAttribute("aria-invalid", "true");
    else this.#input.removeAttribute("aria-invalid");
  }
}
