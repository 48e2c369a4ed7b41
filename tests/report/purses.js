// Matches with purses that are right, or go wrong in one thing, and what the verifier of the page says of them.
//
//   node purses.js             judges them, and prints what differs from what is due
//   node purses.js FOLDER      writes them to FOLDER as well, named after what is due and why
"use strict";
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { judge } = require("./cases.js");
const { load } = require("./load.js");
const { Maker, FAULTS } = require("./make.js");

const V = load(["accountOf", "changesOf", "encodeAccount", "hashOf", "hexOf", "newGame", "CLASSIC", "PRESETS"]);
const rulesOf = (preset) => ({ ...V.CLASSIC, ...V.PRESETS[preset], stakes: "yes" });
const QUICK = { ...V.CLASSIC, dice: 1, stakes: "yes" };
const STAKE = 8;
const bytes = (fill) => new Uint8Array(32).fill(fill);

// Two players and one die each need the fewest steps.
function small(seed, rules = QUICK, purses = true) {
  return Object.assign(new Maker(seed, rules, purses), { players: 2 });
}

// Plays a match to its end, or to the STAKE with the fault. Nobody leaves.
async function played(maker, fault = null) {
  await maker.begin();
  maker.fault = fault;
  while (!maker.over) {
    if (maker.faultIsDue) {
      maker.pairs.push(await maker.faultyStake());
      break;
    }
    await maker.playStep(0);
  }
  return maker;
}

// A file that holds only a genesis, in which the head of the first player's purse is spoiled.
function genesisOnly(seed, spoil, rules = QUICK) {
  const maker = small(seed, rules);
  maker.prepare((purse, at) => (at === 0 ? spoil(purse) : purse));
  return maker.write();
}

const changed = (place, value) => (purse) => purse.map((part, at) => (at === place ? value : part));
const MOST = 10 ** 12;

const FORMS = {
  altered: {
    "some without a purse": () => null,
    "four parts": (purse) => purse.slice(0, 4),
    "six parts": (purse) => [...purse, 0],
    "a purse of bytes": () => bytes(1),
    "an era above the greatest": changed(0, 2 ** 32),
    "an era below zero": changed(0, -1),
    "a height above the greatest": changed(1, 2 ** 32),
    "a height below zero": changed(1, -1),
    "an empty id": changed(2, new Uint8Array(0)),
    "too many coins": changed(3, MOST + 1),
    "coins below zero": changed(3, -1),
    "too many tickets": changed(4, MOST + 1),
    "tickets below zero": changed(4, -1),
    "a text for tickets": changed(4, "5"),
  },
  incomplete: {
    "purses in order": (purse) => purse,
    "all at its limit": () => [2 ** 32 - 1, 2 ** 32 - 1, bytes(255), MOST, MOST],
    "nothing": () => [0, 0, bytes(0), 0, 0],
  },
};

async function* files() {
  for (const preset of Object.keys(V.PRESETS)) {
    const rules = { ...rulesOf(preset), ...(preset === "motes" ? {} : { dice: 1 }) };
    const maker = await played(new Maker(`fair/${preset}`, rules, true));
    yield { name: `purses, ${preset}`, file: maker.write(), verdict: "fair", maker };
  }
  const without = await played(small("without", QUICK, false));
  yield { name: "stakes without purses", file: without.write(), verdict: "fair", maker: without };
  for (const fault of FAULTS) {
    const maker = await played(small(`fault/${fault}`), fault);
    yield { name: `a stake above the ${fault}`, file: maker.write(), verdict: "misconduct", maker };
  }
  const four = small("four parts");
  await four.begin();
  while (four.chronicle.step.kind !== STAKE) await four.playStep(0);
  four.pairs.push(four.sign(0, STAKE, [...(await four.due(0)), new Uint8Array(64)]));
  yield { name: "a STAKE of four parts", file: four.write(), verdict: "altered" };
  for (const [verdict, forms] of Object.entries(FORMS))
    for (const [name, spoil] of Object.entries(forms)) yield { name, file: genesisOnly(name, spoil), verdict };
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
  assert.ok(found.purses.every(({ funds, change }) => funds + change <= MOST));
  assert.equal(found.checks.find(({ check }) => check === "purses").count, found.players.length);
}

// The examples of SPEC.md, I, Stakes, with roster indices for seats.
function checkChanges() {
  const changes = (stakes, funds, winners, owned = 0) =>
    V.changesOf(
      { stakes, winners, earners: [], soul: "" },
      funds.map((each) => ({ funds: each, owned })),
    );
  const bets = (...list) => list.map((bet) => [bet, 0]);
  assert.deepEqual(changes(bets(100, 50), [1000, 1000], [0]), [[60, 0], [-50, 0]]);
  assert.deepEqual(changes(bets(10, 0), [30, 0], [0]), [[3, 0], [0, 0]]);
  assert.deepEqual(changes(bets(10, 0), [30, 0], [1]), [[-10, 0], [10, 0]]);
  const tied = [[10, 1], [0, 0], [1, 2]];
  assert.deepEqual(changes(tied, [10, 10, 10], [2, 1]), [[-10, -1], [5, 1], [5, 0]]);
  assert.deepEqual(changes(bets(MOST, MOST, 1), [MOST, MOST, MOST], [0]), [[0, 0], [-MOST, 0], [-1, 0]]);
  assert.deepEqual(changes(bets(MOST - 1, 0), [MOST, 5], [0])[0], [0, 0]);
  assert.deepEqual(changes(bets(5, 9), [MOST - 4, 9], [0])[0], [4, 0]);
  assert.deepEqual(changes([[0, 0], [0, 3]], [5, 5], [0], MOST - 2)[0], [0, 2]);
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
  assert.deepEqual(V.changesOf(account, Array(3).fill({ funds: 1000, owned: 2 })), [[-50, 0], [150, 2], [-100, 0]]);
  const written = "94" + "93" + "923201" + "920000" + "926400" + "9101" + "920001" + "a94475736b204d6f7468";
  assert.equal(V.hexOf(V.encodeAccount(account)), written);
  // Of winners that share the place, the first at or after the last leader is the first to be paid the remainder.
  const tie = { winners: [0, 2, 3], leader: 2, players: 4, earners: [], soul: "" };
  assert.deepEqual(V.accountOf(tie, [3, 2, 1, 0], [null, null, null, null]).winners, [1, 0, 3]);
  // A stake that was not opened counts as one of nothing.
  assert.deepEqual(V.accountOf(game, seats, [null, [0, 0], [100, 0]]).stakes, [[0, 0], [0, 0], [100, 0]]);
  assert.deepEqual(V.accountOf(game, seats, [null, [0, 0], [100, 0]]).earners, [0, 1]);
}

// The body of a RESULT among the test vectors of SPEC.md.
function checkVectors() {
  const spec = fs.readFileSync(path.join(__dirname, "..", "..", "SPEC.md"), "utf8");
  const { purse } = JSON.parse(spec.match(/```json\n([^`]*"purse":[^`]*)```/)[1]);
  const bytesOf = (hex) => new Uint8Array(Buffer.from(hex, "hex"));
  assert.equal(V.hexOf(V.hashOf("result", bytesOf(purse["state hash"]), bytesOf(purse.account))), purse.result);
}

checkChanges();
checkAccount();
checkVectors();
judge(files(), checkFound, process.argv[2]);
