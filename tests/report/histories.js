// Histories in which one thing is special, and what the verifier of the page says of them.
//
//   node histories.js             judges them, and prints what differs from what is due
//   node histories.js FOLDER      writes them to FOLDER as well, named after what is due and why
"use strict";
const assert = require("node:assert");
const { judge } = require("./cases.js");
const { load } = require("./load.js");
const { Maker } = require("./make.js");

const V = load(["certifies", "encode", "hashOf", "joinBytes", "CLASSIC"]);
const [COMMIT, LOCK, REVEAL, MOVE, OPEN, RESIGN, RESULT, , ABSENT, CLOSE, WITNESS] = [
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
];
const QUICK = { ...V.CLASSIC, dice: 1 };
const NONE = new Uint8Array(0);
const noise = new Uint8Array(32).fill(7);
const is = (kind) => (maker) => maker.chronicle.number > 1 && maker.chronicle.step.kind === kind;
const out = (maker) => [...maker.chronicle.everybody].filter((author) => !maker.chronicle.live.has(author));
const ended = () => false;

// A match of so many players, played until `stop` says so, or to its end. Nobody leaves.
async function played(players, stop = ended, seed = "histories") {
  const maker = Object.assign(new Maker(`${seed}/${players}`, QUICK, false), { players });
  await maker.begin();
  return goOn(maker, stop);
}

async function goOn(maker, stop = ended) {
  while (!maker.over && !stop(maker)) await maker.playStep(0);
  return maker;
}

// Of the open step, all messages but those of `silent`; then votes without them.
async function voted(maker, silent, { absents = [], closes = null } = {}) {
  const { chronicle } = maker;
  const { kind, owed } = chronicle.step;
  for (const author of owed) {
    if (kind === LOCK || silent.includes(author)) continue;
    await maker.add(maker.sign(author, kind, await maker.due(author)));
  }
  await maker.vote(closes ? { absents, closes } : maker.elect(new Set(kind === LOCK ? [] : silent), []));
  return maker;
}

const push = (maker, ...pairs) => {
  maker.pairs.push(...pairs);
  return maker;
};
const close = (maker, author, round = 0, value = maker.value) => maker.ballot(author, CLOSE, [round, value]);
const absent = (maker, author, round = 0, polka = -1, value = maker.value) =>
  maker.ballot(author, ABSENT, [round, value, polka]);
const otherValue = ([step, tip, entries]) => [step, tip, Array.isArray(entries) ? entries.map(() => noise) : noise];
const ended0 = (maker, author, body, step = maker.chronicle.number) => maker.sign(author, RESULT, body, step);

// A REVEAL or OPEN of the first who owes it, which carries this.
async function carrying(maker, author, signature) {
  const [first] = maker.chronicle.step.owed;
  maker.carried = () => V.joinBytes([Uint8Array.of(author), signature]);
  return push(maker, maker.sign(first, maker.chronicle.step.kind, await maker.due(first)));
}
// Five players: one is out, one is silent, and of three who stay one sends no CLOSE. So one CLOSE by each of the others
// is a majority, and half of those who stay have not voted yet.
async function fewStay() {
  const maker = await played(5, is(OPEN));
  await maker.playStep(0);
  await goOn(maker, is(MOVE));
  const [silent] = maker.chronicle.step.owed;
  const [gone] = out(maker);
  const staying = [0, 1, 2, 3, 4].filter((author) => author !== silent && author !== gone);
  return { maker, silent, gone, staying };
}

// The REVEAL of a deal, when somebody has been out of the game for three LOCKs.
const longOut = (maker) => {
  const { step, locks } = maker.chronicle;
  const gone = out(maker);
  return step.kind === REVEAL && gone.some((author) => locks.slice(-2).every(({ owed }) => !owed.includes(author)));
};

// A CLOSE of somebody who has been out of the game for long.
async function voteOfOne(isCarried) {
  const maker = await played(4, longOut);
  const [gone] = out(maker);
  maker.carried = () => (isCarried ? V.joinBytes([Uint8Array.of(gone), maker.witness(gone)]) : NONE);
  await maker.playStep(0);
  maker.carried = () => NONE;
  await goOn(maker, is(OPEN));
  return push(maker, close(maker, gone));
}

const CASES = {
  fair: {
    "by messages": () => played(4),
    "all LOCKs by certificates": async () => {
      const maker = await played(3, is(LOCK));
      while (!maker.over) await (is(LOCK)(maker) ? voted(maker, []) : maker.playStep(0));
      return maker;
    },
    "a LOCK at the end that nobody owes": async () => {
      const maker = await played(3, is(REVEAL));
      for (const author of [0, 1, 2]) await maker.add(maker.sign(author, RESIGN, []));
      return goOn(maker);
    },
    "all who are out are carried": async () => {
      const maker = await played(5, longOut);
      const [gone] = out(maker);
      maker.carried = () => V.joinBytes([Uint8Array.of(gone), maker.witness(gone)]);
      await maker.playStep(0);
      delete maker.carried;
      return goOn(maker);
    },
  },
  unproven: {
    "a MOVE that did not come": async () => {
      const maker = await played(4, is(MOVE));
      return goOn(await voted(maker, maker.chronicle.step.owed));
    },
    "a certificate with an ABSENT": async () => {
      const { maker, silent, gone, staying } = await fewStay();
      const votes = { absents: [staying[1]], closes: [silent, gone, staying[0]].sort() };
      return goOn(await voted(maker, [silent], votes));
    },
    "OPENs of two that did not come, and a LOCK after that by votes": async () => {
      const maker = await played(5, is(OPEN));
      const silent = maker.chronicle.step.owed.slice(0, 2);
      await voted(maker, silent);
      return goOn(await voted(await goOn(maker, is(LOCK)), []));
    },
  },
  incomplete: {
    "nothing": async () => {
      const maker = await played(2, () => true);
      return maker;
    },
    "a part of a LOCK": async () => {
      const maker = await played(4, is(LOCK));
      return push(maker, maker.sign(2, LOCK, await maker.due(2)));
    },
    "a part of the votes on a LOCK": async () => {
      const maker = await played(4, is(LOCK));
      return push(maker, absent(maker, 1, 3, 2), close(maker, 1), close(maker, 2, 4));
    },
    "a vote at the first root, which is behind the first LOCK": async () => {
      const maker = await played(4, (each) => each.chronicle.number === 2);
      const pair = close(maker, 1);
      assert.equal(maker.parse(pair).step, 1);
      return push(maker, pair);
    },
    "a part of the votes on OPENs, for two values": async () => {
      const maker = await played(4, is(OPEN));
      const [step, tip, [, ...others]] = maker.value;
      return push(maker, close(maker, 1), close(maker, 3, 1, [step, tip, [noise, ...others]]));
    },
    "a vote of somebody who is out and carried": () => voteOfOne(true),
    "no LOCK at the end": () => played(3, (maker) => maker.chronicle.script === "end"),
  },
  misconduct: {
    "1: two LOCKs, one of the history": async () => {
      const maker = await played(3, is(LOCK));
      const { number, tip } = maker.chronicle;
      await goOn(maker, is(MOVE));
      return push(maker, maker.sign(1, LOCK, noise, number, tip));
    },
    "1: two LOCKs of one that votes closed": async () => {
      const maker = await played(3, is(LOCK));
      const pairs = [maker.sign(1, LOCK, maker.chronicle.step.state), maker.sign(1, LOCK, noise)];
      return push(await voted(maker, []), ...pairs);
    },
    "1: RESIGN beside the first LOCK": async () => {
      const maker = await played(3, () => true);
      const pair = maker.sign(1, RESIGN, []);
      return push(await goOn(maker), pair);
    },
    "1: RESIGN beside the first COMMIT": async () => {
      const maker = await played(3, (each) => each.chronicle.number === 1);
      const pair = maker.sign(1, RESIGN, []);
      return push(await goOn(maker), pair);
    },
    "2: CLOSE for a value and for none": async () => {
      const maker = await played(4, is(MOVE));
      return push(maker, close(maker, 1, 3), close(maker, 1, 3, []));
    },
    "2: a CLOSE that the history has, and another": async () => {
      const maker = await played(4, is(MOVE));
      const pair = close(maker, 0, 0, otherValue([maker.chronicle.number + 1, noise, noise]));
      return push(maker, close(maker, 0), pair);
    },
    "2: a vote that closed a LOCK, and another": async () => {
      const maker = await played(3, is(LOCK));
      const pairs = [0, 1, 2, 3, 4].map((round) => close(maker, 0, round, []));
      await voted(maker, [], { closes: [0, 1] });
      const { body } = maker.parse(maker.pairs[maker.pairs.length - 1]);
      return push(maker, pairs[body[0]]);
    },
    "3: CLOSE and a later ABSENT": async () => {
      const maker = await played(4, is(MOVE));
      return push(maker, absent(maker, 1, 4, 2, otherValue([0, noise, noise])), close(maker, 1, 3));
    },
    "4: two RESULTs of different steps": async () => {
      const maker = await played(2);
      return push(maker, ended0(maker, 1, noise), ended0(maker, 1, maker.chronicle.stateHash, 0));
    },
    "5: a LOCK by a player who is out": async () => {
      const maker = await played(4, longOut);
      const { step, tip, state } = maker.chronicle.locks[maker.chronicle.locks.length - 1];
      return push(maker, maker.sign(out(maker)[0], LOCK, state, step, tip));
    },
    "5: RESIGN at a LOCK": async () => {
      const maker = await played(3, is(LOCK));
      return push(maker, maker.sign(2, RESIGN, []));
    },
    "5: a LOCK where a MOVE is due": async () => {
      const maker = await played(3, is(MOVE));
      return push(maker, maker.sign(maker.chronicle.step.owed[0], LOCK, noise));
    },
    "5: a message of the LOCK that nobody owed": async () => {
      const maker = await played(2, is(REVEAL));
      for (const author of [0, 1]) await maker.add(maker.sign(author, RESIGN, []));
      return push(maker, maker.sign(0, LOCK, maker.chronicle.step.state));
    },
    "6: RESIGN after the end": async () => {
      const maker = await played(3);
      return push(maker, maker.sign(2, RESIGN, []));
    },
    "7: an illegal move": async () => {
      const maker = await played(3, is(MOVE));
      return push(maker, maker.sign(maker.chronicle.step.owed[0], MOVE, "liar"));
    },
    "7: two commitments where one is due": async () => {
      const maker = await played(3, (each) => each.chronicle.number === 1);
      return push(maker, maker.sign(0, COMMIT, [noise, noise]));
    },
    "7: another share": async () => {
      const maker = await played(3, is(REVEAL));
      return push(maker, maker.sign(0, REVEAL, noise));
    },
    "8: a signature of a player": async () => {
      const maker = await played(3, is(REVEAL));
      return carrying(maker, 2, maker.witness(2));
    },
    "8: a signature of nobody": async () => carrying(await played(4, longOut), 200, new Uint8Array(64)),
    "8: a signature for the latest LOCK": async () => {
      const maker = await played(4, longOut);
      const { step, tip, state } = maker.chronicle.locks[maker.chronicle.locks.length - 1];
      const [gone] = out(maker);
      return carrying(maker, gone, maker.sign(gone, WITNESS, state, step, tip)[1]);
    },
    "8: a signature for another hash": async () => {
      const maker = await played(4, longOut);
      const { step, tip } = maker.chronicle.locks[maker.chronicle.locks.length - 2];
      const [gone] = out(maker);
      return carrying(maker, gone, maker.sign(gone, WITNESS, noise, step, tip)[1]);
    },
    "8: a signature of somebody who has left": async () => {
      const maker = await played(5, is(MOVE));
      const [gone] = maker.chronicle.step.owed;
      await maker.add(maker.sign(gone, RESIGN, []));
      await goOn(maker, longOut);
      return carrying(maker, gone, maker.witness(gone));
    },
  },
  altered: {
    "one RESULT at the end": async () => {
      const maker = await played(2);
      return push(maker, ended0(maker, 0, maker.chronicle.result));
    },
    "two RESULTs of one body": async () => {
      const maker = await played(2);
      return push(maker, ended0(maker, 0, noise), ended0(maker, 0, noise, 0));
    },
    "a WITNESS": async () => {
      const maker = await played(4, longOut);
      return push(maker, maker.sign(out(maker)[0], WITNESS, noise));
    },
    "a LOCK with another hash": async () => {
      const maker = await played(3, is(LOCK));
      return push(maker, maker.sign(0, LOCK, noise));
    },
    "RESIGN in step 0": async () => {
      const maker = await played(3, () => true);
      return push(maker, maker.sign(0, RESIGN, []));
    },
    "RESIGN in step 1": async () => {
      const maker = await played(3, (each) => each.chronicle.number === 1);
      return push(maker, maker.sign(0, RESIGN, []));
    },
    "votes in step 1": async () => {
      const maker = await played(3, (each) => each.chronicle.number === 1);
      return push(maker, maker.sign(0, CLOSE, [0, maker.value]));
    },
    "votes on a LOCK behind messages of it": async () => {
      const maker = await played(3, is(LOCK));
      return push(maker, maker.sign(0, LOCK, await maker.due(0)), close(maker, 1));
    },
    "a vote for another hash at a LOCK": async () => {
      const maker = await played(3, is(LOCK));
      return push(maker, close(maker, 1, 0, otherValue(maker.value)));
    },
    "a vote that names no value": async () => {
      const maker = await played(3, is(MOVE));
      return push(maker, close(maker, 1, 0, []));
    },
    "a vote that names the step and not the root": async () => {
      const maker = await played(3, is(MOVE));
      assert.notEqual(maker.chronicle.root.step, maker.chronicle.number);
      return push(maker, maker.sign(1, CLOSE, [0, maker.value]));
    },
    "a certificate without the ABSENT that it lacks": async () => {
      const { maker, silent, gone, staying } = await fewStay();
      return push(maker, ...[silent, gone, staying[0]].sort().map((author) => close(maker, author)));
    },
    "a certificate with an ABSENT of somebody who has sent a CLOSE": async () => {
      const { maker, silent, gone, staying } = await fewStay();
      const closes = [silent, gone, staying[0]].sort().map((author) => close(maker, author));
      return push(maker, absent(maker, staying[0]), ...closes);
    },
    "a certificate with an ABSENT of somebody who is out": async () => {
      const { maker, silent, gone, staying } = await fewStay();
      const closes = [silent, ...staying.slice(0, 2)].sort().map((author) => close(maker, author));
      return push(maker, absent(maker, gone), ...closes);
    },
    "a vote of somebody who is out, and whom nobody carries": () => voteOfOne(false),
    "a CLOSE too many": async () => {
      const maker = await played(4, is(LOCK));
      const pairs = [0, 1, 2, 3].map((author) => close(maker, author));
      return push(maker, ...pairs);
    },
    "an ABSENT too many": async () => {
      const maker = await played(4, is(LOCK));
      return push(maker, absent(maker, 3), ...[0, 1, 2].map((author) => close(maker, author)));
    },
    "a certificate for other entries": async () => {
      const maker = await played(4, is(OPEN));
      const [step, tip, [, ...others]] = maker.value;
      const value = [step, tip, [noise, ...others]];
      return push(maker, ...[0, 1, 2].map((author) => close(maker, author, 0, value)));
    },
    "a vote that leaves nobody out": async () => {
      const maker = await played(4, is(MOVE));
      return push(maker, close(maker, 1, 0, otherValue(maker.value)));
    },
    "a vote at the tip behind step 1, which is no root": async () => {
      const maker = await played(4, (each) => each.chronicle.number === 2);
      return push(maker, maker.sign(1, CLOSE, [0, maker.value]));
    },
    "a vote at the root before the last decision": async () => {
      const maker = await played(4, is(MOVE));
      const { step, tip } = maker.chronicle.root;
      await voted(maker, maker.chronicle.step.owed);
      const author = [0, 1, 2, 3].find((each) => !maker.chronicle.left.has(each));
      return push(maker, maker.sign(author, CLOSE, [0, maker.value], step, tip));
    },
    "a vote on a LOCK that nobody owes": async () => {
      const maker = await played(3, (each) => out(each).length > 0 && is(REVEAL)(each));
      for (const author of maker.chronicle.step.owed) await maker.add(maker.sign(author, RESIGN, []));
      return push(maker, close(maker, out(maker).find((author) => !maker.chronicle.left.has(author))));
    },
    "CLOSEs of two rounds": async () => {
      const maker = await played(4, is(LOCK));
      return push(maker, ...[0, 1, 2].map((author) => close(maker, author, author)));
    },
    "a majority of one out of two": async () => {
      const maker = await played(2, is(MOVE));
      return push(maker, ...[0, 1].map((author) => close(maker, author)));
    },
    "a message twice": async () => {
      const maker = await played(3, is(MOVE));
      return push(maker, maker.pairs[maker.pairs.length - 1]);
    },
    "a wrong signature": async () => {
      const maker = await played(3, is(MOVE));
      const [data, signature] = maker.pairs[4];
      maker.pairs[4] = [data, signature.map((byte, at) => (at === 40 ? byte ^ 1 : byte))];
      return maker;
    },
  },
};

const PROOFS = {
  misconduct: {
    "two RESULTs": (maker) => [ended0(maker, 1, noise), ended0(maker, 1, maker.chronicle.result, 0)],
    "two CLOSEs": (maker) => [maker.sign(0, CLOSE, [2, []]), maker.sign(0, CLOSE, [2, maker.value])],
    "RESIGN in step 0": (maker) => [maker.sign(0, RESIGN, [], 0), maker.sign(0, LOCK, noise, 0)],
  },
  altered: {
    "two WITNESSes": (maker) => [maker.sign(0, WITNESS, noise), maker.sign(0, WITNESS, maker.chronicle.tip)],
    "CLOSE for no value and a later ABSENT": (maker) => [close(maker, 0, 3, []), absent(maker, 0, 4, 2)],
    "CLOSE and an ABSENT of a later polka": (maker) => [
      close(maker, 0, 3),
      absent(maker, 0, 5, 3, otherValue(maker.value)),
    ],
    "CLOSE and a later ABSENT for one value": (maker) => [close(maker, 0, 3), absent(maker, 0, 4, 2)],
    "one body in two steps": (maker) => [ended0(maker, 1, noise), ended0(maker, 1, noise, 0)],
  },
};

async function* files() {
  for (const [verdict, cases] of Object.entries(CASES))
    for (const [name, make] of Object.entries(cases)) yield { name, file: (await make()).write(), verdict };
  for (const [verdict, proofs] of Object.entries(PROOFS)) {
    for (const [name, pairs] of Object.entries(proofs)) {
      const maker = await played(4, is(MOVE));
      Object.assign(maker, { proof: true, pairs: pairs(maker) });
      yield { name: `proof: ${name}`, file: maker.write(), verdict };
    }
  }
  const other = V.encode(["p2pdice/2/transcript", noise]);
  yield { name: "version 2", file: V.joinBytes([other, noise]), verdict: "other version" };
}

// The base behind each LOCK, as in the example of SPEC.md, II.5: a player goes out, another resigns.
async function checkBase(isCarried) {
  const maker = await played(5, is(OPEN));
  const { chronicle } = maker;
  await maker.playStep(0);
  const [gone] = out(maker);
  await goOn(maker, is(MOVE));
  const [left] = chronicle.step.owed;
  await maker.add(maker.sign(left, RESIGN, []));
  const first = chronicle.locks.length; // the next LOCK is the first that `gone` may witness
  maker.carried = () =>
    isCarried && chronicle.locks.length > first + 1
      ? V.joinBytes([Uint8Array.of(gone), maker.witness(gone)])
      : NONE;
  const bases = [];
  while (bases.length < 3) {
    const { length } = chronicle.locks;
    await maker.playStep(0);
    if (chronicle.locks.length > length) bases.push([...chronicle.base]);
  }
  assert.deepEqual(
    bases.map((base) => [base.includes(gone), base.includes(left), base.length]),
    [
      [true, false, 4],
      [true, false, 4],
      [isCarried, false, isCarried ? 4 : 3],
    ],
  );
}

// An OPEN carries a signature as a REVEAL does, and no beacon depends on it.
async function checkCarried() {
  const maker = await played(4, longOut);
  const { chronicle } = maker;
  const [gone] = out(maker);
  const { context } = chronicle.commitments;
  const shares = [...chronicle.live].sort().flatMap((author) => [author, maker.secret(author, "share", context)]);
  const carried = () => V.joinBytes([Uint8Array.of(gone), maker.witness(gone)]);
  maker.carried = carried;
  await maker.playStep(0);
  assert.deepEqual(chronicle.deal.beacon, V.hashOf("beacon", ...context, ...shares));
  await goOn(maker, is(OPEN));
  await maker.playStep(0);
  assert.ok(maker.pairs.some((pair) => maker.parse(pair).kind === OPEN && maker.parse(pair).body[3].length === 65));
  const { length } = chronicle.locks;
  maker.carried = () => NONE;
  await goOn(maker, () => chronicle.locks.length > length);
  assert.ok(chronicle.base.has(gone));
}

// What a LOCK makes of the tip, and who left before it is in no base.
async function checkLock() {
  const maker = await played(3, is(REVEAL));
  await maker.add(maker.sign(0, RESIGN, []));
  for (const author of [1, 2]) await maker.add(maker.sign(author, REVEAL, await maker.due(author)));
  await goOn(maker, is(LOCK));
  const { number, tip } = maker.chronicle;
  await maker.playStep(0);
  assert.deepEqual(maker.chronicle.tip, V.hashOf("step", tip, number, NONE, NONE, NONE));
  assert.deepEqual([...maker.chronicle.base], [1, 2]);
}

// Three of five must send a CLOSE, and half of those who stay must have voted.
function checkCertificates() {
  const votes = (absents, closes) => [
    ...absents.map((author) => ({ kind: ABSENT, author, body: [0] })),
    ...closes.map((author) => ({ kind: CLOSE, author, body: [1] })),
  ];
  const certified = (live, leaving, ...authors) =>
    V.certifies(
      { base: new Set([0, 1, 2, 3, 4]), left: new Set(), live: new Set(live), votes: votes(...authors) },
      new Set(leaving),
    );
  assert.ok(certified([0, 1], [1], [0], [2, 3, 4]));
  assert.ok(!certified([0, 1], [1], [1], [2, 3, 4]));
  assert.ok(!certified([0, 1], [1], [], [2, 3, 4]));
  assert.ok(!certified([0, 1], [0, 1], [], [2, 3, 4]));
  assert.ok(certified([0, 1, 2], [2], [], [1, 2, 3]));
  assert.ok(!certified([0, 1, 2], [0, 1, 2], [], [0, 1, 2]));
  assert.ok(certified([0, 1, 2, 3], [3], [1, 2], [0, 3, 4]) === false);
  assert.ok(certified([0, 1, 2, 3], [3], [1], [0, 3, 4]));
  // At a LOCK nobody need be in the game: that is the end.
  const atEnd = (kind, closes) =>
    V.certifies(
      { kind, base: new Set([0, 1, 2]), left: new Set(), live: new Set(), votes: votes([], closes) },
      new Set(),
    );
  assert.ok(atEnd(LOCK, [0, 2]));
  assert.ok(!atEnd(LOCK, [0]));
  assert.ok(!atEnd(OPEN, [0, 2]));
}

async function main() {
  checkCertificates();
  await checkBase(true);
  await checkBase(false);
  await checkCarried();
  await checkLock();
  await judge(files(), () => {}, process.argv[2]);
}

main();
