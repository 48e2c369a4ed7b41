"""Names as a hasty reader sees them: letters, digits and pairs of letters of all scripts that pass for each other.

Most of it is Unicode's own table of confusable characters, in ``confusables.txt`` beside this module. What people
confuse in a hurry, and Unicode does not count, is added here.

The store keeps outlines of names. A change of one of the tables needs an upgrade of the store that writes them anew.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Final

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
"""What ASCII letters and signs pass for. Names without others, which are most, need no other table."""
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
"""The first of each passes for the others: small capitals, Hebrew, Thai, Devanagari, Chinese characters, kana."""


@cache
def _shapes() -> dict[int, str]:
    """Return what each character passes for."""
    from importlib import resources  # few names need it, and it takes long to import

    shapes: dict[int, str] = {}
    for line in resources.files(__package__).joinpath(TABLE).read_text("ascii").splitlines():
        if not line.startswith("#"):
            target, _, characters = line.partition(":")
            form = "" if target == "-" else "".join(chr(int(code, 16)) for code in target.split())
            shapes.update((int(code, 16), form) for code in characters.split())
    shapes.update((ord(each), first) for first, others in ((each[0], each[1:]) for each in _ALIKE) for each in others)
    return {code: form for code, form in shapes.items() if code > 0x7F} | _ASCII_SHAPES


def outline(name: str) -> str:
    """Return a name as a hasty reader sees it: names with one outline look alike.

    >>> outline("Ada") == outline("АDA"), outline("Bi11") == outline("Bill"), outline("Ada") == outline("Ben")
    (True, True, False)
    >>> outline("Marnie") == outline("Mamie"), outline("Dave") == outline("Clave")
    (True, True)
    """
    shapes = _ASCII_SHAPES if name.isascii() else _shapes()
    shown = plain = unicodedata.normalize("NFKD", name)
    # Folding case can produce a character that is itself in the table, so the mapping is repeated.
    while (mapped := unicodedata.normalize("NFKD", shown.translate(shapes).casefold())) != shown:
        shown = mapped
    if seen := "".join(filter(str.isalnum, shown)):
        return seen
    folded = plain.casefold()  # a name of signs alone
    return folded if folded == name else outline(folded)


def outlines(name: str) -> frozenset[str]:
    """Return the outlines of a name in small and in capital letters, and as it is written: Greek Η passes for H, but
    its small η for n."""
    spellings = (name,) if name.isascii() else (name, name.lower(), name.upper(), name.title())
    return frozenset(map(outline, spellings))


def which_are_alike(names: Sequence[str]) -> tuple[bool, ...]:
    """Tell for each of these names whether it looks like another of them.

    >>> which_are_alike(["Ada", "Ben", "АDA"])
    (True, False, True)
    """
    forms = [outlines(name) for name in names]
    return tuple(
        any(form & other for place, other in enumerate(forms) if place != own) for own, form in enumerate(forms)
    )
