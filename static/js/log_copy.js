// What is copied of a log is its text: no numbers, no times, no breaks where a line is wrapped, nothing of our own words.
import { LineDecoder } from "panel/log_text";
import { MOST_BYTES } from "panel/log_source";

export function copyAsText(view) {
  view.on(view.view, "copy", (event) => {
    const text = selectedText(view);
    if (text === null) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", text);
  });
}

/** null: nothing is selected here. */
function selectedText(view) {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const selected = selection.getRangeAt(0);
  const parts = [];
  view.rows.forEach((row) => {
    const text = row.lastElementChild;
    if (!selected.intersectsNode(text) || row.dataset.kind) return;
    const range = document.createRange();
    range.selectNodeContents(text);
    const cut = text.querySelector(":scope > .cut");
    if (cut) range.setEndBefore(cut);
    if (selected.compareBoundaryPoints(Range.START_TO_START, range) > 0) range.setStart(selected.startContainer, selected.startOffset);
    if (selected.compareBoundaryPoints(Range.END_TO_END, range) < 0) range.setEnd(selected.endContainer, selected.endOffset);
    parts.push(range.toString());
  });
  return parts.length ? parts.join("\n") : null;
}

/** All characters of the lines from byte `offset` to `end`, also of those that the page shows cut; null: it is too much. */
export async function wholeText(source, offset, end) {
  if (end - offset > MOST_BYTES) return null;
  const { bytes } = await source.bytes({ offset, limit: end - offset });
  const decoder = new LineDecoder(offset, Infinity);
  const lines = decoder.push(bytes).map(({ text }) => `${text}\n`);
  return lines.join("") + (decoder.open?.text ?? "");
}
