"""The proof by both sides of a link that they know one short code: SPAKE2 over the Ed25519 group, with confirmation.

A side that knows the code learns whether the other knows it too. A side that does not can check one guess in each
exchange, and an eavesdropper none. Both identity keys and the table are confirmed with the code, so somebody who relays
an exchange between two links under a key of their own fails on both.

The guest confirms first: a host that must count wrong tries knows then whether there was one, before it says anything
that depends on the code.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable
from typing import Final

from protocol.crypto.hashing import tagged_hash
from protocol.crypto.short_code import ShortCode
from protocol.errors import PeerError

ELEMENT_BYTES: Final = 32
_GUEST, _HOST = b"A", b"B"
"""The sides of SPAKE2. The library marks its messages with them; frames have no need of it."""


class CodeExchangeError(PeerError, ValueError):
    """The peer sent no element of the group, or our own."""


class CodeExchange:
    """One side of one exchange.

    :param guest: identity key of the guest.
    :param host: identity key of the host.
    :param table: id of the table.
    :param is_host: which side this is.
    :param randomness: returns this many random bytes.
    """

    def __init__(
        self,
        code: ShortCode,
        guest: bytes,
        host: bytes,
        table: bytes,
        *,
        is_host: bool,
        randomness: Callable[[int], bytes] = os.urandom,
    ) -> None:
        from spake2 import SPAKE2_A, SPAKE2_B  # late: hardly any command needs it

        self._context = guest, host, table
        self._is_host = is_host
        self._side = (SPAKE2_B if is_host else SPAKE2_A)(str(code).encode(), guest, host, entropy_f=randomness)
        self._key = b""
        self.element: bytes = self._side.start()[1:]
        """To be sent to the other side."""

    def take(self, element: bytes) -> None:
        """Take the element of the other side, once.

        :raises CodeExchangeError: if it is none.
        """
        from spake2 import SPAKEError
        from spake2.ed25519_basic import NotOnCurve

        try:
            self._key = self._side.finish((_GUEST if self._is_host else _HOST) + element)
        except (SPAKEError, NotOnCurve, ValueError):
            raise CodeExchangeError("it sent no element of the group") from None

    @property
    def proof(self) -> bytes:
        """Shows the other side that this one knows the code."""
        return self._proof(is_host=self._is_host)

    def is_proven_by(self, proof: bytes) -> bool:
        """Tell whether the other side knows the code."""
        return hmac.compare_digest(proof, self._proof(is_host=not self._is_host))

    def _proof(self, *, is_host: bool) -> bytes:
        assert self._key
        return tagged_hash("code-proof", self._key, int(is_host), *self._context)
