// Purses as a transcript shows them: what players bring, the entry that freezes a stake, and what the match changes
// (SPEC.md, I, Stakes, II.3, II.4 and II.11).

const PURSE_TAG = "p2pdice/3/purse";
const FREEZE = 2;
const NEWCOMERS_FUNDS = 1000;
const MOST_COINS = 10 ** 12;
const MOST_FROZEN = 15; // one more is frozen in the match
const MOST_SOULS = 32;
const LONGEST_SOUL = 40;

const isCoins = (value) => isInteger(value, 0, MOST_COINS);
const sumOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0);
const ascends = (keys, compare) => keys.every((key, at) => at === 0 || compare(keys[at - 1], key) < 0);

// The purse as a join record brings it, with the funds and the tickets that its player owns in the match.
function readPurse(fields) {
  const wrong = (reason) => new Altered("encoding", `a join record is wrong: ${reason} of the purse`);
  if (!Array.isArray(fields) || fields.length !== 7) throw wrong("the form");
  const [key, height, head, balance, frozen, tickets, souls] = fields;
  if (!isBytes(key, 32) || !isBytes(head, 32)) throw wrong("the key or the head");
  if (!isInteger(height, 0, 4294967294)) throw wrong("the height"); // an entry follows
  if (!isCoins(balance) || !isCoins(tickets)) throw wrong("the balance or the tickets");
  const isStake = (item) =>
    Array.isArray(item) &&
    item.length === 4 &&
    isBytes(item[0], 32) &&
    isCoins(item[1]) &&
    isCoins(item[2]) &&
    isInteger(item[3], 0, 4294967295);
  if (!Array.isArray(frozen) || frozen.length > MOST_FROZEN || !frozen.every(isStake)) throw wrong("a frozen stake");
  if (!ascends(frozen.map(([match]) => match), compareBytes)) throw wrong("the order of the frozen stakes");
  const funds = balance - sumOf(frozen.map(([, bet]) => bet));
  const owned = tickets - sumOf(frozen.map(([, , staked]) => staked));
  if (funds < 0 || owned < 0) throw wrong("more is frozen than there is, out");
  const isName = (name) => isText(name, 1, LONGEST_SOUL) && utf8.encode(name).length <= LONGEST_SOUL;
  const isSoul = (item) =>
    Array.isArray(item) && item.length === 2 && isName(item[0]) && isInteger(item[1], 1, MOST_COINS);
  if (!Array.isArray(souls) || souls.length > MOST_SOULS || !souls.every(isSoul)) throw wrong("a soul");
  if (!ascends(souls.map(([name]) => utf8.encode(name)), compareBytes)) throw wrong("the order of the souls");
  return { key, height, head, funds, owned };
}

// The data of the entry that freezes a stake of this match on the head that was brought.
function freezeEntry({ key, height, head }, match, bet, tickets) {
  return encode([PURSE_TAG, key, height + 1, head, FREEZE, [match, bet, tickets]]);
}

// What a match that is over brings: `stakes` by roster index [bet, tickets], or null for who opened none.
function accountOf(game, seats, stakes) {
  const turns = (seat) => (seat - game.leader + game.players) % game.players;
  const winners = game.winners.slice().sort((one, other) => turns(one) - turns(other));
  return {
    stakes: stakes.map((stake) => stake || [0, 0]),
    winners: winners.map((seat) => seats[seat]),
    earners: game.earners.map((seat) => seats[seat]).sort(ascending),
    soul: game.soul,
  };
}

const encodeAccount = ({ stakes, winners, earners, soul }) => encode([stakes, winners, earners, soul]);

// The changes by roster index: [coins, tickets]. What is won above 10^12 is lost. Squares of bets need more than 53
// bits.
function changesOf({ stakes, winners, earners }, funds) {
  const shared = (total, place) => {
    const count = BigInt(winners.length);
    return total / count + (BigInt(place) < total % count ? 1n : 0n);
  };
  const pool = stakes.map(([bet]) => BigInt(bet)).reduce((sum, bet) => sum + bet, 0n);
  const staked = stakes.map(([, tickets]) => BigInt(tickets)).reduce((sum, tickets) => sum + tickets, 0n);
  return stakes.map(([bet, tickets], author) => {
    let coins = -BigInt(bet);
    let runs = BigInt(earners.includes(author) ? 1 : 0) - BigInt(tickets);
    const place = winners.indexOf(author);
    if (place >= 0) {
      coins += shared(pool, place);
      if (funds[author] > 0) coins += (BigInt(bet) * BigInt(bet)) / BigInt(funds[author]);
      runs += shared(staked, place);
    }
    return [coins, runs].map((change) => Math.min(Number(change), MOST_COINS));
  });
}
