// Keeps "3 min ago" and running durations true while the page is open, and shows exact moments in the reader's own time.
import { coarse, duration, tongue } from "panel/spans";

const { agoWords, nowWords } = document.body.dataset;
const ahead = Date.now() - Number(document.body.dataset.now) * 1000; // of the server's clock, in ms, as far as can be told
const skew = Math.abs(ahead) > 5000 && performance.now() < 5000 ? ahead : 0;

function tick() {
  if (document.hidden) return;
  const now = Date.now() - skew;
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const moment = new Date(time.dateTime);
    const seconds = (now - moment) / 1000;
    if (seconds >= -1) say(time, seconds < 5 ? nowWords : agoWords.replace("%s", coarse(seconds)));
    if (!time.dataset.local) {
      time.dataset.local = "1";
      time.title = moment.toLocaleString(tongue(), { dateStyle: "medium", timeStyle: "long" });
    }
  }
  for (const span of document.querySelectorAll("[data-since]")) {
    say(span, duration((now - new Date(span.dataset.since)) / 1000));
  }
}

function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

setInterval(tick, 1000);
document.addEventListener("htmx:load", tick);
document.addEventListener("visibilitychange", tick);
