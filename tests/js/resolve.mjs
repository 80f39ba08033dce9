// `node --import` this: the names of the pages' import map (templates/_scripts.html), for tests outside of a browser.
import { register } from "node:module";

const hook = `
const scripts = ${JSON.stringify(new URL("../../static/js/", import.meta.url).href)};
export function resolve(name, context, next) {
  if (!name.startsWith("panel/")) return next(name, context);
  return { url: scripts + name.slice(6) + ".js", format: "module", shortCircuit: true };
}
export async function load(url, context, next) {
  return next(url, url.startsWith(scripts) ? { ...context, format: "module" } : context);
}`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
