// data-dialog: a dialog whose content is fetched opens when it has come, and is empty again when it closes.
import { behave } from "panel/behaviour";

behave("[data-dialog]", (dialog) => {
  const open = () => {
    if (dialog.childElementCount && !dialog.matches(":popover-open")) dialog.showPopover();
    (dialog.querySelector("[autofocus]") ?? dialog.querySelector("button"))?.focus();
  };
  const closed = ({ newState }) => newState === "closed" && dialog.replaceChildren();
  dialog.addEventListener("htmx:afterSwap", open);
  dialog.addEventListener("toggle", closed);
  return () => {
    dialog.removeEventListener("htmx:afterSwap", open);
    dialog.removeEventListener("toggle", closed);
  };
});
