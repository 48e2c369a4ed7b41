// SHA-256 (FIPS 180-4). WebCrypto has it too, but only asynchronously, which would make every rule of the game wait.

const SHA256_ROUNDS = new Uint32Array(64);
const SHA256_START = new Uint32Array(8);

(() => {
  // The first 32 bits of the fractions of the cube and square roots of the first primes.
  let found = 0;
  const root = (number, power) => {
    const scaled = BigInt(number) << BigInt(32 * power);
    let low = 0n,
      high = 1n << 40n;
    while (high - low > 1n) {
      const middle = (low + high) >> 1n;
      if (middle ** BigInt(power) <= scaled) low = middle;
      else high = middle;
    }
    return Number(low & 0xffffffffn);
  };
  for (let number = 2; found < 64; number++) {
    let prime = true;
    for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) prime = false;
    if (!prime) continue;
    if (found < 8) SHA256_START[found] = root(number, 2);
    SHA256_ROUNDS[found++] = root(number, 3);
  }
})();

function sha256(bytes) {
  const blocks = Math.floor((bytes.length + 8) / 64) + 1;
  const padded = new Uint8Array(blocks * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const sums = Uint32Array.from(SHA256_START);
  const words = new Uint32Array(64);
  for (let block = 0; block < blocks; block++) {
    for (let at = 0; at < 16; at++) words[at] = view.getUint32(block * 64 + at * 4);
    for (let at = 16; at < 64; at++) {
      const early = words[at - 15],
        late = words[at - 2];
      const small = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3);
      const large = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10);
      words[at] = (words[at - 16] + small + words[at - 7] + large) | 0;
    }
    let [a, b, c, d, e, f, g, h] = sums;
    for (let at = 0; at < 64; at++) {
      const large = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const first = (h + large + ((e & f) ^ (~e & g)) + SHA256_ROUNDS[at] + words[at]) | 0;
      const small = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const second = (small + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((sum, at) => {
      sums[at] += sum;
    });
  }
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  sums.forEach((sum, at) => out.setUint32(at * 4, sum));
  return digest;
}
