"""Helpers for worlds in which a player is missing: sign messages, cast votes, and deliver selectively."""

from __future__ import annotations

from protocol.consensus.kinds import Vote, spell_vote
from protocol.consensus.position import Position
from protocol.crypto.keys import MatchKey
from protocol.wire.canonical import Value
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.simulation.world import World

HURRIED = Patience(5, 5)


def signed_by(world: World, me: int, kind: Kind) -> list[Signed]:
    """Return the messages of this kind that a node has signed, in the order of its store."""
    messages = (*world.machines[me].disk, *world.machines[me].unwritten)
    return [each for each in messages if (each.message.author, each.message.kind) == (me, kind)]


def forge(world: World, place: Position, author: int, kind: int, body: Value) -> Signed:
    """Return a message for a step, signed with an author's key."""
    return sign(
        Message(world.machines[author].match.id, place.step, place.tip, author, kind, body),
        MatchKey(world.seeds[author]),
    )


def cast(world: World, root: Position, vote: Vote) -> Signed:
    """Return a vote on a root, signed with its author's key."""
    return forge(world, root, vote.author, *spell_vote(vote))


def deliver_except_to(world: World, me: int) -> None:
    """Deliver frames to every other node until only frames for this node are left."""
    while busy := [link for link, frames in world.links.items() if frames and link[1] != me]:
        world.deliver(*busy[0])
