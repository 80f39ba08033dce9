// Starts a behaviour on each element that asks for it, and ends it when the element has gone.

const behaviours = [];

/** Calls `start(element)` for what matches `selector`, now and when htmx brings more. What it returns is called at the end. */
export function behave(selector, start) {
  const behaviour = { selector, start, running: new Map() };
  behaviours.push(behaviour);
  look(behaviour);
}

function look({ selector, start, running }) {
  for (const [element, end] of running) {
    if (element.isConnected) continue;
    running.delete(element);
    end?.();
  }
  for (const element of document.querySelectorAll(selector)) {
    if (!running.has(element)) running.set(element, start(element));
  }
}

const lookAtAll = () => behaviours.forEach(look);
document.addEventListener("htmx:load", lookAtAll);
document.addEventListener("htmx:afterSettle", lookAtAll);
