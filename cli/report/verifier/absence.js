// Votes that close a step without somebody, as a reader of a transcript counts them (SPEC.md, II.6 and II.7).

const ascending = (one, other) => one - other;

// The authors of the ABSENTs and CLOSEs that make a majority for the entries, or null. `step` has base, left (before
// it) and live; `leaving` are the authors who leave by the entries; `voters` and `backers` are authors.
function elect(step, leaving, voters, backers) {
  const { base, left, live } = step;
  const most = Math.floor(base.size / 2) + 1;
  const staying = new Set([...base].filter((author) => !left.has(author)));
  const stay = new Set([...live].filter((author) => !leaving.has(author)));
  const remaining = [...staying].filter((author) => !leaving.has(author));
  if (remaining.length < most || !remaining.some((author) => live.has(author))) return null;
  const votes = voters.filter((author) => staying.has(author)).sort(ascending);
  const chosen = [...votes.filter((author) => stay.has(author)), ...votes.filter((author) => !stay.has(author))].slice(
    0,
    most,
  );
  if (chosen.length < most) return null;
  const need = Math.max(Math.ceil(stay.size / 2), Math.min(2, stay.size));
  const lacking = Math.max(0, need - chosen.filter((author) => stay.has(author)).length);
  const added = backers
    .filter((author) => stay.has(author) && !chosen.includes(author))
    .sort(ascending)
    .slice(0, lacking);
  const voices = new Set([...chosen, ...added].filter((author) => stay.has(author)));
  if (2 * voices.size < stay.size) return null;
  return { absents: added, closes: chosen.sort(ascending) };
}
