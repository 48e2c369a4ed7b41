// The form of signed messages (SPEC.md, II.4).

const MESSAGE_TAG = "p2pdice/3/message";
const COMMIT = 1,
  LOCK = 2,
  REVEAL = 3,
  MOVE = 4,
  OPEN = 5,
  RESIGN = 6,
  RESULT = 7,
  STAKE = 8,
  ABSENT = 9,
  CLOSE = 10,
  WITNESS = 11;
const MOST_MESSAGE = 1024;
const MOST_NUMBER = 4294967295;
const WITNESS_SIZE = 65;

const is32 = (value) => isBytes(value, 32);
const isEntries = (value) =>
  Array.isArray(value) &&
  value.length >= 1 &&
  value.length <= 10 &&
  value.every((id) => is32(id) || isBytes(id, 0));
const isList = (value, ...items) =>
  Array.isArray(value) && value.length === items.length && items.every((fits, at) => fits(value[at]));
const isNumber = (value) => isInteger(value, 0, MOST_NUMBER);
const isAmount = (value) => isInteger(value, 0, 2n ** 63n - 1n);
const isValue = (value) => isList(value, isNumber, is32, (entries) => is32(entries) || isEntries(entries));

// Signatures of witnesses, each behind its author, ascending.
function isCarried(bytes) {
  if (!isBytes(bytes) || bytes.length % WITNESS_SIZE !== 0) return false;
  return carriedIn(bytes).every(([author], at, all) => at === 0 || all[at - 1][0] < author);
}

// The pairs [author, signature] in what a REVEAL or an OPEN carries.
function carriedIn(bytes) {
  const pairs = [];
  for (let at = 0; at < bytes.length; at += WITNESS_SIZE)
    pairs.push([bytes[at], bytes.subarray(at + 1, at + WITNESS_SIZE)]);
  return pairs;
}

const FORMS = {
  [COMMIT]: (body) => isList(body, is32) || isList(body, is32, is32),
  [LOCK]: is32,
  [REVEAL]: (body) => isBytes(body) && body.length >= 32 && isCarried(body.subarray(32)),
  [MOVE]: (body) => isText(body, 1, 200),
  [OPEN]: (body) => isList(body, is32, is32, is32, isCarried),
  [RESIGN]: (body) => isList(body),
  [RESULT]: is32,
  [STAKE]: (body) => isList(body, isAmount, isAmount, is32),
  [ABSENT]: (body) =>
    isList(body, isNumber, isValue, (polka) => isInteger(polka, -1, MOST_NUMBER)) && body[2] < body[0],
  [CLOSE]: (body) => isList(body, isNumber, (value) => isValue(value) || isList(value)),
  [WITNESS]: is32,
};

const isVote = (message) => message.kind === ABSENT || message.kind === CLOSE;
const sameValue = (left, right) => sameBytes(encode(left), encode(right));

// Reads the pair [data, signature] of a message of this match. The signature is not verified yet.
function readMessage(pair, genesis) {
  const wrong = (reason) => new Altered("encoding", `not a message: ${reason}`);
  if (!Array.isArray(pair) || pair.length !== 2 || !isBytes(pair[0]) || !isBytes(pair[1], 64)) throw wrong("its form");
  const [data, signature] = pair;
  if (data.length > MOST_MESSAGE) throw wrong("it is too long");
  const fields = decodeWhole(data);
  if (!Array.isArray(fields) || fields.length !== 7 || fields[0] !== MESSAGE_TAG) throw wrong("its form");
  const [, match, step, tip, author, kind, body] = fields;
  if (!is32(match) || !isInteger(step, 0, MOST_NUMBER) || !is32(tip) || !isInteger(author, 0, 255))
    throw wrong("a field");
  if (!isInteger(kind, 1, 11) || !FORMS[kind](body)) throw wrong("the body");
  if (!sameBytes(match, genesis.match)) throw new Altered("history", "a message belongs to another match");
  if (author >= genesis.players) throw new Altered("history", "a message has an author who does not play");
  return { data, signature, step, tip, author, kind, body, id: hashOf("message-id", data) };
}

function writeMessage(match, step, tip, author, kind, body) {
  return encode([MESSAGE_TAG, match, step, tip, author, kind, body]);
}

// Whether the two messages of one author contradict each other (SPEC.md, II.5, what proves misconduct, 1 to 4).
function contradict(one, other) {
  if (one.author !== other.author) return false;
  if (one.kind === RESULT && other.kind === RESULT) return !sameBytes(one.body, other.body);
  if (one.step !== other.step || !sameBytes(one.tip, other.tip)) return false;
  if (sameBytes(one.id, other.id)) return false;
  if (!isVote(one) && !isVote(other)) return [one, other].every(({ kind }) => kind !== RESULT && kind !== WITNESS);
  if (!isVote(one) || !isVote(other)) return false;
  if (one.kind === other.kind) return one.body[0] === other.body[0];
  const [close, absent] = one.kind === CLOSE ? [one, other] : [other, one];
  const [round, value] = close.body;
  if (!value.length || sameValue(value, absent.body[1])) return false;
  return absent.body[2] < round && round < absent.body[0];
}
