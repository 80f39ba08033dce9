// Which of a job's logs is shown: the one that was chosen by hand or by a link, else the newest attempt's.

export class LogChoice {
  isHeld = false; // a link has chosen, and its lines are being looked up
  #view;
  #chosen = "";
  #opened;

  /** `open(key)` shows a log. */
  constructor(view, opened) {
    this.#view = view;
    this.#opened = opened;
    view.on(view.pane, "change", ({ target }) => {
      if (target !== this.#select) return;
      this.#chosen = target.value;
      this.choose();
    });
    view.on(document, "htmx:load", () => this.choose());
  }

  get #select() { return this.#view.pane.querySelector("[data-log-choice]"); }
  get #options() { return [...this.#select.options]; }

  /** {attempt, rank, part} of the log that is shown, as links name it. */
  names() {
    const { rank, part } = this.#view.source.parts;
    const option = this.#options.find(({ value }) => value === this.#view.source.key);
    return { attempt: option?.dataset.attempt ?? null, rank, part };
  }

  /** Choose the log that a link names, without showing it yet; its key, or null when there is none. */
  of({ attempt, rank, part }) {
    const options = this.#options;
    const named = options.find(({ value, dataset }) => dataset.attempt === attempt && value.endsWith(`/${rank}/${part}`));
    const key = attempt === null ? this.#view.source.key || usual(options) : named?.value;
    if (!key) return null;
    this.#chosen = attempt === null ? this.#chosen : key;
    this.#select.value = key;
    return key;
  }

  choose() {
    if (this.isHeld) return;
    const options = this.#options;
    const key = options.some(({ value }) => value === this.#chosen) ? this.#chosen : usual(options);
    if (!key) {
      this.#view.state.say(this.#view.state.emptyWords);
      return;
    }
    this.#select.value = key;
    if (key !== this.#view.source.key) this.#opened(key);
    else if (!this.#view.lines.count) this.#view.state.say(this.#view.state.emptyWords); // its job may have ended since
  }
}

/** Of the newest attempt what the command prints on its first rank; while there is none, what prepares it. */
function usual(options) {
  const workload = options.at(-1)?.value.split("/")[0];
  const own = options.filter(({ value }) => value.startsWith(`${workload}/`)).sort((one, other) => one.value.split("/")[1] - other.value.split("/")[1]);
  const printed = own.find(({ value, dataset }) => value.endsWith("/output") && !("empty" in dataset));
  return (printed ?? own.find(({ value }) => value.endsWith("/prepare")) ?? own.at(-1))?.value ?? "";
}
