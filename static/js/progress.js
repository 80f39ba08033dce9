// data-progress="/api/v1/jobs/17": the bar and its words follow what the job's program says of itself.
import { behave } from "panel/behaviour";
import { duration } from "panel/spans";

const EVERY_MS = 1000;

behave("[data-progress]", (element) => {
  let timer = 0;
  let askedAt = 0;
  const hear = ({ type, detail }) => {
    if (type === "live:metrics" && !detail.names.includes("progress/step")) return;
    if (!timer) timer = setTimeout(ask, Math.max(0, askedAt + EVERY_MS - Date.now()));
  };
  const ask = async () => {
    timer = 0;
    askedAt = Date.now();
    const job = await fetch(element.dataset.progress).then((answer) => (answer.ok ? answer.json() : null), () => null);
    if (job?.progress) show(element, job.progress);
  };
  for (const type of ["live:metrics", "live:poll"]) element.addEventListener(type, hear);
  return () => clearTimeout(timer);
});

function show(element, { step, total, percent, left_s: left }) {
  element.hidden = false;
  const [share, bar, words] = element.children;
  share.textContent = percent === null ? "" : `${percent} %`;
  if (percent === null) bar.removeAttribute("value");
  else bar.value = percent;
  const { stepWords, ofWords, leftWords } = element.dataset;
  const parts = [total === null ? stepWords.replace("%s", step.toLocaleString("en")) : ofWords.replace("%s", step.toLocaleString("en")).replace("%t", total.toLocaleString("en"))];
  if (left !== null && left > 0) parts.push(leftWords.replace("%s", duration(left)));
  words.textContent = parts.join(", ");
}
