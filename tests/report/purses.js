// Matches with purses that are right, or go wrong in one thing, and what the verifier of the page says of them.
//
//   node purses.js             judges them, and prints what differs from what is due
//   node purses.js FOLDER      writes them to FOLDER as well, named after what is due and why
"use strict";
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { load } = require("./load.js");
const { Maker, FAULTS } = require("./make.js");

const V = load([
  "accountOf",
  "changesOf",
  "encode",
  "encodeAccount",
  "freezeEntry",
  "hashOf",
  "hexOf",
  "joinBytes",
  "newGame",
  "verifyTranscript",
  "CLASSIC",
  "PRESETS",
]);
const RESULT = 7;
const rulesOf = (preset) => ({ ...V.CLASSIC, ...V.PRESETS[preset], stakes: "yes" });
const QUICK = { ...V.CLASSIC, dice: 1, stakes: "yes" };
const bytes = (fill) => new Uint8Array(32).fill(fill);

// Two players and one die each need the fewest steps.
function small(seed, rules = QUICK, purses = true) {
  return Object.assign(new Maker(seed, rules, purses), { players: 2 });
}

// Plays a match to its end, or to the STAKE with the fault. Nobody leaves.
async function played(maker, fault = null) {
  await maker.begin();
  maker.fault = fault;
  while (!maker.chronicle.ended) {
    if (maker.faultIsDue) {
      maker.pairs.push(await maker.faultyStake());
      break;
    }
    await maker.playStep(0);
  }
  return maker;
}

// A file that holds only a genesis, in which the first player's purse is spoiled.
function genesisOnly(seed, spoil, rules = QUICK) {
  const maker = small(seed, rules);
  maker.prepare((purse, at, player) => (at === 0 ? spoil(purse, player) : purse));
  return maker.write();
}

const changed = (place, value) => (purse) => purse.map((part, at) => (at === place ? value : part));
// A purse of 1,000 coins and 5 tickets with these stakes, frozen at height 1.
const frozen = (stakes) => frozenAt(1, stakes);
const frozenAt =
  (frozenHeight, stakes) =>
  ([key, height, head]) => [key, height, head, 1000, stakes.map((stake) => [...stake, frozenHeight]), 5, []];
const souls = (list) => changed(6, list);
const many = (count, item) => Array.from({ length: count }, (_, at) => item(at));

const FORMS = {
  altered: {
    "some without a purse": () => null,
    "six parts": (purse) => purse.slice(0, 6),
    "eight parts": (purse) => [...purse, 0],
    "a purse of bytes": () => bytes(1),
    "a key of 31 bytes": changed(0, bytes(1).slice(1)),
    "a key of small order": changed(0, Uint8Array.of(1, ...bytes(0).slice(1))),
    "the identity key as purse key": (purse, { identity }) => [identity.bytes, ...purse.slice(1)],
    "the match key as purse key": (purse, { match }) => [match.bytes, ...purse.slice(1)],
    "a height above the greatest": changed(1, 2 ** 32),
    "a height below zero": changed(1, -1),
    "an empty head": changed(2, new Uint8Array(0)),
    "too many coins": changed(3, 10 ** 12 + 1),
    "coins below zero": ([key, height, head]) => [key, height, head, -1, [], 0, []],
    "too many tickets": changed(5, 10 ** 12 + 1),
    "a text for tickets": changed(5, "5"),
    "bets above the balance": frozen([
      [bytes(1), 600, 0],
      [bytes(2), 401, 0],
    ]),
    "tickets above the tickets": frozen([
      [bytes(1), 0, 3],
      [bytes(2), 0, 3],
    ]),
    "a frozen bet below zero": frozen([
      [bytes(1), 1000, 0],
      [bytes(2), -1, 0],
    ]),
    "frozen stakes out of order": frozen([
      [bytes(2), 1, 0],
      [bytes(1), 1, 0],
    ]),
    "a match frozen twice": frozen([
      [bytes(1), 1, 0],
      [bytes(1), 2, 0],
    ]),
    "a frozen stake without a height": ([key, height, head]) => [key, height, head, 1000, [[bytes(1), 1, 0]], 5, []],
    "a frozen stake above the greatest height": frozenAt(2 ** 32, [[bytes(1), 1, 0]]),
    "seventeen frozen stakes": frozen(many(17, (at) => [bytes(at), 1, 0])),
    "souls out of order": souls([
      ["Eclipse", 1],
      ["Dusk Moth", 1],
    ]),
    "a soul twice": souls([
      ["Eclipse", 1],
      ["Eclipse", 1],
    ]),
    "no such number of souls": souls([["Eclipse", 0]]),
    "too great a number of souls": souls([["Eclipse", 10 ** 12 + 1]]),
    "a soul without a name": souls([["", 1]]),
    "a soul with a long name": souls([["x".repeat(41), 1]]),
    "a soul with a name of many bytes": souls([["é".repeat(21), 1]]),
    "sixteen frozen stakes, so that no other can be frozen": frozen(many(16, (at) => [bytes(at), 1, 0])),
    "a height that nothing can follow": changed(1, 2 ** 32 - 1),
    "thirty-three souls": souls(many(33, (at) => [String.fromCharCode(65 + at), 1])),
  },
  incomplete: {
    "purses in order": (purse) => purse,
    "all at its limit": ([key, , head]) => [
      key,
      2 ** 32 - 2,
      head,
      10 ** 12,
      many(15, (at) => [bytes(at), 10 ** 10, 10 ** 10, 2 ** 32 - 1]),
      10 ** 12,
      many(32, (at) => [`${String.fromCodePoint(0x1f400 + at)}${"x".repeat(36)}`, 10 ** 12]),
    ],
    "everything frozen": frozen([
      [bytes(1), 600, 5],
      [bytes(2), 400, 0],
    ]),
    "names in the order of their characters": souls([
      ["\uff5e", 1],
      ["\u{1f400}", 1],
    ]),
  },
};

async function* files() {
  for (const preset of Object.keys(V.PRESETS)) {
    const rules = { ...rulesOf(preset), ...(preset === "motes" ? {} : { dice: 1 }) };
    const maker = await played(new Maker(`fair/${preset}`, rules, true));
    yield { name: `purses, ${preset}`, file: maker.write(), verdict: "fair", maker };
  }
  const old = await played(small("old", QUICK, false));
  yield { name: "without purses, as before", file: old.write(), verdict: "fair", maker: old };
  for (const fault of FAULTS) {
    const maker = await played(small(`fault/${fault}`), fault);
    yield { name: `fault ${fault}`, file: maker.write(), verdict: "misconduct", maker };
  }
  const extra = small("extra", QUICK, false);
  extra.faulty = 1;
  await played(extra, "parts");
  yield { name: "a signature without a purse", file: extra.write(), verdict: "misconduct", maker: extra };
  for (const right of [true, false]) {
    const maker = await played(small("result"));
    const result = right ? maker.chronicle.result : bytes(7);
    maker.pairs.push(maker.sign(0, RESULT, result));
    yield { name: `a ${right ? "right" : "wrong"} RESULT at the end`, file: maker.write(), verdict: "altered" };
  }
  const twice = await played(small("result"));
  twice.pairs = [twice.sign(0, RESULT, twice.chronicle.result), twice.sign(0, RESULT, bytes(7))];
  twice.proof = true;
  yield { name: "two RESULTs as a proof", file: twice.write(), verdict: "altered" };
  const short = await played(small("short"));
  const at = short.pairs.findIndex((pair) => short.parse(pair).kind === 8);
  const fields = short.parse(short.pairs[at]);
  const body = [...fields.body.slice(0, 3), bytes(1)];
  short.pairs = [...short.pairs.slice(0, at), short.sign(fields.author, 8, body, fields.step, fields.tip)];
  yield { name: "a STAKE whose signature has 32 bytes", file: short.write(), verdict: "altered" };
  for (const [verdict, forms] of Object.entries(FORMS))
    for (const [name, spoil] of Object.entries(forms)) yield { name, file: genesisOnly(name, spoil), verdict };
  const same = small("same");
  const keys = [];
  same.prepare((purse) => {
    keys.push(purse[0]);
    return [keys[0], ...purse.slice(1)];
  });
  yield { name: "one purse key for two", file: same.write(), verdict: "altered" };
  yield {
    name: "purses without stakes",
    file: genesisOnly("plain", (purse) => purse, { ...QUICK, stakes: "no" }),
    verdict: "altered",
  };
}

// What the verifier says of the purses in a file that it has judged.
function checkFound({ verdict, maker }, found) {
  if (verdict === "misconduct") {
    assert.equal(found.culprit, maker.genesis.roster[maker.faulty].nickname);
    assert.match(found.reason, /stake/);
  }
  if (verdict !== "fair") return;
  assert.equal(found.purses === null, !maker.purses);
  if (!maker.purses) return;
  const stakes = found.purses.map(({ bet, tickets, change }) => [bet, tickets, change]);
  assert.ok(stakes.flat().every((number) => number !== null));
  const lost = found.purses.filter((_, seat) => !found.winners.includes(found.players[seat]));
  assert.ok(lost.every(({ bet, change }) => change === 0 - bet));
  const frozen = found.checks.find(({ check }) => check === "purses");
  assert.equal(frozen.count, found.players.length);
}

// The examples of SPEC.md, I, Stakes, with roster indices for seats.
function checkChanges() {
  const changes = (stakes, funds, winners, earners = []) =>
    V.changesOf({ stakes, winners, earners, soul: "" }, funds);
  const bets = (...list) => list.map((bet) => [bet, 0]);
  assert.deepEqual(changes(bets(100, 50), [1000, 1000], [0]), [[60, 0], [-50, 0]]);
  assert.deepEqual(changes(bets(10, 0), [30, 0], [0]), [[3, 0], [0, 0]]);
  assert.deepEqual(changes(bets(10, 0), [30, 0], [1]), [[-10, 0], [10, 0]]);
  const tied = [[10, 1], [0, 0], [1, 2]];
  assert.deepEqual(changes(tied, [10, 10, 10], [2, 1]), [[-10, -1], [5, 1], [5, 0]]);
  const rich = 10 ** 12;
  assert.deepEqual(changes(bets(rich, rich, 1), [rich, rich, rich], [0]), [[rich, 0], [-rich, 0], [-1, 0]]);
  assert.deepEqual(changes([[10 ** 12 - 1, 0], [0, 0]], [10 ** 12, 5], [0])[0], [10 ** 12 - 2, 0]);
}

// The end of the match with motes in SPEC.md, I, Test vectors, with its account and the body of its RESULTs.
function checkAccount() {
  const game = V.newGame(rulesOf("motes"), 3);
  game.givePledges(["redeemed", "cursed", "cursed"]);
  game.giveStakes([[100, 1000, 0, 0], [50, 1000, 1, 2], [0, 1000, 0, 0]]);
  game.giveDie(2);
  game.depart(0, "evicted");
  game.depart(1, "evicted");
  game.play("crown dark@2");
  const seats = [2, 0, 1]; // roster indices
  const account = V.accountOf(game, seats, [[50, 1], [0, 0], [100, 0]]);
  assert.deepEqual(account, { stakes: [[50, 1], [0, 0], [100, 0]], winners: [1], earners: [0, 1], soul: "Dusk Moth" });
  assert.deepEqual(V.changesOf(account, [1000, 1000, 1000]), [[-50, 0], [150, 2], [-100, 0]]);
  const written = "94" + "93" + "923201" + "920000" + "926400" + "9101" + "920001" + "a94475736b204d6f7468";
  assert.equal(V.hexOf(V.encodeAccount(account)), written);
  // Of winners that share the place, the first at or after the last leader is the first to be paid the remainder.
  const tie = { winners: [0, 2, 3], leader: 2, players: 4, earners: [], soul: "" };
  assert.deepEqual(V.accountOf(tie, [3, 2, 1, 0], [null, null, null, null]).winners, [1, 0, 3]);
  // Whether a stake was frozen that came too late, no history tells: the account is the same.
  assert.deepEqual(V.accountOf(game, seats, [null, [0, 0], [100, 0]]).stakes, [[0, 0], [0, 0], [100, 0]]);
  assert.deepEqual(V.accountOf(game, seats, [null, [0, 0], [100, 0]]).earners, [0, 1]);
}

// The purse among the test vectors of SPEC.md.
function checkVectors() {
  const spec = fs.readFileSync(path.join(__dirname, "..", "..", "SPEC.md"), "utf8");
  const { purse } = JSON.parse(spec.match(/```json\n([^`]*"purse":[^`]*)```/)[1]);
  const bytesOf = (hex) => new Uint8Array(Buffer.from(hex, "hex"));
  const before = { key: bytesOf(purse.key), height: 0, head: bytesOf(purse.opening.id) };
  const freeze = V.freezeEntry(before, bytesOf(purse.match), 100, 0);
  assert.equal(V.hexOf(freeze), purse["freeze 100 coins"].data);
  assert.equal(V.hexOf(V.hashOf("result", bytesOf(purse["state hash"]), bytesOf(purse.account))), purse.result);
}

async function main([folder]) {
  checkChanges();
  checkAccount();
  checkVectors();
  let wrong = 0;
  for await (const { name, file, verdict, maker } of files()) {
    if (folder) fs.writeFileSync(path.join(folder, `${verdict}, ${name}.p2pdice`), file);
    const found = await V.verifyTranscript(file, () => {});
    try {
      assert.equal(found.verdict, verdict, found.reason);
      assert.equal(found.fault, undefined);
      checkFound({ verdict, maker }, found);
    } catch (error) {
      wrong++;
      process.stdout.write(`${name}: ${error.message}\n`);
    }
  }
  process.exitCode = wrong ? 1 : 0;
}

main(process.argv.slice(2));
