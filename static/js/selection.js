// Rows are picked by the box in front of each (data-pick, of the form with data-selection), with Shift a range; the form floats over
// the list while something is picked. What is picked stays so when the list is drawn anew, also where its row has left.
import { behave } from "panel/behaviour";

const MOST_COMPARED = 8; // jobs/comparison.py
const picked = new Set(); // numbers, as texts
let isAll = false; // all that the filter lets through
let last = null; // where a range begins

const boxes = () => [...document.querySelectorAll("[data-pick]")];
const form = () => document.querySelector("[data-selection]");

/** Picks one, or lets go of it; `isRange`: all from the last one on. */
export function pick(box, isPicked, isRange = false) {
  if (isAll) {
    isAll = false;
    for (const other of boxes()) picked.add(other.value);
  }
  const row = boxes();
  const [from, to] = [row.findIndex(({ value }) => value === last), row.indexOf(box)].sort((a, b) => a - b);
  const some = isRange && from >= 0 ? row.slice(from, to + 1) : [box];
  for (const { value } of some) isPicked ? picked.add(value) : picked.delete(value);
  last = box.value;
  show();
}

export function pickNone() {
  picked.clear();
  isAll = false;
  show();
}

function show() {
  const bar = form();
  if (!bar) return;
  const here = boxes();
  for (const box of here) box.checked = isAll || picked.has(box.value);
  for (const row of document.querySelectorAll("[data-rows] tbody tr")) row.toggleAttribute("data-picked", Boolean(row.querySelector("[data-pick]")?.checked));
  const known = new Set(here.map(({ value }) => value));
  const strays = isAll ? [] : [...picked].filter((number) => !known.has(number));
  bar.querySelector("[data-selection-strays]").replaceChildren(...strays.map((value) => Object.assign(document.createElement("input"), { type: "hidden", name: "job", value })));
  bar.querySelector("[data-selection-filter]").disabled = !isAll;
  bar.querySelector("[data-selection-count]").textContent = isAll ? bar.dataset.allWords : bar.dataset.words.replace("%s", picked.size);
  bar.querySelector("[data-selection-all]").hidden = isAll || !here.length || here.some(({ checked }) => !checked);
  bar.querySelector("[data-selection-compare]").disabled = isAll || picked.size < 2 || picked.size > MOST_COMPARED;
  bar.toggleAttribute("data-on", isAll || picked.size > 0);
  const all = document.querySelector("[data-pick-all]");
  if (!all) return;
  const count = here.filter(({ checked }) => checked).length;
  all.checked = here.length > 0 && count === here.length;
  all.indeterminate = count > 0 && count < here.length;
}

behave("[data-pick]", (box) => {
  const click = ({ shiftKey }) => pick(box, box.checked, shiftKey);
  box.addEventListener("click", click);
  queueMicrotask(show);
});

behave("[data-pick-all]", (box) => {
  box.addEventListener("click", () => {
    if (isAll) pickNone();
    else for (const { value } of boxes()) box.checked ? picked.add(value) : picked.delete(value);
    show();
  });
  queueMicrotask(show);
});

behave("[data-selection]", (bar) => {
  bar.setAttribute("data-floats", "");
  bar.querySelector("[data-selection-all]").addEventListener("click", () => {
    isAll = true;
    show();
  });
  bar.querySelector("[data-selection-none]").addEventListener("click", pickNone);
  // The list is narrowed or sorted without a load of this form: it goes along.
  const follow = () => {
    const list = document.querySelector("[data-filter]");
    if (!list) return;
    const filter = bar.querySelector("[data-selection-filter]");
    if (filter.value !== list.dataset.filter && isAll) isAll = false; // these were all of another filter
    filter.value = list.dataset.filter;
    bar.querySelector("[data-selection-back]").value = list.dataset.refresh;
    show();
  };
  document.addEventListener("htmx:afterSettle", follow);
  show();
  return () => document.removeEventListener("htmx:afterSettle", follow);
});
