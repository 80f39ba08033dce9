// Keys of a list of jobs. Which there are stands in the page, as a list that can be shown as it is (templates/jobs/_list_keys.html):
// each entry has data-key, as the browser names it, and data-does. The row that is gone through has data-here; it is found by
// its id, so that it stays the same when the list is drawn anew.
import { behave } from "panel/behaviour";
import { pick } from "panel/selection";

const TYPING = "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]";
let here = null; // id of a row

const rows = () => [...document.querySelectorAll("[data-rows] tbody tr[id]")];
const row = () => rows().find(({ id }) => id === here);

function go(by) {
  const all = rows();
  const place = all.findIndex(({ id }) => id === here);
  const next = all[place < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, place + by))];
  if (!next) return;
  here = next.id;
  mark();
  next.scrollIntoView({ block: "nearest" });
  next.querySelector("td.name a")?.focus({ preventScroll: true });
}

function mark() {
  for (const one of rows()) one.toggleAttribute("data-here", one.id === here);
}

function pickHere(how) {
  const box = row()?.querySelector("[data-pick]");
  if (box) how(box);
}

const does = {
  next: () => go(1),
  previous: () => go(-1),
  open: () => row()?.querySelector("td.name a")?.click(),
  pick: () => pickHere((box) => pick(box, !box.checked)),
  range: () => pickHere((box) => pick(box, true, true)),
  find: () => document.querySelector("#job-text")?.focus(),
  help: () => document.querySelector("[data-list-keys]")?.togglePopover(),
};

behave("[data-list-keys]", (help) => {
  const keys = new Map([...help.querySelectorAll("[data-key]")].map(({ dataset }) => [dataset.key, dataset.does]));
  const listen = (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const name = keys.get(event.key);
    if (!name || event.target.closest?.(TYPING)) return;
    if (document.querySelector("dialog:popover-open") && name !== "help") return;
    if (name === "open" && event.target.closest?.("a, button, summary, label, input")) return; // it opens by itself
    event.preventDefault();
    does[name]();
  };
  document.addEventListener("keydown", listen);
  document.addEventListener("htmx:afterSettle", mark);
  return () => {
    document.removeEventListener("keydown", listen);
    document.removeEventListener("htmx:afterSettle", mark);
  };
});
