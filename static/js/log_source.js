// Where a log comes from. `base` is the address of its bytes; GET takes workload, rank, part and either tail=BYTES or offset= and
// limit=, and answers bytes with X-Log-Offset, X-Log-Next, X-Log-Head, X-Log-Complete, X-Log-Line (number, from 0, of the line
// that the first byte belongs to) and X-Log-Gaps (JSON: [{offset, dropped_bytes, from_ms}, ...]). Below it: search, place, times.
import { signedOut } from "panel/live";

export const PIECE_BYTES = 256 * 1024;
export const MOST_BYTES = 4 * 1024 * 1024; // of one answer

/** An answer that says what is wrong: {status, code, fields}. */
export class Refused extends Error {
  constructor(status, { code = "", message = "", details = {} } = {}) {
    super(message || `HTTP ${status}`);
    this.status = status;
    this.code = code;
    this.fields = details;
  }
}

export class LogSource {
  key = ""; // "workload/rank/part"

  constructor(base) {
    this.base = base;
  }

  get parts() {
    return partsOf(this.key);
  }

  address(query = {}, path = "", key = this.key) {
    return `${this.base}${path && `/${path}`}?${new URLSearchParams({ ...partsOf(key), ...query })}`;
  }

  /** Bytes. Raises Refused, TypeError when nothing answers, or AbortError. */
  async bytes(query, signal) {
    const response = await this.#fetch(this.address(query), signal);
    const bytes = new Uint8Array(await response.arrayBuffer());
    const number = (name) => (response.headers.has(name) ? Number(response.headers.get(name)) : null);
    const offset = number("X-Log-Offset") ?? 0;
    const next = number("X-Log-Next") ?? offset + bytes.length;
    return {
      bytes,
      offset,
      next,
      head: number("X-Log-Head") ?? next,
      isComplete: response.headers.get("X-Log-Complete") === "true",
      line: number("X-Log-Line"),
      gaps: JSON.parse(response.headers.get("X-Log-Gaps") ?? "[]"),
    };
  }

  /** What `path` answers, of this log or another. Raises as `bytes`. */
  async json(path, query, signal, key = this.key) {
    const response = await this.#fetch(this.address(query, path, key), signal);
    return response.json();
  }

  async #fetch(address, signal) {
    const response = await fetch(address, { signal, headers: { Accept: "application/json" } });
    if (response.status === 401 || response.redirected) {
      signedOut();
      throw new Refused(401);
    }
    if (!response.ok) throw new Refused(response.status, await response.json().catch(() => ({})));
    return response;
  }
}

function partsOf(key) {
  const [workload, rank, part] = key.split("/");
  return { workload, rank, part };
}
