// How a person likes logs to be shown, kept in this browser. Where it keeps nothing, for as long as the page is there.

const KEY = "panel.log";
let kept = {};
try {
  kept = JSON.parse(localStorage.getItem(KEY) ?? "{}") ?? {};
} catch { /* no storage, or something else wrote there */ }

export const recall = (name, known) => (known.includes(kept[name]) ? kept[name] : known[0]);

export function keep(name, value) {
  kept[name] = value;
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch { /* no storage, or none left */ }
}
