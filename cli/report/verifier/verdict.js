// The verdict on a file (SPEC.md, II.7).

const TRANSCRIPT_TAG = "p2pdice/3/transcript";
const PROOF_TAG = "p2pdice/3/proof";
const LARGEST_FILE = 64 * 1024 * 1024;
const MOST_PROOFS = 64;
const SLICE = 256; // signatures verified at once

// Counts what was checked, and tells the page of it.
class Tally {
  constructor(onCheck) {
    this.onCheck = onCheck;
    this.counts = new Map(
      ["encoding", "keys", "signatures", "history", "commitments", "dice", "moves", "absence", "purses", "proofs"].map(
        (check) => [check, 0],
      ),
    );
    this.told = new Map([...this.counts]);
  }

  add(check, count = 1) {
    this.counts.set(check, this.counts.get(check) + count);
  }

  tell() {
    if (!this.onCheck) return;
    for (const [check, done] of this.counts) {
      if (this.told.get(check) === done) continue;
      this.told.set(check, done);
      this.onCheck({ check, done, total: 0 });
    }
  }

  list(failed) {
    return [...this.counts]
      .filter(([check, count]) => count || check === failed)
      .map(([check, count]) => ({ check, count, ok: check !== failed }));
  }
}

// Messages of a file, read and verified a slice at a time; `wrong` is the error that ends them, if any.
class MessageReader {
  constructor(bytes, start, genesis, tally) {
    Object.assign(this, { bytes, at: start, genesis, tally, wrong: null });
  }

  async slice() {
    const messages = [];
    while (messages.length < SLICE && this.at < this.bytes.length && !this.wrong) {
      try {
        const [pair, end] = decodeAt(this.bytes, this.at);
        messages.push(readMessage(pair, this.genesis));
        this.at = end;
      } catch (error) {
        if (!(error instanceof Altered)) throw error;
        this.wrong = error;
      }
    }
    const verified = await Promise.all(
      messages.map(({ author, signature, data }) => this.genesis.roster[author].key.verifies(signature, data)),
    );
    const bad = verified.indexOf(false);
    if (bad >= 0) {
      messages.length = bad;
      this.wrong = new Altered("signatures", "a signature is wrong");
    }
    this.tally.add("signatures", messages.length);
    this.tally.add("encoding", messages.length);
    return messages;
  }

  get done() {
    return Boolean(this.wrong) || this.at >= this.bytes.length;
  }
}

const pause = () =>
  new Promise((resolve) => {
    setTimeout(resolve, 0);
  });

async function verifyTranscript(bytes, onCheck) {
  const tally = new Tally(onCheck);
  const found = {
    verdict: "altered",
    reason: "",
    culprit: null,
    culprit_fingerprint: null,
    step: null,
    round: null,
    awaited: [],
    match: null,
    rules: null,
    players: [],
    fingerprints: [],
    winners: [],
    winner_fingerprints: [],
    purses: null,
    result: null,
    steps: 0,
    signatures: 0,
    checks: [],
  };
  try {
    await judgeFile(bytes, found, tally);
    found.checks = tally.list(null);
  } catch (error) {
    const known = error instanceof Altered;
    found.verdict = "altered";
    found.reason = `The file is unreadable or was altered: ${known ? error.message : "it breaks the verifier"}.`;
    if (!known) found.fault = String(error && error.stack);
    found.checks = tally.list(known ? error.check : "encoding");
  }
  tally.tell();
  return found;
}

async function judgeFile(bytes, found, tally) {
  if (bytes.length > LARGEST_FILE) throw new Altered("encoding", "it has more than 64 MiB");
  const [head, start] = decodeAt(bytes, 0);
  if (!Array.isArray(head) || head.length !== 2 || typeof head[0] !== "string" || !isBytes(head[1]))
    throw new Altered("encoding", "it is no transcript");
  const [tag, genesisBytes] = head;
  const tagged = /^p2pdice\/([1-9][0-9]{0,3})\/(?:transcript|proof)$/.exec(tag);
  if (!tagged) throw new Altered("encoding", "it is no transcript");
  if (tag !== TRANSCRIPT_TAG && tag !== PROOF_TAG) {
    if (genesisBytes.length > LONGEST_GENESIS) throw new Altered("encoding", "it is no transcript");
    found.verdict = "other version";
    found.reason = `It was written by version ${tagged[1]} of the protocol.`;
    return;
  }
  const genesis = await readGenesis(genesisBytes, tally);
  found.match = hexOf(genesis.match);
  found.rules = rulesetName(genesis.rules);
  namePlayers(found, genesis, null);
  tally.add("encoding");
  const reader = new MessageReader(bytes, start, genesis, tally);
  if (tag === PROOF_TAG) await judgeProof(reader, found, tally);
  else await judgeTranscript(bytes, start, reader, found, tally);
}

function namePlayers(found, genesis, chronicle) {
  const order = (chronicle && chronicle.seats) || [...genesis.roster.keys()];
  found.players = order.map((author) => genesis.roster[author].nickname);
  found.fingerprints = order.map((author) => genesis.roster[author].fingerprint);
}

// What a player is called in a sentence: others may have the same nickname.
const called = ({ nickname, fingerprint }) => `${nickname} (${fingerprint})`;

// Names the author of the first proof.
function convict(found, genesis, author, step, reason) {
  found.verdict = "misconduct";
  found.culprit = genesis.roster[author].nickname;
  found.culprit_fingerprint = genesis.roster[author].fingerprint;
  found.step = step;
  found.reason = reason;
}

// A proof is a genesis and two messages that contradict each other.
async function judgeProof(reader, found, tally) {
  const messages = await reader.slice();
  found.step = 0;
  if (reader.wrong) throw reader.wrong;
  found.signatures = messages.length;
  if (messages.length !== 2 || !reader.done || !contradict(...messages)) throw new Altered("proofs", "it is no proof");
  tally.add("proofs");
  if (reader.genesis.purses) found.purses = describePurses(new Chronicle(reader.genesis, tally));
  const { author, step } = messages[0];
  convict(
    found,
    reader.genesis,
    author,
    step,
    `${called(reader.genesis.roster[author])} signed two messages that contradict each other.`,
  );
}

async function judgeTranscript(bytes, start, reader, found, tally) {
  const { genesis } = reader;
  const chronicle = new Chronicle(genesis, tally);
  const history = []; // votes, which a later message may contradict
  const proofs = [];
  try {
    while (!reader.done) {
      for (const message of await reader.slice()) {
        if (!proofs.length && (await chronicle.take(message))) {
          found.signatures++;
          if (isVote(message)) history.push(message);
        } else proofs.push(message);
        if (proofs.length > MOST_PROOFS) throw new Altered("history", "messages are not in the order of the history");
      }
      tally.tell();
      await pause();
    }
    if (reader.wrong) throw reader.wrong;
    while (chronicle.closeUnowed());
    if (proofs.length) await checkProofs(bytes, start, chronicle, history, proofs, found, tally);
    else conclude(chronicle, found);
  } finally {
    describe(chronicle, found);
  }
}

function describe(chronicle, found) {
  const { genesis, game, seats } = chronicle;
  namePlayers(found, genesis, chronicle);
  found.steps = chronicle.number;
  if (found.verdict === "altered") found.step = chronicle.number;
  else if (chronicle.ended) {
    found.winners = game.winners.map((seat) => genesis.roster[seats[seat]].nickname);
    found.winner_fingerprints = game.winners.map((seat) => genesis.roster[seats[seat]].fingerprint);
    found.result = hexOf(chronicle.result);
  }
  if (found.verdict !== "altered" && genesis.purses) found.purses = describePurses(chronicle);
}

// By player, in the order of found.players: what their purse brought, what was staked, and what the match changes,
// which is null before the end and for a player who has opened no stake.
function describePurses(chronicle) {
  const { genesis, stakes, ended } = chronicle;
  const { roster } = genesis;
  const account = ended ? chronicle.account : null;
  const changes = account && changesOf(account, roster);
  return (chronicle.seats || [...roster.keys()]).map((author) => {
    const [bet, tickets] = stakes[author] || [null, null];
    const settled = account && stakes[author] ? changes[author] : [null, null];
    const soul = settled[0] !== null && account.winners[0] === author ? account.soul : "";
    const { funds, owned } = roster[author];
    return { funds, owned, bet, tickets, change: settled[0], ticket_change: settled[1], soul };
  });
}

function conclude(chronicle, found) {
  const { genesis, claims, ended } = chronicle;
  const awaited = ended ? [] : chronicle.awaited.map((author) => genesis.roster[author]);
  if (!ended) {
    found.verdict = "incomplete";
    found.step = chronicle.number;
    found.round = chronicle.game ? chronicle.game.round : null;
    found.awaited = awaited.map(({ nickname }) => nickname);
    const waiting = awaited.length ? ` It awaits ${awaited.map(called).join(", ")}.` : "";
    found.reason = `It is a proper beginning of a match, and stops in step ${chronicle.number}.${waiting}`;
  } else if (claims.length) {
    found.verdict = "unproven";
    const silent = claims.map(([step, author]) => `that ${called(genesis.roster[author])} was silent in step ${step}`);
    found.reason = `Everything signed is right. Nothing can prove ${silent.join("; ")}.`;
  } else {
    found.verdict = "fair";
    found.reason = "Every signature, commitment, die and move is right.";
  }
}

// Checks that each of the messages after the history proves misconduct.
async function checkProofs(bytes, start, chronicle, history, proofs, found, tally) {
  const { genesis } = chronicle;
  const reasons = await provenAlone(bytes, start, chronicle, proofs);
  proofs.forEach((proof, at) => {
    if (proofs.slice(0, at).some((other) => sameBytes(other.id, proof.id)))
      throw new Altered("proofs", "a message is there twice");
    if (reasons[at]) return;
    const beside = [proofs[at - 1], proofs[at + 1]].filter(Boolean);
    const against = isVote(proof) ? [...beside, ...history] : beside;
    const entry = entryOf(chronicle, proof);
    if (against.some((other) => contradict(proof, other)) || (entry.length && !sameBytes(entry, proof.id))) {
      reasons[at] = "two messages that contradict each other";
    } else throw new Altered("history", "a message does not fit into the history, and proves nothing");
  });
  tally.add("proofs", proofs.length);
  const told = proofs.map(({ author }, at) => `${called(genesis.roster[author])} signed ${reasons[at]}`);
  convict(found, genesis, proofs[0].author, proofs[0].step, `${[...new Set(told)].join("; ")}.`);
}

// The id of the message of the history, votes apart, that has the proof's author and step, or the empty one.
function entryOf(chronicle, { author, step, tip, kind }) {
  if (kind === RESULT || kind === WITNESS || kind === ABSENT || kind === CLOSE) return NO_ID;
  if (step > chronicle.number || !sameBytes(tip, chronicle.tips[step])) return NO_ID;
  const id = step < chronicle.number ? chronicle.entries[step].get(author) : chronicle.step.given.get(author)?.id;
  return id || NO_ID;
}

// By proof, how it proves misconduct by itself, or null. The history before its step is folded again for that.
async function provenAlone(bytes, start, chronicle, proofs) {
  const reasons = proofs.map(() => null);
  const judged = async (at, past) => {
    if (!isVote(proofs[at])) reasons[at] = (await past.judge(proofs[at])).misconduct || null;
  };
  const wanted = new Map();
  for (const [at, { step, tip }] of proofs.entries()) {
    if (step > chronicle.number || !sameBytes(tip, chronicle.tips[step])) continue;
    if (step === chronicle.number) await judged(at, chronicle);
    else wanted.set(step, [...(wanted.get(step) || []), at]);
  }
  const past = new Chronicle(chronicle.genesis, new Tally());
  let next = start;
  let folded = -1;
  while (wanted.size) {
    if (past.number !== folded) {
      folded = past.number;
      for (const at of wanted.get(folded) || []) await judged(at, past);
      wanted.delete(folded);
      if (folded % SLICE === 0) await pause();
    }
    const [pair, end] = decodeAt(bytes, next);
    await past.take(readMessage(pair, chronicle.genesis));
    next = end;
  }
  return reasons;
}
