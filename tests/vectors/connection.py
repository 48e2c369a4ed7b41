"""All bytes on the link between host and guest of a table of two, from the certificates until the match is formed.

SPEC.md, §20 prints them, with an explanation of each frame.
"""

from __future__ import annotations

from collections import deque
from textwrap import wrap
from typing import Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from p2pdice.rulesets import PRESETS
from protocol.consensus.kinds import parse_signed
from protocol.crypto.keys import Identity, MatchKey
from protocol.crypto.tls import ALPN, authority_certificate, issue
from protocol.match.effects import Broadcast, FrameReceived, Linked, MatchInput, Received, Send, Ticked
from protocol.match.lobby import HostedTable, TableSettings
from protocol.match.match import Match
from protocol.wire.frames import (
    Carried,
    Frame,
    Have,
    Hello,
    JoinTable,
    Propose,
    Seat,
    TableAim,
    Welcome,
    encode_frame,
    frame_header,
)
from protocol.wire.genesis import Join, JoinRecord, make_join_record

TABLE: Final = bytes((0, *range(1, 16)))
COLUMNS: Final = 118


class Player(NamedTuple):
    """The host or the guest."""

    identity: Ed25519PrivateKey
    seed: bytes
    record: JoinRecord


def _player(name: str, number: int) -> Player:
    """Return a player with fixed values instead of random bytes. SPEC.md lists them."""
    identity = Ed25519PrivateKey.from_private_bytes(bytes((number,)) * 32)
    seed, nonce = bytes((0x10 + number,)) * 32, bytes((0x20 + number,)) * 32
    key, address = MatchKey(seed), (f"192.0.2.{number}", 7000 + number)
    join = Join(TABLE, Identity(identity).public, key.public, name, (address,), nonce, "redeemed")
    return Player(identity, seed, make_join_record(join, Identity(identity), key))


HOST: Final = _player("Ada", 1)
GUEST: Final = _player("Ben", 2)


class Sent(NamedTuple):
    by_host: bool
    frame: Frame


def frames() -> list[Sent]:
    """Return all frames that the two nodes send each other, in the order that occurs without delays."""
    table = HostedTable(TableSettings("Friday", PRESETS["classic"], 2), TABLE, HOST.record, token="")
    empty = table.frame()
    table.admit(GUEST.record.join.identity, GUEST.record.wire)
    genesis = table.genesis()
    data = genesis.encoded()
    host, guest = (genesis.roster.index(player.record) for player in (HOST, GUEST))
    nodes = {host: Match(data, host, HOST.seed, host=host), guest: Match(data, guest, GUEST.seed, host=host)}
    said: list[Sent] = [
        Sent(False, Hello(GUEST.record.join.addresses[0][1], TableAim(b"", ""))),
        Sent(True, Welcome(TableAim(TABLE, ""))),
        Sent(True, empty),
        Sent(False, JoinTable(GUEST.record.wire)),
        Sent(True, table.frame()),
        Sent(True, Seat(1)),
    ]
    under_way: deque[Sent] = deque()

    def feed(author: int, item: MatchInput) -> None:
        effects = nodes[author].handle(item, 0.0)
        under_way.extend(Sent(author == host, each.frame) for each in effects if isinstance(each, Send | Broadcast))

    feed(host, Ticked())
    feed(host, Linked(guest))
    under_way.append(Sent(True, Propose(data)))
    while not nodes[host].is_formed:
        sent = under_way.popleft()
        said.append(sent)
        sender, receiver = (host, guest) if sent.by_host else (guest, host)
        match sent.frame:
            case Propose():
                feed(receiver, Ticked())
                feed(receiver, Linked(sender))
            case Carried():
                feed(receiver, Received(sender, parse_signed(*sent.frame)))
            case Have() if not sent.by_host:  # the host's HAVE arrives before the guest knows the match
                feed(receiver, FrameReceived(sender, sent.frame))
    return said + [under_way.popleft() for _ in genesis.roster]


_EXPLAINED: Final = (
    "The guest listens at port 7002 and wants a seat. Table id and token are empty: any table that is open.",
    "It may sit down. The host names its table.",
    "Name, rules, seats and patience of the table, then who sits there: the host. These rules have no other name: "
    "that is empty. Last come the customs.",
    "The guest's join record: its data, the signature of the identity key, that of the match key.",
    "The table again, with both.",
    "The guest has a seat.",
    "All seats are taken, so the host proposes the match. First it says what it holds for step 0: nothing, and no "
    "votes. The guest does not know this match yet and ignores that.",
    "The genesis, and no RESIGN, as nothing was proposed before. Its hash is the match id and T_0. The guest comes "
    "before the host in it, as its key is smaller.",
    "LOCK of step 0 by author 0: the hash of no state.",
    "The guest holds one message for step 0, its own, and no votes.",
    "The host sends the whole step to all: the LOCK by author 0 again.",
    "LOCK of step 0 by author 1, the host, who signs last. Step 0 is closed.",
    "COMMIT of step 1 by author 0: to its share of the roll that draws the seats.",
    "The same again.",
    "COMMIT of step 1 by author 1. The match is formed; both go on with the LOCK of step 2.",
)
_NAMES: Final = {Carried: "MESSAGE", JoinTable: "JOIN"}


def printed() -> str:
    """Return the text that SPEC.md prints."""
    authority, host, guest = (
        each.public_bytes(Encoding.DER)
        for each in (authority_certificate(), issue(HOST.identity.public_key()), issue(GUEST.identity.public_key()))
    )
    versions = b"".join(bytes((len(each),)) + each.encode() for each in ALPN)
    lines = [
        *_block("TLS: ALPN", "What the guest offers, each name after its length. The host takes the first.", versions),
        *_block("TLS: authority", "The certificate under which both were issued. It need not be sent.", authority),
        *_block("TLS: host", "Its certificate.", host),
        *_block("TLS: guest", "Its certificate.", guest),
    ]
    for sent, explanation in zip(frames(), _EXPLAINED, strict=True):
        data = encode_frame(sent.frame)
        name = _NAMES.get(type(sent.frame), type(sent.frame).__name__.upper())
        lines += _block(f"{'host' if sent.by_host else 'guest'}: {name}", explanation, frame_header(data) + data)
    return "\n".join(lines[1:]) + "\n"


def _block(title: str, explanation: str, data: bytes) -> list[str]:
    return ["", *wrap(f"{title}. {explanation}", COLUMNS), *(f"  {line}" for line in wrap(data.hex(), COLUMNS - 2))]
