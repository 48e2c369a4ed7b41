// The history of a match: which messages each step takes, and what follows from them (SPEC.md, II.5).

const FORMED = 2; // the first step after the match is formed, and the first that takes votes

const SCRIPTS = {
  forming: [LOCK],
  seating: [COMMIT, LOCK, REVEAL],
  stakes: [COMMIT, LOCK, STAKE],
  deal: [COMMIT, LOCK, REVEAL],
  turn: [MOVE],
  die: [COMMIT, LOCK, REVEAL],
  showdown: [LOCK, OPEN],
  end: [LOCK, null],
};
const SCRIPT_FOR = { stakes: "stakes", move: "turn", deal: "deal", roll: "die", hands: "showdown", over: "end" };
const NO_ID = new Uint8Array(0);

// Judgements of a message.
const FITS = { fits: true };
const PROVES_NOTHING = { fits: false, misconduct: null };
const misconduct = (reason) => ({ fits: false, misconduct: reason });

class Chronicle {
  constructor(genesis, tally) {
    this.genesis = genesis;
    this.tally = tally;
    this.players = genesis.players;
    this.everybody = new Set(genesis.roster.keys());
    this.game = null;
    this.seats = null; // roster indices by seat
    this.left = new Map(); // author: reason, in order of leaving
    this.commitments = null; // of the roll under way: { context, byAuthor }
    this.nextDeal = null; // those of the OPENs
    this.deal = null; // { context, byAuthor, beacon } of the hands on the table
    this.stakes = Array(this.players).fill(null); // that were opened, by roster index: [bet, tickets]
    this.claims = []; // [step, author]: a live player who was voted absent
    this.locks = []; // those that are closed: { step, tip, state, owed }
    this.playing = this.everybody; // in the game when the latest LOCK was closed
    this.carried = []; // authors of the WITNESSes that have been carried since
    this.base = this.everybody;
    this.root = { step: 0, tip: genesis.match };
    this.tips = [genesis.match];
    this.entries = []; // of each closed step: author to id, those of LOCKs too
    this.ended = false;
    this.script = "forming";
    this.at = 0;
    this.openStep();
  }

  get number() {
    return this.entries.length;
  }

  get tip() {
    return this.tips[this.number];
  }

  get live() {
    if (!this.game) return new Set([...this.everybody].filter((author) => !this.left.has(author)));
    return new Set(this.seats.filter((_, seat) => this.game.live[seat]));
  }

  seatOf(author) {
    return this.seats.indexOf(author);
  }

  get stateHash() {
    return hashOf("state", encode(this.game ? this.game.canonicalState() : []));
  }

  // Begins the step that the script is at.
  openStep() {
    const kind = SCRIPTS[this.script][this.at];
    const live = this.live;
    const step = {
      kind,
      live,
      base: this.base,
      left: new Set(this.left.keys()),
      owed: [],
      given: new Map(),
      votes: [],
    };
    if (kind === LOCK) {
      step.owed = [...this.playing].filter((author) => !this.left.has(author));
      step.state = this.stateHash;
    } else if (kind === MOVE) step.owed = [this.seats[this.game.turn]];
    else if (kind !== null) step.owed = [...live];
    step.owed.sort(ascending);
    this.step = step;
    this.ended = kind === null;
  }

  get awaited() {
    return this.step.owed.filter((author) => !this.step.given.has(author));
  }

  // Judges a message of the open step that is no vote, by the history before the step.
  async judge(message) {
    const { kind, owed, state } = this.step;
    const { author, body } = message;
    if (message.kind === RESULT || message.kind === WITNESS) return PROVES_NOTHING;
    if (!owed.includes(author)) return misconduct(this.ended ? "after the end of the match" : "without being asked");
    if (message.kind === RESIGN && this.number < FORMED) return PROVES_NOTHING;
    if (message.kind === RESIGN && kind !== LOCK) return FITS;
    if (message.kind !== kind) return misconduct("a message of a kind that the step does not take");
    switch (kind) {
      case COMMIT:
        return body.length === (this.script === "deal" ? 2 : 1) ? FITS : misconduct("a wrong number of commitments");
      case LOCK:
        return sameBytes(body, state) ? FITS : PROVES_NOTHING;
      case REVEAL:
        return this.keeps(author, "share-commitment", this.commitments, "share", body.subarray(0, 32))
          ? this.judgeCarried(body.subarray(32))
          : misconduct("a share that was not committed to");
      case OPEN:
        return this.keeps(author, "hand-commitment", this.deal, "hand", body[0])
          ? this.judgeCarried(body[3])
          : misconduct("a hand that was not committed to");
      case STAKE:
        return this.judgeStake(message);
      default:
        return this.legal(body);
    }
  }

  keeps(author, tag, { context, byAuthor }, which, secret) {
    const given = byAuthor.get(author);
    if (!given) return false;
    this.tally.add("commitments");
    return sameBytes(given[which], hashOf(tag, ...context, author, secret));
  }

  judgeStake({ author, body }) {
    const [bet, tickets, salt] = body;
    const { funds, owned } = this.genesis.roster[author];
    const given = this.commitments.byAuthor.get(author);
    const due = hashOf("stake-commitment", ...this.commitments.context, author, bet, tickets, salt);
    if (!given || !sameBytes(given.share, due)) return misconduct("a stake that was not committed to");
    return bet > funds || tickets > owned ? misconduct("a stake above the player's funds") : FITS; // nor above 10^12
  }

  legal(text) {
    try {
      copyOf(this.game).play(text);
      return FITS;
    } catch (error) {
      if (error instanceof Illegal) return misconduct(`an illegal move: ${text}`);
      throw error;
    }
  }

  // Judges the signatures that a message carries, of WITNESSes for the LOCK before the latest.
  async judgeCarried(carried) {
    const { step, tip, state } = this.locks[this.locks.length - 2];
    for (const [author, signature] of carriedIn(carried)) {
      const data = writeMessage(this.genesis.match, step, tip, author, WITNESS, state);
      const isWitness = this.everybody.has(author) && !this.left.has(author) && !this.playing.has(author);
      if (!isWitness || !(await this.genesis.roster[author].key.verifies(signature, data)))
        return misconduct("a message with a signature that is not a witness's");
      this.tally.add("signatures");
    }
    return FITS;
  }

  // Takes the next message of the file, if the history goes on with it. Returns whether it does.
  async take(message) {
    const { step, tip, author } = message;
    while (this.closeUnowed());
    if (this.ended) return false;
    if (isVote(message)) return this.takeVote(message);
    if (step !== this.number || !sameBytes(tip, this.tip) || this.step.votes.length) return false;
    const latest = Math.max(-1, ...this.step.given.keys());
    if (author <= latest || !(await this.judge(message)).fits) return false;
    this.step.given.set(author, message);
    if (!this.awaited.length) this.close();
    return true;
  }

  // Closes the open step if it is a LOCK that nobody owes. Returns whether it is.
  closeUnowed() {
    const isUnowed = this.step.kind === LOCK && !this.step.owed.length;
    if (isUnowed) this.close();
    return isUnowed;
  }

  takeVote(message) {
    const { base, left, owed, votes, given, state } = this.step;
    const { author, kind, body } = message;
    const { root } = this;
    if (this.number < FORMED || message.step !== root.step || !sameBytes(message.tip, root.tip)) return false;
    if (!base.has(author) || left.has(author)) return false;
    const entries = state || owed.map((each) => given.get(each)?.id || NO_ID);
    const value = [this.number, this.tip, entries];
    const [step, tip, named] = body[1];
    if (step !== this.number || !sameBytes(tip, this.tip) || Array.isArray(named) !== Array.isArray(entries))
      return false;
    const names = state
      ? !given.size && sameBytes(named, state)
      : named.length === owed.length && named.some((id) => !id.length);
    if (!names) return false;
    const latest = votes[votes.length - 1];
    if (latest && ((latest.kind === CLOSE && kind === ABSENT) || (latest.kind === kind && latest.author >= author)))
      return false;
    if (votes.some((vote) => contradict(vote, message))) return false;
    votes.push(message);
    // As many CLOSEs as a majority takes must close the step.
    if (votes.filter((vote) => vote.kind === CLOSE).length <= base.size / 2) return true;
    if (votes.every((vote) => sameValue(vote.body[1], value)) && certifies(this.step, new Set(this.leavers))) {
      this.tally.add("absence", votes.length);
      this.close();
      return true;
    }
    votes.pop();
    return false;
  }

  // Who leaves if the open step is closed with the messages that it has.
  get leavers() {
    const { kind, owed, given } = this.step;
    return kind === LOCK ? [] : owed.filter((author) => (given.get(author)?.kind ?? RESIGN) === RESIGN);
  }

  // Closes the open step with the messages that it has.
  close() {
    const { kind, given, votes } = this.step;
    const ids = new Map([...given].map(([author, { id }]) => [author, id]));
    const entries = [...this.everybody].map((author) => (kind !== LOCK && ids.get(author)) || NO_ID);
    this.tips.push(hashOf("step", this.tip, this.number, ...entries));
    const { leavers } = this;
    if (this.seats) leavers.sort((one, other) => this.seatOf(one) - this.seatOf(other));
    for (const author of leavers) {
      this.left.set(author, given.has(author) ? "conceded" : "evicted");
      if (!given.has(author)) this.claims.push([this.number, author]);
    }
    if (kind === LOCK) this.closeLock();
    const context = [this.genesis.match, this.number, this.tip];
    this.entries.push(ids);
    if (kind === LOCK || votes.length) this.root = { step: this.number, tip: this.tip };
    this.tally.add("history");
    const kept = new Map([...given].filter(([, message]) => message.kind === kind));
    for (const { body } of kept.values()) {
      if (kind === REVEAL) this.carried.push(...carriedIn(body.subarray(32)));
      if (kind === OPEN) this.carried.push(...carriedIn(body[3]));
    }
    this.proceed(context, kept, leavers);
    this.openStep();
  }

  closeLock() {
    const { owed, state, live } = this.step;
    this.locks.push({ step: this.number, tip: this.tip, state, owed });
    const base = [...this.locks.slice(-3).flatMap((lock) => lock.owed), ...this.carried.map(([author]) => author)];
    this.base = new Set(base.filter((author) => !this.left.has(author)));
    this.carried = [];
    this.playing = live;
  }

  // Lets those who left leave the game, gives it what the step brought, and finds the next step of the script.
  proceed(context, kept, leavers) {
    const kind = this.step.kind;
    if (!this.game) {
      if (this.players - this.left.size < 2) return this.startGame([...this.everybody]);
    } else this.leaveGame(leavers);
    if (kind === COMMIT) {
      const byAuthor = new Map(
        [...kept].map(([author, { body }]) => [author, { hand: body[0], share: body[body.length - 1] }]),
      );
      this.commitments = { context, byAuthor };
    }
    if (kind === REVEAL && leavers.length) {
      if (this.script === "deal") this.nextDeal = null;
      return this.game ? this.nextScript() : this.enter("seating");
    }
    if (this.game && SCRIPT_FOR[this.game.awaits] !== this.script) return this.nextScript();
    if (this.at + 1 < SCRIPTS[this.script].length) {
      this.at++;
      return undefined;
    }
    return this.finishScript(context, kept, leavers);
  }

  enter(script, at = 0) {
    this.script = script;
    this.at = at;
  }

  nextScript() {
    const script = SCRIPT_FOR[this.game.awaits];
    if (script === "deal" && this.nextDeal) {
      this.commitments = this.nextDeal;
      return this.enter("deal", 1);
    }
    return this.enter(script);
  }

  finishScript(context, kept, leavers) {
    const game = this.game;
    switch (this.script) {
      case "forming":
        return this.enter("seating");
      case "seating":
        return this.startGame(drawSeats(this.beacon(kept), this.players));
      case "stakes":
        for (const [author, { body }] of kept) this.stakes[author] = [Number(body[0]), Number(body[1])];
        if (this.genesis.purses) this.tally.add("purses", kept.size);
        game.giveStakes(
          this.seats.map((author) => {
            const { funds, owned } = this.genesis.roster[author];
            return this.stakes[author] && [this.stakes[author][0], funds, this.stakes[author][1], owned];
          }),
        );
        break;
      case "deal":
        this.deal = { ...this.commitments, beacon: this.beacon(kept) };
        this.nextDeal = null;
        game.rolled();
        break;
      case "die":
        this.tally.add("dice");
        game.giveDie(new Stream("public-die", this.beacon(kept)).draw(6) + 1);
        break;
      case "turn":
        if (!leavers.length) {
          this.tally.add("moves");
          game.play([...kept.values()][0].body);
        }
        break;
      default:
        this.openHands(context, kept);
    }
    return this.nextScript();
  }

  beacon(kept) {
    const parts = [...kept.keys()].sort(ascending).flatMap((author) => [author, kept.get(author).body.subarray(0, 32)]);
    return hashOf("beacon", ...this.commitments.context, ...parts);
  }

  openHands(context, kept) {
    const { context: dealt, beacon } = this.deal;
    const game = this.game;
    this.nextDeal = {
      context,
      byAuthor: new Map([...kept].map(([author, { body }]) => [author, { hand: body[1], share: body[2] }])),
    };
    game.giveHands(
      this.seats.map((author, seat) => {
        const message = kept.get(author);
        if (!message) return null;
        this.tally.add("dice", game.dice[seat]);
        return new Stream("hand", ...dealt, author, message.body[0], beacon).faces(game.dice[seat]);
      }),
    );
  }

  // The account of a match with purses that is over, and the body of its RESULTs.
  get account() {
    return accountOf(this.game, this.seats, this.stakes);
  }

  get result() {
    return this.genesis.purses ? hashOf("result", this.stateHash, encodeAccount(this.account)) : this.stateHash;
  }

  startGame(seats) {
    this.seats = seats;
    this.game = newGame(this.genesis.rules, this.players);
    if (this.game.awaits === "pledges")
      this.game.givePledges(seats.map((author) => this.genesis.roster[author].pledge));
    this.leaveGame([...this.left.keys()].sort((one, other) => this.seatOf(one) - this.seatOf(other)));
    this.nextScript();
  }

  leaveGame(authors) {
    for (const author of authors) {
      const seat = this.seatOf(author);
      if (!this.game.over && this.game.live[seat]) this.game.depart(seat, this.left.get(author));
    }
  }
}

// A copy of a game, to try a move on. Items of its arrays are never changed, but for those of a challenge.
function copyOf(game) {
  const copy = Object.create(Object.getPrototypeOf(game));
  for (const [name, value] of Object.entries(game)) {
    copy[name] = Array.isArray(value) ? value.slice() : value instanceof Set ? new Set(value) : value;
  }
  if (game.challenge) copy.challenge = { ...game.challenge, sides: game.challenge.sides.slice() };
  return copy;
}
