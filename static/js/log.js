// The log in a job's page: the view of its lines, and all that one does with them. Works on [data-log], as templates/jobs/_log.html
// draws it.
import { behave } from "panel/behaviour";
import { LogChoice } from "panel/log_choice";
import { copyAsText } from "panel/log_copy";
import { LogFind } from "panel/log_find";
import { LogGo } from "panel/log_go";
import { keep, recall } from "panel/log_kept";
import { listenToKeys } from "panel/log_keys";
import { parseLink } from "panel/log_links";
import { LogPick } from "panel/log_pick";
import { LogTimes } from "panel/log_times";
import { LogView } from "panel/log_view";

behave("[data-log]", (pane) => {
  const view = new LogView(pane);
  const choice = new LogChoice(view, (key) => view.open(key));
  const times = new LogTimes(view);
  const pick = new LogPick(view, () => choice.names());
  const find = new LogFind(view);
  const go = new LogGo(view, { times, find, pick });
  const wrap = wrapping(view);
  copyAsText(view);
  selecting(view);
  downloading(view);
  listenToKeys(view, {
    search: () => find.focus(),
    next: () => find.next(),
    previous: () => find.previous(),
    down: () => view.rows.scrollBy(1),
    up: () => view.rows.scrollBy(-1),
    start: () => view.toStart(),
    end: () => view.toEnd(),
    go: () => go.open(),
    error: () => find.errors(),
    wrap,
    times: () => times.turn(),
    follow: () => (view.isFollowing ? view.pause() : view.toEnd()),
    help: () => pane.querySelector("[data-log-keys]").togglePopover(),
    leave: () => { find.clear(); pick.clear(); },
  });
  view.on(window, "hashchange", () => follow());
  view.on(document, "click", ({ target }) => { // also where the address says so already
    const link = target.closest("a[data-log-line]");
    if (!link) return;
    pane.scrollIntoView({ block: "nearest" });
    if (link.hash === location.hash) follow();
  });
  if (!follow()) choice.choose();
  return () => view.stop();

  /** To the lines that the address names; false: it names none. */
  function follow() {
    const link = parseLink(location.hash);
    const key = link && choice.of(link);
    if (!key) return false;
    if (link.from === null) choice.choose();
    else show(link, key);
    return true;
  }

  async function show({ from, to }, key) {
    choice.isHeld = true;
    const isShown = await go.toLine(from, key);
    choice.isHeld = false;
    if (isShown) pick.pick(from, to);
    else choice.choose();
  }
});

/** Long lines, wrapped or not; returns the switch. */
function wrapping(view) {
  const button = view.pane.querySelector("[data-log-wrap]");
  const turn = (isWrapped) => {
    view.rows.wrap(isWrapped);
    button.setAttribute("aria-pressed", String(isWrapped));
    keep("wrap", isWrapped);
    view.draw();
  };
  if (recall("wrap", [false, true])) turn(true);
  const toggle = () => turn(!view.rows.isWrapped);
  view.on(button, "click", toggle);
  return toggle;
}

/** Whoever selects text wants it to stay. */
function selecting(view) {
  view.on(document, "selectionchange", () => {
    const selection = getSelection();
    if (view.isFollowing && !selection.isCollapsed && view.view.contains(selection.anchorNode)) view.pause();
  });
}

function downloading(view) {
  const link = view.pane.querySelector("[data-log-link]");
  view.addEventListener("open", () => { link.href = view.source.address(); });
}
