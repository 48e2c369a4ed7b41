"""A player who plays by the rules and floods one other player: ``python -m tests.network.flooder --flood KIND …``.

Takes everything that :mod:`tests.network.player` takes. What it throws is paced by ``--frames`` a second, beside its
honest messages on the same link; ``{"event": "flooded", "frames": …}`` is printed before the end is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count, zip_longest

from protocol.limits import VOTE_ROUNDS_AHEAD
from protocol.match.match import Match
from protocol.net.link import Link
from protocol.node.node import Node
from protocol.wire.frames import Carried, Need, Page, encode_frame
from protocol.wire.framing import frame_header
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.network import player

PACE = 0.02
"""Seconds between two heaps of frames."""
ROUNDS = count(10 * VOTE_ROUNDS_AHEAD)
"""Of votes: so far ahead that nobody follows, or the match would wait for the votes."""
ENOUGH_UNSENT = 200_000
"""Bytes; with more than that on the way the flooder waits, or its own node would give the link up."""


def history(match: Match) -> list[Signed]:
    return [signed for position in match.history.chain[1:] for signed in position.entries.values()]


def duplicates(match: Match) -> list[bytes]:
    """The messages of the last steps, by whoever they are."""
    return [encode_frame(Carried(*signed.wire)) for signed in history(match)[-20:]]


def old(match: Match) -> list[bytes]:
    """Own messages for steps long over, rightly signed and new, each on a history that never was."""
    key, own = match.signer.key, match.history.match
    return [
        encode_frame(
            Carried(*sign(Message(own, 0, number.to_bytes(32, "big"), match.me or 0, Kind.LOCK, bytes(32)), key).wire)
        )
        for number in range(20)
    ]


def future(match: Match) -> list[bytes]:
    """Own messages, rightly signed, for steps that are far away."""
    ahead = match.history.position.step + 1000
    key, own = match.signer.key, match.history.match
    return [
        encode_frame(Carried(*sign(Message(own, ahead + n, bytes(32), match.me or 0, Kind.LOCK, bytes(32)), key).wire))
        for n in range(20)
    ]


def needs(match: Match) -> list[bytes]:
    """Requests for everything since every step."""
    last = match.history.position.step
    return [encode_frame(Need(match.history.match, step, bytes(32), 0)) for step in range(max(0, last - 200), last)]


def pages(match: Match) -> list[bytes]:
    """Pages that nobody has asked for."""
    wires = [signed.wire for signed in history(match)] or [(b"", b"")]
    return [encode_frame(Page(match.history.match, 0, tuple(wires * 200)[:150]))]


def keepalives(match: Match) -> list[bytes]:
    """Frames that say nothing."""
    return [b""] * 50


def forged(match: Match) -> list[bytes]:
    """Messages in the name of another whose signature is wrong."""
    place = match.history.position
    author = (match.me or 0) ^ 1
    return [
        encode_frame(
            Carried(Message(match.history.match, place.step, place.tip, author, Kind.RESIGN, ()).encoded(), bytes(64))
        )
    ] * 20


def votes(match: Match) -> list[bytes]:
    """Votes that each step since the last LOCK stands as it was closed, of ever later rounds."""
    place, chain, me = match.history.position, match.history.chain, match.me or 0
    told = []
    for step in range(place.locked + 1, place.step):
        number, entries = next(ROUNDS), match.history.closed(step)
        assert entries is not None
        for kind, body in ((Kind.ABSENT, (number, entries, -1)), (Kind.CLOSE, (number, entries))):
            message = Message(match.history.match, step, chain[step].tip, me, kind, body)
            told.append(encode_frame(Carried(*sign(message, match.signer.key).wire)))
    return told


def everything(match: Match) -> list[bytes]:
    """All of these in turn."""
    heaps = [kind(match)[:10] for kind in (duplicates, old, future, needs, pages, keepalives, forged, votes)]
    return [frame for frames in zip_longest(*heaps) for frame in frames if frame is not None]


FLOODS: dict[str, Callable[[Match], list[bytes]]] = {
    each.__name__: each for each in (duplicates, old, future, needs, pages, keepalives, forged, votes, everything)
}


def the_link(node: Node, target: str) -> Link | None:
    """Return the link to the player with that nickname, if it is up."""
    match = node.match
    assert match is not None
    for record in match.history.genesis.roster:
        if record.join.nickname == target and (peer := node._mesh._peers.get(record.join.identity)) is not None:
            return peer.link
    return None


async def flood(node: Node, kind: str, target: str, frames_a_second: float) -> None:
    """Throw until the match is over."""
    thrown, due = 0, 0.0
    heap: list[bytes] = []
    while node.match is None or not node.match.is_formed:  # noqa: ASYNC110
        await asyncio.sleep(PACE)
    while not node.match.is_ended:
        await asyncio.sleep(PACE)
        due += frames_a_second * PACE
        while due >= 1:
            due -= 1
            link = the_link(node, target)
            if link is None or not link.is_up or link._connected().get_write_buffer_size() > ENOUGH_UNSENT:
                continue
            heap = heap or FLOODS[kind](node.match)
            if heap:
                # An empty frame is nothing that a link's owner can send, so all of them go below.
                frame = heap.pop()
                link._connected().write(frame_header(frame) + frame)
                thrown += 1
    player.say("flooded", frames=thrown)


def main() -> None:
    parser = player.arguments()
    parser.add_argument("--flood", choices=sorted(FLOODS), required=True)
    parser.add_argument("--target", default="A", help="nickname of who is flooded")
    parser.add_argument("--frames", type=float, required=True, help="to throw a second")
    options = parser.parse_args()
    flooding: list[asyncio.Task[None]] = []

    def begin(node: Node) -> None:
        flooding.append(asyncio.create_task(flood(node, options.flood, options.target, options.frames)))

    asyncio.run(player.run(options, begin))


if __name__ == "__main__":
    main()
