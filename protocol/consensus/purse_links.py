"""Links: how a purse got from an entry that somebody knows to where its proof begins.

A proof begins late, so after some matches elsewhere it does not reach back to what old acquaintances know. Then its
owner could hide that there are two branches. The entries between need no evidence and no signature: each names the one
before by its id, and the first of the proof is signed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from protocol.consensus.purse_proofs import Shown, read_proof
from protocol.crypto.hashing import HASH_BYTES
from protocol.limits import PURSE_LINKS, SHOWN_PURSE
from protocol.version import tag
from protocol.wire.canonical import Value, encode
from protocol.wire.purses import (
    HEIGHTS,
    Entry,
    MalformedPurseError,
    Opening,
    SignedEntry,
    beginning,
    decode_shown,
    entry_id,
    is_bytes,
    is_number,
    parse_body,
)

LINKS_TAG: Final = tag("purse-links")


def write_links(known: tuple[int, bytes], between: Sequence[SignedEntry], proof: bytes) -> bytes:
    """Return a proof with links in front.

    :param known: height and id of the entry that somebody knows.
    :param between: the entries after it, up to the first of the proof.
    """
    links: tuple[Value, ...] = tuple((int(each.entry.kind), (*each.entry.body,)) for each in between)
    return encode((LINKS_TAG, *known, links, proof))


def read_shown(data: bytes) -> Shown:
    """Return the purse that a proof shows, with links in front or without, all of it checked.

    :raises MalformedPurseError: if it is neither, or what it shows is not right.
    """
    if len(data) > SHOWN_PURSE:
        raise MalformedPurseError(f"what is shown of a purse has at most {SHOWN_PURSE} bytes")
    if not data.startswith(_LINKS):
        return read_proof(data)
    match decode_shown(data, "the links of a purse"):
        case (str(), int() as height, bytes() as known, tuple() as links, bytes() as proof) if (
            is_number(height, HEIGHTS - 1) and is_bytes(known, HASH_BYTES) and 0 < len(links) <= PURSE_LINKS
        ):
            shown = read_proof(proof)
            return shown._replace(links=_ids_of(shown, height, known, links))
    raise MalformedPurseError("the links of a purse have the wrong form")


def _ids_of(shown: Shown, height: int, known: bytes, links: tuple[Value, ...]) -> tuple[bytes, ...]:
    first = shown.entries[0].entry
    if height + len(links) != first.height - 1:
        raise MalformedPurseError("the links of a purse do not end where its proof begins")
    ids = [known]
    for link in links:
        match link:
            case (int() as kind, tuple() as values):
                height += 1
                body = parse_body(kind, values)
                if isinstance(body, Opening):
                    raise MalformedPurseError("a purse is opened twice")
                ids.append(entry_id(Entry(first.purse, height, ids[-1], body).encoded()))
            case _:
                raise MalformedPurseError("a link of a purse is not a pair")
    if ids[-1] != first.predecessor:
        raise MalformedPurseError("the links of a purse do not lead to its proof")
    return tuple(ids)


_LINKS: Final = beginning(LINKS_TAG, 5)
