// Loads the verifier of the page as the page does: its files in order, as one script.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const folder = path.join(__dirname, "..", "..", "cli", "report", "verifier");

// Many files of a test share most of their bytes: the same is computed once.
const ONCE = `
const once = (compute) => {
  const known = new Map();
  return function (...values) {
    const given = this instanceof VerifyingKey ? [this.bytes, ...values] : values;
    const text = ({ buffer, byteOffset, length }) => length + ":" + Buffer.from(buffer, byteOffset, length).latin1Slice();
    const key = given.map(text).join("");
    if (known.size > 50000) known.clear();
    if (!known.has(key)) known.set(key, compute.apply(this, values));
    return known.get(key);
  };
};
sha256 = once(sha256);
acceptableKey = once(acceptableKey);
VerifyingKey.prototype.verifies = once(VerifyingKey.prototype.verifies);
`;

// The names that the script defines. `change` is given its text, and returns another.
exports.load = (names, change = (source) => source) => {
  const files = fs.readFileSync(path.join(folder, "order.txt"), "utf8").trim().split("\n");
  const source = change(files.map((file) => fs.readFileSync(path.join(folder, file), "utf8")).join("\n")) + ONCE;
  return vm.runInThisContext(`(() => { ${source}\nreturn { ${names.join(", ")} }; })()`, { filename: "verifier.js" });
};
