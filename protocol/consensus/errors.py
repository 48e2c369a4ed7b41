"""Errors of signed messages."""

from __future__ import annotations

from protocol.errors import PeerError
from protocol.wire.messages import Signed


class RejectedMessageError(PeerError, ValueError):
    """The message does not belong in this history. That proves nothing about its author."""


class OtherStateError(RejectedMessageError):
    """A LOCK, WITNESS or RESULT signs another state than the one that follows from this history, or an end where none
    is: one of the two programs has a bug. The author may sign another one later, and so contradict it."""

    def __init__(self, reason: str = "another state: one of the two programs has a bug") -> None:
        super().__init__(reason)


class MisconductError(PeerError):
    """A player signed a message that the rules of the game or of the protocol forbid. ``evidence`` proves it to
    anybody."""

    def __init__(self, author: int, step: int, reason: str, evidence: tuple[Signed, ...]) -> None:
        super().__init__(reason)
        self.author = author
        """Roster index of the culprit."""
        self.step = step
        self.reason = reason
        self.evidence = evidence

    @classmethod
    def of(cls, signed: Signed, reason: str) -> MisconductError:
        """Return the error for a message that proves misconduct by itself."""
        return cls(signed.message.author, signed.message.step, reason, (signed,))
