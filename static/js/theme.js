// The reader's choice of light or dark: kept in a cookie, so that the server already draws the page that way.

for (const choice of document.querySelectorAll("[data-theme-choice]")) {
  choice.hidden = false;
  choice.addEventListener("change", (event) => choose(event.target.value));
}

function choose(theme) {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  const age = theme ? 365 * 24 * 3600 : 0;
  document.cookie = `theme=${theme}; Path=/; Max-Age=${age}; SameSite=Lax${secure}`;
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  document.dispatchEvent(new Event("theme:change")); // for what is drawn and not styled
}
