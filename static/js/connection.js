// The badge that says whether this page hears the panel: live, connecting, polling or without an answer, and since when.
import { behave } from "panel/behaviour";
import { connection } from "panel/live";

behave("[data-connection]", (badge) => {
  const show = () => {
    const { since, isUnanswered } = connection;
    const state = isUnanswered ? "unanswered" : connection.state;
    badge.hidden = state === "idle";
    badge.dataset.state = state;
    const word = { unanswered: badge.dataset.unansweredWord, live: badge.dataset.liveWord, polling: badge.dataset.pollingWord, "signed-out": badge.dataset.signedOutWord }[state] || badge.dataset.connectingWord;
    const moment = badge.dataset.sinceWord.replace("%s", since.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }));
    const help = { polling: badge.dataset.pollingHelp, unanswered: badge.dataset.unansweredHelp }[state];
    const text = help ? `${word} ${moment}` : word;
    if (badge.textContent !== text) badge.textContent = text;
    badge.title = help ?? moment;
  };
  connection.addEventListener("change", show);
  show();
  return () => connection.removeEventListener("change", show);
});
