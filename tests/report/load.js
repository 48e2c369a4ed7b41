// Loads the verifier of the page as the page does: its files in order, as one script.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const folder = path.join(__dirname, "..", "..", "cli", "report", "verifier");

// The names that the script defines. `change` is given its text, and returns another.
exports.load = (names, change = (source) => source) => {
  const files = fs.readFileSync(path.join(folder, "order.txt"), "utf8").trim().split("\n");
  const source = change(files.map((file) => fs.readFileSync(path.join(folder, file), "utf8")).join("\n"));
  return vm.runInThisContext(`(() => { ${source}\nreturn { ${names.join(", ")} }; })()`, { filename: "verifier.js" });
};
