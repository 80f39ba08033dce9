// What a job measured, as the API has it: its series by chart, and one metric's buckets for the pixels that there are.

/** Series by chart: "train/loss", "validation/loss" and "val_loss" are lines of "loss". What the system measured comes last. */
export function chartsOf(series) {
  const charts = new Map();
  for (const { name } of series) {
    if (name.startsWith("progress/")) continue;
    const { chart } = partsOf(name);
    if (!charts.has(chart)) charts.set(chart, new Set());
    charts.get(chart).add(name);
  }
  return [...charts].map(([title, names]) => ({ title, names: [...names].sort() })).sort((a, b) => rank(a.title) - rank(b.title) || (a.title < b.title ? -1 : 1));
}

const FIRST = [/^(epoch_)?loss$/, /loss/, /^(epoch_)?acc/, /acc/, /^host\.cpu/, /^host\.memory/, /./];
const HOST = /^host\.(memory|disk|network)_(used|total|free|received|sent)_(bytes(?:_per_s)?)$/; // agent/collectors.py

/** CPU, memory and the like, of a job or of a host: measured by the clock. */
export const isSampled = (title) => /^(system|host)\./.test(title);

function rank(title) {
  return title.startsWith("system.") ? FIRST.length : FIRST.findIndex((pattern) => pattern.test(title));
}

function partsOf(name) {
  const [, what, line, unit] = HOST.exec(name) ?? [];
  if (what) return { run: line, chart: `host.${what}_${unit}` };
  const cut = name.lastIndexOf("/") + 1;
  const [, val, chart] = /^(val_)?(.*)$/s.exec(name.slice(cut));
  return { run: [name.slice(0, Math.max(0, cut - 1)), val ? "validation" : ""].filter(Boolean).join(" "), chart };
}

/** "train", "validation #2": which run and attempt a line is of; the same on every chart, and so its colour. */
export function lineName(name, { attempt, rank: number }, attempts) {
  const words = [partsOf(name).run];
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
