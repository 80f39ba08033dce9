// What a terminal's SGR sequences ("\x1b[1;31m") have set so far, as a look: {classes, fg, bg}. Pure, as log_text.js.
// The sixteen colours are classes of our own palette; those of the 256 beyond them, and true ones, come as they are, and
// log.css sees to it that they can be read in light and in dark.

const FLAGS = { 1: "bold", 2: "dim", 3: "italic", 4: "under", 7: "inverse", 9: "strike", 21: "under", 53: "over" };
const FLAGS_OFF = { 22: ["bold", "dim"], 23: ["italic"], 24: ["under"], 27: ["inverse"], 29: ["strike"], 55: ["over"] };

export const PLAIN = Object.freeze({ classes: "", fg: null, bg: null });

export class Style {
  look = PLAIN; // the same object as long as nothing changes
  #flags = new Set();
  #fg = null; // number of the sixteen, or "rgb(1 2 3)"
  #bg = null;

  read(parameters) {
    const parts = parameters === "" ? ["0"] : parameters.split(";");
    for (let i = 0; i < parts.length; i++) {
      if (parts[i].includes(":")) this.#readColons(parts[i].split(":").map(Number));
      else if (["38", "48", "58"].includes(parts[i])) i += this.#readColour(Number(parts[i]), parts.slice(i + 1).map(Number));
      else this.#set(Number(parts[i]));
    }
    this.#settle();
  }

  /** 38:5:n, 38:2:r:g:b, 38:2:space:r:g:b, 4:3 (a curly line) */
  #readColons([kind, ...rest]) {
    if (kind === 4) this.#set(rest[0] === 0 ? 24 : 4);
    else if (rest[0] === 2 && rest.length > 4) this.#readColour(kind, [2, ...rest.slice(2)]);
    else this.#readColour(kind, rest);
  }

  /** 5;n or 2;r;g;b; returns how many numbers it took. */
  #readColour(kind, [how, ...numbers]) {
    const colour = how === 5 ? indexed(numbers[0]) : how === 2 ? rgb(...numbers) : null;
    if (colour !== null && kind === 38) this.#fg = colour;
    if (colour !== null && kind === 48) this.#bg = colour;
    return how === 5 ? 2 : how === 2 ? 4 : 1;
  }

  #set(n) {
    if (n === 0) {
      this.#flags.clear();
      this.#fg = this.#bg = null;
    } else if (n in FLAGS) this.#flags.add(FLAGS[n]);
    else if (n in FLAGS_OFF) FLAGS_OFF[n].forEach((flag) => this.#flags.delete(flag));
    else if (n >= 30 && n <= 37) this.#fg = n - 30;
    else if (n >= 90 && n <= 97) this.#fg = n - 82;
    else if (n === 39) this.#fg = null;
    else if (n >= 40 && n <= 47) this.#bg = n - 40;
    else if (n >= 100 && n <= 107) this.#bg = n - 92;
    else if (n === 49) this.#bg = null;
  }

  #settle() {
    const classes = [...this.#flags, ...classOf("fg", this.#fg), ...classOf("bg", this.#bg)].join(" ");
    const look = { classes, fg: own(this.#fg), bg: own(this.#bg) };
    const { look: known } = this;
    if (look.classes !== known.classes || look.fg !== known.fg || look.bg !== known.bg) this.look = classes ? look : PLAIN;
  }
}

const classOf = (name, colour) => (colour === null ? [] : [`${name}-${typeof colour === "number" ? colour : "own"}`]);
const own = (colour) => (typeof colour === "string" ? colour : null);

function indexed(n) {
  if (!(n >= 0 && n <= 255)) return null;
  if (n < 16) return n;
  if (n >= 232) return rgb(8 + 10 * (n - 232), 8 + 10 * (n - 232), 8 + 10 * (n - 232));
  const level = (step) => (step === 0 ? 0 : 55 + 40 * step);
  return rgb(level(Math.floor((n - 16) / 36)), level(Math.floor((n - 16) / 6) % 6), level((n - 16) % 6));
}

function rgb(...numbers) {
  const [r, g, b] = numbers;
  return [r, g, b].every((n) => n >= 0 && n <= 255) ? `rgb(${r} ${g} ${b})` : null;
}
