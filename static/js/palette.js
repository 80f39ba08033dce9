// Ctrl-K: a dialog that leads anywhere. The server finds; here are the keys, and which line is the chosen one.
import { behave } from "panel/behaviour";

behave("[data-palette-open]", (opener) => {
  const dialog = document.querySelector("#palette");
  if (!dialog) return undefined;
  const field = dialog.querySelector("input");
  const list = dialog.querySelector("#palette-list");
  const options = () => [...list.querySelectorAll("[role=option]")];
  const chosen = () => list.querySelector("[aria-selected=true]");

  function choose(option) {
    chosen()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) field.setAttribute("aria-activedescendant", option.id);
    else field.removeAttribute("aria-activedescendant");
  }

  function step(by) {
    const all = options();
    if (all.length) choose(all[(all.indexOf(chosen()) + by + all.length) % all.length]);
  }

  function open() {
    if (dialog.open) return field.select();
    dialog.showModal();
    field.select();
    field.dispatchEvent(new Event("palette-open"));
    return undefined;
  }

  const onKey = (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open();
    }
  };
  document.addEventListener("keydown", onKey);
  opener.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a new tab
    event.preventDefault();
    open();
  });

  field.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps && !event.isComposing) {
      event.preventDefault();
      step(steps[event.key]);
    } else if (event.key === "Enter" && !event.isComposing) {
      const option = chosen();
      if (!option || field.dataset.asked !== field.value) return; // what was found is of another text: the page finds anew
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) window.open(option.href);
      else option.click();
    }
  });
  field.addEventListener("htmx:beforeRequest", () => { field.dataset.asking = field.value; });
  list.addEventListener("htmx:afterSwap", () => {
    field.dataset.asked = field.dataset.asking;
    choose(options()[0]);
  });
  list.addEventListener("mousemove", ({ target }) => {
    const option = target.closest("[role=option]");
    if (option && option !== chosen()) choose(option);
  });
  dialog.addEventListener("click", ({ target }) => { if (target === dialog) dialog.close(); });
  return () => document.removeEventListener("keydown", onKey);
});
