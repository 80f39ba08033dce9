// Where the keyboard goes on when an answer has taken away the form that it was in.

document.addEventListener("htmx:afterSettle", ({ detail: { requestConfig } }) => {
  const next = requestConfig?.elt?.dataset.focusAfter;
  if (!next || document.activeElement !== document.body) return;
  (document.querySelector(next) ?? document.querySelector("#page"))?.focus({ preventScroll: true });
});
