"""Names of players, tables and house rules: the characters allowed in them, and which names a reader may confuse.

Nicknames have two rules, because only one can be universal and permanent. A transcript must be equally valid under
every version of Unicode. So :func:`check_written`, the rule for a genesis, depends on code points alone: the ranges in
:data:`UNSEEN`. Players at a table apply a stricter rule, :func:`check_nickname`, by the Unicode of their Python.

Two names that can be mistaken for each other have the same *outline*. Most of the mapping is Unicode's table of
confusable characters, in ``confusables.txt`` beside this module. This module adds characters that people confuse in a
hurry but Unicode does not list. The store contains outlines, so a change of the mapping requires an upgrade of the
store that recomputes them.

House rules are identified by their hash. Their label consists of a name, which the host chooses, and the first digits
of the hash, which nobody can choose.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from typing import Final

from p2pdice.rulesets import PRESETS, Ruleset
from protocol.crypto.hashing import tagged_hash
from protocol.errors import LocalError
from protocol.limits import COMBINING_MARKS, NICKNAME_CHARACTERS, RULES_NAME_CHARACTERS, TABLE_NAME_CHARACTERS
from protocol.wire.canonical import encode

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
"""Ranges (first, last) of code points of characters that are invisible or affect others: control characters; Unicode's
Default_Ignorable_Code_Point (fillers, joiners, direction marks, variation selectors, tags); spaces other than U+0020,
and line separators; the empty Braille pattern and the Khitan filler; surrogates, private use and noncharacters. The
list is closed: characters that Unicode assigns later do not change it."""


_UNSHOWN: Final = ((0x1161, 0x11FF), (0xD7B0, 0xD7FF), (0x1D159, 0x1D159))
"""Ranges (first, last) of code points that Unicode counts as letters and symbols, but that no terminal shows alone:
vowels and finals of decomposed Hangul syllables (NFC composes all of today's Korean), and the musical note without a
head. They are not in :data:`UNSEEN`, so names with them are refused at a table but allowed in a genesis."""

_FIRSTS: Final = tuple(first for first, _ in UNSEEN)


def is_unseen(character: str) -> bool:
    """Return whether a character is invisible to a reader.

    >>> is_unseen("\u3164"), is_unseen("a"), is_unseen(" ")
    (True, False, False)
    """
    code = ord(character)
    index = bisect_right(_FIRSTS, code)
    return index > 0 and code <= UNSEEN[index - 1][1]


def is_shown(character: str) -> bool:
    """Return whether a terminal shows a character that stands alone, according to the closed lists here.

    >>> is_shown("\u3164"), is_shown("\u1161"), is_shown("a")
    (False, False, True)
    """
    return not is_unseen(character) and not any(first <= ord(character) <= last for first, last in _UNSHOWN)


class NicknameError(LocalError, ValueError):
    """The name cannot be a nickname. The message states why."""


def check_written(name: str) -> str:
    """Return ``name`` if a genesis may contain it as a nickname, which is independent of the Unicode version: 1 to 20
    characters, none in :data:`UNSEEN`, and no leading, trailing or consecutive spaces.

    :raises NicknameError: if not; the message names the fault.
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
    """Return ``name`` if a player at a table may use it as nickname: it passes :func:`check_written`, has no
    :func:`flaw` and letters of only one script, and contains nothing that resembles a mark that programs add to names,
    such as ``(you)``.

    :raises NicknameError: if not; the message names the fault.
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
    """Return the rule for table names that ``name`` breaks, as the rest of a sentence, or an empty string.

    A table name has 1 to 40 characters without a :func:`flaw`.
    """
    return label_flaw(name, TABLE_NAME_CHARACTERS)


def is_table_name(name: str) -> bool:
    return not table_name_flaw(name)


def label_flaw(text: str, longest: int) -> str:
    """Return the rule that a text of 1 to ``longest`` characters breaks, in the form of :func:`flaw`."""
    return flaw(text) if 0 < len(text) <= longest else f"must have 1 to {longest} characters"


def flaw(text: str) -> str:
    """Return the rule for displayed texts that ``text`` breaks, as the rest of a sentence, or an empty string.

    By the Unicode of this Python, a text must be in NFC and consist of letters, marks, numbers, punctuation, symbols
    and plain spaces that a terminal shows. It must not start with a combining mark or have more than two in a row.

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
    if "\udc80" <= character <= "\udcff":  # stands for a byte on the command line that Python cannot decode
        return (
            f"must not have bytes that the encoding of this terminal does not know (0x{ord(character) & 0xFF:02X});"
            " if the name looks right, set LC_ALL to a locale with UTF-8, such as C.UTF-8"
        )
    return f"must not have control or invisible characters (U+{ord(character):04X})"


def _script(letter: str) -> str:
    # The standard library has no script property. The first word of a letter's name identifies every script in which
    # look-alikes matter. Japanese and Korean text mixes several of these, which count as one here.
    word = unicodedata.name(letter, "UNNAMED").split(" ")[0].split("-")[0]
    return "CJK" if word in {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "HALFWIDTH", "FULLWIDTH", "IDEOGRAPHIC"} else word


BOT_MARKS: Final = (" (bot)", " (⚙)")
"""The shortest mark at the end of a bot's nickname, and the mark for non-Latin names, which must not mix scripts."""
_WORD: Final = re.compile(r"[^\W_]+")
_BOT_MARK: Final = re.compile(r" \((?:(?:[^()]+'s )?(?:[a-z]+ )?bot|⚙)\)\Z")
"""A longer mark also names the bot's owner, or its level."""
_SIGNS: Final = "\u01c3\ua78f\u1427\u3007"
"""Letters and a number that resemble signs: ``!``, a middle dot (two letters), and a circle."""


def is_marked_as_bot(name: str) -> bool:
    """Return whether a nickname has the mark of a bot, which anybody can adopt."""
    return _BOT_MARK.search(name) is not None


TABLE: Final = "confusables.txt"
_ASCII: Final = {
    **dict.fromkeys("Ii1!|", "l"),
    "0": "o",
    "3": "e",
    "5": "s",
    "d": "cl",
    "m": "rn",
    "w": "vv",
}
"""The look-alikes of ASCII characters. Most names are ASCII, and need no other mapping."""
_ASCII_SHAPES: Final = {ord(each): form for each, form in _ASCII.items()}
_ALIKE: Final = (
    *("jȷʝ", "bƅʙβ", "gɢ", "nɴ", "rʀ", "hʜ", "lʟ", "eꞓȝɜꝫ", "zζ", "kĸ", "uμ", "xχ", "fϝꜰ", "2ƨ"),
    *("aᴀ", "dᴅ", "eᴇ", "jᴊ", "mʍϻ", "pᴘ", "tᴛ"),
    *("הח", "ון", "רד", "בכ", "סם"),
    *("ดต", "ฎฏ", "ชซ", "ผฝ", "พฟ", "ถภ", "मभ", "घध"),
    *(
        "日曰",
        "末未",
        "己已巳",
        "人入",
        "干于千チ",
        "鳥烏",
        "冶治",
        "戊戌戍",
        "侯候",
        "免兔",
        "刺剌",
        "汨汩",
        "祇祗",
    ),
    *(
        "才オ",
        "匕ヒ",
        "ツシッ",
        "ソン",
        "りリ",
        "丿ノ",
        "又ヌ",
        "アァ",
        "イィ",
        "ウゥ",
        "エェ",
        "オォ",
        "ヤャ",
        "ユュ",
        "ヨョ",
        "カヵ",
        "ケヶ",
        "ワヮ",
    ),
    *("あぁ", "いぃ", "うぅ", "えぇ", "おぉ", "つっ", "やゃ", "ゆゅ", "よょ", "わゎ"),
)
"""Further characters that look alike: Latin and Greek letters, Hebrew, Thai, Devanagari, Chinese, kana. All characters
of a string look like its first."""


@cache
def _shapes() -> dict[int, str]:
    """Return the shape for which each character can be mistaken, by code point."""
    from importlib import resources  # few names need it, and the import is slow

    shapes: dict[int, str] = {}
    for line in resources.files(__package__).joinpath(TABLE).read_text("ascii").splitlines():
        if not line.startswith("#"):
            target, _, characters = line.partition(":")
            form = "" if target == "-" else "".join(chr(int(code, 16)) for code in target.split())
            shapes.update((int(code, 16), form) for code in characters.split())
    shapes.update((ord(each), first) for first, others in ((each[0], each[1:]) for each in _ALIKE) for each in others)
    return {code: form for code, form in shapes.items() if code > 0x7F} | _ASCII_SHAPES


def outline(name: str) -> str:
    """Return a name as a hasty reader sees it: names that look alike have the same outline.

    >>> outline("Ada") == outline("АDA"), outline("Bi11") == outline("Bill"), outline("Ada") == outline("Ben")
    (True, True, False)
    >>> outline("Marnie") == outline("Mamie"), outline("Dave") == outline("Clave")
    (True, True)
    """
    shapes = _ASCII_SHAPES if name.isascii() else _shapes()
    shown = plain = unicodedata.normalize("NFKD", name)
    # Case folding can produce another character with a shape, so the mapping is repeated until it changes nothing.
    while (mapped := unicodedata.normalize("NFKD", shown.translate(shapes).casefold())) != shown:
        shown = mapped
    if seen := "".join(filter(str.isalnum, shown)):
        return seen
    folded = plain.casefold()  # the name has only signs
    return folded if folded == name else outline(folded)


def outlines(name: str) -> frozenset[str]:
    """Return the outlines of a name as written, in lowercase, in uppercase and in title case: Greek Η resembles H, but
    its lowercase η resembles n."""
    spellings = (name,) if name.isascii() else (name, name.lower(), name.upper(), name.title())
    return frozenset(map(outline, spellings))


def which_are_alike(names: Sequence[str]) -> tuple[bool, ...]:
    """Return for each name whether it looks like another one in ``names``.

    >>> which_are_alike(["Ada", "Ben", "АDA"])
    (True, False, True)
    """
    forms = [outlines(name) for name in names]
    return tuple(
        any(form & other for place, other in enumerate(forms) if place != own) for own, form in enumerate(forms)
    )


_UNNAMED: Final = "house rules"
_DIGITS: Final = 8


def ruleset_hash(ruleset: Ruleset) -> bytes:
    """Return the hash of all options in canonical encoding, which is equal for equal rules only."""
    return tagged_hash("ruleset", encode(ruleset.options()))


def ruleset_label(ruleset: Ruleset, name: str = "") -> str:
    """Return the preset's name or, for house rules, their name and the first digits of their hash.

    :param name: a name that :func:`is_rules_name` accepts, or empty if these house rules have none.

    >>> from p2pdice.rulesets import PRESETS
    >>> house = PRESETS["classic"].with_options({"dice": "3"})
    >>> ruleset_label(PRESETS["classic"]), ruleset_label(house)[:12], ruleset_label(house, "friday")[:7]
    ('classic', 'house rules ', 'friday ')
    """
    return ruleset.name or f"{name or _UNNAMED} {ruleset_hash(ruleset).hex()[:_DIGITS]}"


def rules_name_flaw(name: str) -> str:
    """Return the rule for names of house rules that ``name`` breaks, as the rest of a sentence, or an empty string.

    Such a name has 1 to 31 characters without a :func:`flaw`, only single spaces between words, and is not the name of
    a preset.

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
    """Return whether house rules can have this name: see :func:`rules_name_flaw`.

    >>> is_rules_name("friday"), is_rules_name("House rules"), is_rules_name(" ")
    (True, False, False)
    """
    return not rules_name_flaw(name)
