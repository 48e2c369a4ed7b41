// Asks the verifier of the page what it accepts: a JSON array of [what, value…] on stdin, of true and false on stdout.
"use strict";
const fs = require("node:fs");
const { load } = require("./load.js");

const verifier = load([
  ..."acceptableNickname isIPv4 isIPv6 decodeWhole encode readRuleset readGenesis readMessage".split(" "),
  ..."acceptableKey acceptableSignature contradict Altered".split(" "),
]);
const bytes = (hex) => new Uint8Array(Buffer.from(hex, "hex"));
const read = (data, match) =>
  verifier.readMessage([bytes(data), new Uint8Array(64)], { match: bytes(match), players: 2 });

const ASK = {
  nickname: (text) => verifier.acceptableNickname(text),
  address: (text) => verifier.isIPv4(text) || verifier.isIPv6(text),
  encoding: (hex) => {
    const again = Buffer.from(verifier.encode(verifier.decodeWhole(bytes(hex)))).toString("hex");
    if (again !== hex) throw new Error(`two encodings of one value: ${hex} and ${again}`);
    return true;
  },
  ruleset: (hex) => Boolean(verifier.readRuleset(verifier.decodeWhole(bytes(hex)))),
  genesis: async (hex) => Boolean(await verifier.readGenesis(bytes(hex), { add() {} })),
  key: (hex) => verifier.acceptableKey(bytes(hex)),
  signature: (hex) => verifier.acceptableSignature(bytes(hex)),
  message: (data, match) => Boolean(read(data, match)),
  contradiction: (one, other, match) => verifier.contradict(read(one, match), read(other, match)),
};

(async () => {
  const answers = [];
  for (const [what, ...values] of JSON.parse(fs.readFileSync(0, "utf8"))) {
    try {
      answers.push(await ASK[what](...values));
    } catch (error) {
      if (!(error instanceof verifier.Altered)) throw error;
      answers.push(false);
    }
  }
  process.stdout.write(JSON.stringify(answers));
})();
