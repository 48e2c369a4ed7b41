// Purses as a transcript shows them: what players bring, and what the match changes (SPEC.md, I, Stakes, II.3 and
// III.17).

const NEWCOMERS_FUNDS = 1000;
const MOST_COINS = 10 ** 12;

// The head of a purse in a join record: [era, height, id, balance, tickets].
function readHead(head) {
  const isAmongCoins = (value) => isInteger(value, 0, MOST_COINS);
  if (!isList(head, isNumber, isNumber, is32, isAmongCoins, isAmongCoins))
    throw new Altered("encoding", "a join record is wrong: the head of the purse");
  return head;
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
function changesOf({ stakes, winners, earners }, roster) {
  const shared = (total, place) => {
    const count = BigInt(winners.length);
    return total / count + (BigInt(place) < total % count ? 1n : 0n);
  };
  const [pool, staked] = [0, 1].map((part) => stakes.reduce((sum, stake) => sum + BigInt(stake[part]), 0n));
  return stakes.map(([bet, tickets], author) => {
    const { funds, owned } = roster[author];
    let coins = -BigInt(bet);
    let runs = BigInt(earners.includes(author) ? 1 : 0) - BigInt(tickets);
    const place = winners.indexOf(author);
    if (place >= 0) {
      coins += shared(pool, place);
      if (funds > 0) coins += (BigInt(bet) * BigInt(bet)) / BigInt(funds);
      runs += shared(staked, place);
    }
    return [Math.min(Number(coins), MOST_COINS - funds), Math.min(Number(runs), MOST_COINS - owned)];
  });
}
