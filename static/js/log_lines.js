// The stretch of a log that the page holds, from byte `start` to byte `end`: at most `max` lines, and so many characters as a
// tab can do with when each of them is long. Pure, as log_text.js.
import { LineDecoder } from "panel/log_text";

const NEWLINE = 10;
const SLACK = 1000; // lines over `max` before they are cut off, so that cutting is rare
const MOST_CHARS = 6_000_000;
const LEAST_LINES = 200; // are kept however long they are
const LINE_CHARS = 60; // what a line takes besides its text, in characters

export class LogLines {
  first = 0; // id of lines[0]; a line keeps its id while lines come and go at either side
  lines = [];
  start = 0;
  isDetached = false; // lines after `end` were let go: what comes live does not follow
  version = 0; // grows with each change of which lines there are

  #max;
  #chars = 0;
  #decoder = new LineDecoder();
  #gaps = new Set();

  constructor(max = 20_000) {
    this.#max = max;
  }

  get end() {
    return this.isDetached ? (this.lines.at(-1)?.end ?? this.start) : this.#decoder.offset;
  }

  /** The line that is still being printed. */
  get open() {
    const open = this.isDetached ? null : this.#decoder.open;
    if (open) open.number = next(this.lines.at(-1), this.start, this.#firstNumber);
    return open;
  }

  get count() {
    return this.lines.length + (this.open ? 1 : 0);
  }

  /** From here on each line that comes costs one at the top. */
  get isFull() {
    return this.lines.length >= this.#max || this.#chars >= MOST_CHARS;
  }

  at(id) {
    return this.lines[id - this.first] ?? this.open;
  }

  /** Id of the line that holds the byte at `offset`; null when it is not here. */
  idAt(offset) {
    if (!this.count || offset < this.start || offset >= this.end) return null;
    return this.first + this.#last(({ offset: start, kind }) => start < offset || (start === offset && !kind));
  }

  /** Id of the line with this number, from 1; null when it is not here. */
  idOf(number) {
    const last = this.#last((line) => line.number !== null && (line.number < number || (line.number === number && !line.kind)));
    const line = last < 0 ? null : this.at(this.first + last);
    return line?.number === number && !line.kind ? this.first + last : null;
  }

  /** What follows `end` is not here, and the line at the end, of which only a part may be, neither. */
  detach() {
    this.isDetached = true;
    this.version += 1;
  }

  /** Index of the last line for which `isBefore` is true, which it is for all before it; -1: for none. */
  #last(isBefore) {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(this.at(this.first + middle))) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /**
   * Begin with `bytes` at `offset`; a first line that is not whole is left to `prepend`. `number` is that of the line
   * that the first byte belongs to, counted from 0; null: unknown.
   */
  begin(bytes, offset, number = null) {
    const skipped = offset === 0 ? 0 : bytes.indexOf(NEWLINE) + 1;
    this.first = 0;
    this.lines = [];
    this.start = offset + skipped;
    this.isDetached = false;
    this.#chars = 0;
    this.#gaps.clear();
    this.#decoder = new LineDecoder(this.start);
    this.#firstNumber = this.start === 0 ? 1 : number === null ? null : number + 1 + (skipped ? 1 : 0);
    this.append(bytes.subarray(skipped));
  }

  /**
   * Bytes that follow `end`; returns how many lines were added and how many let go at the top. The line with the id `kept`, if
   * any, stays: where there is no room for it and all of these, lines at the bottom are let go instead.
   */
  append(bytes, kept = Infinity) {
    if (this.isDetached) {
      this.#decoder = new LineDecoder(this.end);
      this.isDetached = false;
    }
    const added = this.#decoder.push(bytes);
    let number = next(this.lines.at(-1), this.start, this.#firstNumber);
    for (const line of added) {
      line.number = number;
      if (number !== null) number += 1;
      this.lines.push(line);
      this.#chars += weight(line);
    }
    this.version += 1;
    return { added: added.length, dropped: this.#cutTop(kept) };
  }

  /** Bytes from `offset` up to `start`; returns how many lines were added. Lines at the bottom go when there are too many. */
  prepend(bytes, offset) {
    const skipped = offset === 0 ? 0 : bytes.indexOf(NEWLINE) + 1;
    if (skipped === bytes.length && offset > 0) return 0; // one line, longer than the piece: the caller asks for more
    const added = new LineDecoder(offset + skipped).push(bytes.subarray(skipped));
    this.lines.unshift(...added);
    this.first -= added.length;
    this.start = offset + skipped;
    this.#numberBack(added.length);
    for (const line of added) this.#chars += weight(line);
    this.#cutBottom();
    this.version += 1;
    return added.length;
  }

  /** A marker where the host dropped bytes; false when it is known or outside of what is held. */
  gap({ offset, dropped_bytes: dropped, from_ms: from = 0 }) {
    const key = `${offset}/${from}`;
    if (this.#gaps.has(key) || offset < this.start || offset > this.end) return false;
    this.#gaps.add(key);
    let at = this.lines.length;
    while (at > 0 && this.lines[at - 1].offset >= offset) at -= 1;
    const number = this.lines[at]?.number ?? null;
    this.lines.splice(at, 0, { kind: "gap", offset, end: offset, text: "", dropped, marks: null, cut: 0, number });
    this.version += 1;
    return true;
  }

  #firstNumber = null; // of the line at `start`, while there is none yet

  #cutTop(kept) {
    if (this.lines.length <= this.#max + SLACK && this.#chars <= MOST_CHARS * 1.1) return 0;
    let dropped = Math.max(0, this.lines.length - this.#max);
    let chars = this.#chars;
    for (let i = 0; i < dropped; i++) chars -= weight(this.lines[i]);
    while (chars > MOST_CHARS && this.lines.length - dropped > LEAST_LINES) chars -= weight(this.lines[dropped++]);
    if (!dropped) return 0;
    if (this.first + dropped > kept) {
      this.#cutBottom();
      return 0;
    }
    this.#chars = chars;
    this.lines.splice(0, dropped);
    this.first += dropped;
    this.start = this.lines[0].offset;
    this.#firstNumber = this.lines[0].number;
    return dropped;
  }

  #cutBottom() {
    while (this.lines.length > this.#max || (this.#chars > MOST_CHARS && this.lines.length > LEAST_LINES)) {
      this.#chars -= weight(this.lines.pop());
      this.isDetached = true;
    }
  }

  #numberBack(count) {
    if (this.start === 0) {
      let number = 1;
      for (const line of this.lines) {
        line.number = number;
        if (line.kind !== "gap") number += 1;
      }
      this.#firstNumber = 1;
      return;
    }
    let number = this.lines[count]?.number ?? null;
    for (let i = count - 1; i >= 0; i--) {
      if (number !== null) number -= 1;
      this.lines[i].number = number;
    }
    this.#firstNumber = number;
  }
}

/** A gap has no number of its own: it carries that of the line after it. */
function next(last, start, ofFirst = start === 0 ? 1 : null) {
  if (!last) return ofFirst;
  if (last.number === null) return null;
  return last.kind === "gap" ? last.number : last.number + 1;
}

const weight = ({ text }) => text.length + LINE_CHARS;
