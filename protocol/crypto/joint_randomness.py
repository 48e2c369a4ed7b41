"""Dice that nobody can choose: commitments, joint rolls, deals and openings.

A *joint roll* is Blum's coin flipping among n players: each commits to a random share, all lock the list of
commitments, all reveal; the *beacon* is the hash of all shares. One honest share makes it unpredictable. A *deal* adds
a private hand key per player: a hand follows from its owner's key and the beacon. The key was fixed before the beacon
was known, so the owner cannot choose the dice; nobody else has the key, so nobody else can see them; opening the key
lets everybody check.

Every hash names its :class:`Context`: match, step and tip of the step in which the commitments were made, and the
author. A commitment that is copied, or replayed from elsewhere, cannot be opened by the player who copied it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from protocol.crypto.hashing import hash_stream, tagged_hash, uniform


class Context(NamedTuple):
    """Where commitments were made: the step that carried them."""

    match: bytes
    step: int
    tip: bytes


def derive_secret(seed: bytes, context: Context, purpose: str) -> bytes:
    """Return this node's secret for one purpose in one context; the same after a restart, another in any other step."""
    return tagged_hash("secret", seed, context.match, context.step, context.tip, purpose.encode("ascii"))


def share_commitment(context: Context, author: int, share: bytes) -> bytes:
    """Return the commitment to a public share of a joint roll."""
    return tagged_hash("share-commitment", *context, author, share)


def hand_commitment(context: Context, author: int, hand_key: bytes) -> bytes:
    """Return the commitment to the private key of a hand."""
    return tagged_hash("hand-commitment", *context, author, hand_key)


def beacon(context: Context, shares: Mapping[int, bytes]) -> bytes:
    """Return the joint random value of all shares, given by author."""
    parts: list[bytes | int] = []
    for author in sorted(shares):
        parts += (author, shares[author])
    return tagged_hash("beacon", *context, *parts)


def hand(context: Context, author: int, hand_key: bytes, joint: bytes, dice: int) -> tuple[int, ...]:
    """Return the faces of a hand of ``dice`` dice, 1–6, ascending; ``joint`` is the beacon."""
    stream = hash_stream("hand", *context, author, hand_key, joint)
    return tuple(sorted([uniform(stream, 6) + 1 for _ in range(dice)]))


def stake_commitment(context: Context, author: int, bet: int, tickets: int, salt: bytes) -> bytes:
    """Return the commitment to a stake; the salt keeps the few possible bets from being tried out."""
    return tagged_hash("stake-commitment", *context, author, bet, tickets, salt)


def public_die(joint: bytes) -> int:
    """Return the face, 1–6, of a die that everybody sees, drawn from the beacon."""
    return uniform(hash_stream("public-die", joint), 6) + 1


def seating(joint: bytes, players: int) -> tuple[int, ...]:
    """Return the roster index by seat: a uniformly random permutation (Fisher–Yates) drawn from the beacon."""
    stream = hash_stream("seats", joint)
    order = list(range(players))
    for last in range(players - 1, 0, -1):
        other = uniform(stream, last + 1)
        order[last], order[other] = order[other], order[last]
    return tuple(order)
