// Judges files by the verifier of the page: `node verify.js FILE…`, or paths on stdin. Prints a JSON line for each.
"use strict";
const fs = require("node:fs");
const { load } = require("./load.js");

const { verifyTranscript } = load(["verifyTranscript"]);
const paths = process.argv.length > 2 ? process.argv.slice(2) : fs.readFileSync(0, "utf8").split("\n").filter(Boolean);

(async () => {
  for (const file of paths) {
    const found = await verifyTranscript(new Uint8Array(fs.readFileSync(file)), () => {});
    process.stdout.write(`${JSON.stringify({ file, ...found })}\n`);
  }
})();
