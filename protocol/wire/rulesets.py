"""A ruleset among strangers: the hash that stands for it, and the short label that a table advertises.

The label of house rules has a name, which is the host's own word, and the first digits of the hash, which nobody can
choose.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from p2pdice import PRESETS, Ruleset
from protocol.crypto.hashing import tagged_hash
from protocol.limits import RULES_CHARACTERS
from protocol.wire.canonical import encode
from protocol.wire.nicknames import is_unseen

_UNNAMED: Final = "house rules"
_DIGITS: Final = 8


def ruleset_hash(ruleset: Ruleset) -> bytes:
    """Return the hash of the canonical encoding of all options: equal rules, equal hashes, and no others."""
    return tagged_hash("ruleset", encode(ruleset.options()))


def ruleset_label(ruleset: Ruleset, name: str = "") -> str:
    """Return the preset's name, or for house rules the first digits of their hash beside their name.

    :param name: as :func:`is_rules_name` has it; empty if these house rules have none.

    >>> from p2pdice import PRESETS
    >>> house = PRESETS["classic"].with_options({"dice": "3"})
    >>> ruleset_label(PRESETS["classic"]), ruleset_label(house)[:12], ruleset_label(house, "friday")[:7]
    ('classic', 'house rules ', 'friday ')
    """
    return ruleset.name or f"{name or _UNNAMED} {ruleset_hash(ruleset).hex()[:_DIGITS]}"


def name_in(label: str, ruleset: Ruleset) -> str:
    """Return the name that a label gives to house rules; empty if it gives none, or is a label of other rules."""
    name = label[: -_DIGITS - 1]
    return name if is_rules_name(name) and label == ruleset_label(ruleset, name) else ""


def is_rules_name(name: str) -> bool:
    """Tell whether house rules can have this name: up to 31 characters that can be seen, in NFC, and not the name of
    a preset.

    >>> is_rules_name("friday"), is_rules_name("Classic"), is_rules_name("House rules"), is_rules_name(" ")
    (True, False, False, False)
    """
    return (
        1 <= len(name) <= RULES_CHARACTERS - _DIGITS - 1
        and name == " ".join(name.split())
        and unicodedata.is_normalized("NFC", name)
        and name.isprintable()
        and not any(map(is_unseen, name))
        and name.casefold() not in (*PRESETS, _UNNAMED)
    )
