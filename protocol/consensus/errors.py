"""What can be wrong with a signed message."""

from __future__ import annotations

from protocol.errors import PeerError
from protocol.wire.messages import Signed


class RejectedMessageError(PeerError, ValueError):
    """The message does not belong in this history. Nobody is to blame for that: it proves nothing about its author."""


class OtherStateError(RejectedMessageError):
    """A LOCK signs another state of the game than follows from our history: one of the two programs has a bug."""

    def __init__(self) -> None:
        super().__init__("a LOCK on another state: one of the two programs has a bug")


class MisconductError(PeerError):
    """A player signed what the rules of the game or of the protocol forbid; ``evidence`` shows it to anybody."""

    def __init__(self, author: int, step: int, reason: str, evidence: tuple[Signed, ...]) -> None:
        super().__init__(reason)
        self.author = author
        """Roster index of the culprit."""
        self.step = step
        self.reason = reason
        self.evidence = evidence

    @classmethod
    def of(cls, signed: Signed, reason: str) -> MisconductError:
        """Return the error that one message proves by itself."""
        return cls(signed.message.author, signed.message.step, reason, (signed,))
