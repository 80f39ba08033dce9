// An element with data-refresh="url" and an id is fetched anew and swapped in place when live.js has news for it.
// Elements of one URL share the request; there are at most two a second. data-rows: see rows.js. data-refresh-every="5": each 5 s
// besides, for what no event tells of, as that a host has fallen silent.
import { behave } from "panel/behaviour";
import { connection, signedOut } from "panel/live";
import { drawing, swapRows, swapWhole } from "panel/rows";

const EVERY_MS = 500;
const OF_A_PROXY = [502, 503, 504]; // which answers for a panel that does not
const BUSY_MS = 1000; // looked at again, once the reader has let go
const fetches = new Map(); // url -> {timer, at, isRunning, again}

behave("[data-refresh]", (element) => {
  const ask = () => refresh(element.dataset.refresh);
  const types = ["live:event", "live:hint", "live:change", "live:poll"];
  types.forEach((type) => element.addEventListener(type, ask));
  const every = Number(element.dataset.refreshEvery ?? 0) * 1000;
  const timer = every ? setInterval(() => { if (!document.hidden && connection.state !== "signed-out") ask(); }, every) : 0;
  return () => {
    types.forEach((type) => element.removeEventListener(type, ask));
    clearInterval(timer);
  };
});

function refresh(url, wait = 0) {
  const one = fetches.get(url) ?? { timer: 0, at: 0, isRunning: false, isAsked: false };
  fetches.set(url, one);
  if (one.isRunning) one.isAsked = true;
  else if (!one.timer) one.timer = setTimeout(() => fetchNow(url, one), Math.max(wait, one.at + EVERY_MS - Date.now()));
}

async function fetchNow(url, one) {
  one.timer = 0;
  one.at = Date.now();
  one.isRunning = true;
  let isBusy = false;
  try {
    const response = await fetch(url, { headers: { "HX-Request": "true" } });
    connection.asked({ isAnswered: !OF_A_PROXY.includes(response.status) });
    if (response.redirected || response.status === 401) signedOut();
    else if (response.ok) isBusy = draw(url, await response.text());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    connection.asked({ isAnswered: false }); // the next poll tries again
  } finally {
    one.isRunning = false;
    if ((one.isAsked || isBusy) && connection.state !== "signed-out") refresh(url, isBusy ? BUSY_MS : 0);
    one.isAsked = false;
  }
}

/** Returns whether something was left as it is because the reader is at it. */
function draw(url, html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  let isBusy = false;
  for (const element of document.querySelectorAll("[data-refresh]")) {
    if (element.dataset.refresh !== url) continue;
    const fresh = page.getElementById(element.id);
    if (!fresh || drawing(fresh) === drawing(element)) continue;
    if (isHeld(element)) isBusy = true;
    else if ("rows" in element.dataset) swapRows(element, fresh);
    else swapWhole(element, fresh);
  }
  return isBusy;
}

/** An open dialog, a field in use or selected text must not vanish under the reader's hands. */
function isHeld(element) {
  if (element.querySelector(":popover-open, dialog[open], select:focus, input:not([data-pick], [data-pick-all]):focus, textarea:focus, .htmx-request")) return true;
  const selection = getSelection();
  return !selection.isCollapsed && selection.containsNode(element, true);
}
