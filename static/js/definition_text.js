// A definition as text: numbers beside its lines, and a way from what is wrong to its line.
import { behave } from "panel/behaviour";

behave("[data-code]", (editor) => {
  const gutter = editor.querySelector(".gutter");
  const area = editor.querySelector("textarea");
  const count = () => {
    const lines = area.value.split("\n").length;
    if (gutter.childElementCount === lines) return;
    gutter.replaceChildren(...Array.from({ length: lines }, (_nothing, number) => Object.assign(document.createElement("span"), { textContent: number + 1 })));
    mark();
  };
  const mark = () => {
    const wrong = new Set([...document.querySelectorAll("#definition-editor a[data-line]")].map(({ dataset }) => dataset.line));
    for (const [number, line] of [...gutter.children].entries()) line.toggleAttribute("data-wrong", wrong.has(String(number + 1)));
  };
  const scroll = () => { gutter.scrollTop = area.scrollTop; };
  gutter.hidden = false;
  count();
  area.addEventListener("input", count);
  area.addEventListener("scroll", scroll);
  document.addEventListener("htmx:afterSettle", mark); // the check beside it looks at each change
  return () => document.removeEventListener("htmx:afterSettle", mark);
});

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-line]");
  const area = link && document.querySelector("[data-code] textarea");
  if (!area) return;
  event.preventDefault();
  const lines = area.value.split("\n");
  const before = lines.slice(0, link.dataset.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
  area.focus();
  area.setSelectionRange(before, before + (lines[link.dataset.line - 1]?.length ?? 0));
  area.scrollTop = Math.max(0, (area.scrollHeight / lines.length) * (link.dataset.line - 8));
});
