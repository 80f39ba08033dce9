// What a job measured, as the API has it: its series by chart, and one metric's buckets for the pixels that there are.

/** Series of the trainer by chart: "train/loss" and "validation/loss" are two lines of "loss". `system` ones come last. */
export function chartsOf(series) {
  const charts = new Map();
  for (const one of series) {
    if (one.name.startsWith("progress/")) continue;
    const title = one.name.startsWith("system.") ? one.name : one.name.slice(one.name.lastIndexOf("/") + 1);
    if (!charts.has(title)) charts.set(title, new Set());
    charts.get(title).add(one.name);
  }
  return [...charts].map(([title, names]) => ({ title, names: [...names].sort() })).sort((a, b) => rank(a.title) - rank(b.title) || (a.title < b.title ? -1 : 1));
}

const FIRST = [/^(epoch_)?loss$/, /loss/, /acc/, /./];

function rank(title) {
  return title.startsWith("system.") ? FIRST.length : FIRST.findIndex((pattern) => pattern.test(title));
}

/** "train", "validation 2": which run and attempt a line is of; the same on every chart, and so its colour. */
export function lineName(name, { attempt, rank: number }, attempts) {
  const run = name.includes("/") ? name.slice(0, name.lastIndexOf("/")) : "";
  const words = [run];
  if (attempts > 1 && attempt) words.push(`#${attempt}`);
  if (number) words.push(`rank ${number}`);
  return words.filter(Boolean).join(" ");
}

/** [[x, ...], [y, ...], gaps as null] of one line's buckets: NaN breaks the line. */
export function columnsOf(buckets, by) {
  const scale = by === "wall" ? 1 / 1000 : 1;
  return [buckets.map((bucket) => bucket.x * scale), buckets.map(({ mean, nan_count: nans, count }) => (nans === count ? null : number(mean)))];
}

const number = (value) => (value === "Infinity" || value === "-Infinity" ? null : value);

/** Four significant digits, thousands apart, no exponent where none is needed. */
export function plain(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "NaN";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) return value.toExponential(2);
  return value.toLocaleString("en", { maximumSignificantDigits: size >= 1000 ? 6 : 4 });
}
