// The words of spans of time and of sizes, as the server's filters write them (controlpanel/templatetags/panel.py).

const two = (number) => String(number).padStart(2, "0");

/** "48 s", "3 min 12 s", "1 h 07 min", "2 d 04 h" */
export function duration(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`;
  return `${Math.floor(s / 86400)} d ${two(Math.floor(s / 3600) % 24)} h`;
}

/** One unit: "48 s", "3 min", "30 h", "2 d" */
export function coarse(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} d`;
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
