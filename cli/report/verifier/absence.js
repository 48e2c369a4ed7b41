// Votes that close a step without somebody, as a reader of a transcript counts them (SPEC.md, II.6 and II.7).

const ascending = (one, other) => one - other;

// Whether votes for the right value, ABSENTs before CLOSEs, are neither more nor fewer than a certificate. The step has
// kind, base, left (before it) and live; `leaving` are the authors who leave by the value. At the end nobody need be in
// the game any more.
function certifies({ kind, base, left, live, votes }, leaving) {
  const staying = (author) => live.has(author) && !leaving.has(author);
  const remaining = [...base].filter((author) => !left.has(author) && !leaving.has(author));
  const isEnd = kind === LOCK && !live.size;
  if (2 * remaining.length <= base.size || !(isEnd || remaining.some(staying))) return false;
  const absents = votes.filter(({ kind }) => kind === ABSENT).map(({ author }) => author);
  const closes = votes.slice(absents.length);
  const closers = closes.map(({ author }) => author);
  const half = Math.ceil([...live].filter(staying).length / 2);
  return (
    closers.length === Math.floor(base.size / 2) + 1 &&
    closes.every(({ body }) => body[0] === closes[0].body[0]) &&
    absents.length === Math.max(0, half - closers.filter(staying).length) &&
    absents.every((author) => staying(author) && !closers.includes(author))
  );
}
