// Draws the lines in view, and only those: rows are of one height, and the space around them stands for the rest.
import { size } from "panel/spans";

const OVERSCAN = 24; // rows above and below the view

export class LogRows {
  #view;
  #space;
  #rows;
  #words;
  #height;
  #from = 0; // id of the first row drawn
  #widest = 0;
  #frame = 0;
  #lines = null;
  #drawn = new WeakMap(); // row -> what it shows

  constructor(view, words) {
    this.#view = view;
    this.#space = view.querySelector(".log-space");
    this.#rows = view.querySelector(".log-rows");
    this.#words = words;
    this.#height = parseFloat(getComputedStyle(view).getPropertyValue("--row")) || 19;
  }

  /** Draw `lines` in the next frame; `then` runs after it, before the browser paints. */
  drawSoon(lines, then) {
    this.#lines = lines;
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.draw(this.#lines);
      then?.();
    });
  }

  draw(lines) {
    const { count, first } = lines;
    this.grow(lines);
    const top = Math.floor(this.#view.scrollTop / this.#height);
    const inView = Math.ceil(this.#view.clientHeight / this.#height);
    const from = first + Math.max(0, Math.min(top, count - inView) - OVERSCAN);
    const to = Math.min(first + count, first + top + inView + OVERSCAN);
    this.#keep(from, Math.max(from, to), lines);
    this.#rows.style.transform = `translateY(${(from - first) * this.#height}px)`;
    this.#view.style.setProperty("--digits", Math.max(4, (lines.at(to - 1)?.number ?? 0).toLocaleString().length));
    this.#space.style.width = `calc(${Math.min(this.#widest, 8300)}ch + 96px)`;
  }

  grow({ count }) {
    this.#space.style.height = `${count * this.#height}px`;
  }

  /** Before other lines are shown: nothing drawn is true any more. */
  clear() {
    this.#rows.replaceChildren();
    this.#from = 0;
    this.#widest = 0;
  }

  /** Stay on the same lines while others come or go above them. */
  shift(lines) {
    this.#view.scrollTop += lines * this.#height;
  }

  toEnd() {
    this.#view.scrollTop = this.#view.scrollHeight;
  }

  get rowsAbove() {
    return this.#view.scrollTop / this.#height;
  }

  get rowsBelow() {
    return (this.#view.scrollHeight - this.#view.clientHeight - this.#view.scrollTop) / this.#height;
  }

  stop() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
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
    if (line.cut) text.append(spanOf(` … ${this.#words.cut.replace("%s", line.cut.toLocaleString())}`, "cut"));
    this.#widest = Math.max(this.#widest, row.textContent.length);
    this.#drawn.set(row, line);
    return row;
  }
}

function pieces({ text, marks }) {
  if (!marks) return [text];
  const found = marks[0][0] > 0 ? [text.slice(0, marks[0][0])] : [];
  marks.forEach(([from, classes], i) => {
    const part = text.slice(from, marks[i + 1]?.[0]);
    found.push(classes ? spanOf(part, classes) : part);
  });
  return found;
}

function spanOf(text, classes) {
  const span = document.createElement("span");
  span.className = classes;
  span.textContent = text;
  return span;
}
