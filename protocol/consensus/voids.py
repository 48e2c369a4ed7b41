"""Void matches: those that all their players have agreed not to finish. What was staked in them comes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from protocol.crypto.keys import PublicKey
from protocol.version import tag
from protocol.wire.canonical import encode
from protocol.wire.genesis import Genesis, MalformedGenesisError, match_id, parse_genesis
from protocol.wire.purses import MalformedPurseError, Purse, decode_shown

VOID_TAG: Final = tag("void")


def void_data(match: bytes) -> bytes:
    """Return what all players of a match sign, with their match keys, to make it void."""
    return encode((VOID_TAG, match))


def signer(genesis: Genesis, match: bytes, signature: bytes) -> int | None:
    """Return the roster index of the player who has signed that a match is void; None if none of them has."""
    data = void_data(match)
    for author, record in enumerate(genesis.roster):
        if PublicKey(record.join.match_key).verifies(signature, data):
            return author
    return None


def write_void(genesis: bytes, signatures: Mapping[int, bytes]) -> bytes:
    """Return the evidence that a match is void.

    :param genesis: its bytes.
    :param signatures: of all players, by roster index.
    """
    return encode((genesis, tuple(signatures[author] for author in sorted(signatures))))


def check_void(data: bytes, match: bytes, key: bytes) -> Purse:
    """Check the evidence that a match is void; return the purse with this key as it was brought to it.

    :raises MalformedPurseError: if it is not right.
    """
    match decode_shown(data, "the evidence of a void match"):
        case (bytes() as genesis_data, tuple() as signatures):
            try:
                genesis = parse_genesis(genesis_data)
            except MalformedGenesisError as error:
                raise MalformedPurseError(f"a void match that cannot be: {error}") from None
            purses = [record.join.purse for record in genesis.roster]
            brought = next((each for each in purses if each is not None and each.key == key), None)
            if match_id(genesis_data) != match or brought is None:
                raise MalformedPurseError("a void match without this purse")
            if len(signatures) == len(genesis.roster) and all(
                type(signature) is bytes and PublicKey(record.join.match_key).verifies(signature, void_data(match))
                for record, signature in zip(genesis.roster, signatures, strict=True)
            ):
                return brought
    raise MalformedPurseError("a match is void only if all its players have signed so")
