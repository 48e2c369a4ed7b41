// The engine: a match without any network (SPEC.md, Part I). Motes of Mischief are in mischief.js.

// A move that the rules do not allow.
class Illegal extends Error {}

class Game {
  constructor(rules, players) {
    this.rules = rules;
    this.players = players;
    this.round = 1;
    this.phase = "bidding";
    this.awaits = "deal";
    this.leader = 0;
    this.turn = -1;
    this.dice = Array(players).fill(rules.dice);
    this.live = Array(players).fill(true);
    this.bids = [];
    this.challenge = null; // { seat, call, sides: [[seat, side] …] }
    this.palifico = false;
    this.dropped = new Set();
    this.hands = [];
    this.count = [];
    this.exits = [];
    this.purses = []; // once the stakes are open, by seat [bet, funds, tickets staked, tickets owned]
    this.winners = [];
    this.begin();
  }

  begin() {
    if (this.rules.stakes === "yes") this.await("stakes", "stakes");
  }

  await(phase, awaits, turn = -1) {
    this.phase = phase;
    this.awaits = awaits;
    this.turn = turn;
  }

  // Live seats clockwise from `seat`, itself first.
  clockwise(seat) {
    const seats = [];
    for (let step = 0; step < this.players; step++) {
      const next = (seat + step) % this.players;
      if (this.live[next]) seats.push(next);
    }
    return seats;
  }

  liveFrom(seat) {
    return this.clockwise(seat)[0];
  }

  get over() {
    return this.awaits === "over";
  }

  // Stakes by seat: [bet, funds, tickets staked, tickets owned], or null for a player who opened none.
  giveStakes(stakes) {
    this.purses = stakes.map((stake) => stake || [0, 0, 0, 0]);
    this.afterStakes();
  }

  afterStakes() {
    this.await("bidding", "deal");
  }

  rolled() {
    this.hands = [];
    this.count = [];
    this.await("bidding", "move", this.leader);
  }

  // Plays a move of the seat on turn, or throws Illegal and changes nothing.
  play(text) {
    if (this.phase === "siding") return this.side(text);
    if (this.phase !== "bidding") throw new Illegal("no such move is due");
    const bid = /^([1-9][0-9]{0,2})x([1-6])$/.exec(text);
    if (bid) return this.bid(Number(bid[1]), Number(bid[2]));
    if (text === "liar" || text === "exact") return this.call(text);
    throw new Illegal("that is no move");
  }

  get opened() {
    return this.bids.length > 0;
  }

  mayBid(quantity, face) {
    if (quantity < 1 || quantity > MOST_QUANTITY || face < 1 || face > 6) return false;
    const ones = this.rules["ones-bid"];
    if (!this.opened) {
      return !(face === 1 && ones === "not-opening" && !this.palifico);
    }
    const [standing, standingFace] = this.bids[this.bids.length - 1];
    if (face === 1 && ones === "opening-only" && (this.palifico ? standingFace !== 1 : this.bids[0][1] !== 1))
      return false;
    if (this.palifico && face !== standingFace && this.dice[this.turn] !== 1) return false;
    return RAISES[this.palifico ? "standard" : this.rules.raise](quantity, face, standing, standingFace, this.bids);
  }

  bid(quantity, face) {
    if (!this.mayBid(quantity, face)) throw new Illegal(`${quantity}x${face} may not be bid`);
    this.bids.push([quantity, face, this.turn]);
    this.turn = this.liveFrom(this.turn + 1);
  }

  call(call) {
    if (!this.opened) throw new Illegal("there is no bid to call");
    if (call === "exact" && (this.rules.exact === "none" || this.round > LAST_ROUND_OF_EXACT))
      throw new Illegal("exact may not be called");
    this.challenge = { seat: this.turn, call, sides: [] };
    this.askSides();
  }

  get bidder() {
    return this.bids[this.bids.length - 1][2];
  }

  askSides() {
    const { seat, call, sides } = this.challenge;
    const sided = new Set(sides.map(([each]) => each));
    const asked = this.clockwise(seat + 1).filter((each) => each !== seat && each !== this.bidder && !sided.has(each));
    if (this.rules.siding === "yes" && call === "liar" && asked.length) this.await("siding", "move", asked[0]);
    else this.await("showdown", "hands");
  }

  side(text) {
    if (text !== "accuser" && text !== "accused") throw new Illegal("a side is due");
    this.challenge.sides.push([this.turn, text]);
    this.askSides();
  }

  get onesWild() {
    if (this.palifico || this.rules.wild === "never") return false;
    return this.rules.wild === "ones" || this.bids[0][1] !== 1;
  }

  // The showdown: hands by seat, faces ascending, null for a cup that stays shut.
  giveHands(hands) {
    const [quantity, face] = this.bids[this.bids.length - 1];
    const wild = this.onesWild && face !== 1;
    let counted = 0;
    let unknown = 0;
    this.hands = hands.map((faces, seat) => {
      if (!faces) {
        unknown += this.dice[seat];
        return this.dice[seat] ? "unknown" : [];
      }
      for (const each of faces) if (each === face || (wild && each === 1)) counted++;
      return faces;
    });
    this.count = [counted];
    const surelyWrong = counted + unknown < quantity;
    if (this.challenge.call === "liar") {
      if (counted >= quantity) this.judge(true);
      else if (surelyWrong) this.judge(false);
      else this.void();
    } else if (counted > quantity || surelyWrong) this.judge(false);
    else if (unknown === 0) this.judge(true);
    else this.void();
  }

  // The verdict: whether the bid is true (after liar), or exact is right.
  judge(truth) {
    const { seat: caller, call, sides } = this.challenge;
    const bidder = this.bidder;
    const before = this.dice.slice();
    const lose = (seat) => {
      if (this.live[seat]) this.dice[seat]--;
    };
    let loser;
    if (call === "exact") {
      loser = truth ? bidder : caller;
      if (!truth) lose(caller);
      else if (this.rules.exact === "others-lose")
        for (let seat = 0; seat < this.players; seat++) seat !== caller && lose(seat);
      else if (this.live[caller] && this.dice[caller] < this.cap) this.dice[caller]++;
    } else {
      loser = truth ? caller : bidder;
      if (this.rules.verdict === "loser-loses-die") lose(loser);
      else {
        const right = truth ? "accused" : "accuser";
        const side = new Set(sides.filter(([, each]) => each === right).map(([seat]) => seat));
        side.add(truth ? bidder : caller);
        side.forEach(lose);
      }
    }
    this.settle(caller, loser, before);
  }

  get cap() {
    return this.rules["dice-cap"] === "none" ? 99 : this.rules["dice-cap"];
  }

  nextLeader(caller, loser, changed) {
    if (this.rules["next-leader"] === "caller") return caller;
    if (this.rules["next-leader"] === "loser") return loser;
    return changed.length === 1 ? changed[0] : caller;
  }

  settle(caller, loser, before) {
    const changed = [...this.dice.keys()].filter((seat) => this.dice[seat] !== before[seat]);
    let leader = this.nextLeader(caller, loser, changed);
    const around = this.clockwise(caller);
    let palifico = false;
    if (this.rules.palifico === "yes" && this.rules.dice > 1) {
      const drops = around.filter((seat) => before[seat] === 2 && this.dice[seat] === 1 && !this.dropped.has(seat));
      drops.forEach((seat) => this.dropped.add(seat));
      if (drops.length) {
        palifico = true;
        leader = drops[0];
      }
    }
    const out = around.filter((seat) => this.dice[seat] === 0);
    if (out.length) this.exit(out, this.rules.goal === "first-out" ? "finished" : "lost");
    this.clearDeparted();
    if (this.finishIfDecided()) return;
    this.palifico = palifico;
    this.nextRound(leader);
  }

  void() {
    this.clearDeparted();
    this.nextRound(this.leader);
  }

  nextRound(leader) {
    this.bids = [];
    this.challenge = null;
    this.round++;
    this.leader = this.liveFrom(leader);
    this.await("bidding", "deal");
  }

  exit(seats, reason) {
    seats.forEach((seat) => {
      this.live[seat] = false;
    });
    this.exits.push([seats, reason]);
  }

  clearDeparted() {
    this.live.forEach((live, seat) => {
      if (!live) this.dice[seat] = 0;
    });
  }

  // Ends the match if at most one player is live.
  finishIfDecided() {
    if (this.live.filter(Boolean).length > 1) return false;
    this.decide();
    return true;
  }

  decide() {
    this.winners = this.findWinners();
    this.bids = [];
    this.challenge = null;
    this.clearDeparted();
    this.await("over", "over");
  }

  // The seats on the first place.
  findWinners() {
    const finished = this.exits.find(([, reason]) => reason === "finished");
    if (finished) return finished[0];
    const last = this.live.indexOf(true);
    return last >= 0 ? [last] : this.exits[this.exits.length - 1][0];
  }

  // Seats that earn a run ticket, and the name of the Twin Soul: without motes there are none.
  get earners() {
    return [];
  }

  get soul() {
    return "";
  }

  get roundRuns() {
    return this.awaits === "move" || this.awaits === "hands";
  }

  // A player concedes or is evicted.
  depart(seat, reason) {
    this.exit([seat], reason);
    if (this.finishIfDecided()) return;
    if (!this.roundRuns) this.dice[seat] = 0;
    if (this.leader === seat) this.leader = this.liveFrom(seat);
    if (this.turn !== seat) return;
    if (this.phase === "siding") this.askSides();
    else this.turn = this.liveFrom(seat);
  }

  canonicalState() {
    const seatsOf = (flags) => flags.map((flag, seat) => (flag ? seat : -1)).filter((seat) => seat >= 0);
    const challenge = this.challenge ? [this.challenge.seat, this.challenge.call, this.challenge.sides] : [];
    const state = [
      wireRuleset(this.rules),
      this.players,
      this.round,
      this.phase,
      this.awaits,
      this.leader,
      this.turn,
      this.dice,
      seatsOf(this.live),
      this.bids,
      challenge,
      this.palifico ? "yes" : "no",
      [...this.dropped].sort((one, other) => one - other),
      this.hands,
      this.count,
      this.exits,
    ];
    if (this.rules.motes === "yes") state.push(this.mischiefState());
    if (this.rules.stakes === "yes") state.push(this.purses);
    return state;
  }
}

const newGame = (rules, players) =>
  rules.motes === "yes" ? new MischiefGame(rules, players) : new Game(rules, players);
