// The badge that says whether this page hears the panel: live, connecting or polling, and since when.
import { behave } from "panel/behaviour";
import { connection } from "panel/live";

behave("[data-connection]", (badge) => {
  const show = () => {
    const { state, since } = connection;
    badge.hidden = state === "idle";
    badge.dataset.state = state;
    const word = { live: badge.dataset.liveWord, polling: badge.dataset.pollingWord, "signed-out": badge.dataset.signedOutWord }[state] || badge.dataset.connectingWord;
    const moment = badge.dataset.sinceWord.replace("%s", since.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }));
    const text = state === "polling" ? `${word} ${moment}` : word;
    if (badge.textContent !== text) badge.textContent = text;
    badge.title = state === "polling" ? badge.dataset.pollingHelp : moment;
  };
  connection.addEventListener("change", show);
  show();
  return () => connection.removeEventListener("change", show);
});
