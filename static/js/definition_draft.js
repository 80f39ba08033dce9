// The editor of definitions: what was typed is kept until it is published, and the server draws it again, as its rows come and go.
import { behave } from "panel/behaviour";
import { draftAt, onceReady } from "panel/drafts";

const NOT_TYPED = new Set(["csrfmiddlewaretoken", "key"]);

behave("form[data-definition-draft]", (form) => {
  const draft = draftAt(`definition ${form.dataset.definitionDraft}`);
  const asDrawn = JSON.stringify(typed(form));
  let isPublished = false;

  const save = () => {
    if (isPublished) return;
    const now = typed(form);
    if (JSON.stringify(now) === asDrawn && !("posted" in form.dataset)) draft.forget();
    else draft.keep(now);
  };
  const kept = draft.read();
  if (form.dataset.focus) document.getElementById(form.dataset.focus)?.focus(); // where the click that was answered leads
  if ("posted" in form.dataset) save(); // the answer has what was sent
  else if (kept && JSON.stringify(kept) !== asDrawn) onceReady(() => restore(form, kept));
  form.addEventListener("input", save);
  form.addEventListener("change", save);
  form.querySelector("[data-draft-discard]").addEventListener("click", draft.forget);
  form.addEventListener("htmx:beforeOnLoad", ({ detail: { elt, xhr } }) => {
    if (!form.contains(elt) || !xhr.getResponseHeader("HX-Redirect")) return;
    isPublished = true;
    draft.forget();
  });
});

// Nobody looks at the form that it would make while the page is hidden.
behave("#definition-preview", (preview) => {
  preview.addEventListener("htmx:beforeRequest", (event) => { if (document.hidden) event.preventDefault(); });
});

// An answer that says what is wrong, or what someone else has changed, takes the editor's place.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (![409, 422].includes(detail.xhr.status) || !detail.requestConfig.elt.closest("form[data-definition-draft]")) return;
  detail.shouldSwap = true;
  detail.isError = false;
});

function restore(form, kept) {
  const values = new FormData();
  for (const [name, value] of kept) values.append(name, value);
  for (const name of NOT_TYPED) values.set(name, form.elements[name].value);
  values.set("act", "draft");
  htmx.ajax("POST", form.getAttribute("action"), { target: "#definition-editor", select: "#definition-editor", swap: "outerHTML", values });
}

/** [name, value] of all that is sent, in its order; never a file. */
function typed(form) {
  return [...new FormData(form)].filter(([name, value]) => typeof value === "string" && !NOT_TYPED.has(name));
}
