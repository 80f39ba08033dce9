// A log: opens at its tail, follows what is printed, loads older lines when one scrolls up.
// data-log is the address of its bytes; GET takes workload, rank, part and either tail=BYTES or offset= and limit=, and answers
// bytes with X-Log-Offset, X-Log-Next, X-Log-Complete, and where they are known X-Log-Line (number, from 0, of the line that the
// first byte belongs to) and X-Log-Gaps (JSON: [{offset, dropped_bytes, from_ms}, ...]).
import { behave } from "panel/behaviour";
import { followLog, signedOut } from "panel/live";
import { LogLines } from "panel/log_lines";
import { LogRows } from "panel/log_rows";

const PIECE_BYTES = 256 * 1024;
const MOST_BYTES = 4 * 1024 * 1024; // looked through for the end of one long line
const NEAR_ROWS = 60; // from an edge: time to load what is beyond
const CUT_ROWS = 6000; // so near the top, what comes at the bottom would soon cost the lines that are read
const AGAIN_MS = 5000;

class Log {
  #pane;
  #view;
  #rows;
  #lines = new LogLines();
  #key = "";
  #follower = null;
  #loading = new AbortController();
  #isLoading = false;
  #isComplete = false;
  #isFollowing = true;
  #chosen = ""; // by hand; else the newest attempt's is shown
  #newLines = 0;
  #lastTop = 0;
  #retry = 0;
  #stopping = new AbortController();

  constructor(pane) {
    this.#pane = pane;
    this.#view = pane.querySelector("[data-log-view]");
    this.#rows = new LogRows(this.#view, { gap: pane.dataset.gapWords, cut: pane.dataset.cutWords });
    const until = { signal: this.#stopping.signal };
    this.#view.addEventListener("scroll", () => this.#scrolled(), { ...until, passive: true });
    pane.addEventListener("change", () => { this.#chosen = this.#select.value; this.#choose(); }, until);
    this.#pill.addEventListener("click", () => this.#toEnd(), until);
    this.#followButton.hidden = false;
    this.#followButton.addEventListener("click", () => (this.#isFollowing ? this.#pause() : this.#toEnd()), until);
    document.addEventListener("htmx:load", () => this.#choose(), until);
    document.addEventListener("live:poll", () => this.#poll(), until);
    this.#resizes = new ResizeObserver(() => this.#draw());
    this.#resizes.observe(this.#view);
    this.#choose();
  }

  #resizes;
  get #pill() { return this.#pane.querySelector("[data-log-pill]"); }
  get #followButton() { return this.#pane.querySelector("[data-log-follow]"); }
  get #message() { return this.#pane.querySelector("[data-log-message]"); }
  get #select() { return this.#pane.querySelector("[data-log-choice]"); }

  stop() {
    this.#stopping.abort();
    this.#leave();
    this.#rows.stop();
    this.#resizes.disconnect();
  }

  // -- Which log ------------------------------------------------------------------------------------
  #choose() {
    const options = [...this.#select.options];
    const key = options.some(({ value }) => value === this.#chosen) ? this.#chosen : usual(options);
    if (!key) {
      this.#say(this.#emptyWords);
      return;
    }
    this.#select.value = key;
    if (key !== this.#key) this.#open(key);
    else if (this.#message.textContent === this.#pane.dataset.waitingWords) this.#say(this.#emptyWords); // its job may have ended since
  }

  /** What is said in place of lines. A job that ends before it runs leaves no log that could be complete. */
  get #emptyWords() {
    const hasNoLog = this.#pane.querySelector("[data-ended]") && (this.#select.selectedOptions[0]?.hidden ?? true);
    return this.#isComplete || hasNoLog ? this.#pane.dataset.nothingWords : this.#pane.dataset.waitingWords;
  }

  #leave() {
    clearTimeout(this.#retry);
    this.#loading.abort();
    this.#loading = new AbortController();
    this.#isLoading = false;
    this.#follower?.stop();
    this.#follower = null;
  }

  async #open(key) {
    this.#leave();
    this.#key = key;
    this.#isComplete = false;
    this.#isFollowing = true;
    this.#newLines = 0;
    const link = this.#pane.querySelector("[data-log-link]");
    if (link) link.href = this.#address({});
    const found = await this.#get({ tail: PIECE_BYTES });
    if (!found) return;
    this.#rows.clear();
    this.#lines.begin(found.bytes, found.offset, found.line);
    this.#takeGaps(found.gaps);
    this.#isComplete = found.isComplete;
    this.#draw();
    if (!this.#isComplete) this.#follow();
  }

  #follow() {
    const [workload, rank, part] = this.#key.split("/");
    this.#follower?.stop();
    this.#follower = followLog({ subject: this.#pane.dataset.subject, workload, rank: Number(rank), part }, this.#lines.end, {
      bytes: (bytes) => this.#take(bytes),
      gap: (gap) => this.#takeGaps([gap]),
      complete: () => { this.#isComplete = true; this.#draw(); },
      behind: () => this.#fallBehind(),
      error: () => this.#say(this.#pane.dataset.goneWords),
    });
  }

  // -- What comes ------------------------------------------------------------------------------------
  #take(bytes) {
    if (!this.#isFollowing && this.#lines.isFull && this.#rows.rowsAbove < CUT_ROWS) {
      this.#detach();
      this.#draw();
      return;
    }
    const { added, dropped } = this.#lines.append(bytes);
    if (this.#isFollowing) this.#newLines = 0;
    else {
      this.#newLines += added;
      if (dropped) this.#rows.shift(-dropped);
    }
    this.#draw();
  }

  /** Too much was printed to catch up with: whoever follows goes on at the tail, whoever reads stays. */
  #fallBehind() {
    if (this.#isFollowing) {
      this.#open(this.#key);
      return;
    }
    this.#detach();
    this.#draw();
  }

  #detach() {
    this.#newLines = 0; // nobody counts any more
    this.#lines.isDetached = true;
    this.#follower?.stop();
    this.#follower = null;
  }

  #takeGaps(gaps) {
    const news = gaps.filter((gap) => this.#lines.gap(gap));
    if (!news.length) return;
    this.#rows.clear(); // lines after it have other ids now
    this.#draw();
  }

  /** The socket is down: ask. */
  async #poll() {
    if (this.#isComplete || this.#isLoading || this.#lines.isDetached || !this.#key) return;
    const found = await this.#get({ offset: this.#lines.end, limit: PIECE_BYTES });
    if (!found || found.offset !== this.#lines.end) return;
    this.#take(found.bytes);
    this.#takeGaps(found.gaps);
    this.#isComplete = found.isComplete && found.next === this.#lines.end;
    this.#follower?.goTo(this.#lines.end);
  }

  async #loadOlder() {
    const { start } = this.#lines;
    for (let bytes = PIECE_BYTES; bytes <= MOST_BYTES; bytes *= 2) {
      const offset = Math.max(0, start - bytes);
      const found = await this.#get({ offset, limit: start - offset });
      if (!found || found.offset !== offset) return;
      const whole = found.bytes.subarray(0, start - offset);
      const added = this.#lines.prepend(whole, offset);
      if (!added) continue;
      if (this.#lines.isDetached) this.#detach();
      this.#rows.grow(this.#lines);
      this.#rows.shift(added);
      this.#lastTop = this.#view.scrollTop;
      this.#takeGaps(found.gaps);
      this.#draw();
      return;
    }
  }

  async #loadNewer() {
    const { end } = this.#lines;
    const found = await this.#get({ offset: end, limit: PIECE_BYTES });
    if (!found || found.offset !== end) return;
    const { added, dropped } = this.#lines.append(found.bytes);
    if (dropped) this.#rows.shift(-dropped);
    this.#lastTop = this.#view.scrollTop;
    this.#takeGaps(found.gaps);
    if (found.bytes.length < PIECE_BYTES || !added) this.#follow();
    else this.#lines.isDetached = true;
    this.#draw();
  }

  #address(query) {
    const [workload, rank, part] = this.#key.split("/");
    return `${this.#pane.dataset.log}?${new URLSearchParams({ workload, rank, part, ...query })}`;
  }

  /** null: it did not come, or something else is wanted by now. */
  async #get(query) {
    const { signal } = this.#loading;
    this.#isLoading = true;
    try {
      const response = await fetch(this.#address(query), { signal });
      if (response.status === 404) return { bytes: new Uint8Array(), offset: Number(query.offset ?? 0), next: 0, isComplete: false, line: 0, gaps: [] };
      if (response.status === 401 || response.redirected) {
        signedOut();
        return null;
      }
      if (response.status === 410) this.#say(this.#pane.dataset.goneWords);
      else if (!response.ok) throw new TypeError(`HTTP ${response.status}`);
      else return await answer(response);
    } catch (error) {
      if (error.name === "AbortError") return null;
      if (!(error instanceof TypeError)) throw error;
      this.#say(this.#pane.dataset.offlineWords);
      if ("tail" in query) this.#retry = setTimeout(() => this.#open(this.#key), AGAIN_MS);
    } finally {
      if (signal === this.#loading.signal) this.#isLoading = false;
    }
    return null;
  }

  // -- What is seen ------------------------------------------------------------------------------------
  #draw() {
    this.#rows.drawSoon(this.#lines, () => {
      if (this.#isFollowing) {
        this.#rows.toEnd();
        this.#rows.draw(this.#lines);
      }
      this.#lastTop = this.#view.scrollTop;
      this.#showState();
    });
  }

  #showState() {
    const isUnnumbered = (this.#lines.lines[0] ?? this.#lines.open)?.number == null;
    this.#view.toggleAttribute("data-unnumbered", isUnnumbered);
    this.#say(this.#lines.count ? "" : this.#emptyWords);
    const isAway = this.#newLines > 0 || this.#lines.isDetached;
    this.#pill.hidden = this.#isFollowing || !isAway;
    const words = this.#newLines ? this.#pane.dataset.newWords.replace("%s", this.#newLines.toLocaleString()) : this.#pane.dataset.endWords;
    if (isAway) this.#pill.textContent = `↓ ${words}`;
    this.#followButton.setAttribute("aria-pressed", String(this.#isFollowing));
    this.#followButton.hidden = this.#isComplete;
  }

  #say(text) {
    this.#message.hidden = !text;
    if (this.#message.textContent !== text) this.#message.textContent = text;
  }

  #scrolled() {
    const top = this.#view.scrollTop;
    const isAtEnd = this.#rows.rowsBelow < 1;
    if (isAtEnd && !this.#lines.isDetached) {
      this.#isFollowing = true;
      this.#newLines = 0;
    } else if (top < this.#lastTop - 1) {
      this.#isFollowing = false;
    }
    this.#lastTop = top;
    this.#rows.draw(this.#lines);
    this.#showState();
    if (this.#isLoading || this.#isFollowing) return;
    if (this.#rows.rowsAbove < NEAR_ROWS && this.#lines.start > 0) this.#loadOlder();
    else if (this.#rows.rowsBelow < NEAR_ROWS && this.#lines.isDetached) this.#loadNewer();
  }

  #pause() {
    this.#isFollowing = false;
    this.#showState();
  }

  #toEnd() {
    if (this.#lines.isDetached) {
      this.#open(this.#key);
      return;
    }
    this.#isFollowing = true;
    this.#newLines = 0;
    this.#draw();
  }
}

async function answer(response) {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const number = (name) => (response.headers.has(name) ? Number(response.headers.get(name)) : null);
  const offset = number("X-Log-Offset") ?? 0;
  return {
    bytes,
    offset,
    next: number("X-Log-Next") ?? offset + bytes.length,
    isComplete: ["1", "true", "yes"].includes((response.headers.get("X-Log-Complete") ?? "").toLowerCase()),
    line: number("X-Log-Line"),
    gaps: JSON.parse(response.headers.get("X-Log-Gaps") ?? "[]"),
  };
}

/** Of the newest attempt what the command prints on its first rank; while there is none, what prepares it. */
function usual(options) {
  const workload = options.at(-1)?.value.split("/")[0];
  const own = options.filter(({ value }) => value.startsWith(`${workload}/`)).sort((one, other) => one.value.split("/")[1] - other.value.split("/")[1]);
  const printed = own.find(({ value, dataset }) => value.endsWith("/output") && !("empty" in dataset));
  return (printed ?? own.find(({ value }) => value.endsWith("/prepare")) ?? own.at(-1))?.value ?? "";
}

behave("[data-log]", (pane) => {
  const log = new Log(pane);
  return () => log.stop();
});
