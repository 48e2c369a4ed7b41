"""A player who plays by the rules and, on a signal, floods others: ``python -m tests.network.liar --victim B …``.

It accepts all options of :mod:`tests.network.player`. Once the file named by ``--begin`` exists, it sends useless
frames of one kind to the victim. With ``--apart``, it has no link with the victim and sends the frames to all other
players, who relay them. It sends bursts of ``--burst`` frames, at an average of ``--rate`` frames per second to each
target. With ``--anew``, each burst uses a new link.
From time to time it prints the number of frames sent so far, as ``{"event": "thrown", "frames": …}``.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count, islice, repeat
from pathlib import Path
from typing import Final

from protocol.errors import RefuseCode
from protocol.match.match import Match
from protocol.net.link import Link
from protocol.node.node import Node
from protocol.wire.canonical import Value
from protocol.wire.frames import Aim, Carried, Cut, Have, Hello, Need, Page, Refuse, encode_frame, frame_header
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.network import player

ENOUGH_UNSENT: Final = 200_000
"""The liar pauses while more bytes than this are unsent; otherwise its own node would close the link."""
PACE: Final = 0.01
"""Seconds between two checks whether frames are due."""
MISSED: Final = 0.1
"""After a delay, the liar catches up on the frames of at most this many seconds."""
RELINKED: Final = 2.0
"""Seconds to wait for a new link."""
REPORT: Final = 0.2
"""The least number of seconds between two reports."""
STRANGE_TIP: Final = bytes(24)
"""The prefix of made-up tips."""

Messages = Iterator[Signed]


def vote(match: Match, number: int, tip: bytes = b"", polka_round: int = -1) -> Signed:
    """Return the liar's vote that nothing has arrived from the open step's missing players.

    :param number: the voting round.
    :param tip: the tip that the vote names; by default the root's.
    :param polka_round: the round of the polka that the vote names.
    """
    place = match.history.position
    value = (place.step, place.tip, place.signed_hash or (b"",) * len(place.owed))
    return say(match, place.root_step, tip or place.root_tip, Kind.ABSENT, (number, value, polka_round))


def say(match: Match, step: int, tip: bytes, kind: Kind, body: Value) -> Signed:
    """Return a message signed by the liar."""
    return sign(Message(match.history.match, step, tip, match.me or 0, kind, body), match.signer.key)


def strange(number: int) -> bytes:
    """Return a tip of a nonexistent history."""
    return STRANGE_TIP + number.to_bytes(8, "big")


# The floods of messages. Each yields messages forever, and reads the match's current state for each message.


def votes(match: Match) -> Messages:
    """Votes against the open step's missing players, each in a later voting round."""
    for number in count(1):
        yield vote(match, number)


def far_votes(match: Match) -> Messages:
    """Votes as in :func:`votes`, but in rounds that no player reaches.

    Each names a polka of the previous round, so that it does not contradict the votes of the liar's own node. That node
    votes too: a voter signs no LOCK, so the others soon vote to close the LOCK, and the liar's node votes with them.
    """
    for number in count(1_000_000):
        yield vote(match, number, polka_round=number - 1)


def votes_elsewhere(match: Match) -> Messages:
    """Votes on nonexistent roots, each in a later voting round."""
    for number in count(1):
        yield vote(match, number, strange(number))


def elsewhere(match: Match) -> Messages:
    """Messages for the open step of nonexistent histories."""
    for number in count(1):
        yield say(match, match.history.position.step, strange(number), Kind.LOCK, bytes(32))


def future(match: Match) -> Messages:
    """Messages for steps that no player has reached."""
    for number in count(1):
        yield say(match, match.history.position.step + 2 + number % 1000, strange(number), Kind.LOCK, bytes(32))


def repeated(match: Match) -> Messages:
    """Votes, each sent a hundred times."""
    for number in count(1):
        again = vote(match, number)
        for _ in range(100):
            yield again


def mixed(match: Match) -> Messages:
    """All kinds of messages in turn."""
    kinds = [kind(match) for kind in (votes, far_votes, votes_elsewhere, elsewhere, future, repeated)]
    while True:
        for kind in kinds:
            yield next(kind)


MESSAGES: Final = (votes, far_votes, votes_elsewhere, elsewhere, future, repeated, mixed)


# The floods of frames that are not relayed.


def needs(match: Match) -> Iterator[bytes]:
    """NEED frames for the whole match, for its end, and for nothing."""
    own = match.history.match
    for number in count():
        last = match.history.position.step
        yield encode_frame(Need(own, max(0, last - number % 200), bytes(32), 0))
        yield encode_frame(Need(own, 0, own, 0))
        yield encode_frame(Need(own, 0, strange(number), 0))


def haves(match: Match) -> Iterator[bytes]:
    """HAVE frames, each with other contents."""
    for number in count():
        place, digest = match.history.position, number.to_bytes(32, "big")
        yield encode_frame(Have(match.history.match, place.step, place.tip, digest, digest))


def cuts(match: Match) -> Iterator[bytes]:
    """Reports of unreachable players, each with other players."""
    for number in count():
        yield encode_frame(Cut(match.history.match, tuple(range(number % match.history.roster_size))))


def pages(match: Match) -> Iterator[bytes]:
    """Unrequested pages."""
    while True:
        messages = tuple(each.wire for each in history(match))
        yield encode_frame(Page(match.history.match, 0, (messages * 200)[:150]))


def keepalives(match: Match) -> Iterator[bytes]:
    """Keepalive frames."""
    return repeat(b"")


def known(match: Match) -> Iterator[bytes]:
    """Messages of the last steps, which all players have already."""
    while True:
        yield from (encode_frame(Carried(*each.wire)) for each in history(match)[-20:])


def forged(match: Match) -> Iterator[bytes]:
    """Messages in another player's name with invalid signatures."""
    while True:
        place, author = match.history.position, (match.me or 0) ^ 1
        message = Message(match.history.match, place.step, place.tip, author, Kind.RESIGN, ())
        yield encode_frame(Carried(message.encoded(), bytes(64)))


def history(match: Match) -> list[Signed]:
    return [signed for position in match.history.chain[1:] for signed in position.entries.values()]


def everything(match: Match) -> Iterator[bytes]:
    """Frames of all kinds in turn."""
    kinds = [carried(kind)(match) for kind in (far_votes, elsewhere, future)]
    kinds += [kind(match) for kind in (needs, haves, cuts, pages, keepalives, known, forged)]
    while True:
        for kind in kinds:
            yield from islice(kind, 10)


def carried(kind: Callable[[Match], Messages]) -> Callable[[Match], Iterator[bytes]]:
    """Turn a flood of messages into a flood of frames that carry them."""
    return lambda match: (encode_frame(Carried(*each.wire)) for each in kind(match))


FRAMES: Final = (needs, haves, cuts, pages, keepalives, known, forged, everything)
KINDS: Final = {kind.__name__: carried(kind) for kind in MESSAGES} | {kind.__name__: kind for kind in FRAMES}


class Liar:
    """The liar's node, its victim, and the targets of its frames."""

    def __init__(self, node: Node, options: argparse.Namespace) -> None:
        assert node.match is not None
        self._node = node
        self._match: Match = node.match
        self._options = options
        self._frames = KINDS[options.kind](self._match)
        roster = self._match.history.genesis.roster
        (self._victim,) = (each.join.identity for each in roster if each.join.nickname == options.victim)
        spared = {node.identity.public, self._victim, *self._accomplices()}
        others = tuple(each.join.identity for each in roster if each.join.identity not in spared)
        self._targets = others if options.apart else (self._victim,)
        self._thrown = self._bursts = 0

    def _accomplices(self) -> Iterator[bytes]:
        for record in self._match.history.genesis.roster:
            if record.join.nickname in self._options.accomplice:
                yield record.join.identity

    def part_with_the_victim(self) -> None:
        """Close the link with the victim, and never open another."""
        mesh, victim = self._node._mesh, self._victim
        welcome = mesh._owner.welcome

        def not_the_victim(identity: bytes, hello: Hello) -> Aim | Refuse:
            return Refuse(RefuseCode.REFUSED, "no") if identity == victim else welcome(identity, hello)

        mesh._owner.welcome = not_the_victim  # type: ignore[method-assign]
        mesh.stop_dialling(victim)
        mesh.disconnect(victim)

    async def attack(self) -> None:
        """Send bursts until the match is over, or all bursts are sent."""
        rate, burst = self._options.rate, self._options.burst
        loop = asyncio.get_running_loop()
        due, last = float(burst), loop.time()
        told = 0.0
        while not self._match.is_ended and (self._bursts < self._options.bursts or not self._options.bursts):
            if due < burst:
                await asyncio.sleep(PACE)
                now = loop.time()
                due, last = min(burst + rate * MISSED, due + rate * (now - last)), now
                continue
            due -= burst
            if self._options.anew and self._bursts:
                await self._link_anew()
            self._throw(burst)
            if loop.time() >= told + REPORT:
                told = loop.time()
                self._report()
        self._report()

    def _report(self) -> None:
        """Print the number of frames sent so far."""
        player.say("thrown", frames=self._thrown)

    async def _link_anew(self) -> None:
        """Replace the links with all targets, because a new link starts with an unused rate limit."""
        mesh = self._node._mesh
        for identity in self._targets:
            mesh.disconnect(identity)
        await asyncio.sleep(PACE)
        with suppress(TimeoutError):
            async with asyncio.timeout(RELINKED):
                while not all(map(mesh.is_linked, self._targets)):  # noqa: ASYNC110 - the others may dial as well
                    await asyncio.sleep(PACE)

    def _throw(self, burst: int) -> None:
        """Send the same frames to each target."""
        frames = list(islice(self._frames, burst))
        data = b"".join(frame_header(frame) + frame for frame in frames)
        for identity in self._targets:
            link = self._link(identity)
            channel = link._channel if link is not None else None
            if channel is not None and channel.get_write_buffer_size() < ENOUGH_UNSENT:
                if self._options.pieces:  # each byte in its own TLS record
                    for start in range(len(data)):
                        channel.write(data[start : start + 1])
                else:
                    channel.write(data)
                self._thrown += len(frames)
        self._bursts += 1

    def _link(self, identity: bytes) -> Link | None:
        peer = self._node._mesh._peers.get(identity)
        return peer.link if peer is not None and peer.link.is_up else None


async def lie(node: Node, options: argparse.Namespace) -> None:
    """Play honestly until the signal, then attack."""
    while not options.begin.exists() or node.match is None or not node.match.is_formed:  # noqa: ASYNC110
        await asyncio.sleep(PACE)
    liar = Liar(node, options)
    if options.apart:
        liar.part_with_the_victim()
    await liar.attack()


def main() -> None:
    parser = player.arguments()
    parser.add_argument("--kind", choices=sorted(KINDS), default="votes", help="what is thrown")
    parser.add_argument("--victim", required=True, help="nickname")
    parser.add_argument("--accomplice", action="append", default=[], help="nickname of one at whom nothing is thrown")
    parser.add_argument("--begin", type=Path, required=True, help="play honestly before this file is there")
    parser.add_argument("--apart", action="store_true", help="keep no link with the victim, throw at all others")
    parser.add_argument("--rate", type=float, required=True, help="messages a second at each of those")
    parser.add_argument("--burst", type=int, default=1, help="messages at once")
    parser.add_argument("--bursts", type=int, default=0, help="how many; 0: until the match is over")
    parser.add_argument("--anew", action="store_true", help="send each burst over a new link")
    parser.add_argument("--pieces", action="store_true", help="send each byte in a TLS record of its own")
    options = parser.parse_args()
    lying: list[asyncio.Task[None]] = []

    def begin(node: Node) -> None:
        lying.append(asyncio.create_task(lie(node, options)))

    asyncio.run(player.run(options, begin))


if __name__ == "__main__":
    main()
