// Byte strings: joining, comparing, showing.

const utf8 = new TextEncoder();

function joinBytes(parts) {
  let size = 0;
  for (const part of parts) size += part.length;
  const joined = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

function compareBytes(left, right) {
  const shorter = Math.min(left.length, right.length);
  for (let at = 0; at < shorter; at++) if (left[at] !== right[at]) return left[at] - right[at];
  return left.length - right.length;
}

function sameBytes(left, right) {
  return left.length === right.length && compareBytes(left, right) === 0;
}

function hexOf(bytes) {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

// The number as eight bytes, big-endian.
function eightBytes(number) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt.asUintN(64, BigInt(number)));
  return bytes;
}
