"""Checks that the bytes which nodes send do not depend on unopened secrets.

A world is run twice. In the second run one secret of one player, a hand key or a share, is different, although its
commitment is the same. Until the secret is opened, all nodes must send the same bytes in both runs. Owners move without
looking at their dice, because a player's moves may depend on these.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import NamedTuple

from p2pdice.moves import Move, Stake
from p2pdice.players import Player
from p2pdice.views import View
from protocol.consensus import kinds as kinds_module
from protocol.consensus.kinds import parse_signed
from protocol.crypto.hashing import Context, derive_secret, hand_commitment, share_commitment, tagged_hash
from protocol.match import signer as signer_module
from protocol.wire.frames import Carried, Page, decode_frame
from protocol.wire.messages import Kind
from tests.simulation.invariants import Check, Violation
from tests.simulation.replacing import replaced
from tests.simulation.scenario import Plan
from tests.simulation.signatures import cached_checks
from tests.simulation.simulation import Simulation


class Target(NamedTuple):
    """The secret that the second run changes."""

    author: int
    context: Context
    purpose: str
    """``hand`` or ``share``."""


class Blindfolded(Player):
    """Moves at random, without looking at the dice."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def choose(self, view: View) -> Move:
        return self._chance.choice(view.legal)

    def stake(self, funds: int, tickets: int) -> Stake:
        return Stake(self._chance.randint(0, funds))


class Sent(NamedTuple):
    """A frame that a node sent."""

    time: float
    sender: int
    receiver: int
    data: bytes


class _Tapped(Simulation):
    """A world that records every frame."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.sent: list[Sent] = []
        for process in self.network.processes.values():
            process.player = Blindfolded(self.streams.bots)
        send = self.network.send

        def tapped(sender: int, author: int, frame: bytes) -> None:
            self.sent.append(Sent(self.scheduler.now, sender, author, frame))
            send(sender, author, frame)

        self.network.send = tapped  # type: ignore[method-assign]


@contextmanager
def other_secret(seed: bytes, target: Target) -> Iterator[None]:
    """Give a player another secret, and let the commitment to the real one count as its commitment."""
    real = derive_secret(seed, target.context, target.purpose)
    other = tagged_hash("other-secret", real)

    def bent_derive(with_seed: bytes, context: Context, purpose: str) -> bytes:
        if (with_seed, context, purpose) == (seed, target.context, target.purpose):
            return other
        return derive_secret(with_seed, context, purpose)

    def bent_hand(context: Context, author: int, key: bytes) -> bytes:
        return hand_commitment(context, author, real if key == other else key)

    def bent_share(context: Context, author: int, share: bytes) -> bytes:
        return share_commitment(context, author, real if share == other else share)

    with (
        replaced(signer_module, derive_secret, bent_derive),
        replaced(kinds_module, hand_commitment, bent_hand)
        if target.purpose == "hand"
        else replaced(kinds_module, share_commitment, bent_share),
    ):
        yield


def _run(plan: Plan) -> _Tapped:
    world = _Tapped(plan)
    with cached_checks():
        world.run()
    return world


def targets(world: Simulation) -> list[Target]:
    """Return every secret to which a player committed."""
    found: dict[Target, None] = {}
    match = world.honest()[0].match
    assert match is not None
    for position in match.history.chain:
        if position.committed is not None:
            for author, commitments in position.committed.given.items():
                found[Target(author, position.committed.context, "share")] = None
                if len(commitments) == 2:
                    found[Target(author, position.committed.context, "hand")] = None
    return list(found)


def _opens(data: bytes, world: Simulation, target: Target) -> bool:
    """Return whether a frame of the first run contains a message that opens the secret."""
    secret = derive_secret(world.seeds[target.author], target.context, target.purpose)
    frame = decode_frame(data)
    wires = [tuple(frame)] if isinstance(frame, Carried) else frame.messages if isinstance(frame, Page) else ()
    for wire in wires:
        message = parse_signed(*wire).message
        if message.author == target.author and message.kind in (Kind.REVEAL, Kind.OPEN) and secret in wire[0]:
            return True
    return False


def compare(plan: Plan, chance: Random) -> int:
    """Run a world twice, with one secret changed, and return how many frames were compared.

    :raises Violation: if a frame that was sent before the opening differs.
    """
    first = _run(plan)
    target = chance.choice(targets(first))
    opening = next(
        (index for index, sent in enumerate(first.sent) if _opens(sent.data, first, target)),
        len(first.sent) - 1,  # the match ended without opening it
    )
    second = _Tapped(plan)
    with cached_checks(), other_secret(first.seeds[target.author], target):
        second.run()
    # Frames sent at the same time as the opening may be sent in another order.
    before = [sent for sent in first.sent[:opening] if sent.time < first.sent[opening].time]
    seen = second.sent[: len(before)]
    if before != seen:
        where = next(index for index in range(len(before)) if before[index : index + 1] != seen[index : index + 1])
        raise Violation(
            Check.NO_FRAME_DEPENDS_ON_AN_UNOPENED_SECRET, f"frame {where} of {opening} depends on the {target.purpose}"
        )
    return len(before)
