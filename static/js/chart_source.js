// Where charts have their lines from: the metrics of one job or one host, as the API has them. Answers are null when there is none
// now: the next news asks again.

export class Source {
  attempts = new Set(); // numbers of those that measured something

  /**
   * `address`: "/api/v1/jobs/17/metrics". `word` begins the names of its lines, where there are several sources. Of `isOneLine`
   * there is the first rank of the last attempt that measured a metric, and no other.
   */
  constructor(address, { word = "", hasMarks = false, isOneLine = false } = {}) {
    this.address = address;
    this.word = word;
    this.hasMarks = hasMarks;
    this.isOneLine = isOneLine;
  }

  /** A page of {results: [{title, is_sampled, names: [{name, line}]}], next_cursor, count, attempts, last_ms}. */
  async charts(query) {
    const answer = await this.#load("charts", query);
    if (answer && this.isOneLine) return nameByName(answer);
    for (const attempt of answer?.attempts ?? []) this.attempts.add(attempt);
    return answer;
  }

  /** [{attempt, rank, origin_ms, buckets}] of one metric. */
  async lines(name, query) {
    const answer = await this.#load("lines", { name, ...query, ...(this.isOneLine && { rank: 0 }) });
    if (answer && this.isOneLine) return lastAttempt(answer.lines);
    for (const { attempt } of answer?.lines ?? []) if (attempt) this.attempts.add(attempt);
    return answer?.lines ?? null;
  }

  /** [{kind, attempt, at, step, name}] */
  async marks() {
    return this.hasMarks ? ((await this.#load("marks", {}))?.results ?? []) : [];
  }

  link(what, query) {
    return `${this.address}/${what}?${query instanceof URLSearchParams ? query : new URLSearchParams(query)}`;
  }

  async #load(what, query) {
    try {
      const response = await fetch(this.link(what, query), { headers: { Accept: "application/json" } });
      return response.ok ? await response.json() : null;
    } catch {
      return null;
    }
  }
}

/** A chart for each name, so that a line is all that a source has in it. */
export function nameByName(answer) {
  const results = answer.results.flatMap((chart) => chart.names.map(({ name }) => ({ ...chart, title: name, names: [{ name, line: "" }] })));
  return { ...answer, results, count: answer.count + results.length - answer.results.length };
}

/** One line, or none. */
export function lastAttempt(lines) {
  return lines.toSorted((one, other) => (one.attempt ?? 0) - (other.attempt ?? 0)).slice(-1);
}
