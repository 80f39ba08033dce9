// Bytes of a log to lines of text. Pure: no page, no network; tests/js runs it in node.
// UTF-8 may be cut anywhere, a carriage return shows the line's last state, colours become class names, and every
// other thing that a terminal would obey is taken out.

const NEWLINE = 10;
const MAX_CHARS = 8192; // shown of a line; the rest is counted
const MAX_ESCAPE = 4096; // an escape sequence that is longer is none

// eslint-disable-next-line no-control-regex
const SPECIAL = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/;
const TOKEN = new RegExp(
  [
    "(\\r)",
    "\\x1b\\[([0-?]*)[ -/]*([@-~])", // CSI; of them only m, colours, means something here
    "\\x1b[\\]PX^_][^\\x07\\x1b]*(?:\\x07|\\x1b\\\\)", // OSC (titles, links), DCS, SOS, PM, APC
    "\\x1b[ -/]*[0-Z\\\\`-~]", // two-letter escapes
    "([\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069])", // would make text read in another order than it stands
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\ufeff]",
  ].join("|"),
  "g",
);
const UNFINISHED = /\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)$/;

/**
 * A line: {offset, end, text, marks, cut}. `offset` and `end` are bytes of the log (end: after its line end), `marks` [[from, classes], ...]
 * or null where it has no colour, `cut` how many characters are not shown.
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

  /** @param {number} offset where in the log the first byte stands */
  constructor(offset = 0) {
    this.offset = this.#lineOffset = offset;
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
      else if (token[4]) this.#write("\ufffd");
    }
    this.#write(text.slice(from));
  }

  #write(text) {
    if (!text) return;
    if (this.#isRestart) this.#restart();
    const room = MAX_CHARS - this.#text.length;
    if (text.length > room) {
      this.#cut += text.length - Math.max(room, 0);
      text = text.slice(0, Math.max(room, 0));
    }
    const last = this.#marks?.at(-1)?.[1] ?? "";
    if (text && this.#style.classes !== last) (this.#marks ??= []).push([this.#text.length, this.#style.classes]);
    this.#text += text;
  }
}

/** What SGR sequences have set so far, as class names: "bold fg-1". */
class Style {
  classes = "";
  #flags = new Set();
  #fg = -1;
  #bg = -1;

  read(parameters) {
    const numbers = parameters === "" ? [0] : parameters.split(/[;:]/).map(Number);
    for (let i = 0; i < numbers.length; i++) {
      const n = numbers[i];
      if (n === 38 || n === 48) {
        const [colour, used] = extended(numbers, i + 1);
        i += used;
        if (colour < 0) continue;
        if (n === 38) this.#fg = colour;
        else this.#bg = colour;
      } else {
        this.#set(n);
      }
    }
    this.classes = [...this.#flags, ...(this.#fg < 0 ? [] : [`fg-${this.#fg}`]), ...(this.#bg < 0 ? [] : [`bg-${this.#bg}`])].join(" ");
  }

  #set(n) {
    if (n === 0) {
      this.#flags.clear();
      this.#fg = this.#bg = -1;
    } else if (n in FLAGS) this.#flags.add(FLAGS[n]);
    else if (n in FLAGS_OFF) FLAGS_OFF[n].forEach((flag) => this.#flags.delete(flag));
    else if (n >= 30 && n <= 37) this.#fg = n - 30;
    else if (n >= 90 && n <= 97) this.#fg = n - 82;
    else if (n === 39) this.#fg = -1;
    else if (n >= 40 && n <= 47) this.#bg = n - 40;
    else if (n >= 100 && n <= 107) this.#bg = n - 92;
    else if (n === 49) this.#bg = -1;
  }
}

const FLAGS = { 1: "bold", 2: "dim", 3: "italic", 4: "under", 7: "inverse" };
const FLAGS_OFF = { 22: ["bold", "dim"], 23: ["italic"], 24: ["under"], 27: ["inverse"] };

/** 5;n and 2;r;g;b: [one of the sixteen colours that comes near, how many numbers it took]; -1: none. */
function extended(numbers, at) {
  if (numbers[at] === 5) return [indexed(numbers[at + 1]), 2];
  if (numbers[at] === 2) return [near(numbers[at + 1], numbers[at + 2], numbers[at + 3]), 4];
  return [-1, 1];
}

function indexed(n) {
  if (!(n >= 0 && n <= 255)) return -1;
  if (n < 16) return n;
  if (n >= 232) return n < 244 ? 8 : 7;
  const level = (step) => (step === 0 ? 0 : 55 + 40 * step);
  return near(level(Math.floor((n - 16) / 36)), level(Math.floor((n - 16) / 6) % 6), level((n - 16) % 6));
}

function near(r, g, b) {
  const [most, least] = [Math.max(r, g, b), Math.min(r, g, b)];
  if (!(most >= 0)) return -1;
  if (most - least < 32) return most < 96 ? 8 : 7;
  const middle = (most + least) / 2;
  return (r > middle ? 1 : 0) + (g > middle ? 2 : 0) + (b > middle ? 4 : 0);
}
