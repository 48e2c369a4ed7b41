"""Frames between two linked nodes: canonical msgpack arrays whose first element is the type.

=====  ========  ======================================================================================
type   name      fields
=====  ========  ======================================================================================
1      HELLO     listening port, aim
2      WELCOME   aim
3      REFUSE    code, reason; the same in all versions of the protocol
4      JOIN      join record
5      TABLE     name, ruleset options, seats, patience, ((nickname, identity)…) in the order of joining, name of the
                 rules or empty, customs
6      PROPOSE   genesis, the host's RESIGN for its previous proposal or nothing
7      MESSAGE   signed bytes, signature
8      NEED      match, step, tip, cursor: request for that step's messages and all later ones but the first *cursor*
9      PAGE      match, cursor to continue from or 0, ((signed bytes, signature)…): the answer, in pages
10     LEAVE     reason
11     CUT       match, authors that the sender cannot reach, whose messages it asks to be relayed
12     SAY       signed bytes, signature: a chat message (:mod:`protocol.match.words`)
13     HAVE      match, step, tip, digest of the messages for that step, digest of votes and proofs
14     LEDGER    join record, ledger, evidence, stake: a purse, shown by its owner or by another player
15     ELEMENT   element: half of a short-code exchange (:mod:`protocol.crypto.short_code`)
16     PROOF     proof that the sender knows the short code, token of a private table
17     SEAT      whether the host is being asked about a request for a seat (0), or has granted it (1)
=====  ========  ======================================================================================

The *aim* of a link is one of these: ``(table id, token)`` for a seat at a table, where an empty id means the open one;
``(match id,)`` between players of a match; ``("watch", table or match id or empty, token)`` for a spectator; or
``("code", number)`` to prove a short code. The dialler sends HELLO first, and the answer is WELCOME or REFUSE. To a
spectator, WELCOME has the aim of a seat or a match, with the id of the table or match to be watched. To the prover of a
short code, it has the aim of a seat.

Frames of other types count towards the limits but are ignored (:class:`Unknown`), so types can be added.

On a link, each frame is preceded by its length as a big-endian u32. An empty frame only shows that its sender is alive.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, NamedTuple, cast

from protocol.crypto.hashing import HASH_BYTES
from protocol.crypto.short_code import ELEMENT_BYTES, NUMBERS
from protocol.errors import PeerError
from protocol.limits import PLAYERS, RULES_NAME_CHARACTERS, SHOWN_LEDGER, TEXT_CHARACTERS
from protocol.wire.canonical import NotCanonicalError, Value, decode, encode
from protocol.wire.genesis import TABLE_ID_BYTES
from protocol.wire.messages import read_pair, spell_pair


class MalformedFrameError(PeerError, ValueError):
    """The bytes are not a frame of this protocol. The peer that sent them is cut off."""


class TableAim(NamedTuple):
    """The dialler wants a seat."""

    table: bytes
    """Id of the table, or empty for the open one."""
    token: str
    """The token in a private table's join line; otherwise empty."""


class MatchAim(NamedTuple):
    """The dialler and the dialled node play the same match."""

    match: bytes


class WatchAim(NamedTuple):
    """The dialler wants to watch."""

    id: bytes
    """Id of the table or match, or empty for the current one."""
    token: str
    """The token in a private table's join line; otherwise empty."""


class CodeAim(NamedTuple):
    """The dialler wants to prove that it knows the short code with this number."""

    number: int


Aim = TableAim | MatchAim | WatchAim | CodeAim


class Hello(NamedTuple):
    """The dialler's first frame."""

    port: int
    """The port on which the dialler listens."""
    aim: Aim


class Welcome(NamedTuple):
    """The dialled node's acceptance of the link."""

    aim: Aim


class Refuse(NamedTuple):
    """A refusal of the link by the dialled node, or of the player by the host."""

    code: str
    """A :class:`~protocol.errors.RefuseCode`, or any text from a peer."""
    reason: str


class JoinTable(NamedTuple):
    """A request for a seat, with an unparsed join record."""

    record: Value


class Customs(NamedTuple):
    """The customs of a table, which nobody signs."""

    odds: int = 2
    """Whether programs may show the odds of bids: 0 no, 1 yes, 2 each program decides."""
    talk: int = 0
    """Participants who may chat: 0 players only, 1 spectators too."""


class Table(NamedTuple):
    """The host's description of the table, sent to guests and spectators at each change."""

    name: str
    ruleset: Value
    seats: int
    patience: Value
    players: tuple[tuple[str, bytes], ...]
    rules_name: str = ""
    """The host's name for house rules, unsigned and for display only; empty if there is none."""
    customs: Customs = Customs()


class Propose(NamedTuple):
    """The host's proposal of a match, with an unparsed genesis."""

    genesis: bytes
    resignation: tuple[bytes, bytes] | tuple[()] = ()
    """Signed bytes and signature of the host's RESIGN for its previous proposal, unparsed; otherwise empty."""


class Seat(NamedTuple):
    """The host's answer to a request for a seat."""

    state: int
    """1: seated. 0: the host is being asked, and SEAT 1 or REFUSE follows."""


class Carried(NamedTuple):
    """One signed message of a match, unparsed."""

    data: bytes
    signature: bytes


class Need(NamedTuple):
    """A request for the messages of a match from a step on."""

    match: bytes
    step: int
    tip: bytes
    cursor: int
    """How many of these messages earlier pages have contained."""


class Page(NamedTuple):
    """The answer to :class:`Need`."""

    match: bytes
    cursor: int
    """How many messages pages have contained so far; 0 if the sender has no more."""
    messages: tuple[tuple[bytes, bytes], ...]


class Leave(NamedTuple):
    """The sender leaves deliberately."""

    reason: str


class Cut(NamedTuple):
    """A list of players of the match whom the sender cannot reach."""

    match: bytes
    authors: tuple[int, ...]


class Say(NamedTuple):
    """A chat message, unparsed."""

    data: bytes
    signature: bytes


class Have(NamedTuple):
    """What the sender holds of a match, as digests. The digest of nothing is empty."""

    match: bytes
    step: int
    """The open step."""
    tip: bytes
    held: bytes
    """Digest of the messages for the open step."""
    votes: bytes
    """Digest of the votes and of the players proved to have broken the rules."""


class CodeElement(NamedTuple):
    """Half of a short-code exchange."""

    element: bytes


class CodeProof(NamedTuple):
    """A proof that the sender knows the short code."""

    proof: bytes
    token: str
    """A private table's token if sent by its host; otherwise empty."""


class ShowLedger(NamedTuple):
    """A purse, unparsed: see :func:`protocol.consensus.ends.read_shown`."""

    record: tuple[Value, ...]
    ledger: tuple[Value, ...]
    evidence: tuple[Value, ...]
    stake: tuple[Value, ...]


class Unknown(NamedTuple):
    """An ignored frame, whose type this program does not know."""

    type: int
    fields: tuple[Value, ...]


Lobbying = JoinTable | Table | Propose | Seat | ShowLedger | CodeElement | CodeProof
Known = Hello | Welcome | Refuse | Lobbying | Carried | Need | Page | Leave | Cut | Say | Have
Frame = Known | Unknown


class _Type(IntEnum):
    HELLO = 1
    WELCOME = 2
    REFUSE = 3
    JOIN = 4
    TABLE = 5
    PROPOSE = 6
    MESSAGE = 7
    NEED = 8
    PAGE = 9
    LEAVE = 10
    CUT = 11
    SAY = 12
    HAVE = 13
    LEDGER = 14
    ELEMENT = 15
    PROOF = 16
    SEAT = 17


_TYPES: Final = frozenset(map(int, _Type))
_WATCH: Final = "watch"
_CODE: Final = "code"

_CLASSES: Final = (
    *(Hello, Welcome, Refuse, JoinTable, Table, Propose, Carried, Need, Page),
    *(Leave, Cut, Say, Have, ShowLedger, CodeElement, CodeProof, Seat),
)
_TYPE_OF: Final[dict[type, int]] = dict(zip(_CLASSES, map(int, _Type), strict=True))
_MESSAGE: Final = bytes((0x93, _Type.MESSAGE))
"""The first bytes of MESSAGE, the most frequent frame."""


def encode_frame(frame: Frame) -> bytes:
    """Return the encoding of ``frame``.

    >>> encode_frame(Leave("bye")).hex()
    '920aa3627965'
    """
    if isinstance(frame, Carried) and (pair := spell_pair(*frame)) is not None:
        return _MESSAGE + pair
    if isinstance(frame, Unknown):
        return encode((frame.type, *frame.fields))
    fields: tuple[object, ...] = (str(frame.code), frame.reason) if isinstance(frame, Refuse) else tuple(frame)
    if isinstance(frame, Table):
        fields = (*fields[:-1], tuple(frame.customs))
    elif isinstance(frame, Hello | Welcome):
        aim = frame.aim
        kind = {WatchAim: (_WATCH,), CodeAim: (_CODE,)}.get(type(aim), ())
        fields = (*fields[:-1], (*kind, *aim))
    return encode(cast("Value", (_TYPE_OF[type(frame)], *fields)))


def decode_frame(data: bytes) -> Frame:
    """Return the frame encoded in ``data``. Its form is checked, but not its content.

    :raises MalformedFrameError: if the form is not valid.
    """
    if data.startswith(_MESSAGE) and (pair := read_pair(data, len(_MESSAGE))) is not None and pair[2] == len(data):
        return Carried(*pair[:2])
    try:
        value = decode(data)
    except NotCanonicalError as error:
        raise MalformedFrameError(str(error)) from None
    if type(value) is not tuple or not value:
        raise MalformedFrameError("a frame is an array")
    kind, *fields = value
    if type(kind) is not int:
        raise MalformedFrameError("a frame without a type is malformed")
    if kind not in _TYPES:
        return Unknown(kind, tuple(fields))
    frame = _build(kind, tuple(fields))
    if frame is None or (kind == _Type.LEDGER and len(data) > SHOWN_LEDGER):
        raise MalformedFrameError(f"a frame of type {kind} is malformed")
    return frame


def _build(kind: int, fields: tuple[Value, ...]) -> Frame | None:
    match kind, fields:
        case _Type.MESSAGE, (bytes() as message, bytes() as signature):
            return Carried(message, signature)
        case _Type.SAY, (bytes() as word, bytes() as signature):
            return Say(word, signature)
        case _Type.HELLO, (int() as port, tuple() as aim):
            goal = _aim(aim)
            if goal and 0 <= port < 65536:
                return Hello(port, goal)
        case _Type.WELCOME, (tuple() as aim,):
            if goal := _aim(aim):
                return Welcome(goal)
        case _Type.REFUSE, (str() as code, str() as reason) if _is_text(code) and _is_text(reason):
            return Refuse(code, reason)
        case _Type.JOIN, (tuple() as record,):
            return JoinTable(record)
        case _Type.TABLE, (
            str() as name,
            tuple() as rules,
            int() as seats,
            tuple() as patience,
            tuple() as players,
            str() as called,
            (0 | 1 | 2 as odds, 0 | 1 as talk),
        ) if _is_text(name) and len(called) <= RULES_NAME_CHARACTERS and not {type(odds), type(talk)} - {int}:
            if 2 <= seats <= PLAYERS and len(players) <= PLAYERS and _are_players(players):
                sitting = cast("tuple[tuple[str, bytes], ...]", players)
                return Table(name, rules, seats, patience, sitting, called, Customs(cast("int", odds), talk))
        case _Type.PROPOSE, (bytes() as genesis, () | (bytes(), bytes()) as resignation):
            return Propose(genesis, cast("tuple[bytes, bytes] | tuple[()]", resignation))
        case _Type.SEAT, (0 | 1 as state,) if type(state) is int:
            return Seat(state)
        case _Type.NEED, (bytes() as match, int() as step, bytes() as tip, int() as cursor):
            if _is_place(match, step, tip) and 0 <= cursor < 2**32:
                return Need(match, step, tip, cursor)
        case _Type.HAVE, (bytes() as match, int() as step, bytes() as tip, bytes() as held, bytes() as votes):
            if _is_place(match, step, tip) and {len(held), len(votes)} <= {0, HASH_BYTES}:
                return Have(match, step, tip, held, votes)
        case _Type.CUT, (bytes() as match, tuple() as authors) if len(match) == HASH_BYTES and _are_authors(authors):
            return Cut(match, cast("tuple[int, ...]", authors))
        case _Type.PAGE, (bytes() as match, int() as cursor, tuple() as messages):
            if len(match) == HASH_BYTES and 0 <= cursor < 2**32 and _are_messages(messages):
                return Page(match, cursor, cast("tuple[tuple[bytes, bytes], ...]", messages))
        case _Type.LEDGER, (tuple() as record, tuple() as ledger, tuple() as evidence, tuple() as stake):
            return ShowLedger(record, ledger, evidence, stake)
        case _Type.ELEMENT, (bytes() as element,) if len(element) == ELEMENT_BYTES:
            return CodeElement(element)
        case _Type.PROOF, (bytes() as proof, str() as token) if len(proof) == HASH_BYTES and _is_text(token):
            return CodeProof(proof, token)
        case _Type.LEAVE, (str() as reason,) if _is_text(reason):
            return Leave(reason)
    return None


def _is_text(text: str) -> bool:
    return len(text) <= TEXT_CHARACTERS


def _is_place(match: bytes, step: int, tip: bytes) -> bool:
    return len(match) == len(tip) == HASH_BYTES and 0 <= step < 2**32


def _are_authors(authors: tuple[Value, ...]) -> bool:
    return len(authors) <= PLAYERS and all(type(author) is int for author in authors)


def _are_messages(messages: tuple[Value, ...]) -> bool:
    return all(
        type(pair) is tuple and len(pair) == 2 and all(type(part) is bytes for part in pair) for pair in messages
    )


def _are_players(players: tuple[Value, ...]) -> bool:
    for player in players:
        if type(player) is not tuple or len(player) != 2:
            return False
        name, identity = player
        if type(name) is not str or not _is_text(name) or type(identity) is not bytes or len(identity) != 32:
            return False
    return True


def _aim(value: tuple[Value, ...]) -> Aim | None:
    match value:
        case (bytes() as table, str() as token) if len(table) in (0, TABLE_ID_BYTES) and _is_text(token):
            return TableAim(table, token)
        case (bytes() as match,) if len(match) == HASH_BYTES:
            return MatchAim(match)
        case (str() as word, bytes() as watched, str() as token) if (
            word == _WATCH and len(watched) in (0, TABLE_ID_BYTES, HASH_BYTES) and _is_text(token)
        ):
            return WatchAim(watched, token)
        case (str() as word, int() as number) if word == _CODE and number in NUMBERS:
            return CodeAim(number)
    return None


_LENGTH: Final = struct.Struct(">I")
LENGTH_BYTES: Final = _LENGTH.size


def frame_header(message: bytes) -> bytes:
    """Return the bytes that precede ``message`` on the wire.

    >>> frame_header(b"abc")
    b'\\x00\\x00\\x00\\x03'
    """
    return _LENGTH.pack(len(message))


class FrameTooLong(PeerError, ValueError):
    """A peer announced a frame that is longer than the limit."""


class FrameSplitter:
    """Splits a stream into frames, in linear time however the stream is divided into pieces.

    It buffers at most an incomplete frame and the newest piece. A length is checked as soon as its four bytes have
    arrived.
    """

    __slots__ = ("_buffer", "_start", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """The maximum length of a frame in bytes, excluding the length itself."""
        self._buffer = bytearray()
        self._start = 0

    def feed(self, data: bytes) -> None:
        """Add a piece of the stream."""
        del self._buffer[: self._start]
        self._start = 0
        self._buffer += data

    def next_frame(self) -> bytes | None:
        """Consume and return the next complete frame, or return None if it has not fully arrived.

        :raises FrameTooLong: if the next frame is announced as longer than ``limit`` bytes.
        """
        body = self._start + LENGTH_BYTES
        if body > len(self._buffer):
            return None
        (length,) = _LENGTH.unpack_from(self._buffer, self._start)
        if length > self.limit:
            raise FrameTooLong(f"a frame of {length} bytes, where {self.limit} are allowed")
        end: int = body + length
        if end > len(self._buffer):
            return None
        self._start = end
        return bytes(self._buffer[body:end])

    @property
    def is_mid_frame(self) -> bool:
        """Whether bytes remain in the buffer. After :meth:`next_frame` has returned None, they start a frame."""
        return self._start < len(self._buffer)
