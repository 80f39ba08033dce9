// What was measured, as charts draw it: names of lines, columns of their buckets, smoothing, numbers in words. Pure.

/** "#17 train", "validation #2 rank 1": which job, run, attempt and rank a line is of, as far as that tells lines apart. */
export function lineName({ source = "", word, attempt, rank, attempts = 1 }) {
  return [source, word, attempts > 1 && attempt ? `#${attempt}` : "", rank ? `rank ${rank}` : ""].filter(Boolean).join(" ");
}

/** How many of an axis' units of the API its charts count as one: milliseconds come as seconds. */
export const unitOf = (by) => (by === "step" ? 1 : 1000);

/** [[x, ...], [y, ...]] of one line's buckets; null: no number that the axes have a place for, and the line breaks. */
export function columnsOf(buckets, by, { logX = false, logY = false } = {}) {
  const shown = logX ? buckets.filter(({ x }) => x > 0) : buckets;
  const unit = unitOf(by);
  return [shown.map(({ x }) => x / unit), shown.map((bucket) => amount(bucket, logY))];
}

function amount({ mean, nan_count: nans, count }, logY) {
  if (nans === count || typeof mean !== "number" || (logY && mean <= 0)) return null;
  return mean;
}

const STEPS_OF_VIEW = 1000; // the width of what is shown, in steps of the average

/**
 * Exponential moving average, weighted by the distance in x, and debiased: how much of the old average is left after a
 * thousandth of the width shown is `weight`, so that it looks the same however many points or buckets there are. NaN is passed
 * over. With a logarithmic x-axis distances are those that one sees.
 */
export function smoothed([xs, ys], weight, { range, logX = false }) {
  const place = logX ? Math.log : (x) => x;
  const width = place(range[1]) - place(range[0]) || 1;
  let [last, sum, bias] = [null, 0, 0];
  return ys.map((y, number) => {
    if (y === null || y === undefined) return y;
    const x = place(xs[number]);
    const left = last === null ? 0 : weight ** Math.max(0, ((x - last) / width) * STEPS_OF_VIEW);
    [last, sum, bias] = [x, sum * left + y * (1 - weight), bias * left + (1 - weight)];
    return sum / bias;
  });
}

/** What a line cannot show as a place: NaN by points, infinities by buckets, and points that a logarithmic axis has no place for. */
export function oddities(buckets, { logY = false } = {}) {
  const found = { nans: 0, infinities: 0, below: 0 };
  for (const { count, nan_count: nans, mean } of buckets) {
    found.nans += nans;
    if (typeof mean === "string") found.infinities += 1;
    else if (logY && mean !== null && mean <= 0) found.below += count - nans;
  }
  return found;
}

/** The least and greatest x of some lines, in the API's units; null: there is nothing. */
export function extentOf(lines, { logX = false } = {}) {
  let [least, greatest] = [Infinity, -Infinity];
  for (const { buckets } of lines) {
    const first = logX ? buckets.find(({ x }) => x > 0) : buckets[0];
    if (!first) continue;
    least = Math.min(least, first.x);
    greatest = Math.max(greatest, buckets.at(-1).x);
  }
  return least > greatest ? null : [least, greatest];
}

/** Four significant digits, thousands apart, no exponent where none is needed. */
export function plain(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "NaN";
  if (typeof value === "string") return value === "Infinity" ? "∞" : "-∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) return value.toExponential(2);
  return value.toLocaleString("en", { maximumSignificantDigits: size >= 1000 ? 6 : 4 });
}
