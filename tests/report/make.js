// Makes matches that people rarely play: with departures, votes, proofs and misconduct, by any rules. The verifier's
// own engine says which messages are due, so these files only serve to compare it with the verifier in Python.
//
//   node make.js FOLDER COUNT SEED     writes COUNT files to FOLDER, and their paths to stdout
//
// Most of the matches with stakes have purses. purses.js makes those that go wrong in one thing.
"use strict";
const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const { load } = require("./load.js");

const V = load([
  "Chronicle",
  "Tally",
  "sha256",
  "hashOf",
  "encode",
  "decodeAt",
  "joinBytes",
  "compareBytes",
  "sameBytes",
  "readGenesis",
  "readMessage",
  "writeMessage",
  "CLASSIC",
  "PRESETS",
  "OPTION_VALUES",
  "readRuleset",
  "wireRuleset",
  "moteOf",
  "isVote",
]);
const [COMMIT, LOCK, REVEAL, MOVE, OPEN, RESIGN, RESULT, STAKE, ABSENT, CLOSE, WITNESS] = [
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
];
const NONE = new Uint8Array(0);

// Chances that are the same for the same seed.
class Chances {
  constructor(seed) {
    this.seed = String(seed);
    this.counter = 0;
  }

  below(bound) {
    const digest = crypto.createHash("sha256").update(`${this.seed}/${this.counter++}`).digest();
    return digest.readUIntBE(0, 6) % bound;
  }

  one(items) {
    return items[this.below(items.length)];
  }

  happens(percent) {
    return this.below(100) < percent;
  }

  mixed(items) {
    return items
      .map((item) => [this.below(2 ** 32), item])
      .sort(([left], [right]) => left - right)
      .map(([, item]) => item);
  }

  bytes() {
    return new Uint8Array(crypto.createHash("sha256").update(`${this.seed}/${this.counter++}`).digest());
  }
}

function newKey(secret) {
  const prefix = Buffer.from("302e020100300506032b657004220420", "hex");
  const key = crypto.createPrivateKey({ key: Buffer.concat([prefix, secret]), format: "der", type: "pkcs8" });
  const bytes = crypto.createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
  return { bytes: new Uint8Array(bytes), sign: (data) => new Uint8Array(crypto.sign(null, data, key)) };
}

function anyRules(chances) {
  if (chances.happens(60)) return { ...V.CLASSIC, ...V.PRESETS[chances.one(Object.keys(V.PRESETS))] };
  for (;;) {
    const rules = {};
    for (const [option, values] of Object.entries(V.OPTION_VALUES)) {
      if (option === "dice") rules.dice = 1 + chances.below(4);
      else if (option === "dice-cap") rules[option] = chances.happens(50) ? "none" : 1 + chances.below(7);
      else rules[option] = chances.one(values);
    }
    if (chances.happens(20)) Object.assign(rules, { motes: "yes", dice: 5 });
    try {
      return V.readRuleset(V.wireRuleset(rules));
    } catch {
      continue;
    }
  }
}

// The head of a purse that is brought: empty or full, new or old.
function anyHead(chances) {
  const [era, height] = [chances.one([0, 1, 2 ** 32 - 1]), chances.one([0, 16, 300, 70000, 2 ** 32 - 1])];
  const balance = chances.one([0, 1, 1000, 1000, chances.below(5000), 10 ** 12]);
  return [era, height, chances.bytes(), balance, chances.one([0, 0, 1, chances.below(20), 10 ** 12])];
}

// A stake above the funds or the tickets.
const FAULTS = ["funds", "tickets"];

class Maker {
  // `purses`: whether players bring purses, for any rules; without it chance decides, if the rules have stakes.
  constructor(seed, rules, purses) {
    this.chances = new Chances(seed);
    this.purseChances = new Chances(`${seed}/purses`);
    this.rules = rules;
    this.purses = purses;
    this.players = 0; // chance decides
    this.fault = null; // what is wrong with the stake of the player `faulty`
    this.secrets = new Map();
    this.pairs = [];
    this.past = []; // by step, a message for it to be sent later
  }

  // Makes the keys and the genesis. `spoil` may change the head of the purse that a player brings, or take it away.
  prepare(spoil = (head) => head) {
    const { chances, purseChances } = this;
    const players = this.players || 2 + chances.below(chances.happens(20) ? 9 : 4);
    const table = chances.bytes().slice(0, 16);
    table[0] = chances.below(2);
    const seated = Array.from({ length: players }, (_, at) => {
      const identity = newKey(chances.bytes());
      const match = newKey(chances.bytes());
      const addresses = chances.one([
        [],
        [["192.0.2.1", 7001]],
        [
          ["2001:db8::1", 65535],
          ["::ffff:192.0.2.7", 1],
        ],
      ]);
      const fields = [
        "p2pdice/3/join",
        table,
        identity.bytes,
        match.bytes,
        `player ${at}`,
        addresses,
        chances.bytes(),
        chances.one(["redeemed", "cursed"]),
      ];
      return { identity, match, fields };
    });
    seated.sort((one, other) => V.compareBytes(one.identity.bytes, other.identity.bytes));
    this.keys = seated.map(({ match }) => match);
    this.rules ||= anyRules(chances);
    this.purses ??= this.rules.stakes === "yes" && purseChances.happens(70);
    if (this.purses) {
      seated.forEach((player, at) => {
        const brought = spoil(anyHead(purseChances), at);
        if (brought) player.fields.push(brought);
      });
      if (purseChances.happens(15)) this.fault = purseChances.one(FAULTS);
      this.faulty = purseChances.below(players);
    }
    const records = seated.map(({ identity, match, fields }) => {
      const data = V.encode(fields);
      return [data, identity.sign(data), match.sign(data)];
    });
    this.genesisBytes = V.encode([
      "p2pdice/3/genesis",
      table,
      V.wireRuleset(this.rules),
      [120, 15],
      records,
    ]);
  }

  async begin() {
    this.prepare();
    this.genesis = await V.readGenesis(this.genesisBytes, new V.Tally());
    this.chronicle = new V.Chronicle(this.genesis, new V.Tally());
  }

  sign(author, kind, body, step = this.chronicle.number, tip = this.chronicle.tip) {
    const data = V.writeMessage(this.genesis.match, step, tip, author, kind, body);
    return [data, this.keys[author].sign(data)];
  }

  parse(pair) {
    return V.readMessage(pair, this.genesis);
  }

  secret(author, purpose, context) {
    return V.hashOf("secret", this.keys[author].bytes, ...context, new TextEncoder().encode(purpose));
  }

  get context() {
    return [this.genesis.match, this.chronicle.number, this.chronicle.tip];
  }

  commitment(author, purpose, tag) {
    return V.hashOf(tag, ...this.context, author, this.secret(author, purpose, this.context));
  }

  // The body that the author owes in the open step.
  async due(author) {
    const { chronicle, chances } = this;
    const { kind, state } = chronicle.step;
    if (kind === COMMIT) {
      if (chronicle.script === "stakes")
        return [
          V.hashOf(
            "stake-commitment",
            ...this.context,
            author,
            ...this.stake(author, this.context),
            this.secret(author, "stake", this.context),
          ),
        ];
      const share = this.commitment(author, "share", "share-commitment");
      return chronicle.script === "deal" ? [this.commitment(author, "hand", "hand-commitment"), share] : [share];
    }
    if (kind === LOCK) return state;
    if (kind === REVEAL)
      return V.joinBytes([this.secret(author, "share", chronicle.commitments.context), this.carried()]);
    if (kind === OPEN)
      return [
        this.secret(author, "hand", chronicle.deal.context),
        this.commitment(author, "hand", "hand-commitment"),
        this.commitment(author, "share", "share-commitment"),
        this.carried(),
      ];
    if (kind === STAKE) {
      const { context } = chronicle.commitments;
      return [...this.stake(author, context), this.secret(author, "stake", context)];
    }
    const moves = chances.mixed(this.moves());
    if (chances.happens(60)) moves.sort((one, other) => other.startsWith("play") - one.startsWith("play"));
    return moves.find((move) => chronicle.legal(move).fits);
  }

  // The bet and the tickets that the author stakes.
  stake(author, context) {
    const secret = this.secret(author, "bet", context);
    if (!this.purses) return [[0, 1000, secret[0], 2 * secret[1]][secret[2] % 4], 0];
    const { funds, owned } = this.genesis.roster[author];
    const above = (fault) => (this.fault === fault && author === this.faulty ? 1 : 0);
    return [
      above("funds") ? funds + 1 : [0, funds, Math.min(funds, secret[0]), secret[1] % (funds + 1)][secret[2] % 4],
      above("tickets") ? owned + 1 : [0, owned, secret[3] % (owned + 1)][secret[4] % 3],
    ];
  }

  // The STAKE with the fault, to be sent in the open step.
  async faultyStake() {
    return this.sign(this.faulty, STAKE, await this.due(this.faulty));
  }

  get faultIsDue() {
    const { step } = this.chronicle;
    return this.fault !== null && step.kind === STAKE && step.owed.includes(this.faulty);
  }

  // What a REVEAL or an OPEN of the open step carries, from as many witnesses as chance takes.
  carried() {
    const { chronicle } = this;
    return V.joinBytes(
      [...chronicle.everybody]
        .filter((author) => !chronicle.left.has(author) && !chronicle.playing.has(author))
        .filter(() => this.chances.happens(50))
        .flatMap((author) => [Uint8Array.of(author), this.witness(author)]),
    );
  }

  // The signature of a WITNESS for the LOCK before the latest.
  witness(author) {
    const { step, tip, state } = this.chronicle.locks[this.chronicle.locks.length - 2];
    return this.sign(author, WITNESS, state, step, tip)[1];
  }

  moves() {
    const { game } = this.chronicle;
    const { chances } = this;
    const moves = ["liar", "liar", "exact", "pass", "accuser", "accused"];
    const [quantity, face] = game.bids[game.bids.length - 1] || [0, 1];
    for (let more = 0; more < 6; more++)
      moves.push(`${Math.max(1, quantity + chances.below(4) - chances.below(2))}x${1 + chances.below(6)}`);
    moves.push(
      `${Math.min(999, 2 * quantity + 1)}x${face}`,
      "1x1",
      "1x2",
      "1x6",
      chances.happens(5) ? "999x6" : "2x5",
      chances.happens(5) ? "998x1" : "3x3",
    );
    if (!game.cups) return moves;
    const dice = game.graveyard.map(([die]) => die);
    const cup = game.cups[game.turn] || [];
    for (const die of cup) moves.push(`lose ${die}`, `crown ${die}`);
    for (const die of dice) {
      for (const target of dice) moves.push(`play ${die} take ${target}`, `play ${die} destroy ${target}`);
      for (const target of cup) moves.push(`play ${die} swap ${target}`);
      for (let seat = 0; seat < game.players; seat++) moves.push(`play ${die} on ${seat}`);
      moves.push(`play ${die}`);
    }
    return moves;
  }

  // Whether the match is over. A LOCK that nobody owes is closed first.
  get over() {
    while (this.chronicle.closeUnowed());
    return this.chronicle.ended;
  }

  async add(pair) {
    this.pairs.push(pair);
    if (!(await this.chronicle.take(this.parse(pair)))) throw new Error("the match that was made does not go on");
  }

  // Plays one step; `leaves` is the chance in 1,000 that an author resigns or is absent there.
  async playStep(leaves) {
    const { chronicle, chances } = this;
    const { kind } = chronicle.step;
    const owed = chronicle.awaited;
    const votes = chronicle.number > 1;
    const fate = new Map(
      owed.map((author) => [
        author,
        votes && chances.below(1000) < leaves ? chances.one(["resign", "absent"]) : "play",
      ]),
    );
    const who = (what) => owed.filter((author) => fate.get(author) === what);
    const resigning = kind === LOCK ? [] : who("resign");
    const absent = who("absent");
    const leaving = new Set(kind === LOCK ? [] : [...absent, ...resigning]);
    const elected = absent.length ? this.elect(leaving, absent) : null;
    for (const author of owed) {
      if (elected && (kind === LOCK || absent.includes(author))) continue;
      const body = resigning.includes(author) ? undefined : await this.due(author); // none of the moves may be legal
      await this.add(this.sign(author, ...(body === undefined ? [RESIGN, []] : [kind, body])));
    }
    if (elected) await this.vote(elected);
  }

  // Closes the open step by votes.
  async vote({ absents, closes }) {
    const { chances, chronicle, value } = this;
    const round = chances.below(5);
    const at = chronicle.number;
    for (const author of absents) await this.add(this.ballot(author, ABSENT, [chances.below(round + 1), value, -1]));
    for (const author of closes) await this.add(this.ballot(author, CLOSE, [round, value]));
    if (chronicle.number === at) throw new Error("votes do not close the step");
  }

  // The value that closes the open step with the messages that it has.
  get value() {
    const { number, tip, step } = this.chronicle;
    return [number, tip, step.state || step.owed.map((author) => step.given.get(author)?.id || NONE)];
  }

  ballot(author, kind, body) {
    const { step, tip } = this.chronicle.root;
    return this.sign(author, kind, body, step, tip);
  }

  // The authors of a certificate, or null; `silent` may take no part in it.
  elect(leaving, silent) {
    const { base, left, live } = this.chronicle.step;
    const most = Math.floor(base.size / 2) + 1;
    const may = [...base].filter((author) => !left.has(author)).sort((one, other) => one - other);
    const staying = (author) => live.has(author) && !leaving.has(author);
    const remaining = may.filter((author) => !leaving.has(author));
    if (remaining.length < most || !remaining.some(staying)) return null;
    const voters = this.chances.happens(50) ? may : may.filter((author) => !silent.includes(author));
    const some = voters.filter((author) => !staying(author) || this.chances.happens(70));
    const heard = some.length < most ? voters : some;
    const closes = [...heard.filter(staying), ...heard.filter((author) => !staying(author))].slice(0, most);
    const lacking = Math.ceil([...live].filter(staying).length / 2) - closes.filter(staying).length;
    const absents = may
      .filter((author) => staying(author) && !closes.includes(author))
      .slice(0, Math.max(0, lacking));
    if (closes.length < most || absents.length < lacking) return null;
    return { absents, closes: closes.sort((one, other) => one - other) };
  }

  // A message of an author that may or may not prove something.
  async trouble() {
    const { chronicle, chances, genesis } = this;
    const author = chances.below(genesis.players);
    const step = chances.happens(50) ? chronicle.number : chances.below(chronicle.number + 1);
    const past = this.past[step];
    if (past && chances.happens(70)) return this.sign(...(await past()), step, chronicle.tips[step]);
    const tip = chances.happens(95) ? chronicle.tips[step] : chances.bytes();
    const noise = () =>
      chances.happens(50)
        ? NONE
        : V.joinBytes([Uint8Array.of(chances.below(10)), chances.bytes(), chances.bytes()]);
    const bodies = {
      [COMMIT]: () => [[chances.bytes()], [chances.bytes(), chances.bytes()]][chances.below(2)],
      [LOCK]: () =>
        chances.happens(70) && step === chronicle.number && chronicle.step.state
          ? chronicle.step.state
          : chances.bytes(),
      [REVEAL]: () => V.joinBytes([chances.bytes(), noise()]),
      [MOVE]: () =>
        chances.one([
          "1x1",
          "999x6",
          "1000x6",
          "0x1",
          "liar",
          "exact",
          "pass",
          "concede",
          "03x5",
          "3x7",
          "play light@0",
          "accuser",
          "stake 5",
          "BS",
          "play red@1 on 1",
        ]),
      [OPEN]: () => [chances.bytes(), chances.bytes(), chances.bytes(), noise()],
      [RESIGN]: () => [],
      [RESULT]: () => chances.bytes(),
      [STAKE]: () => [chances.one([0, 5, 1001, 10 ** 12 + 1]), chances.below(2), chances.bytes()],
      [ABSENT]: () => {
        const round = chances.below(5);
        return [round, this.anyValue(), chances.below(round + 1) - 1];
      },
      [CLOSE]: () => [chances.below(5), chances.happens(20) ? [] : this.anyValue()],
      [WITNESS]: () => chances.bytes(),
    };
    const kind = 1 + chances.below(11);
    if ((kind === ABSENT || kind === CLOSE) && chances.happens(70))
      return this.ballot(author, kind, bodies[kind]());
    if (chances.happens(60) && step === chronicle.number && chronicle.step.kind && chronicle.step.owed.length) {
      const owed = chances.one(chronicle.step.owed);
      return this.sign(owed, chronicle.step.kind, bodies[chronicle.step.kind](), step, tip);
    }
    return this.sign(author, kind, bodies[kind](), step, tip);
  }

  // A value of a vote, right or not.
  anyValue() {
    const { chances } = this;
    const ids = () =>
      Array.from({ length: 1 + chances.below(4) }, () => (chances.happens(50) ? NONE : chances.bytes()));
    const [step, tip, entries] = this.value;
    return [
      chances.happens(70) ? step : chances.below(step + 2),
      chances.happens(70) ? tip : chances.bytes(),
      entries.length && chances.happens(70) ? entries : chances.happens(50) ? ids() : chances.bytes(),
    ];
  }

  // Prepares a message for the open step that goes wrong in one thing, to be sent later.
  remember() {
    const { chronicle, chances } = this;
    const { kind, owed } = chronicle.step;
    const author = owed.length ? chances.one(owed) : 0;
    const other = chances.below(this.genesis.players);
    const moves = this.chronicle.game ? this.moves() : ["1x1"];
    const move = chances.one(moves);
    const carried =
      kind === REVEAL || kind === OPEN ? V.joinBytes([Uint8Array.of(other), this.witness(other)]) : NONE;
    const right = kind === REVEAL ? this.secret(author, "share", chronicle.commitments.context) : NONE;
    this.past[chronicle.number] = async () => {
      if (kind === REVEAL && chances.happens(70)) return [author, REVEAL, V.joinBytes([right, carried])];
      if (kind === MOVE) return [author, MOVE, move];
      if (kind === COMMIT)
        return [author, COMMIT, chances.happens(50) ? [chances.bytes()] : [chances.bytes(), chances.bytes()]];
      if (kind === STAKE) return [author, STAKE, [chances.one([1000, 1001]), 0, chances.bytes()]];
      const secret = chances.bytes();
      return [
        chances.happens(50) ? author : other,
        ...chances.one([
          [RESIGN, []],
          [REVEAL, secret],
          [OPEN, [secret, secret, secret, carried]],
          [RESULT, secret],
        ]),
      ];
    };
  }

  async make() {
    const { chances } = this;
    await this.begin();
    const leaves = chances.one([0, 0, 5, 20, 60]);
    const longest = chances.happens(40) ? 400 : chances.below(80);
    while (!this.over && this.chronicle.number < longest) {
      if (this.faultIsDue) {
        this.pairs.push(await this.faultyStake());
        return this.write();
      }
      this.remember();
      await this.playStep(leaves);
    }
    this.remember();
    const style = chances.below(10);
    if (style < 3) return this.write();
    if (style < 4) {
      this.pairs.length = chances.below(this.pairs.length + 1);
      return this.write();
    }
    if (style < 6) {
      if (!this.over) await this.playPart();
      return this.write();
    }
    const trouble = [];
    const count = 1 + chances.below(3);
    if (chances.happens(30) && !this.over) await this.playPart();
    while (trouble.length < count) {
      const pair = await this.trouble();
      trouble.push(pair);
      if (chances.happens(40)) trouble.push(this.another(pair));
    }
    if (chances.happens(10)) {
      this.proof = true;
      this.pairs = trouble.slice(0, 2);
    } else this.pairs.push(...trouble);
    return this.write();
  }

  // Some of the messages, and perhaps some votes, of the open step.
  async playPart() {
    const { chronicle, chances } = this;
    const owed = chronicle.awaited;
    const some = chronicle.step.state && chances.happens(50) ? [] : owed.filter(() => chances.happens(60));
    if (some.length === owed.length) some.pop();
    for (const author of some) await this.add(this.sign(author, chronicle.step.kind, await this.due(author)));
    if (chronicle.number < 2) return;
    const { value } = this;
    for (const kind of [ABSENT, CLOSE]) {
      for (let author = 0; author < this.genesis.players; author++) {
        if (!chances.happens(35)) continue;
        const round = chances.below(3);
        this.pairs.push(
          this.ballot(author, kind, kind === CLOSE ? [round, value] : [round, value, chances.below(round + 1) - 1]),
        );
      }
    }
  }

  // Another message of the same author for the same step.
  another(pair) {
    const { author, step, tip, kind, body } = this.parse(pair);
    if (kind === ABSENT || kind === CLOSE) {
      const round = this.chances.happens(60) ? body[0] : this.chances.below(5);
      const value = body[1].length && this.chances.happens(50) ? body[1] : this.anyValue();
      return this.chances.happens(50)
        ? this.sign(author, CLOSE, [round, value], step, tip)
        : this.sign(author, ABSENT, [round, value, this.chances.below(round + 1) - 1], step, tip);
    }
    if (kind === RESULT) return this.sign(author, RESULT, this.chances.bytes());
    return this.chances.happens(60)
      ? this.sign(author, RESIGN, [], step, tip)
      : this.sign(author, REVEAL, this.chances.bytes(), step, tip);
  }

  write() {
    const tag = this.proof ? "p2pdice/3/proof" : "p2pdice/3/transcript";
    return V.joinBytes([V.encode([tag, this.genesisBytes]), ...this.pairs.map((pair) => V.encode(pair))]);
  }
}

async function main([folder, count, seed]) {
  for (let at = 0; at < Number(count); at++) {
    const file = path.join(folder, `${seed}-${at}.p2pdice`);
    fs.writeFileSync(file, await new Maker(`${seed}/${at}`).make());
    process.stdout.write(`${file}\n`);
  }
}

Object.assign(exports, { Maker, FAULTS });
if (require.main === module) main(process.argv.slice(2));
