"""Nicknames: those that a genesis may hold, and those that people let each other use.

There are two rules, as only one of them can be everybody's for ever. A transcript is worth the same under every version
of Unicode. So :func:`check_written`, the rule for a genesis, goes by code points alone: the ranges of :data:`UNSEEN`.
Players who sit down together ask for more (:func:`check_nickname`), by the Unicode of their Python.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from typing import Final

from protocol.errors import LocalError
from protocol.limits import COMBINING_MARKS, NICKNAME_CHARACTERS, TABLE_NAME_CHARACTERS
from protocol.wire.lookalikes import outline

UNSEEN: Final = (
    (0x0000, 0x001F),
    (0x007F, 0x00A0),
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x1680, 0x1680),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2000, 0x200F),
    (0x2028, 0x202F),
    (0x205F, 0x206F),
    (0x2800, 0x2800),
    (0x3000, 0x3000),
    (0x3164, 0x3164),
    (0xD800, 0xF8FF),
    (0xFDD0, 0xFDEF),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0xFFFE, 0xFFFF),
    (0x16FE4, 0x16FE4),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0x10FFFF),
)
"""First and last code points of characters that are not seen, or steer others: control characters; Unicode's
Default_Ignorable_Code_Point (fillers, joiners, direction marks, variation selectors, tags); spaces but the one on the
keyboard, and separators of lines; the empty Braille pattern and the Khitan filler; surrogates, private use and
noncharacters. The list is closed: characters that Unicode assigns later do not change it."""


_UNSHOWN: Final = ((0x1161, 0x11FF), (0xD7B0, 0xD7FF), (0x1D159, 0x1D159))
"""First and last code points of characters that Unicode counts among letters and symbols, but no terminal shows by
themselves: vowels and finals of Hangul syllables that are taken apart (NFC puts all of today's Korean together), and
the musical note without a head. They are not in :data:`UNSEEN`: people refuse them, but a genesis may hold them."""

_FIRSTS: Final = tuple(first for first, _ in UNSEEN)


def is_unseen(character: str) -> bool:
    """Tell whether a reader cannot see a character.

    >>> is_unseen("\u3164"), is_unseen("a"), is_unseen(" ")
    (True, False, False)
    """
    code = ord(character)
    index = bisect_right(_FIRSTS, code)
    return index > 0 and code <= UNSEEN[index - 1][1]


def is_shown(character: str) -> bool:
    """Tell whether a terminal shows a character by itself, as far as the closed lists here know.

    >>> is_shown("\u3164"), is_shown("\u1161"), is_shown("a")
    (False, False, True)
    """
    return not is_unseen(character) and not any(first <= ord(character) <= last for first, last in _UNSHOWN)


class NicknameError(LocalError, ValueError):
    """The name cannot be a nickname; the text says why."""


def check_written(name: str) -> str:
    """Return ``name`` if it can be one in a genesis, which is the same under every version of Unicode: 1 to 20
    characters, none of them in :data:`UNSEEN`, and no spaces at the ends or two in a row.

    :raises NicknameError: naming what is wrong.
    """
    if not 0 < len(name) <= NICKNAME_CHARACTERS:
        raise NicknameError(f"a nickname has 1 to {NICKNAME_CHARACTERS} characters")
    if name.startswith(" ") or name.endswith(" ") or "  " in name:
        raise NicknameError("a nickname has no spaces at its ends and no two in a row")
    for character in name:
        if is_unseen(character):
            raise NicknameError(f"a nickname {_unfit(character)}")
    return name


def check_nickname(name: str) -> str:
    """Return ``name`` if it may be a player's nickname: it passes :func:`check_written`, has no :func:`flaw`, has
    letters of one script only, and nothing in it passes for a mark that a program puts before or behind names, such as
    ``(you)``.

    :raises NicknameError: naming what is wrong.
    """
    check_written(name)
    if problem := flaw(name):
        raise NicknameError(f"a nickname {problem}")
    scripts = {_script(character) for character in name if unicodedata.category(character)[0] == "L"}
    if len(scripts) > 1:
        raise NicknameError(f"a nickname must be in one script, not in {' and '.join(sorted(scripts))}")
    if not name[0].isalnum() or name[0] in _SIGNS:
        raise NicknameError(
            "a nickname must begin with a letter or a number, because the table puts its own signs in front of names"
        )
    mark = _BOT_MARK.search(name)
    if any(unicodedata.category(each) in ("Ps", "Pe") for each in (name[: mark.start()] if mark is not None else name)):
        raise NicknameError('a nickname must not have brackets, but for a mark such as "(bot)" at its end')
    if any(outline(word) == "you" for word in _WORD.findall(name)):
        raise NicknameError("a nickname must not have a word that looks like 'you', which the table calls its owner")
    return name


def table_name_flaw(name: str) -> str:
    """Return the rule for a table's name that ``name`` breaks, as the rest of a sentence; empty if none.

    It has 1 to 40 characters that people can be shown (:func:`flaw`).
    """
    return label_flaw(name, TABLE_NAME_CHARACTERS)


def is_table_name(name: str) -> bool:
    """Tell whether a table can have this name (:func:`table_name_flaw`)."""
    return not table_name_flaw(name)


def label_flaw(text: str, longest: int) -> str:
    """Return the rule that a text of 1 to ``longest`` characters for people breaks, as :func:`flaw` does."""
    return flaw(text) if 0 < len(text) <= longest else f"must have 1 to {longest} characters"


def flaw(text: str) -> str:
    """Return the rule for texts shown to people that a text breaks, as the rest of a sentence; empty if none.

    By this Python's Unicode a text must be NFC, have only letters, marks, numbers, punctuation, symbols and plain
    spaces, which a terminal shows, and have no more than two combining marks in a row and none at its start.

    >>> flaw("well played"), flaw("a\u200bb")
    ('', 'must not have control or invisible characters (U+200B)')
    """
    if unicodedata.normalize("NFC", text) != text:
        return "must be in Unicode's composed form (NFC)"
    marks = 0
    for index, character in enumerate(text):
        category = unicodedata.category(character)
        marks = marks + 1 if category.startswith("M") else 0
        if not is_shown(character) or (category[0] not in "LNMPS" and character != " "):
            return _unfit(character)
        if marks > COMBINING_MARKS:
            return f"must not have more than {COMBINING_MARKS} combining marks on a character"
        if marks and index == 0:
            return "must not begin with a combining mark"
    return ""


def _unfit(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # Python's sign for a byte on the command line that it cannot decode
        return (
            f"must not have bytes that the encoding of this terminal does not know (0x{ord(character) & 0xFF:02X});"
            " if the name looks right, set LC_ALL to a locale with UTF-8, such as C.UTF-8"
        )
    return f"must not have control or invisible characters (U+{ord(character):04X})"


def _script(letter: str) -> str:
    # The standard library has no script property; the first word of a letter's name is one for every script in which
    # look-alikes matter. Japanese and Korean mix their scripts by nature.
    word = unicodedata.name(letter, "UNNAMED").split(" ")[0].split("-")[0]
    return "CJK" if word in {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "HALFWIDTH", "FULLWIDTH", "IDEOGRAPHIC"} else word


BOT_MARKS: Final = (" (bot)", " (⚙)")
"""The shortest mark at the end of a bot's nickname; and the one behind a name in another script, as names mix none."""
_WORD: Final = re.compile(r"[^\W_]+")
_BOT_MARK: Final = re.compile(r" \((?:(?:[^()]+'s )?(?:[a-z]+ )?bot|⚙)\)\Z")
"""A longer one also says whose bot it is, or how well it plays."""
_SIGNS: Final = "\u01c3\ua78f\u1427\u3007"
"""Letters and a number that pass for signs: ``!``, twice a dot in the middle, and a circle."""


def is_marked_as_bot(name: str) -> bool:
    """Tell whether a nickname has the mark of a bot. Anybody can give themselves one."""
    return _BOT_MARK.search(name) is not None
