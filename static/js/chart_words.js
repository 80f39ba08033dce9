// How amounts and places of a chart are written. Pure.
import { plain } from "panel/metrics";
import { daysOf, size } from "panel/spans";

const page = globalThis.document?.documentElement.lang || "en";
const tongue = page === "en" ? "en-GB" : page; // with the day before the month, and 24 hours

export const isOfBytes = (title) => /_bytes(_per_s)?$/.test(title);

/** How values of a chart are written; `apart`: how far the next one is, where they stand in a row. */
export function amountOf(title) {
  if (!isOfBytes(title)) return (value) => plain(value);
  const written = title.endsWith("_per_s") ? (value, apart) => `${size(value, apart)}/s` : size;
  return (value, apart) => (typeof value === "number" ? written(value, apart) : plain(value));
}

/** Ticks of an x-axis on one line, as fine as they stand apart; null ones are left out. */
export function ticksOf(by, ticks) {
  if (by === "step") return ticks.map((tick) => (tick === null ? "" : tick.toLocaleString("en")));
  return by === "wall" ? moments(ticks) : ticks.map((tick) => (tick === null ? "" : sinceStart(tick)));
}

/** A place on the x-axis in words, for the cross-hair. */
export function placeOf(by, x) {
  if (by === "step") return x.toLocaleString("en");
  return by === "wall" ? new Date(x * 1000).toLocaleString(tongue, { hour: "2-digit", minute: "2-digit", second: "2-digit", day: "numeric", month: "short" }) : sinceStart(x);
}

/** In the reader's own time. */
function moments(ticks) {
  const known = ticks.filter((tick) => tick !== null);
  const apart = known.length > 1 ? known[1] - known[0] : 60;
  const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...(apart < 60 && { second: "2-digit" }) };
  const look = apart < 86400 ? clock : { day: "numeric", month: "short" };
  return ticks.map((tick) => (tick === null ? "" : new Date(tick * 1000).toLocaleString(tongue, look)));
}

const two = (number) => String(number).padStart(2, "0");

/** "0:05", "12:00", "1:07:00", "2 d 04:00": seconds. */
export function sinceStart(seconds) {
  if (seconds < 0) return `-${sinceStart(-seconds)}`;
  const s = Math.floor(seconds);
  const [days, hours, minutes] = [Math.floor(s / 86400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60];
  const rest = seconds % 1 && s < 10 ? (seconds % 60).toFixed(1).padStart(4, "0") : two(s % 60);
  if (days) return `${daysOf(days)} ${two(hours)}:${two(minutes)}`;
  return hours ? `${hours}:${two(minutes)}:${two(s % 60)}` : `${minutes}:${rest}`;
}
