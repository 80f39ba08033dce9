// Links to a log, as the fragment of a job's address: "#2.0.output:L120-L140" are lines of attempt 2, rank 0, part output; "#L120" is
// one of the log that is shown unasked; "#2.0.output:end" is the end of a log. Lines are numbered from 1, as they are shown. Pure.

const LINK = /^#(?:(\d{1,9})\.(\d{1,9})\.([a-z]{1,20}):)?L(\d{1,15})(?:-L?(\d{1,15}))?$/;
const END = /^#(\d{1,9})\.(\d{1,9})\.([a-z]{1,20}):end$/;

/** {attempt, rank, part, from, to}, the first three null where it does not say; of an end no lines. null: it is no such link. */
export function parseLink(fragment) {
  const end = END.exec(fragment);
  if (end) return { attempt: end[1], rank: end[2], part: end[3], from: null, to: null };
  const found = LINK.exec(fragment);
  if (!found) return null;
  const [one, other] = [Number(found[4]), Number(found[5] ?? found[4])];
  const [from, to] = [Math.max(1, Math.min(one, other)), Math.max(1, one, other)];
  return { attempt: found[1] ?? null, rank: found[2] ?? null, part: found[3] ?? null, from, to };
}

export function formatLink({ attempt, rank, part, from, to }) {
  const lines = from === to ? `L${from}` : `L${from}-L${to}`;
  return `#${attempt === null ? "" : `${attempt}.${rank}.${part}:`}${lines}`;
}
