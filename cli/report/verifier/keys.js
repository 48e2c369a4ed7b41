// Ed25519 (RFC 8032): which keys and signatures are acceptable (SPEC.md, II.2). WebCrypto verifies the signature
// itself. What it leaves open is checked here.

const FIELD = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const modField = (value) => ((value % FIELD) + FIELD) % FIELD;

function fieldPower(base, exponent) {
  let result = 1n;
  let square = modField(base);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % FIELD;
    square = (square * square) % FIELD;
  }
  return result;
}

const CURVE_D = modField(-121665n * fieldPower(121666n, FIELD - 2n));
const ROOT_OF_MINUS_ONE = fieldPower(2n, (FIELD - 1n) / 4n);

function littleEndian(bytes) {
  let number = 0n;
  for (let at = bytes.length - 1; at >= 0; at--) number = (number << 8n) | BigInt(bytes[at]);
  return number;
}

// The point [X, Y, Z, T] in extended coordinates that `bytes` is the canonical encoding of, or null.
function decodePoint(bytes) {
  const number = littleEndian(bytes);
  const odd = number >> 255n;
  const y = number & ((1n << 255n) - 1n);
  if (y >= FIELD) return null;
  const top = modField(y * y - 1n);
  const bottom = modField(CURVE_D * y * y + 1n);
  let x = modField(top * bottom ** 3n * fieldPower(top * bottom ** 7n, (FIELD - 5n) / 8n));
  if (modField(bottom * x * x - top) !== 0n) x = (x * ROOT_OF_MINUS_ONE) % FIELD;
  if (modField(bottom * x * x - top) !== 0n) return null;
  if (x === 0n && odd) return null;
  if ((x & 1n) !== odd) x = FIELD - x;
  return [x, y, 1n, (x * y) % FIELD];
}

function addPoints([x1, y1, z1, t1], [x2, y2, z2, t2]) {
  const a = ((y1 - x1) * (y2 - x2)) % FIELD;
  const b = ((y1 + x1) * (y2 + x2)) % FIELD;
  const c = (((2n * t1 * t2) % FIELD) * CURVE_D) % FIELD;
  const d = (2n * z1 * z2) % FIELD;
  const e = b - a,
    f = d - c,
    g = d + c,
    h = b + a;
  return [(e * f) % FIELD, (g * h) % FIELD, (f * g) % FIELD, (e * h) % FIELD];
}

const isIdentity = ([x, y, z]) => modField(x) === 0n && modField(y - z) === 0n;

// Whether the bytes encode a point in the prime-order subgroup other than the identity.
function acceptableKey(bytes) {
  const point = decodePoint(bytes);
  if (!point || isIdentity(point)) return false;
  let product = [0n, 1n, 1n, 0n];
  for (let bit = 252n; bit >= 0n; bit--) {
    product = addPoints(product, product);
    if ((ORDER >> bit) & 1n) product = addPoints(product, point);
  }
  return isIdentity(product);
}

// The y coordinates of the points of small order, in every encoding of 255 bits.
const SMALL_ORDER = (() => {
  const eighth = littleEndian(
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05".match(/../g).map((pair) => parseInt(pair, 16)),
  );
  return new Set([0n, 1n, FIELD - 1n, FIELD, FIELD + 1n, eighth, FIELD - eighth]);
})();

// Whether s is below the group order and R is not a point of small order.
function acceptableSignature(signature) {
  if (signature.length !== 64) return false;
  // Nearly every s is far below the order, and nearly every R has a second byte that no point of small order has.
  if (signature[63] > 0x10 || (signature[63] === 0x10 && littleEndian(signature.subarray(32)) >= ORDER)) return false;
  return !SMALL_ORDER.has(littleEndian(signature.subarray(0, 32)) & ((1n << 255n) - 1n));
}

// A key that verifies signatures by WebCrypto.
class VerifyingKey {
  constructor(bytes) {
    this.bytes = bytes;
  }

  async verifies(signature, data) {
    if (!acceptableSignature(signature)) return false;
    this.imported ||= crypto.subtle.importKey("raw", this.bytes, "Ed25519", false, ["verify"]);
    return crypto.subtle.verify("Ed25519", await this.imported, signature, data);
  }
}

// Whether this browser, or this Node, has Ed25519 as it is needed here. It must accept a signature (RFC 8032, 7.1,
// test 1), refuse it for other data, and refuse one whose R has a part of small order: a verifier that multiplies by
// the cofactor would accept that.
async function canVerify() {
  const bytes = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
  const nothing = new Uint8Array(0);
  try {
    const key = new VerifyingKey(bytes("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"));
    const signature = bytes(
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155" +
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    );
    if (!(await key.verifies(signature, nothing)) || (await key.verifies(signature, Uint8Array.of(1)))) return false;
    const other = new VerifyingKey(bytes("2a95c33fa684e5266b4748365d46ce23c35b1d046eb90da1190d1e56af5fc52f"));
    return !(await other.verifies(
      bytes(
        "1f3e09b12496ee0621e55764da3ba8e95e1ea805f4a00b47b2a0436a51a1c094" +
          "42e9961e573702b12a67691a823df5c2a377ad14b8cbf0a6c46a1aac85c28603",
      ),
      nothing,
    ));
  } catch {
    return false;
  }
}
