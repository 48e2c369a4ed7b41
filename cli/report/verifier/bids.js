// Which bids raise which (SPEC.md, I, A round).

const MOST_QUANTITY = 999;
const LAST_ROUND_OF_EXACT = 999;

const raisesByStandard = (n, g, q, f) => n > q || (n === q && g > f);

// Whether n dice of face g raise q dice of face f. `made` are the bids of the round.
const RAISES = {
  standard: raisesByStandard,
  strict: (n, g, q, f) => (g === f && n > q) || (n === q && g > f),
  "reset-quantity": (n, g, q, f) => (g === f && n > q) || g > f,
  either: (n, g, q, f, made) => (n > q || g > f) && !made.some(([quantity, face]) => quantity === n && face === g),
  "half-ones": (n, g, q, f) => {
    if (f !== 1 && g === 1) return 2 * n >= q;
    if (f === 1 && g !== 1) return n >= 2 * q + 1;
    if (f === 1 && g === 1) return n > q;
    return raisesByStandard(n, g, q, f);
  },
  "double-ones": (n, g, q, f) => {
    const weight = (quantity, face) => (face === 1 ? 2 * quantity : quantity);
    return weight(n, g) > weight(q, f) || (weight(n, g) === weight(q, f) && g > f);
  },
};
