// Reads what it is given as the page's verifier does, until stdin ends: `node readers.js [OLD NEW]`.
//
// Each line on stdin asks [reader, [input in hexadecimal digits …]]. A line on stdout answers with an array: what was
// read, as `spelled` tells it; null for what is refused; { fault } for an error that nobody should see.
// The one occurrence of OLD in the verifier's text is replaced by NEW, to plant a fault.
"use strict";
const readline = require("node:readline");
const { load } = require("./load.js");

const [old, planted] = process.argv.slice(2);

function prepared(source) {
  if (old === undefined) return source;
  if (source.split(old).length !== 2) throw new Error(`not there once: ${old}`);
  return source.replace(old, () => planted);
}

const V = load(
  [
    ..."Altered Chronicle Illegal VerifyingKey acceptableKey acceptableNickname contradict copyOf decodeAt".split(" "),
    ..."decodeWhole encode fingerprintOf hashOf isIPv4 isIPv6 readGenesis readMessage readRuleset rulesetName".split(" "),
    ..."sameBytes verifyTranscript wireRuleset".split(" "),
  ],
  prepared,
);
const UNCOUNTED = { add() {} };
const textOf = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
const refuse = () => {
  throw new V.Altered("", "");
};

// Integers as i5, byte strings as x05, texts as t5.
function spelled(value) {
  if (Array.isArray(value)) return value.map(spelled);
  if (value instanceof Uint8Array) return `x${Buffer.from(value).toString("hex")}`;
  if (typeof value === "string") return `t${value}`;
  return typeof value === "number" || typeof value === "bigint" ? `i${value}` : value;
}

// Reads messages of the match that the first one names, whichever that is.
function readMessages(...given) {
  const fields = V.decodeWhole(given[0]);
  const match = Array.isArray(fields) ? fields[1] : null;
  return given.map((data) => V.readMessage([data, new Uint8Array(64)], { match, players: 256 }));
}

const positions = []; // that matches were followed to

const READERS = {
  encoding(data) {
    const value = V.decodeWhole(data);
    if (!V.sameBytes(V.encode(value), data)) throw new Error("written otherwise than it was read");
    return value;
  },
  message(data) {
    const [{ step, tip, author, kind, body, id }] = readMessages(data);
    return [step, tip, author, kind, body, id];
  },
  contradiction: (data) => [V.contradict(...readMessages(...V.decodeWhole(data)))],
  async genesis(data) {
    const { rules, roster, purses, match } = await V.readGenesis(data, UNCOUNTED);
    return [
      match,
      V.wireRuleset(rules),
      purses,
      roster.map((join) => [
        ...[join.identity, join.match, join.nickname, join.pledge, join.fingerprint, join.funds, join.owned],
        join.head || [],
      ]),
    ];
  },
  ruleset(data) {
    const rules = V.readRuleset(V.decodeWhole(data));
    return [V.wireRuleset(rules), V.rulesetName(rules)];
  },
  nickname: (data) => (V.acceptableNickname(textOf(data)) ? [] : refuse()),
  address: (data) => (V.isIPv4(textOf(data)) || V.isIPv6(textOf(data)) ? [] : refuse()),
  fingerprint: (data) => [V.fingerprintOf(data)],
  key: (data) => (V.acceptableKey(data) ? [] : refuse()),
  async signature(data) {
    const [key, signature, signed] = V.decodeWhole(data);
    return V.acceptableKey(key) && (await new V.VerifyingKey(key).verifies(signature, signed)) ? [] : refuse();
  },
  // Follows the beginning of a match, and keeps where that ends.
  async position(data) {
    const number = positions.push(null) - 1;
    const [[, genesisBytes], start] = V.decodeAt(data, 0);
    const genesis = await V.readGenesis(genesisBytes, UNCOUNTED);
    const chronicle = new V.Chronicle(genesis, UNCOUNTED);
    for (let at = start; at < data.length; ) {
      const [pair, end] = V.decodeAt(data, at);
      if (!(await chronicle.take(V.readMessage(pair, genesis)))) throw new Error("the match does not go on");
      at = end;
    }
    positions[number] = chronicle.game;
    return [number, stateHash(chronicle.game)];
  },
  move(data) {
    const [number, text] = V.decodeWhole(data);
    const game = V.copyOf(positions[number]);
    try {
      game.play(text);
    } catch (error) {
      if (error instanceof V.Illegal) refuse();
      throw error;
    }
    return [stateHash(game)];
  },
  async file(data) {
    const found = await V.verifyTranscript(data, null);
    if (found.fault) throw new Error(found.fault);
    const { verdict, reason } = found;
    const isProof = verdict === "misconduct";
    return [
      verdict,
      ...[found.culprit, found.culprit_fingerprint, found.match, found.rules, found.players, found.fingerprints],
      ...[found.winners, found.winner_fingerprints],
      !isProof || reason.includes(found.culprit_fingerprint), // a nickname alone may be another's, too
      // How far an altered file was read before that showed is nobody's business.
      verdict === "altered" ? [] : [found.step, found.steps, found.signatures, found.round, found.awaited],
      (found.purses || []).map(({ funds, bet, tickets }) => [funds, bet || 0, tickets || 0]),
      (found.purses || []).map(({ bet, tickets, change, ticket_change, soul }) =>
        // The page says nothing of a change to somebody who has staked nothing.
        (bet || tickets) && change !== null ? [change, ticket_change, soul] : [],
      ),
    ];
  },
};

const stateHash = (game) => V.hashOf("state", V.encode(game.canonicalState()));

async function answer(reader, input) {
  try {
    return spelled(await READERS[reader](new Uint8Array(Buffer.from(input, "hex"))));
  } catch (error) {
    return error instanceof V.Altered ? null : { fault: String(error && error.stack) };
  }
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [reader, inputs] = JSON.parse(line);
    // Side by side: the verifier pauses now and then, for a browser to draw.
    const answers = await Promise.all(inputs.map((input) => answer(reader, input)));
    process.stdout.write(`${JSON.stringify(answers)}\n`);
  }
})();
