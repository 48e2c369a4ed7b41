"""WITNESS: keeps the vote of a player who is out of the game.

REVEAL and OPEN carry such signatures, under the LOCK before the one that they directly follow. So the next base follows
from the history.
"""

from __future__ import annotations

from typing import Any, Final, TypeGuard

from protocol.consensus.closing import Closing
from protocol.consensus.errors import MisconductError
from protocol.consensus.kinds.rule import Countersigned, Rule, Secrets, Slot, is_hash, short
from protocol.consensus.position import Position
from protocol.crypto.keys import SIGNATURE_BYTES
from protocol.wire.messages import Kind, Signed

CARRIED: Final = 1 + SIGNATURE_BYTES
"""Bytes of a roster index and a signature that a message carries."""


def are_carried(value: object) -> TypeGuard[bytes]:
    """Tell whether a value can be the signatures that a message carries: by roster index, ascending."""
    if type(value) is not bytes or len(value) % CARRIED:
        return False
    return value[::CARRIED] == bytes(sorted({*value[::CARRIED]}))


def judge_carried(history: Countersigned, position: Position, signed: Signed, value: bytes) -> None:
    """Judge the signatures that a message carries.

    :raises MisconductError: if one is not that of a witness.
    """
    for start in range(0, len(value), CARRIED):
        if not history.is_countersigned(position, value[start], value[start + 1 : start + CARRIED]):
            raise MisconductError.of(signed, "carried a signature that is not a witness's")


def note_carried(closing: Closing[Any], value: bytes) -> None:
    """Keep the witnesses whose signatures a message carries in the next base."""
    closing.carried = tuple(sorted({*closing.carried, *value[::CARRIED]}))


class Witness(Rule[bytes]):
    """The hash that a LOCK signs, outside the history. Its author is out of the game, but still there to vote."""

    kind = Kind.WITNESS
    slot = Slot.LOCK
    shape = "byte string of 32 bytes"

    def fits(self, body: object) -> bool:
        return is_hash(body)

    def statement(self, body: bytes) -> str:
        return f"witnessed the state {short(body)}"

    def produce(self, position: Position, secrets: Secrets) -> bytes:
        return position.lock
