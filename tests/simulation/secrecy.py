"""What leaves a node does not depend on what it keeps secret: one world is run twice, with other secrets in one deal.

In the second run a player's hand key, and share if it is not revealed yet, of one deal are others, behind the same
commitments. Up to the opening all bytes that all nodes send must be the same. Owners in these worlds do not look at
their dice, as a move may well follow from those.
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
    """One secret of one player."""

    author: int
    context: Context
    purpose: str
    """``hand`` or ``share``."""


class Blindfolded(Player):
    """Moves at random, whatever the dice."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def choose(self, view: View) -> Move:
        return self._chance.choice(view.legal)

    def stake(self, funds: int, tickets: int) -> Stake:
        return Stake(self._chance.randint(0, funds))


class Sent(NamedTuple):
    """One frame, as it left."""

    time: float
    sender: int
    receiver: int
    data: bytes


class _Tapped(Simulation):
    """A world in which every frame that leaves is written down."""

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
    """Let a player have another secret behind the commitment that stands for the real one."""
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
    """Return every secret that somebody committed to in a deal that came to its end."""
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
    """Tell whether a frame carries the secret, as it was in the first run."""
    secret = derive_secret(world.seeds[target.author], target.context, target.purpose)
    frame = decode_frame(data)
    wires = [tuple(frame)] if isinstance(frame, Carried) else frame.messages if isinstance(frame, Page) else ()
    for wire in wires:
        message = parse_signed(*wire).message
        if message.author == target.author and message.kind in (Kind.REVEAL, Kind.OPEN) and secret in wire[0]:
            return True
    return False


def compare(plan: Plan, chance: Random) -> int:
    """Run a world twice, with one secret changed; return how many frames were compared.

    :raises Violation: if a frame that left before the opening is another one.
    """
    first = _run(plan)
    target = chance.choice(targets(first))
    opening = next(
        (index for index, sent in enumerate(first.sent) if _opens(sent.data, first, target)),
        len(first.sent) - 1,  # it never was: the match ended before
    )
    second = _Tapped(plan)
    with cached_checks(), other_secret(first.seeds[target.author], target):
        second.run()
    # The frames of the moment of the opening may leave in another order.
    before = [sent for sent in first.sent[:opening] if sent.time < first.sent[opening].time]
    seen = second.sent[: len(before)]
    if before != seen:
        where = next(index for index in range(len(before)) if before[index : index + 1] != seen[index : index + 1])
        raise Violation(Check.SECRETS_LEAVE_NO_TRACE, f"frame {where} of {opening} tells of the {target.purpose}")
    return len(before)
