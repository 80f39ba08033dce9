// The browser's tab says what the page's head says: its title, and the state's glyph as its icon.
import { behave } from "panel/behaviour";

behave("[data-tab]", (head) => {
  document.title = head.dataset.tab;
  const status = head.querySelector("h1 .status");
  const link = document.querySelector("link[rel=icon]");
  if (!status || !link) return;
  const glyph = status.querySelector("svg").cloneNode(true);
  glyph.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  glyph.setAttribute("color", getComputedStyle(status).color);
  for (const cut of glyph.querySelectorAll(".cut")) cut.setAttribute("color", "#fff");
  link.href = `data:image/svg+xml,${encodeURIComponent(glyph.outerHTML)}`;
});
