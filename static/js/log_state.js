// What a log's pane says of itself: that it follows, that lines came or are to come, that there are none.

export class LogState {
  newLines = 0; // that came below what is read
  #view;

  constructor(view) {
    this.#view = view;
  }

  get #pill() { return this.#view.pane.querySelector("[data-log-pill]"); }
  get #followButton() { return this.#view.pane.querySelector("[data-log-follow]"); }
  get #message() { return this.#view.pane.querySelector("[data-log-message]"); }

  listen() {
    const view = this.#view;
    view.on(this.#pill, "click", () => view.toEnd());
    view.on(this.#followButton, "click", () => (view.isFollowing ? view.pause() : view.toEnd()));
  }

  show() {
    const { lines, isFollowing, isComplete, pane, view } = this.#view;
    view.toggleAttribute("data-unnumbered", (lines.lines[0] ?? lines.open)?.number == null);
    this.say(lines.count ? "" : this.emptyWords);
    const isAway = this.newLines > 0 || lines.isDetached;
    this.#pill.hidden = isFollowing || !isAway;
    const words = `↓ ${this.newLines ? pane.dataset.newWords.replace("%s", this.newLines.toLocaleString()) : pane.dataset.endWords}`;
    if (isAway && this.#pill.textContent !== words) this.#pill.textContent = words;
    this.#followButton.setAttribute("aria-pressed", String(isFollowing));
    this.#followButton.hidden = isComplete;
  }

  /** In place of lines. */
  say(text) {
    this.#message.hidden = !text;
    if (this.#message.textContent !== text) this.#message.textContent = text;
  }

  /** What there is to say when there are none. A job that ends before it runs leaves no log that could be complete. */
  get emptyWords() {
    const { pane, isComplete } = this.#view;
    const isNone = pane.querySelector("[data-ended]") && (pane.querySelector("[data-log-choice]").selectedOptions[0]?.hidden ?? true);
    return isComplete || isNone ? pane.dataset.nothingWords : pane.dataset.waitingWords;
  }
}
