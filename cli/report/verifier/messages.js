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
  value.every((id) => isBytes(id, 32) || isBytes(id, 0));
const isList = (value, ...items) =>
  Array.isArray(value) && value.length === items.length && items.every((fits, at) => fits(value[at]));
const isRound = (value) => isInteger(value, 0, MOST_NUMBER);
const isAmount = (value) => isInteger(value, 0, 2n ** 63n - 1n);

function isLock(body) {
  if (!isBytes(body) || body.length < 32 || (body.length - 32) % WITNESS_SIZE !== 0) return false;
  for (let at = 32 + WITNESS_SIZE; at < body.length; at += WITNESS_SIZE)
    if (body[at] <= body[at - WITNESS_SIZE]) return false;
  return true;
}

const FORMS = {
  [COMMIT]: (body) => isList(body, is32) || isList(body, is32, is32),
  [LOCK]: isLock,
  [REVEAL]: is32,
  [MOVE]: (body) => typeof body === "string" && body.length > 0 && Array.from(body).length <= 200,
  [OPEN]: (body) => isList(body, is32, is32, is32),
  [RESIGN]: (body) => isList(body),
  [RESULT]: is32,
  [STAKE]: (body) =>
    isList(body, isAmount, isAmount, is32) ||
    isList(body, isAmount, isAmount, is32, (signature) => isBytes(signature, 64)),
  [ABSENT]: (body) =>
    isList(body, isRound, isEntries, (newest) => isInteger(newest, -1, MOST_NUMBER)) && body[2] < body[0],
  [CLOSE]: (body) => isList(body, isRound, isEntries),
  [WITNESS]: is32,
};

const isVote = (message) => message.kind === ABSENT || message.kind === CLOSE;
const sameEntries = (left, right) => left.length === right.length && left.every((id, at) => sameBytes(id, right[at]));

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

// Whether the two messages of one author contradict each other (SPEC.md, II.5, what proves misconduct, 1 to 3).
function contradict(one, other) {
  if (one.author !== other.author || one.step !== other.step || !sameBytes(one.tip, other.tip)) return false;
  if (sameBytes(one.id, other.id)) return false;
  if (!isVote(one) && !isVote(other)) return [one, other].every(({ kind }) => kind !== RESULT && kind !== WITNESS);
  if (!isVote(one) || !isVote(other)) return false;
  if (one.kind === other.kind) return one.body[0] === other.body[0];
  const [close, absent] = one.kind === CLOSE ? [one, other] : [other, one];
  const [round, entries] = close.body;
  return absent.body[2] < round && round < absent.body[0] && !sameEntries(entries, absent.body[1]);
}
