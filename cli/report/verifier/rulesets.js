// Rulesets: thirteen options, the presets, and the combinations that are refused (SPEC.md, I, Rulesets).

const OPTION_VALUES = {
  dice: (value) => isInteger(value, 1, 10),
  "dice-cap": (value) => value === "none" || isInteger(value, 1, 99),
  exact: ["none", "gain", "others-lose"],
  goal: ["last-standing", "first-out"],
  motes: ["no", "yes"],
  "next-leader": ["loser", "caller", "affected"],
  "ones-bid": ["free", "opening-only", "not-opening"],
  palifico: ["no", "yes"],
  raise: ["standard", "strict", "reset-quantity", "either", "half-ones", "double-ones"],
  siding: ["no", "yes"],
  stakes: ["no", "yes"],
  verdict: ["loser-loses-die", "right-side-discards"],
  wild: ["ones", "never", "unless-opened"],
};

const CLASSIC = {
  dice: 5,
  "dice-cap": "none",
  exact: "none",
  goal: "last-standing",
  motes: "no",
  "next-leader": "loser",
  "ones-bid": "free",
  palifico: "no",
  raise: "strict",
  siding: "no",
  stakes: "no",
  verdict: "loser-loses-die",
  wild: "ones",
};

const PRESETS = {
  classic: {},
  motes: { motes: "yes", stakes: "yes" },
  "spot-on": {
    raise: "standard",
    wild: "unless-opened",
    "ones-bid": "opening-only",
    exact: "others-lose",
    "next-leader": "caller",
  },
  plain: { raise: "either", wild: "never" },
  wildcard: { raise: "half-ones", exact: "gain", "next-leader": "affected" },
  joker: { raise: "double-ones", verdict: "right-side-discards", siding: "yes", goal: "first-out" },
  perudo: {
    raise: "half-ones",
    "ones-bid": "not-opening",
    exact: "gain",
    "dice-cap": 5,
    "next-leader": "affected",
    palifico: "yes",
  },
};

// The options as an object, from the wire form: all thirteen pairs, sorted by name.
function readRuleset(pairs) {
  const wrong = (reason) => new Altered("encoding", `the rules are wrong: ${reason}`);
  const names = Object.keys(OPTION_VALUES);
  if (!Array.isArray(pairs) || pairs.length !== names.length) throw wrong("not thirteen options");
  const rules = {};
  pairs.forEach((pair, at) => {
    if (!Array.isArray(pair) || pair.length !== 2 || pair[0] !== names[at])
      throw wrong("the options are not in order");
    const allowed = OPTION_VALUES[pair[0]];
    if (typeof allowed === "function" ? !allowed(pair[1]) : !allowed.includes(pair[1]))
      throw wrong(`no such ${pair[0]}`);
    rules[pair[0]] = pair[1];
  });
  if (rules.verdict === "right-side-discards" && rules.exact !== "none") throw wrong("exact with right-side-discards");
  if (rules.siding === "yes" && rules.verdict !== "right-side-discards")
    throw wrong("siding without right-side-discards");
  if (rules["dice-cap"] !== "none" && (rules.exact !== "gain" || rules["dice-cap"] < rules.dice))
    throw wrong("dice-cap");
  const withMotes = {
    dice: 5,
    exact: "none",
    goal: "last-standing",
    palifico: "no",
    siding: "no",
    verdict: "loser-loses-die",
  };
  if (rules.motes === "yes" && Object.entries(withMotes).some(([name, value]) => rules[name] !== value))
    throw wrong("motes");
  return rules;
}

const wireRuleset = (rules) => Object.keys(OPTION_VALUES).map((name) => [name, rules[name]]);

// The name of a preset, or house rules with the first digits of their hash.
function rulesetName(rules) {
  for (const [name, changes] of Object.entries(PRESETS)) {
    const preset = { ...CLASSIC, ...changes };
    if (Object.keys(preset).every((option) => preset[option] === rules[option])) return name;
  }
  return `house rules ${hexOf(hashOf("ruleset", encode(wireRuleset(rules)))).slice(0, 8)}`;
}
