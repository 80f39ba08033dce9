// What was typed into a form and is not sent yet.

/** In this tab only, and without a word where the browser keeps nothing. */
export function draftAt(key) {
  const attempt = (what) => {
    try {
      return what();
    } catch {
      return null;
    }
  };
  return {
    read: () => attempt(() => JSON.parse(sessionStorage.getItem(key))),
    keep: (values) => attempt(() => sessionStorage.setItem(key, JSON.stringify(values))),
    forget: () => attempt(() => sessionStorage.removeItem(key)),
  };
}

/** htmx looks for what it has to do when the document is there. */
export function onceReady(what) {
  if (document.readyState === "complete") what();
  else addEventListener("DOMContentLoaded", what, { once: true });
}
