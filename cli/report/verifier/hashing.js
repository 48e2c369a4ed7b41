// Hashes with tags, and what is drawn from them (SPEC.md, II.1 and II.2).

// H(tag, parts): a part is a byte string, or an integer that is hashed as eight bytes.
function hashOf(tag, ...parts) {
  const name = utf8.encode((tag === "fingerprint" ? "p2pdice/1/" : "p2pdice/3/") + tag);
  const pieces = [Uint8Array.of(name.length), name, Uint8Array.of(parts.length)];
  for (const part of parts) {
    const bytes = part instanceof Uint8Array ? part : eightBytes(part);
    const size = new Uint8Array(4);
    new DataView(size.buffer).setUint32(0, bytes.length);
    pieces.push(size, bytes);
  }
  return sha256(joinBytes(pieces));
}

// Draws numbers from the stream of (tag, parts).
class Stream {
  constructor(tag, ...parts) {
    this.tag = tag;
    this.parts = parts;
    this.counter = 0;
    this.rest = [];
  }

  draw(bound) {
    for (;;) {
      if (!this.rest.length) this.rest = Array.from(hashOf(this.tag, ...this.parts, this.counter++));
      const byte = this.rest.shift();
      if (byte < 256 - (256 % bound)) return byte % bound;
    }
  }

  faces(count) {
    const faces = [];
    while (faces.length < count) faces.push(this.draw(6) + 1);
    return faces.sort((left, right) => left - right);
  }
}

// The roster indices by seat.
function drawSeats(beacon, players) {
  const seats = Array.from({ length: players }, (_, index) => index);
  const stream = new Stream("seats", beacon);
  for (let at = players - 1; at > 0; at--) {
    const other = stream.draw(at + 1);
    [seats[at], seats[other]] = [seats[other], seats[at]];
  }
  return seats;
}

const BASE_32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

// What people compare: 19 characters of the hash of an identity key, and a check character.
function fingerprintOf(identity) {
  const digest = hashOf("fingerprint", identity);
  const digits = [];
  for (let at = 0; at < 19; at++) {
    let digit = 0;
    for (let bit = at * 5; bit < at * 5 + 5; bit++) digit = digit * 2 + ((digest[bit >> 3] >> (7 - (bit & 7))) & 1);
    digits.push(digit);
  }
  let sum = 0;
  digits.forEach((digit, at) => {
    const counted = at % 2 === 0 ? digit * 2 : digit;
    sum += (counted >> 5) + (counted & 31);
  });
  digits.push((32 - (sum % 32)) % 32);
  return digits
    .map((digit) => BASE_32[digit])
    .join("")
    .match(/..../g)
    .join("-");
}
