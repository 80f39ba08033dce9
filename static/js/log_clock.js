// Moments of a log as text, and text as moments or lines. Pure.

const two = (number) => String(number).padStart(2, "0");
const SECOND = 1000;
const DAY = 24 * 3600 * SECOND;
const UNITS = { ms: 1, s: SECOND, sec: SECOND, m: 60 * SECOND, min: 60 * SECOND, h: 3600 * SECOND, d: DAY };

export const MODES = ["off", "local", "utc", "since"];

/** Of Unix `ms`, as `mode` has it; `isLong`: with the day. Always of one width. */
export function formatMoment(ms, mode, { first = 0, isLong = false } = {}) {
  if (mode === "since") return formatSince(ms - first);
  const moment = new Date(ms);
  const [month, day, hour, minute, second] =
    mode === "utc"
      ? [moment.getUTCMonth(), moment.getUTCDate(), moment.getUTCHours(), moment.getUTCMinutes(), moment.getUTCSeconds()]
      : [moment.getMonth(), moment.getDate(), moment.getHours(), moment.getMinutes(), moment.getSeconds()];
  return `${isLong ? `${two(month + 1)}-${two(day)} ` : ""}${two(hour)}:${two(minute)}:${two(second)}`;
}

/** "+0:00:05.3" since the log began */
function formatSince(ms) {
  const tenths = Math.max(0, Math.floor(ms / 100));
  const seconds = Math.floor(tenths / 10);
  return `+${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}.${tenths % 10}`;
}

/**
 * What someone who typed `text` wants to see: {line} (from 1), {ms}, or null. A time of day is taken in the log's own days,
 * between its `first` and `last` ms; in UTC when `isUtc`, else in the browser's time.
 */
export function parsePlace(text, { first = 0, last = first, isUtc = false } = {}) {
  const typed = text.trim();
  if (/^[lL#]?\d[\d,.' \u202f\u00a0]*$/.test(typed)) return { line: Number(typed.replace(/\D/g, "")) };
  if (typed.startsWith("+")) return sinceStart(typed.slice(1), first);
  const clock = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,3}))?)?$/.exec(typed);
  if (clock) return timeOfDay(clock.slice(1), first, last, isUtc);
  return date(typed, isUtc);
}

/** "90", "90s", "5 min", "1h 20m", "0:05:00" */
function sinceStart(text, first) {
  const clock = /^\s*(?:(\d+):)?(\d{1,2}):(\d{2}(?:\.\d+)?)\s*$/.exec(text);
  if (clock) return { ms: first + Math.round((Number(clock[1] ?? 0) * 3600 + Number(clock[2]) * 60 + Number(clock[3])) * SECOND) };
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]*)/g)];
  const isAll = parts.length > 0 && text.replace(/(\d+(?:\.\d+)?)\s*([a-z]*)/g, "").trim() === "";
  if (!isAll || parts.some(([, , unit]) => unit && !(unit in UNITS))) return null;
  return { ms: first + Math.round(parts.reduce((sum, [, number, unit]) => sum + Number(number) * UNITS[unit || "s"], 0)) };
}

function timeOfDay([hour, minute, second = "0", part = "0"], first, last, isUtc) {
  const [h, m, s, ms] = [Number(hour), Number(minute), Number(second), Number(part.padEnd(3, "0"))];
  if (h > 23 || m > 59 || s > 59) return null;
  const start = new Date(first);
  const on = (days) =>
    isUtc
      ? Date.UTC(start.getUTCFullYear(), start.getUTCMonth(), start.getUTCDate() + days, h, m, s, ms)
      : new Date(start.getFullYear(), start.getMonth(), start.getDate() + days, h, m, s, ms).getTime();
  let found = on(0);
  // Before it began: of the next day, when it still ran by then; of several days the last is as good as any.
  for (let days = 1; on(days) <= last; days++) found = on(days);
  return { ms: found };
}

/** "2026-03-01 14:02:05", with or without seconds, a T, or a zone */
function date(text, isUtc) {
  const found = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2}(?:[.,]\d{1,3})?))?)?\s*(Z|[+-]\d{2}:?\d{2})?$/.exec(text);
  if (!found) return null;
  const [, day, hour = "0", minute = "00", second = "00", zone = isUtc ? "Z" : ""] = found;
  const ms = Date.parse(`${day}T${hour.padStart(2, "0")}:${minute}:${second.replace(",", ".")}${zone}`);
  return Number.isNaN(ms) ? null : { ms };
}
