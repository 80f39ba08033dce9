// The words of spans of time and of sizes, as the server's filters write them (controlpanel/templatetags/panel.py).

// As controlpanel/templatetags/panel.py has them in the page's language; tests of these modules have no page.
const words = JSON.parse(globalThis.document?.body?.dataset.spanWords ?? "null") ?? [
  "%(d)d d %(h)02d h", "%(h)d h %(m)02d min", "%(m)d min %(s)02d s", "%(s)d s", "%(count)d s", "%(count)d min", "%(count)d h", "%(count)d d",
];
const [DAYS, HOURS, MINUTES, SECONDS, ONLY_SECONDS, ONLY_MINUTES, ONLY_HOURS, ONLY_DAYS] = words;
const fill = (text, numbers) => text.replace(/%\((\w+)\)(02)?d/g, (_, name, two) => String(numbers[name]).padStart(two ? 2 : 1, "0"));

/** "48 s", "3 min 12 s", "1 h 07 min", "2 d 04 h" */
export function duration(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const [s, m, h, d] = [whole % 60, Math.floor(whole / 60) % 60, Math.floor(whole / 3600) % 24, Math.floor(whole / 86400)];
  if (whole < 60) return fill(SECONDS, { s });
  if (whole < 3600) return fill(MINUTES, { m, s });
  return whole < 86400 ? fill(HOURS, { h, m }) : fill(DAYS, { d, h });
}

/** One unit: "48 s", "3 min", "30 h", "2 d" */
export function coarse(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return fill(ONLY_SECONDS, { count: s });
  if (s < 3600) return fill(ONLY_MINUTES, { count: Math.floor(s / 60) });
  return s < 48 * 3600 ? fill(ONLY_HOURS, { count: Math.floor(s / 3600) }) : daysOf(Math.floor(s / 86400));
}

/** "2 d" */
export const daysOf = (count) => fill(ONLY_DAYS, { count });

/** In which language moments are written: as the browser has the page's, else the page's. */
export function tongue() {
  const page = globalThis.document?.documentElement.lang || "en";
  return globalThis.navigator?.languages?.find((one) => one.split("-")[0] === page.split("-")[0]) ?? page;
}

/** "512 B", "1.5 KiB", "418 MiB"; with as many decimals as amounts that are `apart` bytes from one another need to differ. */
export function size(bytes, apart = 0) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (Math.abs(bytes) >= 1024 && unit < units.length - 1) [bytes, apart, unit] = [bytes / 1024, apart / 1024, unit + 1];
  const usual = unit === 0 || Math.abs(bytes) >= 10 ? 0 : 1;
  return `${bytes.toFixed(unit > 0 && apart > 0 ? decimals(apart) : usual)} ${units[unit]}`;
}

/** Until it is exact, or small steps differ at least. */
function decimals(apart) {
  let digits = 0;
  while (digits < 3 ? !Number.isInteger(apart * 10 ** digits) : digits < 9 && apart * 10 ** digits < 1) digits += 1;
  return digits;
}
