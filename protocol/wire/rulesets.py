"""A ruleset among strangers: the hash that stands for it, and the short name that a table advertises."""

from __future__ import annotations

from p2pdice import Ruleset
from protocol.crypto.hashing import tagged_hash
from protocol.wire.canonical import encode


def ruleset_hash(ruleset: Ruleset) -> bytes:
    """Return the hash of the canonical encoding of all options: equal rules, equal hashes, and no others."""
    return tagged_hash("ruleset", encode(ruleset.options()))


def ruleset_label(ruleset: Ruleset) -> str:
    """Return the preset's name, or for house rules the first digits of their hash beside these words.

    >>> from p2pdice import PRESETS
    >>> ruleset_label(PRESETS["classic"]), ruleset_label(PRESETS["classic"].with_options({"dice": "3"}))[:12]
    ('classic', 'house rules ')
    """
    return ruleset.name or f"house rules {ruleset_hash(ruleset).hex()[:8]}"
