// Draws the lines in view, and only those; the space around them stands for the rest. A line is one row high, or as many as
// it needs when long lines are wrapped (log_heights.js); what one reads stays where it is while lines come and go.
import { LogHeights } from "panel/log_heights";
import { size } from "panel/spans";

const OVERSCAN = 24; // rows above and below the view
const RIGHT = 14; // pixels between a wrapped line and the edge
const SETTLES = 3; // times that a draw is done over, as heights turn out to be others than was thought

export class LogRows {
  decorate = () => {}; // (row, line): called for each row of a draw

  #view;
  #space;
  #rows;
  #words;
  #height;
  #heights = new LogHeights();
  #from = 0; // id of the first row drawn
  #widest = 0;
  #lines = null;
  #drawn = new WeakMap(); // row -> the line that it shows
  #probe = document.createElement("span");

  constructor(view, words) {
    this.#view = view;
    this.#space = view.querySelector(".log-space");
    this.#rows = view.querySelector(".log-rows");
    this.#words = words;
    this.#height = parseFloat(getComputedStyle(view).getPropertyValue("--row")) || 19;
    this.#probe.className = "log-probe";
    this.#probe.textContent = "0".repeat(100);
    this.#space.append(this.#probe);
  }

  get isWrapped() {
    return this.#view.hasAttribute("data-wrapped");
  }

  /** Long lines take several rows, or go beyond the edge. What was in view stays there. */
  wrap(isWrapped) {
    const place = this.place();
    this.#view.toggleAttribute("data-wrapped", isWrapped);
    this.clear();
    this.#space.style.width = ""; // of the widest line, when it went beyond the edge
    this.#heights.columns = isWrapped ? this.#columns() : 0;
    if (this.#lines) this.goTo(this.#lines, place);
    this.#view.scrollLeft = 0;
  }

  /** Draw what is in view of `lines`; `isAtEnd`: their end is in view. */
  draw(lines, isAtEnd = false) {
    this.#lines = lines;
    for (let i = 0; i < SETTLES; i++) {
      this.#drawOnce(lines, isAtEnd);
      if (!this.#settle(lines)) break;
    }
    const row = this.#rows.firstElementChild;
    this.#space.style.width = this.isWrapped || !row ? "" : `calc(${Math.min(this.#widest, 8300)}ch + ${row.lastElementChild.offsetLeft + RIGHT}px)`;
  }

  #drawOnce(lines, isAtEnd) {
    this.grow(lines);
    if (isAtEnd) this.toEnd();
    const { count, first } = lines;
    const row = this.#view.scrollTop / this.#height;
    const inView = Math.ceil(this.#view.clientHeight / this.#height);
    const top = this.#heights.at(row - OVERSCAN);
    const bottom = count ? this.#heights.at(row + inView + OVERSCAN) + 1 : 0;
    this.#keep(first + top, first + bottom, lines);
    this.#rows.style.transform = `translateY(${this.#heights.top(top) * this.#height}px)`;
    this.#view.style.setProperty("--digits", Math.max(4, (lines.at(first + bottom - 1)?.number ?? 0).toLocaleString().length));
    this.forEach(this.decorate);
  }

  /** True: the heights that it was drawn with were wrong. */
  #settle(lines) {
    if (!this.isWrapped) return false;
    const place = this.place();
    const columns = this.#columns();
    let isNew = columns !== this.#heights.columns;
    this.#heights.columns = columns;
    this.forEach((row, line) => {
      if (!this.#heights.isExact(line) && this.#heights.measured(line, Math.ceil((row.offsetHeight - 1) / this.#height))) isNew = true;
    });
    if (isNew) this.goTo(lines, place);
    return isNew;
  }

  /** Letters in a row of text. A box may be parts of a pixel narrower than the whole pixels that are told of it. */
  #columns() {
    const text = this.#rows.firstElementChild?.lastElementChild;
    const width = text ? text.getBoundingClientRect().width : this.#view.clientWidth - 80 - RIGHT;
    const letter = this.#probe.getBoundingClientRect().width / 100;
    return Math.max(10, Math.floor(width / letter + 0.001));
  }

  grow(lines) {
    this.#heights.update(lines);
    this.#space.style.height = `${this.#heights.total * this.#height}px`;
  }

  /** Before other lines are shown: nothing drawn is true any more. */
  clear() {
    this.#rows.replaceChildren();
    this.#from = 0;
    this.#widest = 0;
  }

  /** What is at the top of the view: to come back to it when lines have come or gone. */
  place() {
    const lines = this.#lines;
    if (!lines?.count) return null;
    const index = this.#heights.at(this.#view.scrollTop / this.#height);
    return { id: lines.first + index, pixels: this.#view.scrollTop - this.#heights.top(index) * this.#height };
  }

  goTo(lines, place) {
    this.#lines = lines;
    this.grow(lines);
    if (place) this.#view.scrollTop = Math.max(0, this.#heights.top(Math.max(0, place.id - lines.first)) * this.#height + place.pixels);
  }

  /** A line comes to stand at this share of the view, unless it is well in view already. */
  show(lines, id, share = 0.3) {
    this.grow(lines);
    const top = this.#heights.top(id - lines.first) * this.#height;
    const { scrollTop, clientHeight } = this.#view;
    if (top >= scrollTop + this.#height && top < scrollTop + clientHeight - 3 * this.#height) return;
    this.#view.scrollTop = Math.max(0, top - share * clientHeight);
  }

  /** Scroll sideways as far as is needed to see what stands so far to the right of the view's left edge. */
  showSideways(left, right) {
    const { clientWidth } = this.#view;
    if (left < 120 || right > clientWidth - 20) this.#view.scrollLeft += left - clientWidth / 2;
  }

  toEnd() {
    this.#view.scrollTop = this.#view.scrollHeight;
  }

  scrollBy(rows) {
    this.#view.scrollTop += rows * this.#height;
  }

  /** There is nothing to scroll. */
  get isShort() {
    return this.#view.scrollHeight <= this.#view.clientHeight;
  }

  get rowsAbove() {
    return this.#view.scrollTop / this.#height;
  }

  get rowsBelow() {
    return (this.#view.scrollHeight - this.#view.clientHeight - this.#view.scrollTop) / this.#height;
  }

  /** Rows that are drawn, in order, with their lines: `what` gets (row, line). */
  forEach(what) {
    for (const row of this.#rows.children) what(row, this.#drawn.get(row));
  }

  lineOf(row) {
    return this.#drawn.get(row);
  }

  /** The first line that is wholly in view. */
  firstInView() {
    if (!this.#lines?.count) return null;
    const { scrollTop } = this.#view;
    const index = this.#heights.at(scrollTop / this.#height);
    const isWhole = this.#heights.top(index) * this.#height >= scrollTop - 1;
    return this.#lines.at(this.#lines.first + index + (isWhole ? 0 : 1)) ?? this.#lines.at(this.#lines.first + index);
  }

  /** Rows that stay in view stay the same elements, so that selected text stays selected. */
  #keep(from, to, lines) {
    const rows = this.#rows;
    if (from >= this.#from + rows.childElementCount || to <= this.#from) {
      rows.replaceChildren();
      this.#from = from;
    }
    for (; this.#from < from; this.#from++) rows.firstElementChild.remove();
    while (this.#from + rows.childElementCount > to) rows.lastElementChild.remove();
    while (this.#from > from) rows.prepend(this.#row(lines.at(--this.#from)));
    for (let id = this.#from + rows.childElementCount; id < to; id++) rows.append(this.#row(lines.at(id)));
    let id = this.#from;
    for (const row of [...rows.children]) {
      const line = lines.at(id++);
      const known = this.#drawn.get(row);
      if (known.text !== line.text || known.number !== line.number || known.kind !== line.kind || known.cut !== line.cut) row.replaceWith(this.#row(line));
      else this.#drawn.set(row, line);
    }
  }

  #row(line) {
    const row = document.createElement("div");
    row.className = "log-row";
    row.dataset.line = line.kind === "gap" || line.number === null ? "" : line.number.toLocaleString();
    if (line.kind) row.dataset.kind = line.kind;
    const text = row.appendChild(document.createElement("span"));
    if (line.kind === "gap") text.append(this.#words.gap.replace("%s", size(line.dropped)));
    else text.append(...pieces(line));
    if (line.cut) text.append(spanOf(` … ${this.#words.cut.replace("%s", line.cut.toLocaleString())}`, { classes: "cut" }));
    this.#widest = Math.max(this.#widest, row.textContent.length);
    this.#drawn.set(row, line);
    return row;
  }
}

function pieces({ text, marks }) {
  if (!marks) return [text];
  const found = marks[0][0] > 0 ? [text.slice(0, marks[0][0])] : [];
  marks.forEach(([from, look], i) => {
    const part = text.slice(from, marks[i + 1]?.[0]);
    found.push(look.classes ? spanOf(part, look) : part);
  });
  return found;
}

function spanOf(text, { classes, fg = null, bg = null }) {
  const span = document.createElement("span");
  span.className = classes;
  if (fg) span.style.setProperty("--fg", fg);
  if (bg) span.style.setProperty("--bg", bg);
  span.textContent = text;
  return span;
}
