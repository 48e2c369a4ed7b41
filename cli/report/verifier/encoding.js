// The canonical encoding (SPEC.md, II.1): msgpack with one encoding for each value, and no others are read.

// The file breaks a rule that blames nobody. `check` names what found it.
class Altered extends Error {
  constructor(check, reason) {
    super(reason);
    this.check = check;
  }
}

const strictText = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const DEEPEST = 6;
const MOST_ITEMS = 1024;

// Reads one value of `bytes` at `start`. Integers beyond 2^53 become BigInts. Returns [value, end].
function decodeAt(bytes, start) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = start;

  const wrong = (reason) => new Altered("encoding", `${reason} (byte ${at})`);
  const take = (size) => {
    if (at + size > bytes.length) throw wrong("the file stops in the middle of a message");
    at += size;
    return at - size;
  };
  const number = (size, signed) => {
    const from = take(size);
    if (size === 1) return signed ? view.getInt8(from) : view.getUint8(from);
    if (size === 2) return signed ? view.getInt16(from) : view.getUint16(from);
    if (size === 4) return signed ? view.getInt32(from) : view.getUint32(from);
    const large = signed ? view.getBigInt64(from) : view.getBigUint64(from);
    return Number.isSafeInteger(Number(large)) ? Number(large) : large;
  };
  const atLeast = (value, least) => {
    if (value < least) throw wrong("a value is not in its shortest form");
    return value;
  };
  const atMost = (value, most) => {
    if (value > most) throw wrong("a value is not in its shortest form");
    return value;
  };
  const text = (size) => {
    const from = take(size);
    try {
      return strictText.decode(bytes.subarray(from, at));
    } catch {
      throw wrong("a text is not UTF-8");
    }
  };
  const binary = (size) => {
    const from = take(size);
    return bytes.subarray(from, at);
  };
  const array = (size, depth) => {
    if (size > MOST_ITEMS || depth > DEEPEST) throw wrong("an array is too long or too deep");
    const items = [];
    for (let item = 0; item < size; item++) items.push(value(depth));
    return items;
  };
  const value = (depth) => {
    const head = bytes[take(1)];
    if (head <= 0x7f) return head;
    if (head >= 0xe0) return head - 256;
    if (head >= 0xa0 && head <= 0xbf) return text(head - 0xa0);
    if (head >= 0x90 && head <= 0x9f) return array(head - 0x90, depth + 1);
    switch (head) {
      case 0xc4:
        return binary(number(1));
      case 0xc5:
        return binary(atLeast(number(2), 256));
      case 0xc6:
        return binary(atLeast(number(4), 65536));
      case 0xcc:
        return atLeast(number(1), 128);
      case 0xcd:
        return atLeast(number(2), 256);
      case 0xce:
        return atLeast(number(4), 65536);
      case 0xcf:
        return atLeast(number(8), 4294967296);
      case 0xd0:
        return atMost(number(1, true), -33);
      case 0xd1:
        return atMost(number(2, true), -129);
      case 0xd2:
        return atMost(number(4, true), -32769);
      case 0xd3:
        return atMost(number(8, true), -2147483649);
      case 0xd9:
        return text(atLeast(number(1), 32));
      case 0xda:
        return text(atLeast(number(2), 256));
      case 0xdb:
        return text(atLeast(number(4), 65536));
      case 0xdc:
        return array(atLeast(number(2), 16), depth + 1);
      default:
        throw wrong("this is no value of the canonical encoding");
    }
  };
  const found = value(0);
  return [found, at];
}

// Reads bytes that hold one value and nothing else.
function decodeWhole(bytes) {
  const [value, end] = decodeAt(bytes, 0);
  if (end !== bytes.length) throw new Altered("encoding", "something follows a value");
  return value;
}

// Writes a value of arrays, safe integers from -2^31 to 2^32 - 1 (larger ones as BigInt too), byte strings and text.
function encode(value) {
  const parts = [];
  const put = (...bytes) => parts.push(Uint8Array.from(bytes));
  const sized = (size, heads) => {
    if (size < 256 && heads[0] !== null) put(heads[0], size);
    else if (size < 65536) put(heads[1], size >>> 8, size & 255);
    else put(heads[2], size >>> 24, (size >>> 16) & 255, (size >>> 8) & 255, size & 255);
  };
  const write = (item) => {
    if (Array.isArray(item)) {
      if (item.length < 16) put(0x90 + item.length);
      else sized(item.length, [null, 0xdc, 0xdd]);
      item.forEach(write);
    } else if (typeof item === "string") {
      const bytes = utf8.encode(item);
      if (bytes.length < 32) put(0xa0 + bytes.length);
      else sized(bytes.length, [0xd9, 0xda, 0xdb]);
      parts.push(bytes);
    } else if (item instanceof Uint8Array) {
      sized(item.length, [0xc4, 0xc5, 0xc6]);
      parts.push(item);
    } else if (item >= 0) {
      if (item < 128) put(Number(item));
      else if (item < 4294967296) sized(Number(item), [0xcc, 0xcd, 0xce]);
      else parts.push(Uint8Array.of(0xcf), eightBytes(item));
    } else if (item >= -32) put(256 + Number(item));
    else {
      const size = item >= -128 ? 1 : item >= -32768 ? 2 : item >= -2147483648 ? 4 : 8;
      parts.push(Uint8Array.of({ 1: 0xd0, 2: 0xd1, 4: 0xd2, 8: 0xd3 }[size]), eightBytes(item).subarray(8 - size));
    }
  };
  write(value);
  return joinBytes(parts);
}

const isInteger = (value, least, most) =>
  (typeof value === "number" || typeof value === "bigint") && value >= least && value <= most;
// Text of so many characters (code points).
const isText = (value, least, most) =>
  typeof value === "string" && Array.from(value).length >= least && Array.from(value).length <= most;
const isBytes = (value, size) => value instanceof Uint8Array && (size === undefined || value.length === size);
