// Keys of a log. Which there are stands in the page, in the dialog that tells of them (templates/jobs/_log_keys.html): each entry
// has data-key, as the browser names it, and data-does.

const TYPING = "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable], dialog[open]";

/** `does`: what each name in data-does is, as a function. */
export function listenToKeys(view, does) {
  const keys = new Map([...view.pane.querySelectorAll("[data-key][data-does]")].map(({ dataset }) => [dataset.key, dataset.does]));
  view.on(document, "keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const open = document.querySelector(":popover-open");
    if (event.target.closest?.(TYPING) || (open && !(open.matches("[data-log-keys]") && event.key === "?"))) return;
    const isOnControl = event.target.closest?.("a, button, summary") && !view.view.contains(event.target);
    const name = keys.get(event.key);
    if (!name || (isOnControl && event.key === "Enter")) return;
    event.preventDefault();
    does[name]();
  });
}
