// Motes of Mischief: dice with powers (SPEC.md, I, Motes of Mischief).

const MOTES = ["light", "grey", "neutral", "blue", "red", "dark"];
const groupOf = (mote) => (MOTES.indexOf(mote) < 3 ? "redeemed" : "cursed");
const moteOf = (die) => die.slice(0, die.indexOf("@"));
const homeOf = (die) => Number(die.slice(die.indexOf("@") + 1));
const byMote = (one, other) => MOTES.indexOf(one) - MOTES.indexOf(other);
const inOrder = (one, other) => byMote(moteOf(one), moteOf(other)) || homeOf(one) - homeOf(other);

const TWIN_SOULS = {
  "light grey": "Pale Herald",
  "light neutral": "Gilded Dawn",
  "light blue": "Clear Tide",
  "light red": "Morning Ember",
  "light dark": "Eclipse",
  "grey neutral": "Quiet Harbour",
  "grey blue": "Rainwalker",
  "grey red": "Ash Warden",
  "grey dark": "Dusk Moth",
  "neutral blue": "Still Lagoon",
  "neutral red": "Amber Forge",
  "neutral dark": "Buried Lantern",
  "blue red": "Violet Storm",
  "blue dark": "Drowned Star",
  "red dark": "Ember Wraith",
};

class MischiefGame extends Game {
  begin() {
    this.pledges = [];
    this.prize = "none";
    this.cups = [];
    this.graveyard = []; // [die, seat that sent it]
    this.removed = [];
    this.stack = []; // [die, seat, target]
    this.actor = -1;
    this.waiting = [];
    this.immune = new Set();
    this.blocked = []; // [seat, group, seat of the Red's player]
    this.mustRaise = false;
    this.successor = -1;
    this.crown = "none";
    this.await("pledges", "pledges");
  }

  givePledges(pledges) {
    this.pledges = pledges;
    if (this.rules.stakes === "yes") this.await("stakes", "stakes");
    else this.afterStakes();
  }

  afterStakes() {
    this.await("prize", "roll");
  }

  // A public die: the prize, or the roll of the Red on top of the stack.
  giveDie(face) {
    if (this.phase === "prize") {
      this.prize = MOTES[face - 1];
      const motes = MOTES.filter((mote) => mote !== this.prize);
      this.cups = this.live.map((live, seat) => (live ? motes.map((mote) => `${mote}@${seat}`) : []));
      return this.beginTurn();
    }
    const [, seat, target] = this.stack.pop();
    this.blocked.push([target, face % 2 ? "cursed" : "redeemed", seat]);
    this.afterEffect();
  }

  beginTurn() {
    this.blocked = this.blocked.filter(([, , seat]) => seat !== this.leader);
    this.openWindow("sunset");
  }

  // Windows

  openWindow(phase) {
    this.phase = phase;
    this.waiting = this.clockwise(this.leader);
    this.askWindow();
  }

  askWindow() {
    while (this.waiting.length) {
      const seat = this.waiting.shift();
      if (this.canPlay(seat)) return this.await(this.phase, "move", seat);
    }
    if (this.phase === "sunset") this.await("night", "deal");
    else if (this.phase === "night") this.await("bidding", "move", this.leader);
    else this.endTurn();
  }

  windowAfter(seat) {
    this.waiting = this.clockwise(seat + 1);
    this.askWindow();
  }

  get group() {
    return this.phase === "sunset" || this.phase === "sunrise" ? "redeemed" : "cursed";
  }

  isBlocked(seat, group) {
    return this.blocked.some(([blocked, which]) => blocked === seat && which === group);
  }

  canPlay(seat) {
    return this.graveyard.some(([die, sender]) => sender === seat && this.playable(die, seat));
  }

  // Whether the seat may play the die, which it sent to the graveyard, in this phase, with some target.
  playable(die, seat) {
    const mote = moteOf(die);
    if (groupOf(mote) !== this.group || this.isBlocked(seat, this.group)) return false;
    if (mote === "grey") return !this.immune.has(seat);
    if (mote === "neutral") return this.cups[seat].some((other) => moteOf(other) !== "neutral");
    if (mote === "light" || mote === "dark") return this.graveyard.length > 1;
    return mote === "red";
  }

  hasBlue(seat) {
    return (
      !this.isBlocked(seat, "cursed") &&
      this.graveyard.some(([die, sender]) => sender === seat && moteOf(die) === "blue")
    );
  }

  rolled() {
    this.hands = [];
    this.count = [];
    this.openWindow("night");
  }

  // Moves

  play(text) {
    if (this.phase === "discard") return this.discard(text);
    if (this.phase === "crown") return this.nameCrown(text);
    if (this.stack.length) {
      if (text === "pass") return this.askAnswer();
      return this.answer(text);
    }
    if (text.startsWith("play ")) return this.playDie(text);
    if (this.phase === "bidding") return super.play(text);
    if (text === "pass") return this.askWindow();
    throw new Illegal("a die or a pass is due");
  }

  inGraveyard(die) {
    return this.graveyard.find(([each]) => each === die);
  }

  takeFromGraveyard(die) {
    this.graveyard = this.graveyard.filter(([each]) => each !== die);
  }

  setCup(seat, dice) {
    this.cups[seat] = dice.sort(inOrder);
    this.dice[seat] = dice.length;
  }

  playDie(text) {
    const [, die, verb, target, ...rest] = text.split(" ");
    const seat = this.turn;
    const refuse = () => {
      throw new Illegal(`${text} is not allowed`);
    };
    const entry = this.inGraveyard(die);
    if (!entry || entry[1] !== seat || !this.playable(die, seat) || rest.length) refuse();
    const mote = moteOf(die);
    const verbs = { light: "take", grey: undefined, neutral: "swap", red: "on", dark: "destroy" };
    if (verb !== verbs[mote] || (mote === "grey") !== (target === undefined)) refuse();
    if (mote === "light" || mote === "dark") {
      if (target === die || !this.inGraveyard(target)) refuse();
    } else if (mote === "neutral") {
      if (!this.cups[seat].includes(target) || moteOf(target) === "neutral") refuse();
    } else if (mote === "red") {
      if (!/^[0-9]$/.test(target) || Number(target) === seat || !this.live[Number(target)]) refuse();
    }
    this.takeFromGraveyard(die);
    if (mote === "neutral") {
      this.graveyard.push([target, seat]);
      this.setCup(seat, [...this.cups[seat].filter((each) => each !== target), die]);
      return this.windowAfter(seat);
    }
    this.removed.push(die);
    if (mote === "light") {
      this.takeFromGraveyard(target);
      this.setCup(seat, [...this.cups[seat], target]);
      return this.windowAfter(seat);
    }
    if (mote === "grey") {
      this.immune.add(seat);
      return this.windowAfter(seat);
    }
    this.actor = seat;
    this.push(die, seat, mote === "red" ? Number(target) : target);
  }

  // The stack

  push(die, seat, target) {
    this.stack.push([die, seat, target]);
    this.askOthers();
  }

  get top() {
    return this.stack[this.stack.length - 1];
  }

  // Asks all others about the effect on top.
  askOthers() {
    const [, seat] = this.top;
    this.waiting = this.clockwise(seat + 1).filter((each) => each !== seat);
    this.askAnswer();
  }

  askAnswer() {
    while (this.waiting.length) {
      const seat = this.waiting.shift();
      if (this.hasBlue(seat)) return this.await(this.phase, "move", seat);
    }
    this.resolve();
  }

  answer(text) {
    const die = text.startsWith("play ") ? text.slice(5) : "";
    const entry = this.inGraveyard(die);
    if (!entry || entry[1] !== this.turn || moteOf(die) !== "blue" || !this.hasBlue(this.turn))
      throw new Illegal(`${text} is not allowed`);
    this.takeFromGraveyard(die);
    this.removed.push(die);
    this.push(die, this.turn, this.top[0]);
  }

  resolve() {
    const [die, , target] = this.top;
    const mote = moteOf(die);
    if (mote === "red" && this.live[target]) return this.await(this.phase, "roll");
    this.stack.pop();
    if (mote === "blue") this.stack = this.stack.filter(([each]) => each !== target);
    else if (mote === "dark" && this.inGraveyard(target)) {
      this.takeFromGraveyard(target);
      this.removed.push(target);
    }
    this.afterEffect();
  }

  // An effect has left the stack from the top.
  afterEffect() {
    if (this.stack.length) return this.askOthers();
    const actor = this.actor;
    this.actor = -1;
    if (this.phase !== "bidding") return this.windowAfter(actor);
    this.waiting = [];
    if (!this.live[actor]) this.mustRaise = false;
    this.await("bidding", "move", this.liveFrom(actor));
  }

  // Bidding

  bid(quantity, face) {
    super.bid(quantity, face);
    this.mustRaise = false;
  }

  call(call) {
    if (this.mustRaise) throw new Illegal("a bid is due");
    if (call === "liar" && this.opened && this.immune.has(this.bidder) && this.canRaise()) {
      this.immune.delete(this.bidder);
      this.mustRaise = true;
      return;
    }
    super.call(call);
  }

  canRaise() {
    for (let quantity = MOST_QUANTITY; quantity > 0; quantity--) {
      for (let face = 1; face <= 6; face++) if (this.mayBid(quantity, face)) return true;
    }
    return false;
  }

  judge(truth) {
    const caller = this.challenge.seat;
    const loser = truth ? caller : this.bidder;
    const owes = this.live[loser];
    this.successor = this.nextLeader(caller, loser, owes ? [loser] : []);
    this.settled();
    if (!owes) return this.openWindow("sunrise");
    if (this.cups[loser].length === 1) return this.bury(loser, this.cups[loser][0]);
    this.await("discard", "move", loser);
  }

  void() {
    this.successor = this.leader;
    this.settled();
    this.openWindow("sunrise");
  }

  settled() {
    this.bids = [];
    this.challenge = null;
    this.clearDeparted();
  }

  clearDeparted() {
    super.clearDeparted();
    this.cups.forEach((cup, seat) => {
      if (this.live[seat]) return;
      this.removed.push(...cup);
      this.cups[seat] = [];
    });
  }

  discard(text) {
    const die = text.startsWith("lose ") ? text.slice(5) : "";
    if (!this.cups[this.turn].includes(die)) throw new Illegal(`${text} is not allowed`);
    this.bury(this.turn, die);
  }

  bury(seat, die) {
    this.setCup(
      seat,
      this.cups[seat].filter((each) => each !== die),
    );
    this.graveyard.push([die, seat]);
    this.openWindow("sunrise");
  }

  endTurn() {
    const out = this.clockwise(this.leader).filter((seat) => this.dice[seat] === 0);
    if (out.length) {
      this.exit(out, "lost");
      out.forEach((seat) => this.endEffects(seat));
    }
    if (this.finishIfDecided()) return;
    this.leader = this.liveFrom(this.successor);
    this.successor = -1;
    this.round++;
    this.beginTurn();
  }

  endEffects(seat) {
    this.immune.delete(seat);
    this.blocked = this.blocked.filter(([blocked, , by]) => blocked !== seat && by !== seat);
  }

  // The end

  decide() {
    this.winners = this.findWinners();
    this.clearDeparted();
    this.bids = [];
    this.challenge = null;
    this.stack = [];
    this.actor = -1;
    this.waiting = [];
    this.immune.clear();
    this.blocked = [];
    this.mustRaise = false;
    this.successor = -1;
    const [winner] = this.winners;
    const cup = this.live[winner] && this.cups.length ? this.cups[winner] : [];
    if (cup.length > 1) return this.await("crown", "move", winner);
    if (cup.length) this.crown = cup[0];
    this.await("over", "over");
  }

  nameCrown(text) {
    const die = text.startsWith("crown ") ? text.slice(6) : "";
    if (!this.cups[this.turn].includes(die)) throw new Illegal(`${text} is not allowed`);
    this.crown = die;
    this.await("over", "over");
  }

  get earners() {
    if (this.crown === "none") return [];
    const group = groupOf(moteOf(this.crown));
    return [...this.pledges.keys()].filter((seat) => this.pledges[seat] === group);
  }

  get soul() {
    return this.crown === "none" ? "" : TWIN_SOULS[[this.prize, moteOf(this.crown)].sort(byMote).join(" ")];
  }

  get roundRuns() {
    if (this.phase === "night") return this.awaits !== "deal";
    return ["bidding", "siding", "showdown"].includes(this.phase);
  }

  depart(seat, reason) {
    const { phase, turn, awaits } = this;
    const dealt = this.roundRuns;
    this.exit([seat], reason);
    if (phase === "crown") {
      this.clearDeparted();
      return this.await("over", "over");
    }
    const top = this.top;
    const stacked = this.stack.length > 0;
    this.stack = this.stack.filter(([, player]) => player !== seat);
    this.endEffects(seat);
    if (this.live.filter(Boolean).length <= 1) return this.decide();
    if (!dealt) this.clearDeparted();
    if (this.leader === seat) this.leader = this.liveFrom(seat);
    this.waiting = this.waiting.filter((each) => each !== seat);
    if (turn === seat) this.mustRaise = false;
    if (stacked) {
      if (!this.stack.length || this.top !== top) this.afterEffect();
      else if (awaits === "roll") {
        if (top[2] === seat) this.resolve();
      } else if (turn === seat) this.askAnswer();
      return;
    }
    if (turn !== seat) return;
    if (phase === "discard") this.openWindow("sunrise");
    else if (phase === "bidding") this.turn = this.liveFrom(seat);
    else this.askWindow();
  }

  mischiefState() {
    return [
      this.pledges,
      this.prize,
      this.cups,
      this.graveyard,
      this.removed,
      this.stack,
      this.actor,
      this.waiting,
      [...this.immune].sort((one, other) => one - other),
      this.blocked,
      this.mustRaise ? "yes" : "no",
      this.successor,
      this.crown,
    ];
  }
}
