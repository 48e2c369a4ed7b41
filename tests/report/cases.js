// Files whose verdict is known, and what the verifier of the page says of them.
"use strict";
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { load } = require("./load.js");

const { verifyTranscript } = load(["verifyTranscript"]);

// Judges each { name, file, verdict }, and prints what differs from what is due. `check` is given the case and what was
// found. With a folder, the files are written there, named after what is due and why.
exports.judge = async (cases, check, folder) => {
  let wrong = 0;
  for await (const each of cases) {
    if (folder) fs.writeFileSync(path.join(folder, `${each.verdict}, ${each.name}.p2pdice`), each.file);
    const found = await verifyTranscript(each.file, () => {});
    try {
      assert.equal(found.verdict, each.verdict, found.reason);
      assert.equal(found.fault, undefined);
      check(each, found);
    } catch (error) {
      wrong++;
      process.stdout.write(`${each.name}: ${error.message}\n`);
    }
  }
  process.exitCode = wrong ? 1 : 0;
};
