// Draws one chart: lines in, a picture with a cross-hair and zoom out. It fetches nothing and knows no job, so that lines of several
// jobs can stand in one chart:
//
//   const plot = new Plot(element, { paint, zoom, point });
//   plot.draw({ title, by, lines, marks, range, logX, logY, smoothing });
//
//   lines      [{ name, colour, buckets }]: a legend's words, a number of --series-n, and buckets as GET .../metrics/lines answers them
//   by         "step", "wall" (Unix ms) or "relative" (ms): what x of the buckets and of the marks is, and so of `range`
//   marks      [{ x, kind: "attempt" | "checkpoint", name }]
//   range      [least, greatest] of the x-axis, in units of the buckets; null: as far as the lines reach
//   smoothing  0 to 1: how much of the average stays (metrics.js); the measured line is then drawn faintly behind it
//   paint      token -> colour: a canvas knows no CSS variables
//   zoom       ([start, end]) is told of a stretch that was dragged or keyed, with null that all is to be shown
//   point      (index | null) is told where the cross-hair stands; values(index) has what stands there
//
// All plots of one `by` on a page share their cross-hair. Keys: arrows move it, + and - zoom about it, 0 or Escape shows all.
import uPlot from "uplot";
import { amountOf, isOfBytes, ticksOf } from "panel/chart_words";
import { columnsOf, extentOf, smoothed, unitOf } from "panel/metrics";

export const HEIGHT = 168;
export const COLOURS = 6; // --series-1 ... of chart.css; beyond them lines are dashed
const POWERS_OF_TWO = Array.from({ length: 51 }, (_, power) => 2 ** power);
const SPANS = [0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800];
const NEAR = 6; // pixels

export class Plot {
  #wanted = null;
  #look = "";
  #plot = null;

  constructor(element, hear) {
    this.element = element;
    this.hear = hear;
    element.addEventListener("keydown", (event) => this.#key(event));
  }

  draw(wanted) {
    this.#wanted = wanted;
    const { by, lines, logX, logY, smoothing, title } = wanted;
    const shape = lines.map(({ name, colour, buckets }) => [name, colour, buckets.length === 1]);
    const look = JSON.stringify([title, by, logX, logY, smoothing > 0, shape, this.hear.paint("--line")]);
    if (this.#plot && this.#look === look) this.#plot.setData(this.#columns());
    else this.#anew(look);
  }

  /** The values of each line at a place of the cross-hair, the measured one and the smooth one; null: nothing is there. */
  values(index) {
    const smooth = this.#wanted.smoothing > 0;
    return this.#wanted.lines.map((_, number) => {
      const at = (column) => this.#plot?.data[column]?.[index] ?? null;
      return smooth ? { raw: at(2 * number + 1), value: at(2 * number + 2) } : { raw: null, value: at(number + 1) };
    });
  }

  xAt = (index) => this.#plot?.data[0]?.[index];

  /** The mark that the cross-hair is at. */
  markAt(index) {
    const x = this.xAt(index);
    if (x === undefined) return null;
    const { marks = [], by } = this.#wanted;
    const place = this.#plot.valToPos(x, "x");
    return marks.find((mark) => Math.abs(this.#plot.valToPos(mark.x / unitOf(by), "x") - place) <= NEAR) ?? null;
  }

  get canvas() { return this.#plot?.ctx.canvas ?? null; }

  fit() {
    const width = this.element.clientWidth;
    if (this.#plot && width && this.#plot.width !== width) this.#plot.setSize({ width, height: HEIGHT });
  }

  end() {
    this.#plot?.destroy();
    this.#plot = null;
  }

  /** [least, greatest] in the plot's own units. */
  get #range() {
    const { by, lines, logX, range } = this.#wanted;
    const [least, greatest] = (range ?? extentOf(lines, { logX }) ?? [0, 1]).map((x) => x / unitOf(by));
    if (least < greatest) return [logX ? Math.max(least, 1 / unitOf(by)) : least, greatest];
    const around = by === "step" ? 0.5 : 30;
    return logX ? [least / 2, least * 2] : [least - around, least + around];
  }

  #columns() {
    const { by, lines, logX, logY, smoothing } = this.#wanted;
    const tables = lines.map(({ buckets }) => {
      const [xs, ys] = columnsOf(buckets, by, { logX, logY });
      return smoothing > 0 ? [xs, ys, smoothed([xs, ys], smoothing, { range: this.#range, logX })] : [xs, ys];
    });
    return uPlot.join(tables);
  }

  #anew(look) {
    this.#plot?.destroy();
    this.#look = look;
    const { by, lines, logX, logY, title, smoothing } = this.#wanted;
    const { paint } = this.hear;
    const axis = { stroke: paint("--muted"), grid: { stroke: paint("--line"), width: 1 }, ticks: { show: false }, font: "12px Inter Variable, sans-serif" };
    const series = ({ name, colour, buckets }) => {
      const stroke = paint(`--series-${((colour - 1) % COLOURS) + 1}`);
      const line = { label: name, stroke, width: 1.5, dash: colour > COLOURS ? [6, 4] : undefined, points: { show: buckets.length === 1 } };
      return smoothing > 0 ? [{ ...line, alpha: 0.25, width: 1, points: { show: false } }, line] : [line];
    };
    this.#plot = new uPlot({
      width: this.element.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      padding: [8, 18, 0, 0],
      cursor: { sync: { key: `charts ${by}`, scales: ["x", null] }, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
      scales: {
        x: { time: by === "wall", distr: logX ? 3 : 1, range: () => this.#range },
        y: { distr: logY ? 3 : 1 },
      },
      axes: [
        { ...axis, size: 28, space: by === "wall" ? 76 : 56, values: (_, ticks) => ticksOf(by, ticks), ...(!logX && by === "relative" && { incrs: SPANS }) },
        this.#amountAxis(axis, title),
      ],
      series: [{}, ...lines.flatMap(series)],
      hooks: {
        drawAxes: [(plot) => this.#drawBehind(plot)],
        draw: [(plot) => this.#drawOddities(plot)],
        setCursor: [(plot) => this.hear.point(plot.cursor.idx ?? null)],
        setSelect: [(plot) => this.#selected(plot)],
      },
    }, this.#columns(), this.element);
    this.#plot.over.addEventListener("dblclick", () => this.hear.zoom(null));
  }

  /** Ticks that are round as they are written: bytes are counted in powers of two. */
  #amountAxis(axis, title) {
    const written = amountOf(title);
    const wide = (words) => Math.max(60, 12 + 7 * Math.max(0, ...(words ?? []).map(({ length }) => length)));
    const values = (_plot, ticks, _axis, _space, apart) => ticks.map((tick) => (tick === null ? "" : written(tick, apart)));
    return { ...axis, size: (_plot, words) => wide(words), values, ...(isOfBytes(title) && !this.#wanted.logY && { incrs: POWERS_OF_TWO }) };
  }

  /** How far the points of each bucket reach, and where attempts and checkpoints stand. */
  #drawBehind(plot) {
    const { by, lines, marks = [], smoothing, logY } = this.#wanted;
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    if (!smoothing) for (const line of lines) this.#drawReach(plot, line, logY);
    const at = ({ x }) => Math.round(plot.valToPos(x / unitOf(by), "x", true));
    for (const mark of marks) if (mark.kind === "attempt") this.#drawAttempt(plot, at(mark), mark.name);
    this.#drawCheckpoints(plot, marks.filter(({ kind }) => kind === "checkpoint").map(at));
    ctx.restore();
  }

  #drawReach(plot, { buckets, colour }, logY) {
    const reach = buckets.filter(({ count, least, greatest }) => count > 1 && typeof least === "number" && typeof greatest === "number" && (!logY || least > 0));
    if (reach.length < 2) return;
    const { ctx } = plot;
    const unit = unitOf(this.#wanted.by);
    ctx.globalAlpha = 0.16;
    ctx.fillStyle = this.hear.paint(`--series-${((colour - 1) % COLOURS) + 1}`);
    ctx.beginPath();
    for (const { x, greatest } of reach) ctx.lineTo(plot.valToPos(x / unit, "x", true), plot.valToPos(greatest, "y", true));
    for (const { x, least } of reach.reverse()) ctx.lineTo(plot.valToPos(x / unit, "x", true), plot.valToPos(least, "y", true));
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  /** Triangles on the axis; where they would stand on one another, thin strokes. */
  #drawCheckpoints({ ctx, bbox }, places) {
    const ratio = devicePixelRatio;
    const shown = [...new Set(places)].filter((place) => place >= bbox.left && place <= bbox.left + bbox.width).sort((a, b) => a - b);
    const isDense = shown.some((place, number) => number && place - shown[number - 1] < 9 * ratio);
    const bottom = bbox.top + bbox.height;
    ctx.fillStyle = this.hear.paint("--muted");
    for (const place of shown) {
      if (isDense) ctx.fillRect(place, bottom - 5 * ratio, ratio, 5 * ratio);
      else triangle(ctx, [place - 4 * ratio, bottom], [place + 4 * ratio, bottom], [place, bottom - 8 * ratio]);
    }
  }

  #drawAttempt({ ctx, bbox }, place, name) {
    if (!(place >= bbox.left && place <= bbox.left + bbox.width)) return;
    const ratio = devicePixelRatio;
    ctx.strokeStyle = ctx.fillStyle = this.hear.paint("--faint");
    ctx.lineWidth = ratio;
    ctx.setLineDash([4 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(place + 0.5, bbox.top);
    ctx.lineTo(place + 0.5, bbox.top + bbox.height);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.font = `${11 * ratio}px Inter Variable, sans-serif`;
    ctx.textAlign = place > bbox.left + bbox.width - 30 * ratio ? "right" : "left";
    ctx.fillText(name, place + (ctx.textAlign === "left" ? 4 : -4) * ratio, bbox.top + 10 * ratio);
  }

  /** NaN as a cross at the bottom, an infinity as a triangle at its end of the chart. */
  #drawOddities(plot) {
    const { by, lines } = this.#wanted;
    const { ctx, bbox } = plot;
    const half = 3 * devicePixelRatio;
    ctx.save();
    ctx.lineWidth = 1.5 * devicePixelRatio;
    for (const { buckets, colour } of lines) {
      ctx.strokeStyle = ctx.fillStyle = this.hear.paint(`--series-${((colour - 1) % COLOURS) + 1}`);
      for (const { x, nan_count: nans, mean } of buckets) {
        if (!nans && typeof mean !== "string") continue;
        const place = plot.valToPos(x / unitOf(by), "x", true);
        if (!(place >= bbox.left && place <= bbox.left + bbox.width)) continue;
        const [top, bottom] = [bbox.top + half, bbox.top + bbox.height - half];
        if (nans) cross(ctx, place, bottom - half, half);
        if (mean === "Infinity") triangle(ctx, [place - half, top + 2 * half], [place + half, top + 2 * half], [place, top]);
        if (mean === "-Infinity") triangle(ctx, [place - half, bottom - 2 * half], [place + half, bottom - 2 * half], [place, bottom]);
      }
    }
    ctx.restore();
  }

  #selected(plot) {
    const { left, width } = plot.select;
    if (width < 4) return;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.#zoomTo(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
  }

  #zoomTo(from, to) {
    const unit = unitOf(this.#wanted.by);
    const [start, end] = [from, to].map((x) => Math.max(0, Math.round(x * unit)));
    if (end > start) this.hear.zoom([start, end]);
  }

  #key(event) {
    const plot = this.#plot;
    if (!plot || event.ctrlKey || event.metaKey || event.altKey || event.target !== this.element) return;
    const index = plot.cursor.idx ?? null;
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (move) this.#moveTo(index === null ? (move > 0 ? 0 : plot.data[0].length - 1) : index + move * (event.shiftKey ? 10 : 1));
    else if (event.key === "+" || event.key === "=") this.#keyZoom(index, 0.5);
    else if (event.key === "-") this.#keyZoom(index, 2);
    else if (event.key === "0" || event.key === "Escape") this.hear.zoom(null);
    else return;
    event.preventDefault();
  }

  #moveTo(index) {
    const plot = this.#plot;
    const place = Math.max(0, Math.min(plot.data[0].length - 1, index));
    plot.setCursor({ left: plot.valToPos(plot.data[0][place], "x"), top: plot.over.clientHeight / 2 }, true, true);
  }

  #keyZoom(index, factor) {
    const [least, greatest] = this.#range;
    const middle = index === null ? (least + greatest) / 2 : this.#plot.data[0][index];
    const half = ((greatest - least) * factor) / 2;
    const from = Math.max(middle - half, factor > 1 ? 0 : least);
    this.#zoomTo(from, middle + half);
  }
}

function cross(ctx, x, y, half) {
  ctx.beginPath();
  ctx.moveTo(x - half, y - half);
  ctx.lineTo(x + half, y + half);
  ctx.moveTo(x - half, y + half);
  ctx.lineTo(x + half, y - half);
  ctx.stroke();
}

function triangle(ctx, ...corners) {
  ctx.beginPath();
  for (const [x, y] of corners) ctx.lineTo(x, y);
  ctx.fill();
}
