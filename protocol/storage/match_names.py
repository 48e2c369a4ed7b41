"""Names of matches, for people to type: ``2026-11-22-friday``, the day and the table.

A host may give a table any name in Unicode. The name of a match keeps only its letters from a to z and its digits, so
that people can type it without quotes, in any shell and on any keyboard.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from datetime import date
from itertools import count, pairwise
from os.path import commonprefix
from typing import TYPE_CHECKING, Final

from protocol.errors import SEE_MATCHES, ErrorCode, NodeError
from protocol.storage.home import TRANSCRIPT_SUFFIX

if TYPE_CHECKING:
    from p2pdice.rulesets import Ruleset

LAST: Final = "last"
"""Names the last match: the first of those among which a name is looked up."""
SHORT_ID: Final = 8
"""Digits shown of a match's id. File names have at least as many; a person may type fewer."""
LONGEST_SLUG: Final = 24
"""Letters. With the day before and a number after them, a command that holds the name still fits into 80 columns."""
LATEST: Final = 32_503_679_999
"""Seconds from 1970 to the end of 2999. A clock that is set wrong may show anything."""
_DIGITS: Final = 5
_NAME: Final = re.compile("[a-z0-9][a-z0-9-]{0,79}")
_FILE_NAME: Final = re.compile(rf"\d{{4}}-\d\d-\d\d-.+-([0-9a-f]{{8,64}})({re.escape(TRANSCRIPT_SUFFIX)})?")
"""The file name of a transcript, with the digits of its match."""


def slug(text: str) -> str:
    """Return a text as part of a name: small letters from a to z, digits, and a hyphen for anything between them.

    >>> slug("Zoë's  Großer Tisch!"), slug("../../etc"), slug("金曜日")
    ('zoes-grosser-tisch', 'etc', '')
    """
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    plain = "".join(each for each in letters if not unicodedata.combining(each) and each not in "'’")
    short = re.sub("[^a-z0-9]+", "-", plain).strip("-")[:LONGEST_SLUG].strip("-")
    return re.sub("(-[0-9a-f]{8,})+$", "", short)  # these are for ids alone


def rules_word(ruleset: Ruleset, name: str = "") -> str:
    """Return the word for a ruleset in a name.

    :param name: what people call these house rules; empty if they have no name.
    """
    return ruleset.name or slug(name) or "house-rules"


def calendar(seconds: float) -> int:
    """Return a moment in whole seconds since 1970 that every system can turn into a date, as near as there is.

    >>> calendar(1.5), calendar(-5), calendar(1e15) == LATEST
    (1, 0, True)
    """
    return int(min(max(seconds, 0), LATEST))


def day(seconds: int) -> str:
    """Return the day, by this machine's clock and time zone, of a moment in seconds since 1970."""
    return date.fromtimestamp(seconds).isoformat()


def free_name(wanted: str, taken: Collection[str]) -> str:
    """Return a name, followed by a number if it was taken before.

    >>> free_name("friday", []), free_name("friday", ["friday"]), free_name("friday", ["friday", "friday-4"])
    ('friday', 'friday-2', 'friday-5')
    """
    start = f"{wanted}-"
    ends = [each[len(start) :] for each in taken if each.startswith(start)]
    # Longer numbers are part of a table's own name.
    numbers = [int(end) for end in ends if end.isdecimal() and len(end) < _DIGITS]
    if wanted not in taken and not numbers:
        return wanted
    return next(name for n in count(max([1, *numbers]) + 1) if (name := f"{start}{n}") not in taken)


def is_name(text: str) -> bool:
    """Tell whether a text may be a name of a match: it has small letters, digits and hyphens only."""
    return _NAME.fullmatch(text) is not None


def short_ids(matches: Iterable[bytes]) -> dict[bytes, str]:
    """Return the beginning of each match's id that names it: eight digits, or more where others begin with the same.

    >>> sorted(short_ids([bytes(32), bytes(4) + bytes([1] * 28), bytes([1] * 32)]).values())
    ['0000000000', '0000000001', '01010101']
    """
    ordered = sorted({each.hex() for each in matches})
    # No two begin with more that is the same than neighbours do.
    shared = [len(commonprefix(pair)) for pair in pairwise(ordered)]  # noqa: RUF071
    return {
        bytes.fromhex(digits): digits[: max(SHORT_ID, 1 + max(near))]
        for digits, *near in zip(ordered, [0, *shared], [*shared, 0], strict=False)
    }


def short_id(match: bytes, others: Iterable[bytes] = ()) -> str:
    """Return the beginning of a match's id that names it among others. For many, :func:`short_ids` is the way.

    >>> short_id(bytes(32)), short_id(bytes(32), [bytes(4) + bytes([1] * 28)])
    ('00000000', '0000000000')
    """
    return short_ids([match, *others])[match]


def meant(name: str, matches: Sequence[tuple[bytes, str]]) -> bytes | None:
    """Return the id of the match that a person means by a name; None if no match has it.

    The name is ``last`` for the first of ``matches``, a name as it is listed (day and table), the file name of its
    transcript, or any unique beginning of its id.

    :param matches: the id of each, and its name if it has one; the newest first.
    :raises NodeError: if several matches have the name, or it is empty.

    >>> old, new = (bytes(32), "2026-11-22-friday"), (bytes([1] * 32), "")
    >>> meant("last", [new, old]) == meant("01", [new, old]) == new[0], meant("2026-11-22-Friday", [new, old]) == old[0]
    (True, True)
    """
    wanted = name.strip().lower()
    if not wanted:
        raise NodeError(ErrorCode.NO_MATCH, "the name of the match is empty", choices=SEE_MATCHES)
    if wanted == LAST:
        return matches[0][0] if matches else None
    file = _FILE_NAME.fullmatch(wanted)
    digits = file[1] if file is not None else wanted
    found = [match for match, listed in matches if listed == wanted] or [
        match for match, _ in matches if match.hex().startswith(digits)
    ]
    if len(found) > 1:
        raise NodeError(ErrorCode.NO_MATCH, f"{len(found)} matches begin with {name}", "give more digits", SEE_MATCHES)
    return found[0] if found else None
