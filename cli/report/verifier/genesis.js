// The join records and the genesis (SPEC.md, II.3).

const JOIN_TAG = "p2pdice/3/join";
const GENESIS_TAG = "p2pdice/3/genesis";
const LONGEST_GENESIS = 65536;

const UNSHOWN = (
  "0-1F 7F-A0 AD 34F 61C 115F-1160 1680 17B4-17B5 180B-180F 2000-200F 2028-202F 205F-206F 2800 3000 3164 " +
  "D800-F8FF FDD0-FDEF FE00-FE0F FEFF FFA0 FFF0-FFFB FFFE-FFFF 16FE4 1BCA0-1BCA3 1D173-1D17A E0000-10FFFF"
)
  .split(" ")
  .map((range) => range.split("-").map((end) => parseInt(end, 16)))
  .map(([low, high]) => [low, high ?? low]);

function acceptableNickname(name) {
  if (typeof name !== "string") return false;
  const points = Array.from(name, (character) => character.codePointAt(0));
  if (points.length < 1 || points.length > 20) return false;
  if (name.startsWith(" ") || name.endsWith(" ") || name.includes("  ")) return false;
  return points.every((point) => UNSHOWN.every(([low, high]) => point < low || point > high));
}

const isIPv4 = (text) =>
  /^(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}$/.test(text) &&
  text.split(".").every((part) => Number(part) <= 255);

function isIPv6(text) {
  let rest = text;
  const last = rest.slice(rest.lastIndexOf(":") + 1);
  if (last.includes(".")) {
    if (!isIPv4(last)) return false;
    rest = `${rest.slice(0, rest.length - last.length)}0:0`;
  }
  const halves = rest.split("::");
  if (halves.length > 2) return false;
  const groups = halves.map((half) => (half === "" ? [] : half.split(":")));
  if (!groups.flat().every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return false;
  return halves.length === 2 ? groups.flat().length <= 7 : groups[0].length === 8;
}

function readJoin(record) {
  const wrong = (reason) => new Altered("encoding", `a join record is wrong: ${reason}`);
  if (
    !Array.isArray(record) ||
    record.length !== 3 ||
    !isBytes(record[0]) ||
    !isBytes(record[1], 64) ||
    !isBytes(record[2], 64)
  )
    throw wrong("its form");
  const fields = decodeWhole(record[0]);
  if (!Array.isArray(fields) || (fields.length !== 8 && fields.length !== 9) || fields[0] !== JOIN_TAG)
    throw wrong("its form");
  const [, table, identity, match, nickname, addresses, nonce, pledge] = fields;
  if (!isBytes(table, 16) || table[0] > 1) throw wrong("the table");
  if (!isBytes(identity, 32) || !isBytes(match, 32) || !isBytes(nonce, 32)) throw wrong("a key or the nonce");
  if (!acceptableNickname(nickname)) throw wrong("the nickname");
  if (!Array.isArray(addresses) || addresses.length > 8) throw wrong("the addresses");
  for (const address of addresses) {
    if (!Array.isArray(address) || address.length !== 2 || typeof address[0] !== "string") throw wrong("an address");
    if (!(isIPv4(address[0]) || isIPv6(address[0])) || !isInteger(address[1], 1, 65535)) throw wrong("an address");
  }
  if (pledge !== "redeemed" && pledge !== "cursed") throw wrong("the pledge");
  return {
    data: record[0],
    identitySignature: record[1],
    matchSignature: record[2],
    table,
    identity,
    match,
    nickname,
    pledge,
    head: fields.length === 9 ? readHead(fields[8]) : null,
  };
}

// Reads a genesis and checks its form, keys and signatures.
async function readGenesis(bytes, tally) {
  const wrong = (reason) => new Altered("encoding", `the genesis is wrong: ${reason}`);
  if (bytes.length > LONGEST_GENESIS) throw wrong("it is too long");
  const fields = decodeWhole(bytes);
  if (!Array.isArray(fields) || fields.length !== 5 || fields[0] !== GENESIS_TAG) throw wrong("its form");
  const [, table, options, patience, records] = fields;
  if (!isBytes(table, 16) || table[0] > 1) throw wrong("the table");
  const rules = readRuleset(options);
  if (!Array.isArray(patience) || patience.length !== 2 || !patience.every((each) => isInteger(each, 5, 3600)))
    throw wrong("the patience");
  if (!Array.isArray(records) || records.length < 2 || records.length > 10) throw wrong("the number of players");
  const roster = records.map(readJoin);
  if (roster.some((join) => !sameBytes(join.table, table))) throw wrong("a join record is for another table");
  if (roster.some((join, at) => at > 0 && compareBytes(roster[at - 1].identity, join.identity) >= 0))
    throw wrong("the players are not in order");
  const purses = roster.some((join) => join.head);
  if (purses && rules.stakes !== "yes") throw wrong("purses in a match without stakes");
  if (purses && !roster.every((join) => join.head)) throw wrong("only some players have a purse");
  const keys = roster.flatMap((join) => [join.identity, join.match]);
  if (new Set(keys.map(hexOf)).size !== keys.length) throw wrong("two keys are the same");
  for (const key of keys) {
    if (!acceptableKey(key)) throw new Altered("keys", "a key in the genesis is not acceptable");
    tally.add("keys");
  }
  for (const join of roster) {
    join.fingerprint = fingerprintOf(join.identity);
    join.key = new VerifyingKey(join.match);
    [join.funds, join.owned] = join.head ? join.head.slice(3) : [NEWCOMERS_FUNDS, 0];
    const signed = await Promise.all([
      new VerifyingKey(join.identity).verifies(join.identitySignature, join.data),
      join.key.verifies(join.matchSignature, join.data),
    ]);
    if (!signed.every(Boolean)) throw new Altered("signatures", "a join record is not signed by its keys");
  }
  return { rules, roster, purses, players: roster.length, match: hashOf("genesis", bytes) };
}
