// A button that copies the text of another element. Browsers allow it on https and on localhost only.
import { behave } from "panel/behaviour";

behave("[data-copy]", (button) => {
  if (!navigator.clipboard) return;
  const label = button.querySelector("span");
  const word = label.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent);
    label.textContent = button.dataset.done;
    setTimeout(() => { label.textContent = word; }, 1500);
  });
});
