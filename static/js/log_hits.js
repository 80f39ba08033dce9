// What a search has found in a log: the hits around the one that is looked at, which number it has, and how many there are. It
// asks in answers of two seconds at most, and goes on while the log grows. No page: `ask(query, signal)` is the search's API.

const PAGE = 50;

export class LogHits {
  current = null; // the hit that is looked at
  #ask;
  #changed;
  #query = null;
  #list = []; // hits without a hole between them, in the order of the log
  #from = 0; // what is known of the log: all hits that begin from here on
  #to = 0; // and before
  #anchor = null; // {offset, index}: a hit of the list whose number is known
  #above = null; // counting from where the search began, up and down: {count, isExact, resume}
  #below = null;
  #work = Promise.resolve();
  #stopping = new AbortController();

  constructor(ask, changed) {
    this.#ask = ask;
    this.#changed = changed;
  }

  get isOn() {
    return this.#query !== null;
  }

  get query() {
    return this.#query;
  }

  /** Lines that match, at least. */
  get count() {
    return Math.max((this.#above?.count ?? 0) + (this.#below?.count ?? 0), this.#list.length);
  }

  get isExact() {
    return Boolean(this.#above?.isExact && this.#below?.isExact);
  }

  /** Number of the current hit, from 1; null: not known (yet). */
  get index() {
    if (!this.current || !this.#anchor?.index) return null;
    const place = (offset) => this.#list.findIndex((hit) => hit.offset === offset);
    const anchor = place(this.#anchor.offset);
    return anchor < 0 ? null : this.#anchor.index + place(this.current.offset) - anchor;
  }

  stop() {
    this.#stopping.abort();
    this.#stopping = new AbortController();
    this.#work = Promise.resolve();
    this.#query = this.current = this.#anchor = this.#above = this.#below = null;
    this.#list = [];
  }

  /** Another search: the first hit from byte `from` on, upwards or downwards, else the one that is nearest; null: there is none. */
  start(query, from, isUpwards) {
    this.stop();
    this.#query = query;
    return this.#do(async () => {
      const first = (await this.#first(from, isUpwards)) ?? (await this.#first(from, !isUpwards));
      const { signal } = this.#stopping;
      this.#count(first?.offset ?? from, signal).catch(ignoreEnd);
      return first;
    });
  }

  next() {
    return this.#do(() => this.#step(false));
  }

  previous() {
    return this.#do(() => this.#step(true));
  }

  /** The log has grown. */
  grow() {
    if (!this.#below?.resume) return;
    const { signal } = this.#stopping;
    const { resume } = this.#below;
    this.#below.resume = null;
    this.#tally(this.#below, { limit: 0, direction: "forward", from: this.#below.from, cursor: resume }, signal).catch(ignoreEnd);
  }

  async #step(isUpwards) {
    if (!this.current) return this.#first(isUpwards ? null : 0, isUpwards);
    const place = this.#list.indexOf(this.current) + (isUpwards ? -1 : 1);
    if (!this.#list[place]) await this.#page(isUpwards);
    const next = this.#list[this.#list.indexOf(this.current) + (isUpwards ? -1 : 1)];
    if (next) return this.#look(next);
    const count = this.isExact ? this.count : null;
    const found = await this.#first(isUpwards ? null : 0, isUpwards); // around the end
    if (found) this.#anchor = { offset: found.offset, index: isUpwards ? count : 1 };
    return found && this.#look(found);
  }

  /** Of a place: the first hit from there, with which the list begins anew. `from` null: from that end of the log. */
  async #first(from, isUpwards) {
    const [found] = await this.#some({ limit: 1, direction: isUpwards ? "backward" : "forward", ...(from === null ? {} : { from }) });
    if (!found) return null;
    this.#list = [found];
    [this.#from, this.#to] = [found.offset, found.end];
    this.#anchor = { offset: found.offset, index: null };
    return this.#look(found);
  }

  async #page(isUpwards) {
    const edge = isUpwards ? this.#from : this.#to;
    const found = await this.#some({ limit: PAGE, direction: isUpwards ? "backward" : "forward", from: edge });
    if (!found.length) return;
    if (isUpwards) {
      this.#list.unshift(...found.reverse());
      this.#from = found[0].offset;
    } else {
      // The line that was being written may have been known already.
      this.#list.push(...found.filter(({ offset }) => offset > this.#list.at(-1).offset));
      this.#to = found.at(-1).end;
    }
  }

  /** Hits of the first answer that has any. */
  async #some(query) {
    const { signal } = this.#stopping;
    let answer = await this.#ask({ ...this.#query, ...query }, signal);
    while (!answer.results.length && answer.next_cursor) answer = await this.#ask({ ...this.#query, ...query, cursor: answer.next_cursor }, signal);
    return answer.results;
  }

  #look(hit) {
    this.current = hit;
    this.#changed();
    return hit;
  }

  async #count(from, signal) {
    const first = this.current;
    this.#above = { count: 0, isExact: false, resume: null, from };
    this.#below = { count: 0, isExact: false, resume: null, from };
    await this.#tally(this.#above, { limit: 0, direction: "backward", from }, signal);
    if (first && this.#anchor?.offset === first.offset) this.#anchor.index = this.#above.count + 1;
    this.#changed();
    await this.#tally(this.#below, { limit: 0, direction: "forward", from }, signal);
  }

  async #tally(tally, query, signal) {
    let cursor = query.cursor ?? "";
    do {
      const answer = await this.#ask({ ...this.#query, ...query, cursor }, signal);
      [tally.count, tally.isExact, tally.resume] = [answer.count, answer.is_exact, answer.resume_cursor];
      cursor = answer.next_cursor;
      this.#changed();
    } while (cursor);
  }

  /** One after the other: whoever presses a key many times goes as many hits further. */
  #do(work) {
    const { signal } = this.#stopping;
    const done = this.#work.then(() => (signal.aborted ? null : work()));
    this.#work = done.catch(() => null);
    return done;
  }
}

/** Counting that breaks off leaves what was counted, as "at least". */
function ignoreEnd(error) {
  if (error.name !== "AbortError" && !(error instanceof TypeError) && !error.status) throw error;
}
