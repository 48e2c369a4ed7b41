// The history of a match: which messages each step takes, and what follows from them (SPEC.md, II.5).

const FORMED = 2; // the first step after the match is formed

const SCRIPTS = {
  forming: [LOCK],
  seating: [COMMIT, LOCK, REVEAL],
  stakes: [COMMIT, LOCK, STAKE],
  deal: [COMMIT, LOCK, REVEAL],
  turn: [MOVE],
  die: [COMMIT, LOCK, REVEAL],
  showdown: [LOCK, OPEN],
  end: [null],
};
const SCRIPT_FOR = { stakes: "stakes", move: "turn", deal: "deal", roll: "die", hands: "showdown", over: "end" };
const ROLLS = ["seating", "deal", "die"];

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
    this.previousLock = null; // { step, tip, state }
    this.playedSegment = this.everybody; // in the game when the previous LOCK was opened
    this.playedBefore = this.everybody; // and when the one before that was
    this.carried = new Set(); // witnesses whose signatures the previous LOCK carries
    this.base = new Set();
    this.tips = [genesis.match];
    this.entries = []; // of each closed step: by roster index the id, or null
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
      step.owed = [...this.playedSegment].filter((author) => !this.left.has(author));
      step.state = this.stateHash;
      step.witnesses = new Set(
        [...this.everybody].filter((author) => !this.left.has(author) && !step.owed.includes(author)),
      );
      step.nextBase = new Set(
        [...this.playedSegment, ...this.playedBefore, ...this.carried].filter((author) => !this.left.has(author)),
      );
      if (this.number === 0) step.nextBase = this.everybody;
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
    if (message.kind === RESIGN) return FITS;
    if (message.kind !== kind) return misconduct("a message of a kind that the step does not take");
    switch (kind) {
      case COMMIT:
        return body.length === (this.script === "deal" ? 2 : 1) ? FITS : misconduct("a wrong number of commitments");
      case LOCK:
        if (!sameBytes(body.subarray(0, 32), state)) return PROVES_NOTHING;
        return (await this.carriedBy(message)) ? FITS : misconduct("a LOCK with a signature that is not a witness's");
      case REVEAL:
        return this.keeps(author, "share-commitment", this.commitments, "share", body)
          ? FITS
          : misconduct("a share that was not committed to");
      case OPEN:
        return this.keeps(author, "hand-commitment", this.deal, "hand", body[0])
          ? FITS
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

  async judgeStake({ author, body }) {
    const [bet, tickets, salt, signature] = body;
    const { funds, owned, purse, purseKey } = this.genesis.roster[author];
    const given = this.commitments.byAuthor.get(author);
    const due = hashOf("stake-commitment", ...this.commitments.context, author, bet, tickets, salt);
    if (!given || !sameBytes(given.share, due)) return misconduct("a stake that was not committed to");
    if (bet > funds || tickets > owned || bet > MOST_COINS || tickets > MOST_COINS)
      return misconduct("a stake above the player's funds");
    if (!purse) return signature ? misconduct("a stake frozen in a purse that was not brought") : FITS;
    if (!signature || !(await purseKey.verifies(signature, freezeEntry(purse, this.genesis.match, bet, tickets))))
      return misconduct("a stake that is not frozen in the player's purse");
    this.tally.add("signatures");
    return FITS;
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

  // Whether all signatures that a LOCK carries are those of its witnesses for the previous LOCK.
  async carriedBy({ body }) {
    const { previousLock: lock } = this;
    for (let at = 32; at < body.length; at += WITNESS_SIZE) {
      const author = body[at];
      if (!lock || !this.step.witnesses.has(author)) return false;
      const data = writeMessage(this.genesis.match, lock.step, lock.tip, author, WITNESS, lock.state);
      if (!(await this.genesis.roster[author].key.verifies(body.subarray(at + 1, at + WITNESS_SIZE), data)))
        return false;
      this.tally.add("signatures");
    }
    return true;
  }

  // Takes the next message of the file, if the history goes on with it. Returns whether it does.
  async take(message) {
    const { step, tip, author } = message;
    if (this.ended || step !== this.number || !sameBytes(tip, this.tip)) return false;
    if (isVote(message)) return this.takeVote(message);
    if (this.step.votes.length) return false;
    const latest = Math.max(-1, ...this.step.given.keys());
    if (author <= latest || !(await this.judge(message)).fits) return false;
    this.step.given.set(author, message);
    if (!this.awaited.length && !this.calledOff) this.close();
    return true;
  }

  // Before the match is formed, a step that holds a RESIGN is never closed.
  get calledOff() {
    return this.number < FORMED && [...this.step.given.values()].some(({ kind }) => kind === RESIGN);
  }

  takeVote(message) {
    const { base, left, owed, votes, given } = this.step;
    const { author, kind, body } = message;
    if (!base.has(author) || left.has(author) || body[1].length !== owed.length) return false;
    const latest = votes[votes.length - 1];
    if (latest && ((latest.kind === CLOSE && kind === ABSENT) || (latest.kind === kind && latest.author >= author)))
      return false;
    if (votes.some((vote) => contradict(vote, message))) return false;
    votes.push(message);
    const entries = owed.map((each) => given.get(each)?.id || new Uint8Array(0));
    const named = votes.filter((vote) => sameEntries(vote.body[1], entries));
    const voters = named.filter((vote) => vote.kind === CLOSE && vote.body[0] === body[0]).map((vote) => vote.author);
    const backers = named
      .filter((vote) => vote.kind === ABSENT && this.step.live.has(vote.author))
      .map((vote) => vote.author);
    const leaving = new Set(owed.filter((each) => !given.has(each) || given.get(each).kind === RESIGN));
    const elected = this.awaited.length > 0 && elect(this.step, leaving, voters, backers);
    if (elected && elected.absents.length + elected.closes.length === votes.length) {
      this.tally.add("absence", votes.length);
      this.close();
      return true;
    }
    // As many CLOSEs as a majority takes must close the step.
    if (votes.filter((vote) => vote.kind === CLOSE).length <= base.size / 2) return true;
    votes.pop();
    return false;
  }

  // Closes the open step with the messages that it has.
  close() {
    const { kind, owed, given, live } = this.step;
    const entries = [...this.everybody].map((author) => given.get(author)?.id || null);
    this.tips.push(hashOf("step", this.tip, this.number, ...entries.map((id) => id || new Uint8Array(0))));
    const leavers = owed.filter((author) => !given.has(author) || given.get(author).kind === RESIGN);
    if (this.seats) leavers.sort((one, other) => this.seatOf(one) - this.seatOf(other));
    for (const author of leavers) {
      this.left.set(author, given.has(author) ? "conceded" : "evicted");
      if (!given.has(author) && live.has(author)) this.claims.push([this.number, author]);
    }
    if (kind === LOCK) this.closeLock();
    const context = [this.genesis.match, this.number, this.tip];
    this.entries.push(entries);
    this.tally.add("history");
    const kept = new Map([...given].filter(([, message]) => message.kind === kind));
    this.proceed(
      context,
      kept,
      leavers,
      leavers.some((author) => live.has(author)),
    );
    this.openStep();
  }

  closeLock() {
    const { given, live, nextBase, state } = this.step;
    this.carried = new Set();
    for (const { kind, body } of given.values()) {
      if (kind !== LOCK) continue;
      for (let at = 32; at < body.length; at += WITNESS_SIZE) this.carried.add(body[at]);
    }
    this.previousLock = { step: this.number, tip: this.tip, state };
    this.playedBefore = this.playedSegment;
    this.playedSegment = live;
    this.base = nextBase;
  }

  // Lets those who left leave the game, gives it what the step brought, and finds the next step of the script.
  proceed(context, kept, leavers, undone) {
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
    if (undone && ROLLS.includes(this.script) && kind !== COMMIT) {
      if (this.script === "deal") this.nextDeal = null;
      return this.game ? this.nextScript() : this.enter("seating");
    }
    if (this.game && SCRIPT_FOR[this.game.awaits] !== this.script && this.script !== "forming")
      return this.nextScript();
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
    const parts = [...kept.keys()].sort(ascending).flatMap((author) => [author, kept.get(author).body]);
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
      const winnerLeaves = this.game.phase === "crown" && this.game.live[seat];
      if (!this.game.over && (this.game.live[seat] || winnerLeaves)) this.game.depart(seat, this.left.get(author));
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
