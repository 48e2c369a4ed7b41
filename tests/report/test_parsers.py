"""The parsers of the page's verifier accept what those of ``p2pdice verify`` accept, value by value.

Hardly any transcript has a value at a bound, such as a nickname of 21 characters or a key of small order: here they are
asked for directly.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha512
from itertools import product
from pathlib import Path
from typing import Any, Final

from p2pdice import PRESETS
from protocol.consensus.kinds import parse_signed
from protocol.consensus.proofs import contradiction
from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import SMALL_ORDER, MatchKey, PublicKey
from protocol.wire.canonical import Value, decode, encode
from protocol.wire.genesis import (
    GENESIS_TAG,
    _is_numeric,
    parse_genesis,
    parse_ruleset,
)
from protocol.wire.messages import Kind, Message
from protocol.wire.nicknames import UNSEEN, check_written
from tests.report.test_agreement import node
from tests.simulation.world import IDENTITIES, TABLE, join_record, match_seed

ASKING: Final = Path(__file__).with_name("parsers.js")
FIELD: Final = 2**255 - 19
ORDER: Final = 2**252 + 27742317777372353535851937790883648493
MATCH: Final = bytes(32)


def asked(questions: Sequence[tuple[Any, ...]]) -> list[bool]:
    """Return what the page's verifier accepts."""
    given = json.dumps(questions)
    done = subprocess.run([node(), str(ASKING)], input=given, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    answers: list[bool] = json.loads(done.stdout)
    return answers


def accepts(read: Callable[..., object], *values: Any) -> bool:
    """Tell whether a parser of this program takes a value; False is as good as a refusal."""
    try:
        return read(*values) is not False
    except ValueError:
        return False


def compare(what: str, read: Callable[..., object], values: Sequence[Any]) -> None:
    """Hold both parsers of one thing to the same answer for each value; some must be accepted, and some refused."""
    there = asked([(what, value.hex() if isinstance(value, bytes) else value) for value in values])
    here = [accepts(read, value) for value in values]
    assert set(here) == {True, False}
    assert [(value, mine) for value, mine, other in zip(values, here, there, strict=True) if mine is not other] == []


def test_nicknames() -> None:
    ends = {code for first, last in UNSEEN for code in (first - 1, first, last, last + 1)}
    codes = [code for code in sorted(ends) if 0 <= code < 0x110000 and not 0xD800 <= code < 0xE000]
    rng = random.Random(1)
    names = ["", " a", "a ", "a b", "a  b", "x" * 20, "x" * 21, "🎲" * 20, "🎲" * 21, "e\u0301" * 10]
    names += [chr(code) for code in (*codes, *range(0x300), *range(0x2000, 0x2100))]
    names += ["".join(rng.choices("a é\ufeff\u200b🎲", k=rng.randrange(1, 23))) for _ in range(300)]
    compare("nickname", check_written, names)


def test_addresses() -> None:
    rng = random.Random(2)
    parts = ["0", "1", "255", "256", "01", "f", "FFFF", "12345", "1.2.3.4", "%eth0", "g", " ", "/", "-", "_", "١", "\n"]
    hosts = [
        "0.0.0.0",
        "255.255.255.255",
        "1.2.3.256",
        "1.2.3",
        "1.2.3.04",
        "::",
        "::1",
        ":::",
        "1::2::3",
        "fe80::1%eth0",
    ]
    for size in range(1, 10):
        groups = ["f"] * size
        hosts += [":".join(groups), ":".join(groups) + ":1.2.3.4"]
        hosts += [":".join(groups[:at]) + "::" + ":".join(groups[at:]) for at in range(size + 1)]
    hosts += ["".join(rng.choices([*parts, *".:::"], k=rng.randrange(1, 10))) for _ in range(3000)]
    compare("address", _is_numeric, hosts)


def _loosely(rng: random.Random) -> Iterator[bytes]:
    """Yield encodings of values at the bounds of each size, many with a byte or two changed."""
    numbers = [
        sign * 2**power + more for sign in (1, -1) for power in (5, 7, 8, 15, 16, 31, 32, 53, 63) for more in (-1, 0)
    ]
    sizes = (0, 1, 31, 32, 255, 256, 65535, 65536)
    simple: list[Value] = [*numbers[:-2], 2**64 - 1, "é\ufeff", "\ufeffx", *("a" * size for size in sizes)]
    simple += [bytes(size) for size in sizes]
    simple += [(0,) * size for size in (15, 16, 1023, 1024)]
    nested: Value = ()
    for _ in range(5):
        simple.append(nested := (nested, 1))
    yield from map(encode, simple)
    yield b"\xdc\x04\x01" + bytes(1025)
    for number in (*numbers[:-2], 2**64 - 1):
        for power in range(4):  # in every width that holds it, the shortest and the others
            size = 1 << power
            if number >> 8 * size == 0:
                yield bytes([0xCC + power]) + number.to_bytes(size, "big")
            if -1 << 8 * size - 1 <= number < 1 << 8 * size - 1:
                yield bytes([0xD0 + power]) + number.to_bytes(size, "big", signed=True)
    yield b"\x91" * 6 + b"\x90"
    yield b"\x91" * 6 + b"\x01"
    heads = (*range(0xC0, 0xE0), 0x80, 0x8F, 0x9F, 0xA1, 0xFF)
    for value in simple:
        data = encode(value)
        if len(data) < 300:
            yield from (bytes([head]) + data[1:] for head in heads)
            for _ in range(8):
                changed = bytearray(data)
                changed[rng.randrange(min(len(data), 6))] = rng.randrange(256)
                yield bytes(changed)
            yield data[:-1]
            yield data + b"\0"


def test_the_canonical_encoding() -> None:
    compare("encoding", decode, [*_loosely(random.Random(3))])


_OTHER_VALUES: Final[dict[str, tuple[str | int, ...]]] = {
    "dice": (0, 1, 5, 10, 11, "5"),
    "dice-cap": ("none", 0, 1, 4, 5, 99, 100, "5"),
    "exact": ("none", "gain", "others-lose"),
    "goal": ("last-standing", "first-out"),
    "motes": ("no", "yes", 0),
    "next-leader": ("loser", "caller", "affected"),
    "ones-bid": ("free", "opening-only", "not-opening"),
    "palifico": ("no", "yes"),
    "raise": ("standard", "strict", "reset-quantity", "either", "half-ones", "double-ones", "any"),
    "siding": ("no", "yes"),
    "stakes": ("no", "yes", True),
    "verdict": ("loser-loses-die", "right-side-discards"),
    "wild": ("ones", "never", "unless-opened"),
}


def test_rulesets() -> None:
    rng = random.Random(4)
    rules = []
    for number in range(2500):
        options = [list(option) for option in rng.choice([*PRESETS.values()]).options()]
        for option in rng.sample(options, number % 4):
            option[1] = rng.choice(_OTHER_VALUES[str(option[0])])
        if number % 20 == 0:
            options.pop(rng.randrange(len(options)))
        elif number % 20 == 1:
            options.insert(rng.randrange(len(options)), [*rng.choice(options)])
        if not any(isinstance(value, bool) for _, value in options):
            rules.append(encode(tuple((name, value) for name, value in options)))
    compare("ruleset", lambda data: parse_ruleset(decode(data)), rules)


def _keys(rng: random.Random) -> Iterator[bytes]:
    yield from SMALL_ORDER
    yield from ((FIELD + more).to_bytes(32, "little") for more in range(19))  # 2 to 18 would be read as other points
    for number in range(20):
        key = MatchKey(bytes([number])).public
        yield key
        y, sign = int.from_bytes(key, "little") & 2**255 - 1, key[31] & 0x80
        mixed = bytearray((FIELD - y).to_bytes(32, "little"))  # moved by the point of order 2
        mixed[31] |= sign ^ 0x80
        yield bytes(mixed)
    yield from (rng.randbytes(32) for _ in range(40))


def test_keys() -> None:
    compare("key", PublicKey, [*_keys(random.Random(5))])


def test_signatures() -> None:
    """R of small order in every encoding, and s about the order of the group."""
    usual = MatchKey(bytes(32)).sign(b"")
    signatures = [usual, usual[:-1], usual + b"\0", *(small + usual[32:] for small in SMALL_ORDER)]
    for s in (0, 1, ORDER - 1, ORDER, ORDER + 1, 2**252 - 1, 2**252, 2**253 - 1, 2**253, 2**256 - 1):
        signatures.append(usual[:32] + s.to_bytes(32, "little"))
    signatures.append(usual[:32] + (int.from_bytes(usual[32:], "little") + ORDER).to_bytes(32, "little"))

    def is_strict(signature: bytes) -> bool:
        s = int.from_bytes(signature[32:], "little")
        return len(signature) == 64 and signature[:32] not in SMALL_ORDER and s < ORDER

    compare("signature", is_strict, signatures)


# The genesis


def weak_signature(seed: bytes, data: bytes) -> bytes:
    """Return a signature that only the rule about R refuses: R is the neutral element, and the equation holds.

    :param seed: of a :class:`MatchKey`.
    """
    secret = tagged_hash("match-key", seed)
    neutral = (1).to_bytes(32, "little")
    scalar = int.from_bytes(sha512(secret).digest()[:32], "little") & 2**254 - 8 | 2**254
    challenge = int.from_bytes(sha512(neutral + MatchKey(seed).public + data).digest(), "little")
    return neutral + (challenge * scalar % ORDER).to_bytes(32, "little")


def raised_signature(signature: bytes) -> bytes:
    """Return a signature with its s made greater by the order of the group."""
    return signature[:32] + (int.from_bytes(signature[32:], "little") + ORDER).to_bytes(32, "little")


BASE: Final = bytes.fromhex("5866666666666666666666666666666666666666666666666666666666666666")
FITS_NEUTRAL_KEY: Final = BASE + (1).to_bytes(32, "little")
"""A signature that fits every message, if the key is the neutral element."""
SEED: Final = b"parsers"


def _record(number: int, *, match_signer: int | None = None, **changes: Any) -> tuple[bytes, bytes, bytes]:
    """Return the wire form of a join record with some fields changed, rightly signed.

    :param match_signer: whose match key signs, if another's.
    """
    join = join_record(SEED, number).join
    data = join._replace(**changes).encoded()
    signer = match_seed(SEED, number if match_signer is None else match_signer)
    return data, IDENTITIES[join.identity].private_key.sign(data), MatchKey(signer).sign(data)


def _neutral(number: int, field: str, key: bytes) -> tuple[bytes, bytes, bytes]:
    """Return a record with a key of small order and a signature that fits it."""
    fields: dict[str, Any] = {field: key}
    data, identity, match = _record(number, **fields)
    return (data, FITS_NEUTRAL_KEY, match) if field == "identity" else (data, identity, FITS_NEUTRAL_KEY)


def _identity(record: tuple[bytes, ...]) -> bytes:
    fields: Any = decode(record[0])
    return bytes(fields[2])


def _geneses() -> Iterator[bytes]:
    """Yield beginnings of a match, most with one thing that is at a bound or beyond it."""
    classic = PRESETS["classic"].options()

    def of(
        *records: tuple[bytes, ...], table: Value = TABLE, rules: Value = classic, patience: Value = (60, 15)
    ) -> bytes:
        ordered = sorted(records, key=_identity)
        return encode((GENESIS_TAG, table, rules, patience, tuple(ordered)))

    first, second = _record(0), _record(1)
    yield of(first, second)
    yield of(*map(_record, range(10)))
    yield of(*map(_record, range(11)))
    yield of(first)
    yield of(first, first)
    fields: Any = decode(of(first, second))
    tag, *rest, roster = fields
    yield encode((tag, *rest, tuple(reversed(roster))))
    yield encode(("p2pdice/2/join", *rest, roster))
    yield encode((tag, *rest, roster, 0))
    for low in (4, 5, 3600, 3601):
        yield of(first, second, patience=(low, 15))
        yield of(first, second, patience=(60, low))
    yield of(first, second, patience=(60,))
    yield of(first, second, rules=classic[:-1])
    for start in range(3):
        table = bytes([start]) + bytes(15)
        yield of(_record(0, table=table), _record(1, table=table), table=table)
        yield of(first, second, table=table)
    address = ("192.0.2.1", 7000)
    changed: tuple[dict[str, Any], ...] = (
        *({"nickname": name} for name in ("x" * 20, "x" * 21, "a\uffa0", "a\uffa1", "", 1)),
        *({"addresses": (address,) * size} for size in (0, 8, 9)),
        *({"addresses": ((host, 7000),)} for host in ("192.0.2.256", "example.org", "fe80::1%1", "::ffff:1.2.3.4", 1)),
        *({"addresses": (("192.0.2.1", port),)} for port in (0, 1, 65535, 65536, "1")),
        {"addresses": (address[:1],)},
        *({"pledge": pledge} for pledge in ("redeemed", "cursed", "blessed", "", 1)),
        *({"nonce": bytes(size)} for size in (31, 32, 33)),
        {"match_key": join_record(SEED, 0).join.identity},
        {"match_key": join_record(SEED, 1).join.match_key, "match_signer": 1},
        {"match_key": join_record(SEED, 1).join.identity},
    )
    for changes in changed:
        yield of(_record(0, **changes), second)
    mixed = [key for key in _keys(random.Random(6)) if not accepts(PublicKey, key)]
    for key in (*sorted(SMALL_ORDER), *mixed[-3:]):
        yield of(_neutral(0, "identity", key), second)
        yield of(_neutral(0, "match_key", key), second)
    data, identity, match = first
    for signed in (
        (data, identity, weak_signature(match_seed(SEED, 0), data)),
        (data, identity, raised_signature(match)),
        (data, raised_signature(identity), match),
        (data, match, identity),
        (data, identity, second[2]),
        (data, second[1], match),
        (data, identity[:-1], match),
        (data, identity),
    ):
        yield of(signed, second)


def test_beginnings_of_a_match() -> None:
    compare("genesis", parse_genesis, [*_geneses()])


# Messages

HASH: Final = bytes(range(32))
_WITNESSES: Final = [b"".join(bytes([number]) + bytes(64) for number in range(size)) for size in range(15)]
BODIES: Final[tuple[Value, ...]] = (
    *(bytes(size) for size in (0, 31, 32, 33, 97)),
    *(HASH + witnesses for witnesses in _WITNESSES),
    HASH + bytes(65) * 2,
    HASH + b"\1" + bytes(64) + bytes(65),
    *((HASH,) * size for size in range(5)),
    *((HASH[1:],) * size for size in range(1, 4)),
    *("", "a", "a" * 200, "a" * 201, "🎲" * 200, "🎲" * 201, 0, -1, 1),
    *(
        (bet, tickets, HASH)
        for bet, tickets in ((0, 0), (-1, 0), (0, -1), (2**63 - 1, 0), (2**63, 0), (0, 2**63 - 1), (0, 2**63))
    ),
    (0, 0, HASH[1:]),
    *((number, (b"",)) for number in (-1, 0, 2**32 - 1, 2**32)),
    *((0, entries) for entries in ((), (HASH,) * 10, (HASH,) * 11, (HASH[1:],), (HASH, b""), (0,), b"")),
    *(
        (number, (b"", HASH), newest)
        for number in (0, 1, 2, 2**32 - 1, 2**32)
        for newest in (-2, -1, 0, 1, 2, 2**32 - 1)
    ),
    (1, (), 0),
    (1, (HASH,) * 10, 0),
    (1, (HASH,) * 11, 0),
)


def _messages() -> Iterator[bytes]:
    yield from (Message(MATCH, 7, HASH, 1, kind, body).encoded() for kind in range(13) for body in BODIES)
    for step in (-1, 0, 2**32 - 1, 2**32):
        yield Message(MATCH, step, HASH, 1, Kind.RESIGN, ()).encoded()
    for author in (-1, 0, 256):
        yield Message(MATCH, 7, HASH, author, Kind.RESIGN, ()).encoded()
    yield Message(MATCH, 7, HASH[1:], 1, Kind.RESIGN, ()).encoded()
    usual = Message(MATCH, 7, HASH, 1, Kind.RESIGN, ()).encoded()
    yield usual + b"\0"
    yield usual.replace(b"/message", b"/massage")
    fields: Any = decode(usual)
    yield encode((*fields, 0))


def test_messages() -> None:
    messages = [*_messages()]
    there = asked([("message", data.hex(), MATCH.hex()) for data in messages])
    here = [accepts(parse_signed, data, bytes(64)) for data in messages]
    assert set(here) == {True, False}
    assert [(data, mine) for data, mine, other in zip(messages, here, there, strict=True) if mine is not other] == []


def test_contradictions() -> None:
    """Which two messages of one author contradict each other, also votes of all rounds about each other."""
    entries: tuple[Value, ...] = ((b"",), (HASH,))
    votes: list[tuple[Kind, Value]] = [(Kind.CLOSE, (number, each)) for number in range(4) for each in entries]
    votes += [
        (Kind.ABSENT, (number, each, newest)) for number in range(4) for newest in range(-1, number) for each in entries
    ]
    usual = Message(MATCH, 7, HASH, 1, Kind.MOVE, "liar")
    others: list[tuple[Kind, Value]] = [
        (kind, bytes([number]) * 32)
        for kind in (Kind.LOCK, Kind.REVEAL, Kind.RESULT, Kind.WITNESS)
        for number in range(2)
    ]
    messages = [usual._replace(kind=kind, body=body) for kind, body in (*votes, *others, (Kind.RESIGN, ()))]
    messages += [usual, usual._replace(step=8), usual._replace(tip=bytes(32)), usual._replace(author=0)]
    messages += [each._replace(step=8) for each in messages[:3]]
    signed = [parse_signed(message.encoded(), bytes(64)) for message in messages]
    pairs = [*product(signed, repeat=2)]
    there = asked([("contradiction", one.data.hex(), other.data.hex(), MATCH.hex()) for one, other in pairs])
    here = [bool(contradiction(*pair)) for pair in pairs]
    assert set(here) == {True, False}
    assert [pair for pair, mine, other in zip(pairs, here, there, strict=True) if mine is not other] == []
