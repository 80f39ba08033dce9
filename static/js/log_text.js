// Bytes of a log to lines of text. Pure: no page, no network; tests/js runs it in node. monitoring/log_text.py is its twin.
// UTF-8 may be cut anywhere, a carriage return shows the line's last state, colours become marks, and every other thing that
// a terminal would obey is taken out.
import { PLAIN, Style } from "panel/log_style";

const NEWLINE = 10;
const MAX_CHARS = 8192; // shown of a line; the rest is counted
const MAX_ESCAPE = 4096; // an escape sequence that is longer is none

// What makes text read in another order than it stands, or ends a line where there is no line end.
const TURNING = "\\u061c\\u200e\\u200f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069";
const SPECIAL = new RegExp(`[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\ufeff${TURNING}]`);
const TOKEN = new RegExp(
  [
    "(\\r)",
    "\\x1b\\[([0-?]{0,256})[ -/]{0,8}([@-~])", // CSI; of them only m, colours, and K, erasing, mean something here
    `\\x1b[\\]PX^_][^\\x07\\x1b]{0,${MAX_ESCAPE}}(?:\\x07|\\x1b\\\\)`, // OSC (titles, links), DCS, SOS, PM, APC
    "\\x1b[ -/]{0,8}[0-Z\\\\`-~]", // two-letter escapes
    `([${TURNING}])`,
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\ufeff]",
  ].join("|"),
  "g",
);
const UNFINISHED = /\x1b(?:\[[0-?]{0,256}[ -/]{0,8}|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]{0,8})$/; // eslint-disable-line no-control-regex

/**
 * A line: {offset, end, text, marks, cut}. `offset` and `end` are bytes of the log (end: after its line end), `marks` are
 * [[from, look], ...] (a look: log_style.js) or null where it has no colour, `cut` is how many characters are not shown.
 */
export class LineDecoder {
  #utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  #style = new Style();
  #carry = ""; // an escape sequence that has not ended yet
  #text = "";
  #marks = null;
  #cut = 0;
  #isRestart = false; // a carriage return was read: the next character begins the line anew
  #lineOffset;
  #most;

  /** @param {number} offset where in the log the first byte stands; `most` characters of a line are kept */
  constructor(offset = 0, most = MAX_CHARS) {
    this.offset = this.#lineOffset = offset;
    this.#most = most;
  }

  /** @param {Uint8Array} bytes those that follow; returns the lines that they end */
  push(bytes) {
    const lines = [];
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.#read(this.#utf8.decode(bytes.subarray(start, end), { stream: true }) + this.#utf8.decode());
      start = end + 1;
      lines.push(this.#take(this.offset + start));
    }
    if (start < bytes.length) this.#read(this.#utf8.decode(bytes.subarray(start), { stream: true }));
    this.offset += bytes.length;
    return lines;
  }

  /** The line that has not ended yet, as far as it is known; null when nothing of it is. */
  get open() {
    return this.#lineOffset === this.offset ? null : { offset: this.#lineOffset, end: this.offset, text: this.#text, marks: this.#marks, cut: this.#cut };
  }

  #take(end) {
    const hidden = this.#carry.slice(1); // an escape sequence that the line does not end is none: it is shown
    this.#carry = "";
    if (hidden) this.#read(hidden);
    this.#carry = "";
    const line = { offset: this.#lineOffset, end, text: this.#text, marks: this.#marks, cut: this.#cut };
    this.#lineOffset = end;
    this.#restart();
    return line;
  }

  #restart() {
    this.#text = "";
    this.#marks = null;
    this.#cut = 0;
    this.#isRestart = false;
  }

  #read(text) {
    if (this.#carry) {
      text = this.#carry + text;
      this.#carry = "";
    }
    if (!SPECIAL.test(text)) {
      this.#write(text);
      return;
    }
    const unfinished = UNFINISHED.exec(text);
    if (unfinished && text.length - unfinished.index <= MAX_ESCAPE) {
      this.#carry = unfinished[0];
      text = text.slice(0, unfinished.index);
    }
    let from = 0;
    for (const token of text.matchAll(TOKEN)) {
      this.#write(text.slice(from, token.index));
      from = token.index + token[0].length;
      if (token[1]) this.#isRestart = true;
      else if (token[3] === "m") this.#style.read(token[2]);
      else if (token[3] === "K") this.#erase(token[2]);
      else if (token[4]) this.#write("\ufffd");
    }
    this.#write(text.slice(from));
  }

  /** To the end of the line, which is all of it behind a carriage return; 1 and 2 up to here, which is all that there is. */
  #erase(how) {
    if (this.#isRestart || how === "1" || how === "2") this.#restart();
  }

  #write(text) {
    if (!text) return;
    if (this.#isRestart) this.#restart();
    const room = this.#most - this.#text.length;
    if (text.length > room) {
      this.#cut += text.length - Math.max(room, 0);
      text = text.slice(0, Math.max(room, 0));
    }
    const last = this.#marks?.at(-1)?.[1] ?? PLAIN;
    if (text && this.#style.look !== last) (this.#marks ??= []).push([this.#text.length, this.#style.look]);
    this.#text += text;
  }
}
