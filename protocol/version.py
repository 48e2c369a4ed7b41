"""The version of the protocol that this program speaks, and the texts that contain it."""

from __future__ import annotations

from typing import Final

PROTOCOL_VERSION: Final = 3
"""Nodes of other versions receive only the message that the versions differ, and their files are refused."""


def tag(name: str, version: int = PROTOCOL_VERSION) -> str:
    """Return a prefix that separates data hashed or signed for one purpose from data for any other.

    >>> tag("genesis")
    'p2pdice/3/genesis'
    """
    return f"p2pdice/{version}/{name}"


def versions_differ(there: int, here: int = PROTOCOL_VERSION) -> str:
    """Return why two nodes cannot talk, from the viewpoint of the node with version ``here``.

    >>> versions_differ(1)
    'the program there speaks version 1 of the protocol, this one version 3: update the older one'
    """
    return f"the program there speaks version {there} of the protocol, this one version {here}: update the older one"


def written_by(version: int) -> str:
    """Return why this program can neither read nor continue a match of another version of the protocol.

    >>> written_by(1)
    'played by version 1 of the protocol, and this program speaks version 3'
    """
    return f"played by version {version} of the protocol, and this program speaks version {PROTOCOL_VERSION}"
