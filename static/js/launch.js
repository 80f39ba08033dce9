// The launch form: what was typed is kept until it is launched, and an answer with errors takes the form's place.
import { behave } from "panel/behaviour";
import { draftAt, onceReady } from "panel/drafts";

behave("form[data-draft]", (form) => {
  const draft = draftAt(`draft ${form.dataset.draft}`);
  const line = form.querySelector("[data-draft-line]");
  const asDrawn = typed(form);
  let isLaunched = false;

  const save = () => {
    if (isLaunched) return;
    const now = typed(form);
    if (same(now, asDrawn) && !("posted" in form.dataset)) draft.forget();
    else draft.keep(now);
  };
  const kept = draft.read();
  if ("posted" in form.dataset) {
    save(); // the answer has what was sent
    form.querySelector("#launch-errors")?.focus();
  } else if (kept && !same({ ...asDrawn, ...kept }, asDrawn)) {
    fill(form, kept);
    line.hidden = false;
    onceReady(() => tell(form));
  }
  form.addEventListener("input", save);
  form.addEventListener("change", save);
  line.querySelector("[data-draft-discard]").addEventListener("click", () => {
    form.reset();
    line.hidden = true;
    tell(form);
    draft.forget();
    form.querySelector("select").focus();
  });
  form.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.detail.elt !== form) event.preventDefault(); // nobody looks at what would happen
  });
  form.addEventListener("htmx:beforeOnLoad", ({ detail: { elt, xhr } }) => {
    if (elt !== form || !xhr.getResponseHeader("HX-Redirect")) return;
    isLaunched = true;
    draft.forget();
  });
});

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.xhr.status !== 422 || !detail.requestConfig.elt.matches("form[data-draft]")) return;
  detail.shouldSwap = true;
  detail.isError = false;
});

// What was chosen while the scripts were still on their way. The browser itself restores no choice here: autocomplete is off.
behave("form.choose select", (select) => {
  const drawn = [...select.options].find(({ defaultSelected }) => defaultSelected);
  if (drawn && !drawn.selected) onceReady(() => tell(select));
});

// Where the browser does not let a field grow with its text itself.
if (!CSS.supports("field-sizing", "content")) {
  behave("textarea[data-grow]", (area) => {
    const least = area.rows;
    const grow = () => { area.rows = Math.min(20, Math.max(least, area.value.split("\n").length)); };
    area.addEventListener("input", grow);
    grow();
  });
}

/** Name -> values of what a person can type or choose. */
function typed(form) {
  const values = {};
  for (const field of fieldsOf(form)) {
    values[field.name] ??= [];
    if (!isSwitch(field) || field.checked) values[field.name].push(field.value);
  }
  return values;
}

function fill(form, values) {
  const left = new Map(Object.entries(values).map(([name, list]) => [name, [...list]]));
  for (const field of fieldsOf(form)) {
    const list = left.get(field.name); // none: a field that is new
    if (list && isSwitch(field)) field.checked = list.includes(field.value);
    else if (list?.length) field.value = list.shift();
  }
  const more = form.querySelector("details.more");
  if (fieldsOf(form).some((field) => more.contains(field) && (isSwitch(field) ? field.checked : field.value))) more.open = true;
}

/** Not what is hidden, and never a file. */
function fieldsOf(form) {
  return [...form.elements].filter(({ name, type }) => name && !["hidden", "file", "password"].includes(type));
}

function isSwitch({ type }) {
  return type === "checkbox" || type === "radio";
}

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

function tell(element) {
  element.dispatchEvent(new Event("change"));
}
