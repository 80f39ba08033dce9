// How news come into the page: whole elements, or row by row where a list must not move under the reader.

/** What an element shows, without what differs from one drawing to the next anyway. */
export function drawing(element) {
  const copy = element.cloneNode(true);
  for (const token of copy.querySelectorAll("[name=csrfmiddlewaretoken]")) token.remove();
  for (const moving of copy.querySelectorAll("[data-ago], [data-since], [data-new-rows]")) {
    moving.replaceWith(moving.getAttribute("datetime") ?? moving.dataset.since ?? "");
  }
  for (const one of [copy, ...copy.querySelectorAll("[class], [data-seq]")]) {
    one.removeAttribute("data-seq");
    one.removeAttribute("data-changes");
    if (one.className === "") one.removeAttribute("class");
  }
  copy.normalize();
  return copy.outerHTML;
}

export function swapWhole(element, fresh) {
  const scrolled = [...element.querySelectorAll("[id]")].filter((one) => one.scrollTop).map(({ id, scrollTop }) => ({ id, scrollTop }));
  htmx.swap(element, fresh.outerHTML, { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0 });
  for (const { id, scrollTop } of scrolled) document.getElementById(id)?.scrollTo({ top: scrollTop });
}

/**
 * Rows change in place. New ones wait behind "3 new" while the list is scrolled or has the pointer over it; one that the list's
 * filters no longer let through is dimmed and leaves with the pointer.
 */
export function swapRows(element, fresh) {
  const before = rowsOf(element);
  const after = rowsOf(fresh);
  const added = [...after.keys()].filter((id) => !before.has(id));
  const gone = goneFrom(before, after);
  const button = element.querySelector("[data-new-rows]");
  const isRead = element.getBoundingClientRect().top < 0 || element.matches(":hover");
  if (!button || !before.size || ((added.length || gone.length) && !isRead)) {
    swapWhole(element, fresh);
    return;
  }
  for (const [id, row] of before) {
    const next = after.get(id);
    if (next && drawing(next) !== drawing(row)) swapWhole(row, next);
  }
  for (const row of gone) row.dataset.gone = "";
  element.onmouseleave = gone.length && !added.length ? () => swapWhole(element, fresh) : null;
  button.hidden = added.length === 0;
  button.textContent = button.dataset.words.replace("%s", added.length);
  button.onclick = () => {
    swapWhole(element, fresh);
    document.getElementById(element.id)?.scrollIntoView({ block: "nearest" });
    scrollTo({ top: 0 });
  };
}

/** Those that are missing in between; at the end they may only have been pushed to the next page. */
function goneFrom(before, after) {
  const missing = [...before].filter(([id]) => !after.has(id));
  const last = [...after.keys()].at(-1);
  const order = [...before.keys()];
  return missing.filter(([id]) => last === undefined || !order.includes(last) || order.indexOf(id) < order.indexOf(last)).map(([, row]) => row);
}

const rowsOf = (element) => new Map([...element.querySelectorAll("tbody tr[id]")].map((row) => [row.id, row]));
