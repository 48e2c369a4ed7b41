"""A ruleset among strangers: the hash that stands for it, and the short label that a table advertises.

The label of house rules has a name, which is the host's own word, and the first digits of the hash, which nobody can
choose.
"""

from __future__ import annotations

from typing import Final

from p2pdice.rulesets import PRESETS, Ruleset
from protocol.crypto.hashing import tagged_hash
from protocol.limits import RULES_NAME_CHARACTERS
from protocol.wire.canonical import encode
from protocol.wire.nicknames import label_flaw

_UNNAMED: Final = "house rules"
_DIGITS: Final = 8


def ruleset_hash(ruleset: Ruleset) -> bytes:
    """Return the hash of the canonical encoding of all options: equal rules, equal hashes, and no others."""
    return tagged_hash("ruleset", encode(ruleset.options()))


def ruleset_label(ruleset: Ruleset, name: str = "") -> str:
    """Return the preset's name, or for house rules the first digits of their hash beside their name.

    :param name: as :func:`is_rules_name` has it; empty if these house rules have none.

    >>> from p2pdice.rulesets import PRESETS
    >>> house = PRESETS["classic"].with_options({"dice": "3"})
    >>> ruleset_label(PRESETS["classic"]), ruleset_label(house)[:12], ruleset_label(house, "friday")[:7]
    ('classic', 'house rules ', 'friday ')
    """
    return ruleset.name or f"{name or _UNNAMED} {ruleset_hash(ruleset).hex()[:_DIGITS]}"


def rules_name_flaw(name: str) -> str:
    """Return the rule for a name of house rules that ``name`` breaks, as the rest of a sentence; empty if none.

    It has 1 to 31 characters that people can be shown (:func:`protocol.wire.nicknames.flaw`), spaces only between
    words, and is not the name of a preset.

    >>> rules_name_flaw("friday"), rules_name_flaw("Classic")
    ('', 'must not be "classic", which has a meaning already')
    """
    if problem := label_flaw(name, RULES_NAME_CHARACTERS):
        return problem
    if name != " ".join(name.split()):
        return "must have no spaces at its ends and no two in a row"
    if (known := name.casefold()) in (*PRESETS, _UNNAMED):
        return f'must not be "{known}", which has a meaning already'
    return ""


def is_rules_name(name: str) -> bool:
    """Tell whether house rules can have this name (:func:`rules_name_flaw`).

    >>> is_rules_name("friday"), is_rules_name("House rules"), is_rules_name(" ")
    (True, False, False)
    """
    return not rules_name_flaw(name)
