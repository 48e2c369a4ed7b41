"""All structures that both readers read. Each has example inputs, a way to change them, and a planted fault.

Inputs come from whole matches of the real program. Others are at limits that real matches hardly ever reach, such as a
nickname of 21 characters or a key of small order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha512
from itertools import islice, permutations, product
from random import Random
from typing import Any, Final, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from p2pdice.engine import legal_moves
from p2pdice.rulesets import PRESETS
from protocol.consensus.kinds import contradiction, parse_signed
from protocol.consensus.position import FORMED, Position
from protocol.consensus.transcript import PROOF_TAG
from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import SMALL_ORDER, MatchKey, PublicKey
from protocol.wire.canonical import NotCanonicalError, Value, decode, encode
from protocol.wire.genesis import GENESIS_TAG, JOIN_TAG
from protocol.wire.messages import VOTES, Kind, MalformedMessageError, Message, message_id, sign
from protocol.wire.names import UNSEEN
from protocol.wire.purses import Head, Purse
from tests.fuzz.mutation import mutate, mutate_bytes, mutate_value
from tests.fuzz.targets.verifier import mutate as change_arrays
from tests.protocol.mutations import FairMatch, play, step_of
from tests.report.corpus import changes
from tests.report.readers import Answer, Ask
from tests.simulation.world import IDENTITIES, TABLE, identity_of, join_record, match_seed
from tests.third_party import third_party

FIELD: Final = 2**255 - 19
ORDER: Final = 2**252 + 27742317777372353535851937790883648493
SEED: Final = b"structures"


@dataclass(frozen=True, slots=True)
class Structure:
    """A structure that both readers read."""

    name: str
    reader: str
    """The name of its reader in ``readers.js`` and in :mod:`tests.report.readers`."""
    examples: Callable[[], Sequence[bytes]]
    change: Callable[[Random, bytes], bytes]
    """Changes an input, but keeps most of its structure."""
    planted: tuple[str, str]
    """A text of the page's verifier, and a text with a fault to replace it by, which tests must find."""
    answers: frozenset[str] = frozenset({"read", "refused"})
    """The sorts of answers, see :func:`sort`, that some hundred inputs must get."""
    positions: Callable[[], Sequence[bytes]] = tuple
    """Beginnings of matches. Inputs refer to these by number."""


def sort(reader: str, answer: Answer) -> str:
    """Return the sort of an answer: the verdict on a file; whether two messages contradict each other; otherwise
    ``read``, ``refused`` or ``fault``."""
    if not isinstance(answer, list):
        return "refused" if answer is None else "fault"
    return str(answer[0]).removeprefix("t") if reader in ("file", "contradiction") else "read"


def inputs(structure: Structure, count: int, seed: int) -> list[bytes]:
    """Return all examples and at least 100 different changed ones; ``count`` inputs in all if that is more."""
    rng = Random(seed)
    examples = structure.examples()
    found = dict.fromkeys(examples)
    count = max(count, len(found) + 100)
    while len(found) < count:
        data = rng.choice(examples)
        with suppress(NotCanonicalError):  # a too deeply nested array has no encoding
            for _ in range(rng.choice((1, 1, 2, 3))):
                data = structure.change(rng, data)
        found[data] = None
    return [*found]


def differences(structure: Structure, given: Sequence[bytes], *readers: Ask) -> tuple[list[Any], set[str]]:
    """Return (input, answer, answer) of each input that two readers read differently, and the sorts of all answers."""
    one, other = (ask("position", structure.positions()) for ask in readers)
    assert one == other
    one, other = (ask(structure.reader, given) for ask in readers)
    differing = [answers for answers in zip(given, one, other, strict=True) if answers[1] != answers[2]]
    return differing, {sort(structure.reader, answer) for answer in one}


def _mutated_text(rng: Random, data: bytes) -> bytes:
    """Return a text with one change."""
    value = mutate_value(rng, data.decode())
    return value.encode() if isinstance(value, str) else data[:-1].decode(errors="ignore").encode()


# Values


@cache
def encodings() -> tuple[bytes, ...]:
    """Return encodings of values at the limits of each size, many with a changed byte, and vectors of msgpack."""
    suite = third_party("msgpack-test-suite.json")
    foreign = (
        bytes.fromhex(text.replace("-", "")) for cases in suite.values() for case in cases for text in case["msgpack"]
    )
    return tuple(dict.fromkeys((*foreign, *_spelled_loosely(Random(3)))))


def _spelled_loosely(rng: Random) -> Iterator[bytes]:
    numbers = [
        sign * 2**power + more for sign in (1, -1) for power in (5, 7, 8, 15, 16, 31, 32, 53, 63) for more in (-1, 0)
    ]
    simple: list[Value] = [*numbers[:-2], 2**64 - 1, "é\ufeff", "\ufeffx"]
    for size in (0, 1, 31, 32, 255, 256, 65535, 65536):
        simple += ["a" * size, bytes(size)]
    simple += [(0,) * size for size in (15, 16, 1023, 1024)]
    nested: Value = ()
    for _ in range(5):
        simple.append(nested := (nested, 1))
    yield from map(encode, simple)
    yield b"\xdc\x04\x01" + bytes(1025)
    for number in (*numbers[:-2], 2**64 - 1):
        for power in range(4):  # in every width that can hold it
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


def _change_encoding(rng: Random, data: bytes) -> bytes:
    """Change a value. Long ones are usually cut first, because they take long to read."""
    return mutate(rng, data if len(data) < 500 or not rng.randrange(20) else data[: rng.randrange(40)])


@cache
def nicknames() -> tuple[bytes, ...]:
    ends = {code for first, last in UNSEEN for code in (first - 1, first, last, last + 1)}
    codes = [code for code in sorted(ends) if 0 <= code < 0x110000 and not 0xD800 <= code < 0xE000]
    rng = Random(1)
    names = ["", " a", "a ", "a b", "a  b", "x" * 20, "x" * 21, "🎲" * 20, "🎲" * 21, "e\u0301" * 10]
    names += [chr(code) for code in (*codes, *range(0x300), *range(0x2000, 0x2100))]
    names += ["".join(rng.choices("a é\ufeff\u200b🎲", k=rng.randrange(1, 23))) for _ in range(300)]
    return tuple(name.encode() for name in dict.fromkeys(names))


@cache
def addresses() -> tuple[bytes, ...]:
    rng = Random(2)
    parts = ["0", "1", "255", "256", "01", "f", "FFFF", "12345", "1.2.3.4", "%eth0", "g", " ", "/", "-", "_", "١", "\n"]
    hosts = ["0.0.0.0", "255.255.255.255", "1.2.3.256", "1.2.3", "1.2.3.04", "::", "::1", ":::", "1::2::3"]
    hosts.append("fe80::1%eth0")
    for size in range(1, 10):
        groups = ["f"] * size
        hosts += [":".join(groups), ":".join(groups) + ":1.2.3.4"]
        hosts += [":".join(groups[:at]) + "::" + ":".join(groups[at:]) for at in range(size + 1)]
    hosts += ["".join(rng.choices([*parts, *".:::"], k=rng.randrange(1, 10))) for _ in range(1000)]
    return tuple(host.encode() for host in dict.fromkeys(hosts))


def _change_address(rng: Random, data: bytes) -> bytes:
    text = data.decode()
    place = rng.randrange(len(text) + 1)
    return (text[:place] + rng.choice("0123456789abcF:::....%/ -_١") + text[place + rng.randrange(2) :]).encode()


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
    "stakes": ("no", "yes", ""),
    "verdict": ("loser-loses-die", "right-side-discards"),
    "wild": ("ones", "never", "unless-opened"),
}


@cache
def rulesets() -> tuple[bytes, ...]:
    return tuple(encode(rules.options()) for rules in PRESETS.values())


def _change_ruleset(rng: Random, data: bytes) -> bytes:
    """Usually change the value of an option. Sometimes leave one out, repeat one, or change anything else."""
    match rng.randrange(8), decode(data) if _is_canonical(data) else None:
        case chance, (*options,) if (
            chance and options and all(type(each) is tuple and len(each) == 2 for each in options)
        ):
            place = rng.randrange(len(options))
            if chance == 1:
                return encode((*options[:place], *rng.choice(((), (options[place],) * 2)), *options[place + 1 :]))
            name, _ = cast("tuple[Value, Value]", options[place])
            value = rng.choice(_OTHER_VALUES.get(str(name), ("no",)))
            return encode((*options[:place], (name, value), *options[place + 1 :]))
    return mutate(rng, data)


def _is_canonical(data: bytes) -> bool:
    try:
        decode(data)
    except NotCanonicalError:
        return False
    return True


# Keys and signatures


@cache
def keys() -> tuple[bytes, ...]:
    rng = Random(5)
    found = [*SMALL_ORDER]
    found += [(FIELD + more).to_bytes(32, "little") for more in range(19)]  # 2 to 18 would be read as valid points
    for number in range(20):
        key = MatchKey(bytes([number])).public
        y, sign = int.from_bytes(key, "little") & 2**255 - 1, key[31] & 0x80
        mixed = bytearray((FIELD - y).to_bytes(32, "little"))  # plus the point of order 2
        mixed[31] |= sign ^ 0x80
        found += [key, bytes(mixed)]
    return tuple(dict.fromkeys((*found, *(rng.randbytes(32) for _ in range(40)))))


def _change_key(rng: Random, data: bytes) -> bytes:
    place = rng.randrange(256)
    return (int.from_bytes(data, "little") ^ 1 << place).to_bytes(32, "little")


def weak_signature(seed: bytes, data: bytes) -> bytes:
    """Return a signature that only the rule about R refuses: R is the neutral element, but the equation holds.

    :param seed: the seed of a :class:`MatchKey`.
    """
    secret = tagged_hash("match-key", seed)
    neutral = (1).to_bytes(32, "little")
    scalar = int.from_bytes(sha512(secret).digest()[:32], "little") & 2**254 - 8 | 2**254
    challenge = int.from_bytes(sha512(neutral + MatchKey(seed).public + data).digest(), "little")
    return neutral + (challenge * scalar % ORDER).to_bytes(32, "little")


def raised_signature(signature: bytes) -> bytes:
    """Return a signature whose s is increased by the order of the group."""
    return signature[:32] + (int.from_bytes(signature[32:], "little") + ORDER).to_bytes(32, "little")


@cache
def signatures() -> tuple[bytes, ...]:
    """Return encoded (key, signature, signed bytes), including the vectors of other projects."""
    triples: list[tuple[bytes, bytes, bytes]] = []
    for group in third_party("wycheproof-ed25519.json")["testGroups"]:
        key = bytes.fromhex(group["publicKey"]["pk"])
        triples += [(key, bytes.fromhex(each["sig"]), bytes.fromhex(each["msg"])) for each in group["tests"]]
    for each in third_party("ed25519-speccheck-cases.json"):
        triples.append(cast("Any", tuple(bytes.fromhex(each[name]) for name in ("pub_key", "signature", "message"))))
    for number in range(5):
        seed, data = bytes([number]), b"x" * number
        key, usual = MatchKey(seed).public, MatchKey(seed).sign(data)
        s_parts = (0, 1, ORDER - 1, ORDER, ORDER + 1, 2**252 - 1, 2**252, 2**253 - 1, 2**253, 2**256 - 1)
        for signature in (
            *(usual, usual[:-1], usual + b"\0", weak_signature(seed, data), raised_signature(usual)),
            *(small + usual[32:] for small in SMALL_ORDER),
            *(usual[:32] + s.to_bytes(32, "little") for s in s_parts),
        ):
            triples.append((key, signature, data))
    return tuple(encode(each) for each in triples)


def _change_signature(rng: Random, data: bytes) -> bytes:
    """Change a bit of the signature or of the signed bytes, or sign other bytes, correctly or not."""
    key, signature, signed = cast("tuple[bytes, bytes, bytes]", decode(data))
    match rng.randrange(4):
        case 0:
            signed = mutate_bytes(rng, signed)
        case 1:
            signature = mutate_bytes(rng, signature)
        case _:
            seed, signed = bytes([rng.randrange(5)]), rng.randbytes(rng.randrange(40))
            own = MatchKey(seed)
            makers = (own.sign, partial(weak_signature, seed), lambda data: raised_signature(own.sign(data)))
            key, signature = own.public, rng.choice((own.sign, *makers))(signed)
    return encode((key, signature, signed))


# The genesis


def record(number: int, *, match_signer: int | None = None, **changes: Any) -> tuple[bytes, bytes, bytes]:
    """Return the wire form of a join record with some fields changed, and valid signatures.

    :param match_signer: the number of a player whose match key signs instead.
    """
    join = join_record(SEED, number).join
    data = join._replace(**changes).encoded()
    signer = match_seed(SEED, number if match_signer is None else match_signer)
    return data, IDENTITIES[join.identity].private_key.sign(data), MatchKey(signer).sign(data)


FITS_NEUTRAL_KEY: Final = b"\x58" + b"\x66" * 31 + (1).to_bytes(32, "little")
"""A signature that is valid for every message if the key is the neutral element: R is the base point, and s is 1."""


def _with_weak_key(field: str, key: bytes) -> tuple[bytes, bytes, bytes]:
    """Return a record with a key of small order, and a signature that satisfies the equation for this key."""
    fields: dict[str, Any] = {field: key}
    data, identity, match = record(0, **fields)
    return (data, FITS_NEUTRAL_KEY, match) if field == "identity" else (data, identity, FITS_NEUTRAL_KEY)


STAKED: Final = PRESETS["classic"].with_options({"stakes": "yes"})


def beginning(
    *records: tuple[bytes, ...],
    table: Value = TABLE,
    rules: Value = PRESETS["classic"].options(),  # noqa: B008
    patience: Value = (60, 15),
) -> bytes:
    """Return a genesis with these join records, sorted."""
    ordered = sorted(records, key=lambda each: cast("Any", decode(each[0]))[2])
    return encode((GENESIS_TAG, table, rules, patience, tuple(ordered)))


@cache
def geneses() -> tuple[bytes, ...]:
    return tuple(_geneses())


def _geneses() -> Iterator[bytes]:
    """Yield geneses. Most have one value at a limit or beyond it."""
    first, second = record(0), record(1)
    yield beginning(first, second)
    yield beginning(*map(record, range(10)))
    yield beginning(*map(record, range(11)))
    yield beginning(first)
    yield beginning(first, first)
    fields: Any = decode(beginning(first, second))
    tag, *rest, roster = fields
    yield encode((tag, *rest, tuple(reversed(roster))))
    yield encode((JOIN_TAG, *rest, roster))
    yield encode((tag, *rest, roster, 0))
    for low in (4, 5, 3600, 3601):
        yield beginning(first, second, patience=(low, 15))
        yield beginning(first, second, patience=(60, low))
    yield beginning(first, second, patience=(60,))
    yield beginning(first, second, rules=PRESETS["classic"].options()[:-1])
    for start in range(3):
        table = bytes([start]) + bytes(15)
        yield beginning(record(0, table=table), record(1, table=table), table=table)
        yield beginning(first, second, table=table)
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
        yield beginning(signed, second)


@cache
def joins() -> tuple[bytes, ...]:
    return tuple(_joins())


def _joins() -> Iterator[bytes]:
    """Yield geneses with one join record that has a value at a limit or beyond it."""
    second, address = record(1), ("192.0.2.1", 7000)
    other = join_record(SEED, 1).join
    changed: tuple[dict[str, Any], ...] = (
        {},
        *({"nickname": name} for name in ("x" * 20, "x" * 21, "a\uffa0", "a\uffa1", "", 1)),
        *({"addresses": (address,) * size} for size in (0, 8, 9)),
        *({"addresses": ((host, 7000),)} for host in ("192.0.2.256", "example.org", "fe80::1%1", "::ffff:1.2.3.4", 1)),
        *({"addresses": (("192.0.2.1", port),)} for port in (0, 1, 65535, 65536, "1")),
        {"addresses": (address[:1],)},
        *({"pledge": pledge} for pledge in ("redeemed", "cursed", "blessed", "", 1)),
        *({"nonce": bytes(size)} for size in (31, 32, 33)),
        {"match_key": join_record(SEED, 0).join.identity},
        {"match_key": other.match_key, "match_signer": 1},
        {"match_key": other.identity},
    )
    for fields in changed:
        yield beginning(record(0, **fields), second)
    weak = [
        *sorted(SMALL_ORDER),
        *islice((key for key in keys() if not _is_key(key) and key not in SMALL_ORDER), 30, 33),
    ]
    for key in weak:
        yield beginning(_with_weak_key("identity", key), second)
        yield beginning(_with_weak_key("match_key", key), second)


def _is_key(data: bytes) -> bool:
    try:
        PublicKey(data)
    except ValueError:
        return False
    return True


@cache
def purses() -> tuple[bytes, ...]:
    """Return geneses with purses. One purse has a value at a limit or beyond it."""
    usual = Head(1, 16, b"\1" * 32, 1000, 3)
    changed: list[dict[str, Any]] = [
        *({"era": era} for era in (0, 2**32 - 1, 2**32, -1)),
        *({"height": height} for height in (0, 2**32 - 1, 2**32, -1)),
        *({"balance": balance} for balance in (0, 10**12, 10**12 + 1, -1)),
        *({"tickets": tickets} for tickets in (0, 10**12, 10**12 + 1, -1)),
        {"id": bytes(31)},
    ]
    second = record(1, head=Head(0, 0, bytes(32), 1000, 0))
    rules = STAKED.options()
    return (
        beginning(record(0, head=usual), second, rules=rules),
        beginning(record(0, head=usual), second),
        beginning(record(0, head=usual), record(1), rules=rules),
        beginning(record(0), record(1), rules=rules),
        *(beginning(record(0, head=usual._replace(**fields)), second, rules=rules) for fields in changed),
    )


def _parts(data: bytes, count: int) -> Any:
    """Return the elements of an encoded array; None if the bytes are not an array of at least ``count`` elements."""
    value = decode(data) if _is_canonical(data) else None
    return value if type(value) is tuple and len(value) >= count else None


def _change_part(rng: Random, parts: tuple[Value, ...], place: int) -> bytes:
    return encode((*parts[:place], mutate_value(rng, parts[place]), *parts[place + 1 :]))


def _change_genesis(rng: Random, data: bytes) -> bytes:
    """Change a genesis, but usually not its join records."""
    parts = _parts(data, 5)
    if parts is None or not rng.randrange(8):
        return mutate(rng, data)
    if not rng.randrange(8):
        rules = _change_ruleset(rng, rng.choice(rulesets()))
        return encode((*parts[:2], decode(rules) if _is_canonical(rules) else (), *parts[3:]))
    return _change_part(rng, parts, rng.randrange(5))


def _change_record(rng: Random, data: bytes, part: int | None = None) -> bytes:
    """Change a join record in a genesis, and sign it again.

    :param part: the field to change; by default a random one.
    """
    parts = _parts(data, 5)
    roster = parts[4] if parts is not None else None
    if type(roster) is not tuple or not roster:
        return mutate(rng, data)
    place = rng.randrange(len(roster))
    joined = _parts(roster[place][0], 4 if part is None else part + 1) if _is_record(roster[place]) else None
    if joined is None:
        return mutate(rng, data)
    signed = _change_part(rng, joined, rng.randrange(len(joined)) if part is None else part)
    changed = _signed_record(signed, joined[2], joined[3])
    return encode((*parts[:4], (*roster[:place], changed, *roster[place + 1 :])))


def _is_record(value: Value) -> bool:
    return type(value) is tuple and len(value) == 3 and type(value[0]) is bytes


def _signed_record(data: bytes, identity: bytes, match: bytes) -> tuple[bytes, bytes, bytes]:
    """Return a record signed by the keys that it contains, or by other keys if those are unknown."""
    return (
        data,
        _identity_keys().get(identity, _identity_keys()[b""]).sign(data),
        _match_keys().get(match, _match_keys()[b""]).sign(data),
    )


@cache
def _identity_keys() -> dict[bytes, Ed25519PrivateKey]:
    public = [join_record(SEED, number).join.identity for number in range(10)]
    return {each: IDENTITIES[each].private_key for each in public} | {b"": IDENTITIES[public[0]].private_key}


@cache
def _match_keys() -> dict[bytes, MatchKey]:
    keys = [MatchKey(match_seed(SEED, number)) for number in range(10)]
    return {each.public: each for each in keys} | {b"": keys[0]}


# Messages

MATCH: Final = bytes(32)
HASH: Final = bytes(range(32))
_CARRIED: Final = [
    *(b"".join(bytes([number]) + bytes(64) for number in range(size)) for size in (0, 1, 2, 9, 15)),
    bytes(65) * 2,
    b"\1" + bytes(64) + bytes(65),
    bytes(64),
    bytes(66),
]
"""Signatures of witnesses, as carried in messages. The first five are well-formed."""
_NUMBERS: Final = (-1, 0, 2**32 - 1, 2**32)
_ENTRIES: Final[tuple[Value, ...]] = (
    (),
    (b"",),
    (b"", HASH),
    *((HASH,) * size for size in (10, 11)),
    *(HASH[:size] for size in (0, 31, 32)),
    (HASH[1:],),
    (0,),
    ((),),
    HASH + b"\0",
    0,
)
_VALUES: Final[tuple[Value, ...]] = (
    *((7, HASH, entries) for entries in _ENTRIES),
    *((step, HASH, (b"",)) for step in _NUMBERS),
    *((7, tip, (b"",)) for tip in (b"", HASH[1:], 7)),
    *((), (7,), (7, HASH), (7, HASH, (b"",), 0), b"", HASH),
)
"""Values of votes, well-formed or not."""
BODIES: Final[tuple[Value, ...]] = (
    *(bytes(size) for size in (0, 31, 32, 33)),
    *(HASH + carried for carried in _CARRIED),
    *((HASH,) * size for size in range(5)),
    *((HASH,) * size + (HASH[1:],) + (HASH,) * more for size in range(3) for more in range(3 - size)),
    *((HASH, HASH, HASH, carried) for carried in (*_CARRIED, HASH)),
    (HASH, HASH, HASH, 0),
    *((HASH,) * size + (HASH[1:],) + (HASH,) * (2 - size) + (b"",) for size in range(3)),
    *("", "a", "a" * 200, "a" * 201, "🎲" * 200, "🎲" * 201, 0, -1, 1),
    *(
        (bet, tickets, HASH, *rest)
        for bet, tickets in ((0, 0), (-1, 0), (0, -1), (2**63 - 1, 0), (2**63, 0), (0, 2**63 - 1), (0, 2**63))
        for rest in ((), (bytes(64),))
    ),
    (0, 0, HASH[1:]),
    *((1, value, *polka) for value in _VALUES for polka in ((), (0,))),
    *((number, value) for number in _NUMBERS for value in (_VALUES[1], ())),
    *((number, _VALUES[1], newest) for number in (0, 1, *_NUMBERS[2:]) for newest in (-2, -1, 0, 1, 2**32 - 1)),
)
"""Bodies of all kinds of messages, most of them with a size or number at a limit or beyond it."""


@cache
def messages(kind: Kind) -> tuple[bytes, ...]:
    """Return messages of one kind with all sorts of bodies, and some with other fields at their limits."""
    usual = Message(MATCH, 7, HASH, 1, kind, next(body for body in BODIES if _fits(kind, body)))
    others = [usual._replace(step=step) for step in (-1, 0, 2**32 - 1, 2**32)]
    others += [usual._replace(author=author) for author in (-1, 0, 255, 256)]
    others += [usual._replace(tip=HASH[1:]), usual._replace(match=HASH[1:])]
    others += [usual._replace(kind=cast("Kind", number)) for number in (0, 12)]
    found = [usual._replace(body=body).encoded() for body in BODIES] + [each.encoded() for each in others]
    found += [usual.encoded() + b"\0", usual.encoded().replace(b"/message", b"/massage")]
    return (*found, encode((*cast("tuple[Value, ...]", decode(usual.encoded())), 0)))


def _fits(kind: Kind, body: Value) -> bool:
    try:
        parse_signed(Message(MATCH, 7, HASH, 1, kind, body).encoded(), bytes(64))
    except MalformedMessageError:
        return False
    return True


def _change_message(rng: Random, data: bytes) -> bytes:
    """Change a field, usually the body, because its form depends on the kind."""
    parts = _parts(data, 7)
    if parts is None or not rng.randrange(8):
        return mutate(rng, data)
    return _change_part(rng, parts, rng.choice((6, 6, 6, 6, 6, rng.randrange(7))))


@cache
def pairs() -> tuple[bytes, ...]:
    """Return pairs of messages, mostly by one author for one step, including pairs of votes in different rounds."""
    values: tuple[Value, ...] = ((7, HASH, (b"",)), (7, HASH, HASH))
    bodies: list[tuple[Kind, Value]] = [(Kind.CLOSE, (number, each)) for number in range(4) for each in (*values, ())]
    bodies += [
        (Kind.ABSENT, (number, each, newest)) for number in range(4) for newest in range(-1, number) for each in values
    ]
    bodies += [
        (kind, bytes([number]) * 32)
        for kind in (Kind.LOCK, Kind.REVEAL, Kind.RESULT, Kind.WITNESS)
        for number in range(2)
    ]
    usual = Message(MATCH, 7, HASH, 1, Kind.MOVE, "liar")
    found = [usual._replace(kind=kind, body=body) for kind, body in (*bodies, (Kind.RESIGN, ()))]
    found += [usual, usual._replace(step=8), usual._replace(tip=bytes(32)), usual._replace(author=0)]
    found += [each._replace(step=8) for each in found if each.kind is Kind.RESULT or each in found[:3]]
    return tuple(encode((one.encoded(), other.encoded())) for one, other in product(found, repeat=2))


def _change_pair(rng: Random, data: bytes) -> bytes:
    """Change one message of a pair, or both in the same way."""
    one, other = cast("tuple[bytes, bytes]", decode(data))
    if rng.randrange(2):
        again = Random(rng.random())
        state = again.getstate()
        one = _change_message(again, one)
        again.setstate(state)
        return encode((one, _change_message(again, other)))
    return encode(rng.choice(((_change_message(rng, one), other), (one, _change_message(rng, other)))))


# Moves


@cache
def _played(name: str) -> FairMatch:
    """Return a short match.

    :param name: a preset, or what the match contains.
    """
    staked = SHORT.with_options({"stakes": "yes"})
    match name:
        case "votes":
            return play(SHORT, 3, 1, leaves_after=60)
        case "witnesses":  # the player leaves after another one is out
            return play(SHORT, 4, 2, leaves_after=200)
        case "stakes":
            return play(staked, 2, 3)
        case "purses":
            people = [identity_of(name, 0) for name in (b"a", b"b")]
            return play(staked, 2, 3, owners=[(each, Purse.new(each.public).head) for each in people])
    rules = PRESETS[name]
    return play(rules if rules.motes else rules.with_options({"dice": "2"}), 3, 4)


SHORT: Final = PRESETS["classic"].with_options({"dice": "1"})
TURNS: Final = 6
"""The number of positions to take from each match."""


@cache
def _turns() -> tuple[tuple[bytes, Position], ...]:
    """Return beginnings of matches that wait for a move, with their positions."""
    found: list[tuple[bytes, Position]] = []
    for name in PRESETS:
        match = _played(name)
        steps = [step for step, history in match.histories.items() if history.position.kind is Kind.MOVE]
        for step in Random(1).sample(steps, min(TURNS, len(steps))):
            found.append((file_before(match, match.starts[step]), match.histories[step].position))
    return tuple(found)


def turns() -> tuple[bytes, ...]:
    return tuple(data for data, _ in _turns())


@cache
def moves() -> tuple[bytes, ...]:
    """Return legal moves, moves that are legal in other positions, and texts that are not moves."""
    texts = {
        "",
        "03x5",
        "3x7",
        "0x1",
        "1x1",
        "999x6",
        "1000x6",
        "exact",
        "liar",
        "pass",
        "concede",
        "stake 5",
        "LIAR",
        "3 x 5",
    }
    legal = []
    for number, (_, position) in enumerate(_turns()):
        assert position.state is not None
        spellings = [str(move) for move in legal_moves(position.state)]
        legal += [(number, text) for text in spellings[:40]]
        texts |= {text for text in spellings if "@" in text or len(text) > 4}
    anywhere = [(number, text) for number in range(len(_turns())) for text in sorted(texts)]
    return tuple(map(encode, dict.fromkeys((*legal, *Random(2).sample(anywhere, 500)))))


def _change_move(rng: Random, data: bytes) -> bytes:
    number, text = cast("tuple[int, str]", decode(data))
    if not rng.randrange(3):
        number = rng.randrange(len(_turns()))
    elif "@" in text and rng.randrange(4):
        words = text.split()
        other = rng.choice(
            [*MOTES, "on", "take", "swap", "destroy", "play", "lose", "crown", "pass", "0", "1", "2", "9"]
        )
        words[rng.randrange(len(words))] = rng.choice((other, f"{rng.choice(MOTES)}@{rng.randrange(4)}"))
        text = " ".join(words)
    elif rng.randrange(2):
        text = f"{rng.randrange(9)}x{rng.randrange(8)}"
    else:
        text = _mutated_text(rng, text.encode()).decode()
    return encode((number, text))


MOTES: Final = ("light", "grey", "neutral", "blue", "red", "dark")


# Files


def file_before(played: FairMatch, place: int) -> bytes:
    """Return the transcript up to a message."""
    return played.data[: len(played.data) - len(played.rest(place))]


@cache
def files(*names: str) -> tuple[bytes, ...]:
    """Return matches, and one example of each kind of alteration, offence and proof."""
    kinds: dict[str, bytes] = {}
    for name in names:
        kinds[name] = _played(name).data
        for sample in changes(name, _played(name), Random(1)):
            kinds.setdefault(sample.label, sample.data)
    return tuple(kinds.values())


def _change_file(names: tuple[str, ...], rng: Random, data: bytes) -> bytes:
    """Change bytes or arrays; or continue a match at some place with other, validly signed messages."""
    if not rng.randrange(4):
        return change_arrays(rng, data)
    played = _played(rng.choice(names))
    place = rng.randrange(1, len(played.messages) + 1)
    added = [_message(rng, played, place) for _ in range(rng.randrange(1, 4))]
    rest = rng.choice((b"", b"", b"", played.rest(place), played.rest(min(place + 1, len(played.messages)))))
    return file_before(played, place) + b"".join(added) + rest


def _change_certificate(names: tuple[str, ...], rng: Random, data: bytes) -> bytes:
    """Change bytes or arrays; or let votes close some step with some of its messages, usually correctly."""
    if not rng.randrange(6):
        return change_arrays(rng, data)
    played = _played(rng.choice(names))
    step = rng.randrange(FORMED - 1, max(played.histories))
    position = played.histories[step].position
    sent = [each.message for each in played.messages if each.message.step == step and each.message.kind not in VOTES]
    is_lock = position.kind is Kind.LOCK and rng.randrange(4)
    given = {} if is_lock else {message.author: message for message in sent if rng.randrange(3)}
    usual = Message(played.messages[0].message.match, step, position.tip, 0, Kind.RESIGN, ())
    if not is_lock and not rng.randrange(4):
        author = rng.choice(position.owed)
        given[author] = usual._replace(author=author)
    signed = [given[author] for author in sorted(given)]
    value = _value(rng, position, {author: message_id(message.encoded()) for author, message in given.items()}, 12)
    number = rng.randrange(2)
    ballot = usual._replace(step=position.root_step, tip=position.root_tip)
    votes = []
    for kind, share in ((Kind.ABSENT, 5), (Kind.CLOSE, 2)):
        for author in range(len(played.keys)):
            if rng.randrange(6) < share:
                continue
            votes.append(ballot._replace(author=author, kind=kind, body=_vote(rng, kind, number, value)))
    if not rng.randrange(4):
        rng.shuffle(votes)
    return file_before(played, played.starts[step]) + b"".join(map(played.sign, (*signed, *votes)))


def _value(rng: Random, position: Position, ids: Mapping[int, bytes], often: int) -> Value:
    """Return the value that closes a step with some of its messages; one in ``often`` times, a wrong value."""
    if not rng.randrange(often):
        return rng.choice((*_VALUES[:4], (position.step, position.tip, HASH), (position.step, position.tip, (b"",))))
    if position.kind is Kind.LOCK:
        return position.step, position.tip, position.signed_hash
    return position.step, position.tip, tuple(ids.get(author, b"") for author in position.owed)


def _vote(rng: Random, kind: Kind, number: int, value: Value) -> Value:
    """Return the body of a vote. An ABSENT seldom refers to an earlier polka."""
    if kind is Kind.CLOSE:
        return number, value
    return number, value, -1 if rng.randrange(6) else rng.randrange(-1, number)


def contradictions_in_files() -> Iterator[tuple[bytes, str]]:
    """Yield (file, nickname): a match up to some place, followed by two contradicting messages of this player.

    The pairs are all that :func:`_sayings` permits, in both orders. The places are the step after a root, a joint step
    and a LOCK after a closed step, and the end.
    """
    played = _played("votes")
    positions = [played.position(place) for place in range(len(played.messages) + 1)]
    voted = [(place, each) for place, each in enumerate(positions) if each.step >= FORMED]
    roots = [place for place, each in voted if each.step == each.root_step]
    joint = [place for place, each in voted if each.step > each.root_step and len(each.owed) > 1]
    places = (
        roots[1],
        next(place for place in joint if positions[place].kind is not Kind.LOCK),
        next(place for place in joint if positions[place].kind is Kind.LOCK),
        len(played.messages),
    )
    for place in places:
        position, author = positions[place], min(positions[place].base)
        signed = [sign(each, played.keys[author]) for each in _sayings(played, position, author)]
        for one, other in permutations(signed, 2):
            if contradiction(one, other):
                data = file_before(played, place) + encode(one.wire) + encode(other.wire)
                yield data, played.genesis.roster[author].join.nickname


def _sayings(played: FairMatch, position: Position, author: int) -> Iterator[Message]:
    """Yield all sorts of messages by one author: votes on the root; messages for the open step, the step before it, and
    the root; RESULTs and WITNESSes."""
    usual = Message(played.messages[0].message.match, position.step, position.tip, author, Kind.RESIGN, ())
    on_root = usual._replace(step=position.root_step, tip=position.root_tip)
    entries: tuple[Value, ...] = (
        (position.signed_hash, HASH)
        if position.signed_hash
        else tuple(tuple(b"" if each == hole else HASH for each in position.owed) for hole in position.owed[:2] * 2)
    )
    values = [(position.step, position.tip, each) for each in entries[:2]]
    values.append((position.step, HASH, entries[0]))
    for number, value in product(range(2), (*values, ())):
        yield on_root._replace(kind=Kind.CLOSE, body=(number, value))
    for number, which, newest in ((0, 0, -1), (0, 1, -1), (1, 0, -1), (1, 1, -1), (1, 1, 0), (2, 1, 0), (2, 2, 1)):
        yield on_root._replace(kind=Kind.ABSENT, body=(number, values[which], newest))
    for each in {position.step, position.step - 1, position.root_step}:
        before = played.histories[each].position
        here = usual._replace(step=each, tip=before.tip)
        yield here
        yield from (here._replace(kind=Kind.LOCK, body=body) for body in (HASH, before.signed_hash) if body)
        yield from (
            signed.message
            for signed in played.messages
            if signed.message.step == each and signed.message.author == author and signed.message.kind not in VOTES
        )
    yield from (
        usual._replace(kind=kind, body=body) for kind in (Kind.RESULT, Kind.WITNESS) for body in (HASH, bytes(32))
    )


def _change_proof(rng: Random, data: bytes) -> bytes:
    """Change bytes or arrays; or make a proof of a few messages from near one place of a match."""
    if not rng.randrange(4):
        return change_arrays(rng, data)
    played = _played("votes")
    place = rng.randrange(1, len(played.messages) + 1)
    found = [_message(rng, played, place) for _ in range(rng.choice((1, 2, 2, 2, 2, 2, 3)))]
    return encode((PROOF_TAG, played.genesis.encoded())) + b"".join(found)


def _message(rng: Random, played: FairMatch, place: int) -> bytes:
    """Return a message that was sent near a place, or a message that a player could have signed there instead."""
    near = range(max(0, place - 6), min(len(played.messages), place + 6))
    message = played.messages[rng.choice(near)].message
    position = played.position(place)
    step = {each.message.author: each.id for each in played.messages if step_of(each.message) == position.step}
    here: dict[str, Any] = {"step": position.step, "tip": position.tip, "author": rng.randrange(len(played.keys))}
    changed: Message
    match rng.randrange(8):
        case 0:
            changed = message
        case 1 | 2:
            ids = {author: each for author, each in step.items() if rng.randrange(3)}
            value = _value(rng, position, ids, 6)
            kind = rng.choice((Kind.CLOSE, Kind.CLOSE, Kind.ABSENT))
            body = _vote(rng, kind, rng.randrange(3), value if kind is Kind.ABSENT or rng.randrange(8) else ())
            root = {"step": position.root_step, "tip": position.root_tip}
            changed = message._replace(**(here | root | {"kind": kind, "body": body}))
        case 3:
            changed = message._replace(**here, kind=Kind.RESIGN, body=())
        case 4:
            changed = message._replace(**here)
        case 5:
            changed = message._replace(author=here["author"])
        case _:
            body = mutate_value(rng, message.body)
            changed = (
                message._replace(body=body) if _fits(cast("Kind", message.kind), body) else message._replace(**here)
            )
    return played.sign(changed)


def _messages_of_all_kinds() -> Iterator[Structure]:
    planted = {
        Kind.COMMIT: ("isList(body, is32) || isList(body, is32, is32)", "isList(body, is32) || is32(body[1])"),
        Kind.LOCK: ("[LOCK]: is32", "[LOCK]: (body) => isBytes(body)"),
        Kind.REVEAL: ("all[at - 1][0] < author", "all[at - 1][0] <= author"),
        Kind.MOVE: ("isText(body, 1, 200)", "isText(body, 1, 201)"),
        Kind.OPEN: (
            "isList(body, is32, is32, is32, isCarried)",
            "isList(body, is32, is32, is32, (each) => isBytes(each))",
        ),
        Kind.RESIGN: ("[RESIGN]: (body) => isList(body)", "[RESIGN]: (body) => Array.isArray(body)"),
        Kind.RESULT: ("[RESULT]: is32", "[RESULT]: (body) => isBytes(body)"),
        Kind.STAKE: ("isInteger(value, 0, 2n ** 63n - 1n)", "isInteger(value, 0, 2n ** 63n)"),
        Kind.ABSENT: (" && body[2] < body[0]", ""),
        Kind.CLOSE: ("isValue(value) || isList(value)", "isValue(value)"),
        Kind.WITNESS: ("[WITNESS]: is32", "[WITNESS]: (body) => isBytes(body)"),
    }
    for kind in Kind:
        yield Structure(kind.name, "message", partial(messages, kind), _change_message, planted[kind])


VERDICTS: Final = frozenset({"misconduct", "incomplete", "altered"})
STRUCTURES: Final = (
    Structure(
        "value", "encoding", encodings, _change_encoding, ("binary(atLeast(number(2), 256))", "binary(number(2))")
    ),
    Structure("nickname", "nickname", nicknames, _mutated_text, (' || name.includes("  ")', "")),
    Structure(
        "address", "address", addresses, _change_address, ("groups.flat().length <= 7", "groups.flat().length <= 8")
    ),
    Structure("ruleset", "ruleset", rulesets, _change_ruleset, ('throw wrong("dice-cap")', "void 0")),
    Structure(
        "fingerprint", "fingerprint", keys, _change_key, ("digit * 2 : digit", "digit : digit"), frozenset({"read"})
    ),
    Structure("key", "key", keys, _change_key, ("return isIdentity(product)", "return true")),
    Structure(
        "signature", "signature", signatures, _change_signature, ("return !SMALL_ORDER", "return true || !SMALL_ORDER")
    ),
    Structure("genesis", "genesis", geneses, _change_genesis, ("isInteger(each, 5, 3600)", "isInteger(each, 5, 3601)")),
    Structure("join record", "genesis", joins, _change_record, ("addresses.length > 8", "addresses.length > 9")),
    Structure(
        "purse",
        "genesis",
        purses,
        partial(_change_record, part=8),
        ("isInteger(value, 0, MOST_COINS)", "isInteger(value, 0, MOST_COINS + 1)"),
    ),
    *_messages_of_all_kinds(),
    Structure(
        "contradiction",
        "contradiction",
        pairs,
        _change_pair,
        ("absent.body[2] < round", "absent.body[2] <= round"),
        frozenset({"True", "False", "refused"}),
    ),
    Structure("move", "move", moves, _change_move, ("[1-9][0-9]{0,2})x", "[0-9]{1,3})x"), positions=turns),
    Structure(
        "transcript",
        "file",
        partial(files, "stakes", "purses", "votes"),
        partial(_change_file, ("stakes", "purses", "votes")),
        ("author <= latest || ", ""),
        VERDICTS | {"fair"},
    ),
    Structure(
        "certificate",
        "file",
        partial(files, "votes"),
        partial(_change_certificate, (*("votes",) * 7, "witnesses")),  # the long match is seldom drawn
        ("latest.kind === kind && latest.author >= author", "false"),
        VERDICTS | {"unproven"},
    ),
    Structure(
        "proof",
        "file",
        partial(files, "votes"),
        _change_proof,
        ("messages.length !== 2 || ", ""),
        frozenset({"misconduct", "altered"}),
    ),
)
