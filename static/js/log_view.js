// A log in its pane: opens at its tail, follows what is printed, loads what is above and below when one scrolls, and shows any
// place of it. What else there is to do with a log hangs on its events: "open" (another log is shown), "draw" (after each),
// "grow" (bytes came), "follow" (it began or ended).
import { followLog } from "panel/live";
import { LogLines } from "panel/log_lines";
import { LogRows } from "panel/log_rows";
import { LogState } from "panel/log_state";
import { LogSource, MOST_BYTES, PIECE_BYTES, Refused } from "panel/log_source";

const NEAR_ROWS = 60; // from an edge: time to load what is beyond
const CUT_ROWS = 6000; // so near the top, what comes at the bottom would soon cost the lines that are read
const AGAIN_MS = 5000;

export class LogView extends EventTarget {
  lines = new LogLines();
  state = new LogState(this);
  source;
  rows;
  pane;
  view;
  decorators = []; // (row, line), for each row of each draw
  head = 0; // bytes that the log had when it was last heard of
  isComplete = false;
  moves = 0; // grows with each move to another place: what was looked up for an earlier one comes too late

  #follower = null;
  #loading = new AbortController();
  #isLoading = false;
  #isOpening = false; // another place is being loaded
  #isFollowing = true;
  #lastTop = 0;
  #retry = 0;
  #frame = 0;
  #stopping = new AbortController();
  #resizes;

  constructor(pane) {
    super();
    this.pane = pane;
    this.view = pane.querySelector("[data-log-view]");
    this.source = new LogSource(pane.dataset.log);
    this.rows = new LogRows(this.view, { gap: pane.dataset.gapWords, cut: pane.dataset.cutWords });
    this.rows.decorate = (row, line) => this.decorators.forEach((decorate) => decorate(row, line));
    this.on(this.view, "scroll", () => this.#scrolled());
    this.state.listen();
    this.on(document, "live:poll", () => this.#poll());
    this.#resizes = new ResizeObserver(() => this.draw());
    this.#resizes.observe(this.view);
  }

  /** Listen until the pane is gone. */
  on(target, type, handle, options = {}) {
    target.addEventListener(type, handle, { signal: this.#stopping.signal, passive: type === "scroll", ...options });
  }

  get isFollowing() { return this.#isFollowing; }
  get stopSignal() { return this.#stopping.signal; }

  stop() {
    this.#stopping.abort();
    this.#leave();
    cancelAnimationFrame(this.#frame);
    this.#resizes.disconnect();
  }

  // -- Which log, and where in it ------------------------------------------------------------------------
  /** Another log, at its tail; or, with an offset, with the line there in view. */
  async open(key, offset = null) {
    this.moves += 1;
    this.#leave();
    const isOther = key !== this.source.key;
    this.source.key = key;
    this.isComplete = false;
    this.state.newLines = 0;
    this.#setFollowing(offset === null);
    if (isOther) this.tell("open");
    if (offset !== null) return this.#openAt(offset);
    this.#isOpening = true;
    const found = await this.#get({ tail: PIECE_BYTES });
    if (!found) return false;
    this.#isOpening = false;
    this.#begin(found);
    this.draw();
    if (!this.isComplete) this.#follow();
    return true;
  }

  /** The line that holds the byte at `offset` comes into view, loaded with what is around it; false: it could not. */
  async showAt(offset) {
    this.moves += 1;
    this.pause();
    const id = this.lines.idAt(offset);
    if (id === null) return this.#openAt(offset);
    this.#stay();
    this.rows.show(this.lines, id);
    this.#lastTop = this.view.scrollTop;
    this.draw();
    this.#loadMore();
    return true;
  }

  async toStart() {
    if (await this.showAt(0)) this.view.scrollTop = 0;
  }

  toEnd() {
    this.moves += 1;
    if (this.lines.isDetached) {
      this.open(this.source.key);
      return;
    }
    this.#stay();
    this.state.newLines = 0;
    this.#setFollowing(true);
    this.draw();
  }

  pause() {
    this.#setFollowing(false);
    this.state.show();
  }

  async #openAt(offset) {
    this.#leave();
    this.#isOpening = true;
    let found = await this.#get({ offset: Math.max(0, offset - PIECE_BYTES / 2), limit: PIECE_BYTES });
    if (!found) return false;
    this.#begin(found);
    while (found.next < found.head && !(this.lines.lines.at(-1)?.end > offset) && found.next - offset < MOST_BYTES) {
      found = await this.#get({ offset: found.next, limit: PIECE_BYTES });
      if (!found) return false;
      this.lines.append(found.bytes);
      this.#takeGaps(found.gaps);
    }
    this.#isOpening = false;
    const isAtHead = found.next >= found.head;
    if (!isAtHead && this.lines.lines.length) this.lines.detach();
    const nearest = offset < this.lines.end ? this.lines.first : this.lines.first + this.lines.count - 1;
    this.rows.show(this.lines, this.lines.idAt(offset) ?? nearest);
    this.#lastTop = this.view.scrollTop;
    this.draw();
    if (isAtHead && !this.isComplete) this.#follow();
    return true;
  }

  /** Whatever other place was on its way is not wanted any more. */
  #stay() {
    if (this.#isOpening) this.#leave();
    if (!this.#follower && !this.lines.isDetached && !this.isComplete) this.#follow();
  }

  #begin(found) {
    this.rows.clear();
    this.lines.begin(found.bytes, found.offset, found.line);
    this.#takeGaps(found.gaps);
    this.isComplete = found.isComplete;
  }

  #leave() {
    clearTimeout(this.#retry);
    this.#loading.abort();
    this.#loading = new AbortController();
    this.#isLoading = this.#isOpening = false;
    this.#unfollow();
  }

  #unfollow() {
    this.#follower?.stop();
    this.#follower = null;
  }

  #follow() {
    const { workload, rank, part } = this.source.parts;
    this.#unfollow();
    this.#follower = followLog({ subject: this.pane.dataset.subject, workload, rank: Number(rank), part }, this.lines.end, {
      bytes: (bytes, offset) => this.#take(bytes.subarray(Math.max(0, this.lines.end - offset))),
      gap: (gap) => this.#takeGaps([gap]),
      complete: () => { this.isComplete = true; this.draw(); this.tell("grow"); },
      behind: () => this.#fallBehind(),
      error: () => this.state.say(this.pane.dataset.goneWords),
    });
  }

  // -- What comes ------------------------------------------------------------------------------------
  #take(bytes) {
    this.head = Math.max(this.head, this.lines.end + bytes.length);
    if (!this.#isFollowing && this.lines.isFull && this.rows.rowsAbove < CUT_ROWS) {
      this.#detach();
      this.draw();
      return;
    }
    const { added } = this.#append(bytes);
    if (this.lines.isDetached) {
      this.#detach();
      this.draw();
      return;
    }
    this.state.newLines = this.#isFollowing ? 0 : this.state.newLines + added;
    this.draw();
    this.tell("grow");
  }

  /** Too much was printed to catch up with: whoever follows goes on at the tail, whoever reads stays. */
  #fallBehind() {
    if (this.#isFollowing) {
      this.open(this.source.key);
      return;
    }
    this.#detach();
    this.draw();
  }

  #detach() {
    this.state.newLines = 0; // nobody counts any more
    this.lines.detach();
    this.#unfollow();
  }

  #append(bytes) {
    return this.#change(() => this.lines.append(bytes, this.#isFollowing ? Infinity : this.rows.place()?.id));
  }

  /** Lines come and go; who reads stays with what is read. */
  #change(change) {
    const place = this.#isFollowing ? null : this.rows.place();
    const changed = change();
    if (place) this.rows.goTo(this.lines, place);
    this.#lastTop = this.view.scrollTop;
    return changed;
  }

  #takeGaps(gaps) {
    const news = gaps.filter((gap) => this.lines.gap(gap));
    if (!news.length) return;
    this.rows.clear(); // lines after it have other ids now
    this.draw();
  }

  /** The socket is down: ask. */
  async #poll() {
    if (this.isComplete || this.#isLoading || this.lines.isDetached || !this.source.key) return;
    const found = await this.#get({ offset: this.lines.end, limit: PIECE_BYTES });
    if (!found || found.offset !== this.lines.end) return;
    this.#take(found.bytes);
    this.#takeGaps(found.gaps);
    this.isComplete = found.isComplete && found.next === this.lines.end;
    this.#follower?.goTo(this.lines.end);
  }

  async #loadOlder() {
    const { start } = this.lines;
    for (let bytes = PIECE_BYTES; bytes <= MOST_BYTES; bytes *= 2) {
      const offset = Math.max(0, start - bytes);
      const found = await this.#get({ offset, limit: start - offset });
      if (!found || found.offset !== offset || start !== this.lines.start) return;
      if (!this.#change(() => this.lines.prepend(found.bytes.subarray(0, start - offset), offset))) continue;
      if (this.lines.isDetached) this.#detach();
      this.#takeGaps(found.gaps);
      this.draw();
      return;
    }
  }

  async #loadNewer() {
    for (let isOver = false; !isOver; ) {
      const { end } = this.lines;
      const found = await this.#get({ offset: end, limit: PIECE_BYTES });
      if (end !== this.lines.end) return;
      if (!found || found.offset !== end) {
        this.lines.detach(); // of a line longer than a piece only a part came
        return;
      }
      const { added } = this.#append(found.bytes);
      this.#takeGaps(found.gaps);
      const isAtHead = found.next >= found.head;
      isOver = added > 0 || isAtHead;
      if (isOver && (this.lines.isDetached || !isAtHead)) this.lines.detach();
      else if (isOver && !found.isComplete) this.#follow();
    }
    this.draw();
  }

  #loadMore() {
    if (this.#isLoading || (this.#isFollowing && !this.rows.isShort)) return;
    if (this.rows.rowsAbove < NEAR_ROWS && this.lines.start > 0) this.#loadOlder();
    else if (this.rows.rowsBelow < NEAR_ROWS && this.lines.isDetached) this.#loadNewer();
  }

  /** null: it did not come, or something else is wanted by now. */
  async #get(query) {
    const { signal } = this.#loading;
    this.#isLoading = true;
    try {
      const found = await this.source.bytes(query, signal);
      this.head = found.head;
      return found;
    } catch (error) {
      if (error.name === "AbortError" || error.status === 401) return null;
      if (error.status === 404) return { bytes: new Uint8Array(), offset: query.offset ?? 0, next: 0, head: 0, isComplete: false, line: 0, gaps: [] };
      if (error.status === 410) this.state.say(this.pane.dataset.goneWords);
      else if (error instanceof TypeError || error instanceof Refused) this.#offline("tail" in query);
      else throw error;
      return null;
    } finally {
      if (signal === this.#loading.signal) this.#isLoading = false;
    }
  }

  #offline(isOpening) {
    this.state.say(this.pane.dataset.offlineWords);
    if (isOpening) this.#retry = setTimeout(() => this.open(this.source.key), AGAIN_MS);
  }

  // -- What is seen ------------------------------------------------------------------------------------
  draw() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.rows.draw(this.lines, this.#isFollowing);
      this.#lastTop = this.view.scrollTop;
      this.state.show();
      this.tell("draw");
      this.#loadMore();
    });
  }

  tell(type) {
    this.dispatchEvent(new Event(type));
  }

  #setFollowing(isFollowing) {
    if (isFollowing === this.#isFollowing) return;
    this.#isFollowing = isFollowing;
    this.tell("follow");
  }

  #scrolled() {
    const top = this.view.scrollTop;
    if (this.rows.rowsBelow < 1 && top > this.#lastTop + 1 && !this.lines.isDetached) {
      this.state.newLines = 0;
      this.#setFollowing(true);
    } else if (top < this.#lastTop - 1) {
      this.#setFollowing(false);
    }
    this.#lastTop = top;
    this.rows.draw(this.lines);
    this.state.show();
    this.tell("draw");
    this.#loadMore();
  }
}
