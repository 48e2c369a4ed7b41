"""Changes to fair transcripts, grouped by the verdict that the verifier must give.

:data:`ALTERATIONS` need no player's key: the verdict is altered or incomplete, and no player is blamed.
:data:`OFFENCES` are signed by a player: the verdict is that player's misconduct. Each function yields the new content
of the file from one message to the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from random import Random
from typing import Any, Final, cast
from unittest.mock import patch

from p2pdice.engine import apply
from p2pdice.errors import RulesError
from p2pdice.moves import Play, parse_move
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.stakes import NEWCOMER_COINS
from protocol import limits
from protocol.consensus import verifier
from protocol.consensus.branches import Outcome
from protocol.consensus.history import History
from protocol.consensus.kinds import CARRIED, COMMITMENTS, parse_signed
from protocol.consensus.position import FORMED, Position, Purpose
from protocol.consensus.reading import Reading
from protocol.consensus.rule import MisconductError
from protocol.consensus.transcript import PROOF_TAG, TRANSCRIPT_TAG, open_transcript
from protocol.consensus.verifier import Verdict, examine, verify
from protocol.crypto.hashing import Context, stake_commitment
from protocol.crypto.keys import Identity, MatchKey
from protocol.wire.canonical import Value, decode, encode
from protocol.wire.genesis import Genesis, Patience
from protocol.wire.messages import VOTES, Kind, Message, Signed, sign
from protocol.wire.purses import Head
from tests.fuzz.mutation import encode_loosely
from tests.protocol.histories import fork
from tests.simulation.world import World


@dataclass(frozen=True, slots=True)
class FairMatch:
    """A fair match played to its end, and the players' keys to sign different messages with."""

    genesis: Genesis
    data: bytes
    """The transcript."""
    keys: tuple[MatchKey, ...]
    """Match keys, indexed by author."""
    messages: tuple[Signed, ...]
    encodings: tuple[bytes, ...]
    """The messages as encoded in the file."""
    histories: Mapping[int, History]
    """The history before each step."""
    between: tuple[History, ...]
    """The history before each message."""
    starts: Mapping[int, int]
    """Index of the first message of each step; the final step maps to the number of messages."""
    foreign: tuple[bytes, ...]
    """Encodings of messages of another match."""

    def step(self, place: int) -> int:
        """Return the step of the message at an index; after the last message, the final step."""
        return step_of(self.messages[place].message) if place < len(self.messages) else max(self.histories)

    def position(self, place: int) -> Position:
        """Return the position of the step that a message belongs to."""
        return self.histories[self.step(place)].position

    def rest(self, place: int) -> bytes:
        """Return the content of the file from a message to the end."""
        return b"".join(self.encodings[place:])

    @property
    def has_votes(self) -> bool:
        """Whether votes closed a step without one of its players."""
        return any(signed.message.kind is Kind.CLOSE for signed in self.messages)

    def sign(self, message: Message, **changes: Any) -> bytes:
        """Return a message in the transcript's encoding, signed by its author."""
        changed = message._replace(**changes)
        return encode(sign(changed, self.keys[changed.author]).wire)


def step_of(message: Message) -> int:
    """Return the step of a message; for a vote, the step it closes."""
    if message.kind not in VOTES:
        return message.step
    _, value, *_ = cast("tuple[int, tuple[int, bytes, Value], *tuple[int, ...]]", message.body)
    return value[0]


PATIENCE: Final = Patience(30, 15)


def play(
    ruleset: Ruleset,
    players: int,
    seed: int,
    *,
    leaves_after: int | None = None,
    owners: Sequence[tuple[Identity, Head]] = (),
) -> FairMatch:
    """Play a match to its end.

    :param leaves_after: the number of events after which one player crashes for good and is voted out.
    :param owners: the players' identities with the heads of their purses, for a match with purses.
    """
    world = World(ruleset, players, seed, patience=PATIENCE, owners=owners)
    if leaves_after is not None:
        for _ in range(leaves_after):
            world.step()
        world.crash(players - 1)
    world.run()
    data = world.machines[0].transcript
    other = World(PRESETS["classic"].with_options({"dice": "1"}), players, seed + 1)
    other.run()
    messages, between = [], []
    history = History(world.data)
    reading = Reading(history)
    histories, starts = {0: fork(history)}, {0: 0}
    for place, parsed in enumerate(open_transcript(data).messages):
        between.append(fork(history))
        signed = history.check_signature(parsed)
        assert reading.add(signed) is Outcome.ADDED
        messages.append(signed)
        if history.position.step == len(histories):
            histories[history.position.step] = fork(history)
            starts[history.position.step] = place + 1
    assert history.position.purpose is Purpose.END
    encodings = tuple(encode(signed.wire) for signed in messages)
    foreign = tuple(encode(signed.wire) for signed in open_transcript(other.machines[0].transcript).messages)
    keys = tuple(map(MatchKey, world.seeds))
    return FairMatch(world.genesis, data, keys, tuple(messages), encodings, histories, tuple(between), starts, foreign)


def judge(played: FairMatch, place: int, rest: bytes) -> Verdict:
    """Return :func:`protocol.consensus.verifier.verify`'s verdict on a file whose content differs from a message on.

    The steps before that message are unchanged, so their folded history is reused.
    """
    step = played.step(place)
    return _judge_from(played, played.histories[step], played.starts[step], place, rest)


def judge_end(played: FairMatch, place: int, rest: bytes) -> Verdict:
    """Return the verdict on a file that ends within a message, judged from that message on."""
    return _judge_from(played, played.between[place], place, place, rest)


def _judge_from(played: FairMatch, history: History, start: int, place: int, rest: bytes) -> Verdict:
    header = encode((TRANSCRIPT_TAG, history.genesis_data))
    known, changed = b"".join(played.encodings[:start]), b"".join(played.encodings[start:place]) + rest
    with (
        patch.object(verifier, "History", lambda _: fork(history)),
        patch.object(verifier, "open_transcript", lambda _: open_transcript(header + changed)),
    ):
        return verify(header + known + changed)


def judge_bytes(played: FairMatch, offset: int, data: bytes) -> Verdict:
    """Return the verdict on ``data``, which equals the transcript up to ``offset``. Judging starts at that message."""
    starts = list(accumulate(map(len, played.encodings), initial=len(played.data) - len(played.rest(0))))
    place = bisect_right(starts, offset) - 1
    return judge(played, place, data[starts[place] :]) if place >= 0 else verify(data)


def judge_file(played: FairMatch, data: bytes) -> Verdict:
    """Return the verdict on a whole file. If it begins with the whole transcript, only the rest is judged."""
    if not data.startswith(played.data):
        return verify(data)
    return judge(played, len(played.messages), data[len(played.data) :])


def judge_whole(played: FairMatch, place: int, rest: bytes) -> Verdict:
    """Return the verdict of a full run on the same file. ``examine``, which keeps the match, must agree with it."""
    header = encode((TRANSCRIPT_TAG, played.genesis.encoded()))
    data = header + b"".join(played.encodings[:place]) + rest
    verdict = verify(data)
    assert examine(data).verdict == verdict
    return verdict


# Alterations

Alteration = Callable[[FairMatch, int, Random], Iterator[bytes]]


def _flip(data: bytes, start: int, end: int, rng: Random) -> bytes:
    place = rng.randrange(start, end)
    return data[:place] + bytes((data[place] ^ 1 << rng.randrange(8),)) + data[place + 1 :]


def flipped_bits(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    """Flip one bit in each field, in the enclosing arrays, and in each half of the signature."""
    encoding, rest = played.encodings[place], played.rest(place + 1)
    signed = played.messages[place]
    first = encoding.index(signed.data)
    fields = [encode(value) for value in cast("tuple[Value, ...]", decode(signed.data))]
    ends = [0, first, first + 1]
    for field in fields:
        ends.append(ends[-1] + len(field))
    ends += [len(encoding) - 64, len(encoding) - 32, len(encoding)]
    for start, end in pairwise(ends):
        yield _flip(encoding, start, end, rng) + rest


def dropped(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    yield played.rest(place + 1)


def _soon(played: FairMatch, place: int, rng: Random) -> int:
    """Return an index at most eight messages later, as the verifier must fold every message up to it."""
    return rng.randrange(place, min(place + 8, len(played.messages))) + 1


def duplicated(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    yield played.encodings[place] + played.rest(place)
    later = _soon(played, place, rng)
    yield b"".join(played.encodings[place:later]) + played.encodings[place] + played.rest(later)


def swapped(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    for other in {place + 1, rng.randrange(place, len(played.messages))} - {place, len(played.messages)}:
        order = list(played.encodings)
        order[place], order[other] = order[other], order[place]
        yield b"".join(order[place:])


def inserted(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    """Insert a message of another match, and one from elsewhere in this match."""
    own = rng.choice([each for index, each in enumerate(played.encodings) if index != place])
    for stranger in (rng.choice(played.foreign), own):
        yield stranger + played.rest(place)


def truncated(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    """Cut the file at every byte of the message."""
    for length in range(len(played.encodings[place])):
        yield played.encodings[place][:length]


def appended(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    """Append after the end: a byte, a value, a message of this match or another, a transcript, receipts."""
    if place < len(played.messages):
        return
    end = played.position(place)
    yield from (b"\0", b"\xc0", encode(()), encode((b"", b"")))
    yield from (played.encodings[-1], played.foreign[0], played.data)
    for author in range(len(played.keys)):
        receipt = Message(played.histories[0].match, end.step, end.tip, author, Kind.RESULT, end.signed_hash)
        yield played.sign(receipt)
        yield played.sign(receipt, body=bytes(32))


def respelled(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    """Use msgpack that is not canonical for the array in the file, and for the signed bytes, which are signed again."""
    signed, rest = played.messages[place], played.rest(place + 1)
    yield encode_loosely(rng, signed.wire) + rest
    data = encode_loosely(rng, decode(signed.data))
    yield encode((data, played.keys[signed.message.author].sign(data))) + rest


def exchanged_signatures(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    """Replace the signature: empty, zeros, another message's, another player's, a byte too long, missing, swapped."""
    signed, rest = played.messages[place], played.rest(place + 1)
    other = rng.choice([each for each in played.messages if each.id != signed.id])
    intruder = played.keys[(signed.message.author + 1) % len(played.keys)]
    for signature in (b"", bytes(64), other.signature, intruder.sign(signed.data), signed.signature + b"\0"):
        yield encode((signed.data, signature)) + rest
    yield encode((signed.data,)) + rest
    yield encode((signed.signature, signed.data)) + rest


def displaced(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    """Sign validly, but for another match, history or step; or sign with another player's index."""
    message, rest = played.messages[place].message, played.rest(place + 1)
    yield played.sign(message, match=rng.randbytes(32)) + rest
    yield played.sign(message, tip=rng.randbytes(32)) + rest
    yield played.sign(message, step=message.step + 1) + rest
    if message.step:
        yield played.sign(message, step=message.step - 1) + rest
    for author in ((message.author + 1) % len(played.keys), len(played.keys), 255):
        forged = message._replace(author=author)
        yield encode(sign(forged, played.keys[message.author]).wire) + rest


def other_states(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    """Lock another state, which proves a fault in a program, not misconduct."""
    message = played.messages[place].message
    if message.kind is Kind.LOCK:
        yield played.sign(message, body=rng.randbytes(32)) + played.rest(place + 1)


def changed_votes(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    """Change a vote's round, value or kind, vote for nil, or sign it as a player who has no vote."""
    message, position, rest = played.messages[place].message, played.position(place), played.rest(place + 1)
    if message.kind is not Kind.CLOSE:
        return
    number, (step, tip, entries) = cast("tuple[int, tuple[int, bytes, tuple[bytes, ...] | bytes]]", message.body)
    changed: list[Value] = [bytes(32)]
    if isinstance(entries, tuple):
        changed.append(entries[1:] or (b"",) * 2)
        for index, entry in enumerate(entries):
            others = {b"", rng.randbytes(32)} - {entry}
            changed += [(*entries[:index], other, *entries[index + 1 :]) for other in others]
    else:
        changed.append((b"",) * len(position.owed))
    for value in changed:
        yield played.sign(message, body=(number, (step, tip, value))) + rest
    for body in ((number + 1, (step, tip, entries)), (number, (step, rng.randbytes(32), entries)), (number, ())):
        yield played.sign(message, body=body) + rest
    yield played.sign(message, kind=Kind.ABSENT, body=(number, (step, tip, entries), -1)) + rest
    for author in set(range(len(played.keys))) - set(position.base):
        yield played.sign(message, author=author) + rest


def more_votes(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    """Add a vote beyond the majority, or a vote on a step that is closed without votes."""
    message, position, number = played.messages[place].message, played.position(place), played.step(place)
    end = played.starts[number + 1]
    step = played.messages[played.starts[number] : end]
    if message.kind is Kind.CLOSE:
        for author in set(position.base) - {each.message.author for each in step if each.message.kind is Kind.CLOSE}:
            vote = played.sign(message, author=author)
            yield vote + played.rest(place)
            yield b"".join(played.encodings[place:end]) + vote + played.rest(end)
    elif number >= FORMED and message.kind not in VOTES:
        ids = {each.message.author: each.id for each in step if each.message.kind not in VOTES}
        entries: Value = tuple(ids.get(author, b"") for author in position.owed)
        value = (number, position.tip, position.signed_hash or entries)
        root = message._replace(step=position.root_step, tip=position.root_tip, kind=Kind.CLOSE, body=(0, value))
        for author in position.base:
            yield played.sign(root, author=author) + played.rest(place)


def unnamed(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    """Insert a message of a player voted absent: where its step's messages stand, and after the votes."""
    position, number = played.position(place), played.step(place)
    first, end = played.starts[number], played.starts[number + 1]
    given = [each.message.author for each in played.messages[first:end] if each.message.kind not in VOTES]
    kind, body = (Kind.LOCK, position.signed_hash) if position.kind is Kind.LOCK else (Kind.RESIGN, ())
    for author in set(position.owed) - set(given):
        if place == first + sum(other < author for other in given):
            late = played.sign(Message(played.histories[0].match, number, position.tip, author, kind, body))
            yield late + played.rest(place)
            yield b"".join(played.encodings[place:end]) + late + played.rest(end)


def early_receipts(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    """Insert a RESULT before the end, which proves a fault in a program, not misconduct."""
    message = played.messages[place].message
    if message.kind not in VOTES:
        receipt = played.sign(message, kind=Kind.RESULT, body=rng.randbytes(32))
        for after in (played.rest(place), played.rest(place + 1), b""):
            yield receipt + after


def more_than_proofs(played: FairMatch, place: int, rng: Random) -> Iterator[bytes]:
    """Append something to a proof of misconduct: junk, a message, or the rest of the match."""
    message = played.messages[place].message
    if message.kind in VOTES:
        return
    kind = Kind.MOVE if message.kind is not Kind.MOVE else Kind.LOCK
    second = played.sign(message, kind=kind, body=_BODIES[kind])
    proven = played.encodings[place] + second
    receipt = played.sign(message, kind=Kind.RESULT, body=bytes(32))
    for junk in (b"\0", second, played.foreign[0], receipt, played.encodings[place] * 2, played.data):
        yield proven + junk
    if place + 1 < len(played.messages):
        yield second + played.rest(place + 1)
        yield second + played.encodings[-1]
    yield played.encodings[place] + played.foreign[0] + second


ALTERATIONS: Final[Mapping[str, Alteration]] = {
    "flipped bits": flipped_bits,
    "dropped": dropped,
    "duplicated": duplicated,
    "swapped": swapped,
    "inserted": inserted,
    "truncated": truncated,
    "appended": appended,
    "respelled": respelled,
    "exchanged signatures": exchanged_signatures,
    "displaced": displaced,
    "locked on another state": other_states,
    "changed votes": changed_votes,
    "more votes": more_votes,
    "not named by the votes": unnamed,
    "a receipt before the end": early_receipts,
    "more than proofs": more_than_proofs,
}


def altered_headers(played: FairMatch, rng: Random) -> Iterator[bytes]:
    """Yield whole files with another roster, rules, patience or table, no header, or two headers."""
    tag, table, options, patience, roster = cast("tuple[Value, ...]", decode(played.genesis.encoded()))
    histories = cast("tuple[tuple[bytes, bytes, bytes], ...]", roster)
    rules = cast("tuple[tuple[str, Value], ...]", options)
    seconds = cast("tuple[int, int]", patience)
    rest = played.rest(0)
    swapped_match_signature = ((*histories[0][:2], histories[1][2]), *histories[1:])
    swapped_identity_signature = ((histories[0][0], histories[1][1], histories[0][2]), *histories[1:])
    rosters = (tuple(reversed(histories)), histories[1:], (*histories, histories[-1]), histories[:1] * 2, ())
    for changed in (*rosters, swapped_match_signature, swapped_identity_signature):
        yield encode((TRANSCRIPT_TAG, encode((tag, table, options, patience, changed)))) + rest
    others = [preset.options() for preset in PRESETS.values() if preset != played.genesis.ruleset]
    for changed_rules in (*others, rules[1:], (*rules, ("zeal", 1)), tuple(reversed(rules))):
        yield encode((TRANSCRIPT_TAG, encode((tag, table, changed_rules, patience, roster)))) + rest
    longer = (seconds[0] + 1, seconds[1])
    yield encode((TRANSCRIPT_TAG, encode((tag, table, options, longer, roster)))) + rest
    yield encode((TRANSCRIPT_TAG, encode((tag, b"\0" + rng.randbytes(15), options, patience, roster)))) + rest
    yield encode(("p2pdice/3/transcripts", played.genesis.encoded())) + rest
    yield encode_loosely(rng, (TRANSCRIPT_TAG, played.genesis.encoded())) + rest
    yield rest
    yield encode((TRANSCRIPT_TAG, played.genesis.encoded())) + played.data


# Offences

Offence = Callable[[FairMatch, int, Random], Iterator[tuple[bytes, int]]]
"""Yields the new content of the file from the message on, and the author who must be blamed."""

_BODIES: Final[Mapping[int, Value]] = {
    Kind.COMMIT: (bytes(32),),
    Kind.LOCK: bytes(32),
    Kind.REVEAL: bytes(32),
    Kind.MOVE: "liar",
    Kind.OPEN: (bytes(32), bytes(32), bytes(32), b""),
    Kind.RESIGN: (),
    Kind.RESULT: bytes(32),
    Kind.STAKE: (0, 0, bytes(32)),
}
_MOVES: Final = (
    *("1x1", "999x6", "liar", "exact", "accuser", "accused", "pass", "lose red@9", "crown light@9", "stake 1"),
    *("play grey@1", "play light@1 take dark@2", "play red@1 on 2", "play dark@0 destroy light@1"),
)
_NO_MOVES: Final = ("concede", "no move", " 1x2", "1X2", "dudo", "\x1b[2J", "9" * 200)
"""Texts that are no move, concessions (those are RESIGN messages), and spellings that nodes do not use."""


def other_kinds(played: FairMatch, place: int, rng: Random) -> Iterator[tuple[bytes, int]]:
    """Send a message of a kind that is not due: an early reveal, an early opening, a move at another step."""
    message, position = played.messages[place].message, played.position(place)
    message = message._replace(step=position.step, tip=position.tip)
    for kind, body in _BODIES.items():
        if kind not in (position.kind, Kind.RESIGN, Kind.RESULT):
            yield played.sign(message, kind=kind, body=body), message.author


def early_reveals(played: FairMatch, place: int, rng: Random) -> Iterator[tuple[bytes, int]]:
    """Reveal the correct share, key or stake before all players have locked."""
    message = played.messages[place].message
    if message.kind not in (Kind.COMMIT, Kind.LOCK):
        return
    for later in played.messages[place + 1 :]:
        if later.message.author == message.author and later.message.kind in (Kind.REVEAL, Kind.OPEN, Kind.STAKE):
            yield played.sign(message, kind=later.message.kind, body=later.message.body), message.author
            return


def out_of_turn(played: FairMatch, place: int, rng: Random) -> Iterator[tuple[bytes, int]]:
    """Sign the message as a player who owes the step nothing."""
    message, position = played.messages[place].message, played.position(place)
    if message.kind in VOTES:
        return  # votes have no turn
    for author in set(range(len(played.keys))) - set(position.owed):
        yield played.sign(message, author=author), author


def illegal_moves(played: FairMatch, place: int, rng: Random) -> Iterator[tuple[bytes, int]]:
    """Make moves that this ruleset forbids, including moves of other rulesets, and send texts that are no move."""
    message, position = played.messages[place].message, played.position(place)
    if message.kind is not Kind.MOVE:
        return
    assert position.state is not None
    for text in (*_MOVES, *_NO_MOVES):
        if text in _MOVES:
            try:
                apply(position.state, Play(position.seats.index(message.author), parse_move(text)))
                continue
            except RulesError:
                pass
        yield played.sign(message, body=text), message.author


def wrong_openings(played: FairMatch, place: int, rng: Random) -> Iterator[tuple[bytes, int]]:
    """Open a share, key or stake other than the committed one."""
    message = played.messages[place].message
    other = rng.randbytes(32)
    match message.body:
        case bytes() if message.kind is Kind.REVEAL:
            yield played.sign(message, body=other), message.author
        case (_, *others) if message.kind is Kind.OPEN:
            yield played.sign(message, body=(other, *others)), message.author
        case (int() as bet, tickets, salt):
            for body in ((bet + 1, tickets, salt), (bet, tickets, other), (NEWCOMER_COINS + 1, tickets, salt)):
                yield played.sign(message, body=body), message.author


def false_witnesses(played: FairMatch, place: int, rng: Random) -> Iterator[tuple[bytes, int]]:
    """Carry an invalid witness signature, or one attributed to a player."""
    message = played.messages[place].message
    match message.body:
        case bytes() if message.kind is Kind.REVEAL:
            for author in range(len(played.keys)):
                yield played.sign(message, body=message.body[:32] + bytes((author,)) + bytes(64)), message.author
        case (*others, _) if message.kind is Kind.OPEN:
            yield played.sign(message, body=(*others, bytes((0,)) + rng.randbytes(64))), message.author


def wrong_counts(played: FairMatch, place: int, rng: Random) -> Iterator[tuple[bytes, int]]:
    """Send one commitment too many or too few."""
    message, position = played.messages[place].message, played.position(place)
    if message.kind is Kind.COMMIT:
        count = 3 - COMMITMENTS[position.purpose]
        yield played.sign(message, body=(rng.randbytes(32),) * count), message.author


def contradictions(played: FairMatch, place: int, rng: Random) -> Iterator[tuple[bytes, int]]:
    """Add a second message for a slot, directly after the first or later; then optionally repeat the first."""
    message = played.messages[place].message
    if message.kind in VOTES:
        return  # contradicting votes: see proofs
    # A RESULT is not part of the history and does not contradict a message there.
    kind = rng.choice([kind for kind in _BODIES if kind not in (message.kind, Kind.RESULT)])
    again = _BODIES[message.kind] if message.body != _BODIES[message.kind] else "1x1"
    for second in (played.sign(message, kind=kind, body=_BODIES[kind]), played.sign(message, body=again)):
        for later in {place + 1, _soon(played, place, rng)}:
            proven = b"".join(played.encodings[place:later]) + second
            yield proven, message.author
            yield proven + played.encodings[place], message.author


def after_the_end(played: FairMatch, place: int, rng: Random) -> Iterator[tuple[bytes, int]]:
    """Add a message that is not a receipt after the end."""
    if place < len(played.messages):
        return
    end = played.position(place)
    for author in range(len(played.keys)):
        for kind in set(_BODIES) - {Kind.RESULT}:
            message = Message(played.histories[0].match, end.step, end.tip, author, kind, _BODIES[kind])
            yield played.sign(message), author


Bend = Callable[[Message], Value]
"""Returns the replacement body for a message."""


def resigned(played: FairMatch, place: int, bend: Bend) -> bytes:
    """Return the content of the file from a message on after ``bend`` changes bodies there.

    All authors sign their messages again on the new history, up to the first that breaks a rule.
    """
    step = played.step(place)
    history = fork(played.histories[step])
    reading = Reading(history)
    parts = []
    for index in range(played.starts[step], len(played.messages)):
        message = played.messages[index].message
        body = _carrying(played, history.position, bend(message) if index >= place else message.body)
        message = message._replace(tip=history.position.tip, body=body)
        signed = sign(message, played.keys[message.author])
        if index >= place:
            parts.append(encode(signed.wire))
        try:
            reading.add(signed)
        except MisconductError:
            break
    return b"".join(parts)


def _carrying(played: FairMatch, position: Position, body: Value) -> Value:
    """Return a body whose carried signatures are made again for the LOCK of this history."""
    carried = body[32:] if isinstance(body, bytes) else body[-1] if isinstance(body, tuple) and len(body) == 4 else b""
    if position.kind not in (Kind.REVEAL, Kind.OPEN) or not isinstance(carried, bytes) or not carried:
        return body
    step, tip, lock = position.locks[0]
    again = b""
    for author in carried[::CARRIED]:
        witness = Message(played.histories[0].match, step, tip, author, Kind.WITNESS, lock)
        again += bytes((author,)) + sign(witness, played.keys[author]).signature
    return body[:32] + again if isinstance(body, bytes) else (*cast("tuple[Value, ...]", body)[:-1], again)


def _secrets(played: FairMatch, place: int, author: int) -> tuple[Message | None, Message | None]:
    """Return two messages that open the commitment at ``place``: the share or stake, and the hand key."""
    share = None
    for later in played.messages[place + 1 :]:
        message = later.message
        if message.kind in (Kind.COMMIT, Kind.OPEN) and message.step > played.step(place):
            return share, message if message.kind is Kind.OPEN and share and message.author == author else None
        if message.author == author and message.kind in (Kind.REVEAL, Kind.STAKE):
            share = message
    return share, None


def copied_commitments(played: FairMatch, place: int, rng: Random) -> Iterator[tuple[bytes, int]]:
    """Copy another player's commitment and open it with that player's share; the commitment binds its own author."""
    message = played.messages[place].message
    if message.kind not in (Kind.COMMIT, Kind.OPEN) or played.has_votes:
        return  # votes name message ids, which signing again would change
    places = range(played.starts[played.step(place)], played.starts[played.step(place) + 1])
    victims = [each for each in places if each != place and played.messages[each].message.kind is message.kind]
    share, _ = _secrets(played, place, message.author)
    for victim in victims[:1]:
        copied = played.messages[victim].message
        known, _ = _secrets(played, victim, copied.author)
        if share is None or known is None:
            continue  # one of them left in the showdown whose OPENs carry these commitments
        own, others = cast("tuple[bytes, ...]", message.body), cast("tuple[bytes, ...]", copied.body)
        index = 2 if message.kind is Kind.OPEN else len(own) - 1
        revealed = known.body[:32] if isinstance(known.body, bytes) else known.body
        bodies = {message: (*own[:index], others[index], *own[index + 1 :]), share: revealed}
        yield resigned(played, place, lambda each, bodies=bodies: bodies.get(each, each.body)), message.author  # type: ignore[misc]


def copied_hands(played: FairMatch, place: int, rng: Random) -> Iterator[tuple[bytes, int]]:
    """Copy another player's commitment to a hand key, which is found out only at the showdown."""
    message, position = played.messages[place].message, played.position(place)
    is_deal = (message.kind, position.purpose) == (Kind.COMMIT, Purpose.DEAL)
    if not (is_deal or message.kind is Kind.OPEN) or played.has_votes:
        return
    later = [each.message for each in played.messages[place:] if each.message.step > message.step]
    end = next((each.step for each in later if each.kind is Kind.OPEN), None)
    if any(each.kind is Kind.COMMIT and end is not None and each.step < end for each in later):
        return  # a public die would fall differently on another history
    opened = {each.author: each for each in later if each.step == end}
    places = range(played.starts[played.step(place)], played.starts[played.step(place) + 1])
    others = [played.messages[each].message for each in places if each != place]
    for copied in others[:1]:
        if message.author not in opened or copied.author not in opened:
            continue  # one of them left in the showdown whose OPENs carry these commitments
        own, theirs = cast("tuple[bytes, ...]", message.body), cast("tuple[bytes, ...]", copied.body)
        mine = cast("tuple[bytes, ...]", opened[message.author].body)
        key = cast("tuple[bytes, ...]", opened[copied.author].body)[0]
        index = 1 if message.kind is Kind.OPEN else 0
        bent = (*own[:index], theirs[index], *own[index + 1 :])
        bodies = {message: bent, opened[message.author]: (key, *mine[1:])}
        yield resigned(played, place, lambda each, bodies=bodies: bodies.get(each, each.body)), message.author  # type: ignore[misc]


def stakes_above_funds(played: FairMatch, place: int, rng: Random) -> Iterator[tuple[bytes, int]]:
    """Stake more coins or tickets than a newcomer has, with a matching commitment and opening."""
    message, position = played.messages[place].message, played.position(place)
    if message.kind is not Kind.COMMIT or position.purpose is not Purpose.STAKES or played.has_votes:
        return
    share, _ = _secrets(played, place, message.author)
    assert share is not None
    context = Context(message.match, message.step, message.tip)
    for bet, tickets in ((NEWCOMER_COINS + 1, 0), (0, 1), (2**63 - 1, 2**63 - 1)):
        salt = rng.randbytes(32)
        commitment = stake_commitment(context, message.author, bet, tickets, salt)
        bodies: dict[Message, Value] = {message: (commitment,), share: (bet, tickets, salt)}
        yield resigned(played, place, lambda each, bodies=bodies: bodies.get(each, each.body)), message.author  # type: ignore[misc]


def votes_against_closes(played: FairMatch, place: int, rng: Random) -> Iterator[tuple[bytes, int]]:
    """Append a vote that contradicts its author's CLOSE for the step."""
    message = played.messages[place].message
    if message.kind is not Kind.CLOSE:
        return
    number, (step, tip, entries) = cast("tuple[int, tuple[int, bytes, tuple[bytes, ...] | bytes]]", message.body)
    other = rng.randbytes(32) if isinstance(entries, bytes) else tuple(rng.randbytes(32) for _ in entries)
    for end in (played.starts[step + 1], len(played.messages)):
        vote = played.sign(message, kind=Kind.ABSENT, body=(number + 1, (step, tip, other), -1))
        yield b"".join(played.encodings[place:end]) + vote, message.author


OFFENCES: Final[Mapping[str, Offence]] = {
    "another kind than was due": other_kinds,
    "an early reveal": early_reveals,
    "a message out of turn": out_of_turn,
    "an illegal move": illegal_moves,
    "a wrong opening": wrong_openings,
    "a false witness": false_witnesses,
    "a wrong number of commitments": wrong_counts,
    "two messages in one slot": contradictions,
    "a message after the end": after_the_end,
    "a copied commitment": copied_commitments,
    "a copied commitment to a hand": copied_hands,
    "a stake above funds": stakes_above_funds,
    "a vote against its author's CLOSE": votes_against_closes,
}


# Proofs


def _proof(played: FairMatch, *messages: bytes) -> bytes:
    return encode((PROOF_TAG, played.genesis.encoded())) + b"".join(messages)


def _pairs(played: FairMatch, rng: Random) -> Iterator[tuple[bytes, bytes]]:
    """Yield pairs of messages; an honest player signs at most one of each pair."""
    for signed in rng.sample(played.messages, 6):
        if signed.message.kind not in VOTES:
            kind = Kind.MOVE if signed.message.kind is not Kind.MOVE else Kind.RESIGN
            yield encode(signed.wire), played.sign(signed.message, kind=kind, body=_BODIES[kind])
    lock = rng.choice([signed for signed in played.messages if signed.message.kind is Kind.LOCK])
    false = [played.sign(lock.message, body=rng.randbytes(32)) for _ in range(2)]
    yield encode(lock.wire), false[0]
    yield false[0], false[1]
    message = rng.choice(played.messages[len(played.keys) :]).message
    one, other = _values(message)
    for kind, first, second in (
        (Kind.CLOSE, (0, one), (0, other)),
        (Kind.CLOSE, (0, one), (0, ())),
        (Kind.ABSENT, (1, one, -1), (1, one, 0)),
        (Kind.ABSENT, (1, one, -1), (1, other, -1)),
        (Kind.RESULT, bytes(32), b"\1" * 32),
    ):
        yield played.sign(message, kind=kind, body=first), played.sign(message, kind=kind, body=second)
    close = played.sign(message, kind=Kind.CLOSE, body=(2, one))
    yield close, played.sign(message, kind=Kind.ABSENT, body=(3, other, 1))


def _values(message: Message) -> tuple[Value, Value]:
    """Return two values to vote for."""
    return (message.step, message.tip, (b"",)), (message.step, message.tip, (bytes(32),))


def proofs(played: FairMatch, rng: Random) -> Iterator[tuple[bytes, int]]:
    """Yield proofs of misconduct, each with the author it convicts."""
    for first, second in _pairs(played, rng):
        author = parse_signed(*cast("tuple[bytes, bytes]", decode(first))).message.author
        yield _proof(played, first, second), author
        yield _proof(played, second, first), author
        evidence = second if first in played.encodings else first + second
        yield played.data + evidence, author
        yield played.data + second + first, author  # this may repeat the first message
        place = rng.randrange(len(played.messages))
        evidence = second if first in played.encodings[:place] else first + second
        yield played.data[: len(played.data) - len(played.rest(place))] + evidence, author


def altered_proofs(played: FairMatch, rng: Random) -> Iterator[bytes]:
    """Yield files that look like proofs but prove nothing."""
    for first, second in _pairs(played, rng):
        wire = cast("tuple[bytes, bytes]", decode(second))
        for messages in ((), (first,), (first, first), (first, second, second), (first, second, b"\0")):
            yield _proof(played, *messages)
        yield _proof(played, first, encode((wire[0], bytes(64))))
        evidence = second if first in played.encodings else first + second
        twice = (first + second) * 2
        for after in (evidence + played.foreign[0], twice, evidence[:-1], encode((wire[0], bytes(64))) + evidence):
            for place in (len(played.messages), rng.randrange(len(played.messages))):
                if first not in played.encodings[place:] or after.startswith(first):
                    yield played.data[: len(played.data) - len(played.rest(place))] + after
        yield played.data + evidence * limits.EVIDENCE + evidence
        yield _proof(played, first, encode_loosely(rng, wire))
        whole = _proof(played, first, second)
        yield whole[: rng.randrange(len(whole))]
        yield _flip(whole, 0, len(whole), rng)
    place = rng.randrange(len(played.keys), len(played.messages) - 1)
    message, other = played.messages[place].message, played.messages[place + 1].message
    yield _proof(played, played.encodings[place], played.encodings[place + 1])
    yield _proof(played, played.encodings[place], played.foreign[0])
    yield _proof(
        played, played.encodings[place], played.sign(message, author=(message.author + 1) % 2, body=other.body)
    )
    for changes in ({"step": message.step + 1}, {"tip": rng.randbytes(32)}, {"match": rng.randbytes(32)}):
        yield _proof(played, played.encodings[place], played.sign(message, **changes))
    receipts = [played.sign(message, kind=Kind.RESULT, body=bytes(32), step=step) for step in (7, 8)]
    yield _proof(played, *receipts)
    # Votes that an honest player may cast: in another round, for the same value, or after a newer majority.
    one, two = _values(message)
    close, nil = (played.sign(message, kind=Kind.CLOSE, body=(2, value)) for value in (one, ()))
    for kind, body in (
        (Kind.CLOSE, (3, two)),
        (Kind.ABSENT, (3, one, 1)),
        (Kind.ABSENT, (3, two, 2)),
        (Kind.ABSENT, (2, two, 1)),
    ):
        yield _proof(played, close, played.sign(message, kind=kind, body=body))
    yield _proof(played, nil, played.sign(message, kind=Kind.ABSENT, body=(3, two, 1)))
