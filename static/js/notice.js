// Says what went wrong with the last click that htmx sent: the server's own sentence where there is one.

const notice = document.querySelector("[data-notice]");
const text = notice.querySelector("span");

function show(sentence) {
  text.textContent = sentence;
  notice.hidden = false;
}

// What asks by itself (data-quiet) is no click: it tries again.
const isClick = (event) => !event.detail.elt?.closest?.("[data-quiet]");
const on = (type, react) => document.addEventListener(type, (event) => { if (isClick(event)) react(event); });

on("htmx:responseError", ({ detail: { xhr } }) => show(sentenceOf(xhr) || notice.dataset.failed.replace("%s", xhr.status)));
on("htmx:sendError", () => show(notice.dataset.offline));
on("htmx:beforeRequest", () => { notice.hidden = true; });
notice.querySelector("button").addEventListener("click", () => { notice.hidden = true; });

function sentenceOf(xhr) {
  if ((xhr.getResponseHeader("Content-Type") || "").includes("json")) {
    try {
      return JSON.parse(xhr.responseText).message;
    } catch {
      return "";
    }
  }
  return new DOMParser().parseFromString(xhr.responseText, "text/html").querySelector("[data-error-sentence]")?.textContent.trim();
}
