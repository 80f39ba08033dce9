// How many rows each line takes: one, or with lines wrapped at `columns` as many as its text needs. Pure, as log_text.js.
// What is printable ASCII is exact; of the rest it is a guess, until the line was drawn and `measured`.

const TAB = 8;
const NARROW = /^[\x20-\x7e]*$/;

export class LogHeights {
  columns = 0; // 0: lines are not wrapped

  #rows = new WeakMap(); // line -> {columns, rows, isExact, length}
  #tops = new Float64Array(64); // rows above each line; one more than there are lines
  #count = 0;
  #known = ""; // what #tops was made of

  /** Of what `lines` (LogLines) holds now. */
  update(lines) {
    const { open } = lines;
    const known = `${lines.version} ${this.columns} ${lines.count} ${open ? open.text.length : ""}`;
    this.#count = lines.count;
    if (!this.columns || known === this.#known) return;
    this.#known = known;
    if (this.#tops.length <= this.#count) this.#tops = new Float64Array(this.#count * 2);
    let top = 0;
    for (let i = 0; i < this.#count; i++) {
      this.#tops[i] = top;
      top += this.rowsOf(i < lines.lines.length ? lines.lines[i] : open);
    }
    this.#tops[this.#count] = top;
  }

  get total() {
    return this.top(this.#count);
  }

  /** Rows above the line of this index; at its count: all of them. */
  top(index) {
    return this.columns ? this.#tops[index] : index;
  }

  /** Index of the line in which this row is. */
  at(row) {
    if (!this.columns) return Math.max(0, Math.min(Math.floor(row), this.#count - 1));
    let [low, high] = [0, Math.max(0, this.#count - 1)];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#tops[middle] <= row) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  rowsOf(line) {
    if (!this.columns) return 1;
    const known = this.#rows.get(line);
    if (known?.columns === this.columns && known.length === line.text.length) return known.rows;
    return this.#note(line, guess(line, this.columns), isNarrow(line)).rows;
  }

  isExact(line) {
    return !this.columns || (this.rowsOf(line), this.#rows.get(line).isExact);
  }

  /** So many rows it takes on the page; true: it is news, and `update` has to be called again. */
  measured(line, rows) {
    const before = this.rowsOf(line);
    this.#note(line, rows, true);
    if (rows !== before) this.#known = "";
    return rows !== before;
  }

  #note(line, rows, isExact) {
    const found = { columns: this.columns, length: line.text.length, rows, isExact };
    this.#rows.set(line, found);
    return found;
  }
}

const isNarrow = (line) => !line.kind && !line.cut && NARROW.test(line.text);

function guess(line, columns) {
  if (line.kind || isNarrow(line)) return Math.max(1, Math.ceil(line.text.length / columns));
  let width = line.cut ? 24 : 0;
  for (const letter of line.text) {
    const code = letter.codePointAt(0);
    if (letter === "\t") width += TAB - (width % TAB);
    else width += code >= 0x1100 && (code <= 0x115f || (code >= 0x2e80 && code <= 0xffdc) || code >= 0x1f000) ? 2 : 1;
  }
  return Math.max(1, Math.ceil(width / columns));
}
