"""Names of matches that people can type: ``2026-11-22-friday``, the day and the table.

A host may give a table any Unicode name. The name of a match keeps only letters from a to z and digits, so that people
can type it without quotes, in any shell and on any keyboard.
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
"""The name of the most recent match: the first of those given to :func:`meant`, which are newest first."""
SHORT_ID: Final = 8
"""The number of digits of a match id that are displayed. File names have at least as many; people may type fewer."""
LONGEST_SLUG: Final = 24
"""In characters. With a day before it and a number after it, a command with the name still fits into 80 columns."""
LATEST: Final = 32_503_679_999
"""The end of the year 2999, in seconds since 1970. A misconfigured clock may show any time."""
_DIGITS: Final = 5
_NAME: Final = re.compile("[a-z0-9][a-z0-9-]{0,79}")
_FILE_NAME: Final = re.compile(rf"\d{{4}}-\d\d-\d\d-.+-([0-9a-f]{{8,64}})({re.escape(TRANSCRIPT_SUFFIX)})?")
"""The file name of a transcript, with digits of the match id."""


def slug(text: str) -> str:
    """Return a text as part of a name: lowercase letters from a to z, digits, and hyphens in place of anything between.

    >>> slug("Zoë's  Großer Tisch!"), slug("../../etc"), slug("金曜日")
    ('zoes-grosser-tisch', 'etc', '')
    """
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    plain = "".join(each for each in letters if not unicodedata.combining(each) and each not in "'’")
    short = re.sub("[^a-z0-9]+", "-", plain).strip("-")[:LONGEST_SLUG].strip("-")
    return re.sub("(-[0-9a-f]{8,})+$", "", short)  # such endings are reserved for ids


def rules_word(ruleset: Ruleset, name: str = "") -> str:
    """Return the word for a ruleset in a name.

    :param name: what people call these house rules; empty if they have no name.
    """
    return ruleset.name or slug(name) or "house-rules"


def calendar(seconds: float) -> int:
    """Return a time in whole seconds since 1970, clamped to the range that every system can convert to a date.

    >>> calendar(1.5), calendar(-5), calendar(1e15) == LATEST
    (1, 0, True)
    """
    return int(min(max(seconds, 0), LATEST))


def day(seconds: int) -> str:
    """Return the date, by this machine's clock and time zone, of a time in seconds since 1970."""
    return date.fromtimestamp(seconds).isoformat()


def free_name(wanted: str, taken: Collection[str]) -> str:
    """Return a name, with a number appended if the name is taken.

    >>> free_name("friday", []), free_name("friday", ["friday"]), free_name("friday", ["friday", "friday-4"])
    ('friday', 'friday-2', 'friday-5')
    """
    start = f"{wanted}-"
    ends = [each[len(start) :] for each in taken if each.startswith(start)]
    # Longer numbers belong to the table's own name.
    numbers = [int(end) for end in ends if end.isdecimal() and len(end) < _DIGITS]
    if wanted not in taken and not numbers:
        return wanted
    return next(name for n in count(max([1, *numbers]) + 1) if (name := f"{start}{n}") not in taken)


def is_name(text: str) -> bool:
    """Return whether a text has the form of a match name: 1 to 80 lowercase letters, digits and hyphens."""
    return _NAME.fullmatch(text) is not None


def short_ids(matches: Iterable[bytes]) -> dict[bytes, str]:
    """Return the shortest beginning of each match id that is unique among them; at least eight digits.

    >>> sorted(short_ids([bytes(32), bytes(4) + bytes([1] * 28), bytes([1] * 32)]).values())
    ['0000000000', '0000000001', '01010101']
    """
    ordered = sorted({each.hex() for each in matches})
    # The longest prefix that an id shares with any other is shared with a neighbour.
    shared = [len(commonprefix(pair)) for pair in pairwise(ordered)]  # noqa: RUF071
    return {
        bytes.fromhex(digits): digits[: max(SHORT_ID, 1 + max(near))]
        for digits, *near in zip(ordered, [0, *shared], [*shared, 0], strict=False)
    }


def short_id(match: bytes, others: Iterable[bytes] = ()) -> str:
    """Return the shortest unique beginning of a match id among others. For many ids, use :func:`short_ids`.

    >>> short_id(bytes(32)), short_id(bytes(32), [bytes(4) + bytes([1] * 28)])
    ('00000000', '0000000000')
    """
    return short_ids([match, *others])[match]


def meant(name: str, matches: Sequence[tuple[bytes, str]]) -> bytes | None:
    """Return the id of the match that a name stands for; None if no match has that name.

    A name can be ``last`` for the first of ``matches``, a listed name (day and table), the file name of a transcript,
    or any unique beginning of an id.

    :param matches: each match's id and its name, which may be empty; newest first.
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
