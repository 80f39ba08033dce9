// How a person likes charts to be drawn, and the controls for it: kept in this browser, for all jobs.

const KEY = "panel.charts";
const USUAL = { by: "step", logX: false, logY: false, smoothing: 0, isWide: false };

export class ChartLook {
  /** `changed(name)` is called after each change. Elements with data-chart-look="smoothing" are its controls. */
  constructor(root, changed) {
    const fixed = root.dataset.by ? { by: root.dataset.by } : {};
    this.controls = [...root.querySelectorAll("[data-chart-look]")];
    Object.assign(this, USUAL, this.controls.length ? recall() : {}, fixed);
    for (const control of this.controls) {
      const name = control.dataset.chartLook;
      this.#show(control, name);
      control.addEventListener(control.tagName === "BUTTON" ? "click" : "input", () => {
        this[name] = this.#read(control, name);
        for (const other of this.controls) if (other.dataset.chartLook === name) this.#show(other, name);
        keep(this);
        changed(name);
      });
    }
  }

  #read(control, name) {
    if (control.tagName === "BUTTON") return !this[name];
    if (control.type === "checkbox") return control.checked;
    return control.type === "range" ? Number(control.value) : control.value;
  }

  #show(control, name) {
    if (control.tagName === "BUTTON") control.ariaPressed = String(this[name]);
    else if (control.type === "checkbox") control.checked = this[name];
    else control.value = String(this[name]);
    const said = control.parentElement.querySelector("output");
    if (said) said.textContent = this[name] ? this[name].toFixed(2) : said.dataset.none;
  }
}

function recall() {
  let kept = {};
  try {
    kept = JSON.parse(localStorage.getItem(KEY) ?? "{}") ?? {};
  } catch { /* no storage, or something else wrote there */ }
  const fits = ([name, value]) => typeof value === typeof USUAL[name] && (name !== "by" || ["step", "wall", "relative"].includes(value)) && (name !== "smoothing" || (value >= 0 && value < 1));
  return Object.fromEntries(Object.entries(kept).filter(fits));
}

function keep(look) {
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(Object.keys(USUAL).map((name) => [name, look[name]]))));
  } catch { /* no storage, or none left */ }
}
