"""Text for terminals: escaping of text from peers, and the forms of dice, names, paths, commands and sentences."""

from __future__ import annotations

import os
import re
import shlex
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from io import StringIO
from typing import TYPE_CHECKING, Final, TextIO

from p2pdice.plurals import NUMBERS, number, plural

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import PurePath

    from protocol.errors import Parts

FACE_SIGNS: Final = "⚀⚁⚂⚃⚄⚅"
ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_MARKS: Final = 2
"""The most combining marks kept on one character: a stack of them would cover the lines around it."""


def escape(text: str) -> str:
    r"""Return ``text`` with every unprintable character as a visible escape. All text from peers needs this.

    Control and format characters (escape sequences, line breaks, direction overrides, zero-width joiners), fillers,
    variation selectors and other invisible characters, surrogates, unassigned characters, and combining marks after
    the second become ``\x1b`` or ``\u202e``. The backslash is escaped, too, so that no text can imitate an escape.

    >>> escape("Ann\x1b[2J\u202e")
    'Ann\\x1b[2J\\u202e'
    """
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text  # the fast path: nearly all text is like this, and a list may have 10,000 people
    shown = []
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character).startswith("M") else 0
        is_plain = _is_seen(character) and character != "\\" and marks <= _MARKS
        shown.append(character if is_plain else _visible(ord(character)))
    return "".join(shown)


def default_table_name(host: str) -> str:
    """Return the name of a table that its host did not name."""
    return f"{host}'s table"


def harmless(text: str) -> str:
    r"""Return ``text`` escaped as by :func:`escape`, but keep line breaks, backslashes and combining marks.

    Suitable for complete output, including the program's own sentences: existing escapes are not escaped again.

    >>> harmless("Ann\x1b[2J\n"), harmless(escape("Ann\x1b[2J"))
    ('Ann\\x1b[2J\n', 'Ann\\x1b[2J')
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(each if each == "\n" or _is_seen(each) else _visible(ord(each)) for each in text)


def _is_seen(character: str) -> bool:
    from protocol.wire.names import is_shown  # imported late: help does not need it, and must be fast

    return character.isprintable() and is_shown(character)


def _visible(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def columns(text: str) -> int:
    """Return the width of a printable line in terminal columns. Wide East Asian characters take two, and marks none.

    >>> columns("five"), columns("五"), columns("e\u0301"), columns("हिन्दी")
    (4, 2, 1, 3)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(each).startswith("M") else 2 if unicodedata.east_asian_width(each) in "WF" else 1
        for each in text
    )


def shortened(text: str, width: int, tail: str = "") -> str:
    """Return a text and its tail. If they are wider than ``width`` columns, the end of the text becomes ``…``.

    >>> shortened("five", 4), shortened("five", 3), shortened("fives", 6, " 2")
    ('five', 'fi…', 'fiv… 2')
    """
    if columns(text + tail) <= width:
        return text + tail
    while text and columns(f"{text}…{tail}") > width:
        text = text[:-1]
    return f"{text}…{tail}"


def can_show(text: str, stream: TextIO) -> bool:
    """Return whether ``stream`` can encode ``text``. Windows consoles and ``LANG=C`` often cannot."""
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def hand(faces: Iterable[int | str]) -> str:
    """Return a hand as text: ``1, 3, 3``, or ``no dice`` if it is empty."""
    return ", ".join(map(str, faces)) or "no dice"


def numbered(places: Sequence[Sequence[int]]) -> list[tuple[int, Sequence[int]]]:
    """Return each place's number with its seats. If two share the second place, the next one is the fourth.

    >>> numbered([[3], [0, 2], [1]])
    [(1, [3]), (2, [0, 2]), (4, [1])]
    """
    return [(1 + sum(map(len, places[:index])), seats) for index, seats in enumerate(places)]


def ordinal(place: int) -> str:
    """Return a place from 1 to 10 in words: ``first``, ``second``."""
    return ORDINALS[place - 1]


def counted(count: int, noun: str, many: str = "") -> str:
    """Return a count with its noun, whose plural is ``many`` if that is given.

    >>> counted(1, "die", "dice"), counted(12, "player")
    ('one die', '12 players')
    """
    return f"{number(count)} {plural(count, noun, many)}"


def dice_count(count: int) -> str:
    """Return a number of dice in words: ``one die``, ``four dice``."""
    return counted(count, "die", "dice")


def faces(quantity: int, face: int) -> str:
    """Return a number of dice of one face in words, as a bid is named in sentences.

    >>> faces(3, 5), faces(12, 6), faces(1, 3)
    ('three fives', '12 sixes', 'one three')
    """
    name = NUMBERS[face]
    return counted(quantity, name, f"{name}es" if name.endswith("x") else f"{name}s")


def listing(items: Sequence[str], conjunction: str = "and") -> str:
    """Join items as in prose: ``Ada``, ``Ada and Ben``, ``Ada, Ben and Cleo``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {conjunction} {items[-1]}"


def local_time(seconds: float) -> datetime | None:
    """Return a Unix time by this machine's time zone; None if no calendar has it, as a damaged disk can return any.

    >>> local_time(2.0**60) is None
    True
    """
    try:
        return datetime.fromtimestamp(seconds).astimezone()
    except (OverflowError, OSError, ValueError):
        return None


def percent(chance: Fraction) -> str:
    """Return a probability in whole percent. Only impossible and certain events get 0% and 100%.

    >>> from fractions import Fraction
    >>> percent(Fraction(1, 3)), percent(Fraction(1, 1000)), percent(Fraction(1)), percent(Fraction(999, 1000))
    ('33%', 'under 1%', '100%', 'over 99%')
    """
    if 0 < chance < 0.01:
        return "under 1%"
    return "over 99%" if 0.99 < chance < 1 else f"{float(chance):.0%}"


def likely(chance: Fraction) -> str:
    """Return a probability as ``61% likely``, ``certain`` or ``impossible``."""
    if chance in (0, 1):
        return "certain" if chance else "impossible"
    return f"{percent(chance)} likely"


def command_line(*words: str | PurePath) -> str:
    r"""Return a ``p2pdice`` command, quoted for this system's shell.

    A path that begins with a dash is written as ``./-cup``, so that it is not taken for an option. Characters that
    :func:`escape` would replace are written as octal escapes in ``$'…'`` quotes, so that the command can be copied.
    Windows shells have no such escapes: there the command is followed by a note that it cannot be typed.
    """
    if sys.platform == "win32":
        from subprocess import list2cmdline

        line = list2cmdline(("p2pdice", *map(_as_argument, words)))
        shown = harmless(line).replace("\n", _visible(ord("\n")))
        return line if shown == line else f"{shown}  (cannot be typed here: the name contains invisible characters)"
    return " ".join(_for_shell(_as_argument(word)) for word in ("p2pdice", *words))


def _as_argument(word: str | PurePath) -> str:
    text = str(word)
    return text if isinstance(word, str) or not text.startswith("-") else os.path.join(os.curdir, text)


def _for_shell(word: str) -> str:
    r"""Return a word quoted for POSIX shells.

    Unprintable characters use ``$'…'`` quotes, which bash, zsh and ksh have long had, and POSIX has since 2024.

    >>> print(_for_shell("Ada"), _for_shell("it's"), _for_shell("it's\x1b"))
    Ada 'it'"'"'s' $'it\'s\033'
    """
    if escape(word.replace("\\", "")) == word.replace("\\", ""):
        return shlex.quote(word)
    return f"$'{''.join(map(_spelled, word))}'"


def _spelled(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    if _is_seen(character) and not unicodedata.category(character).startswith("M"):
        return character
    # Python represents a byte that is not UTF-8 in a file name as one of these surrogates (PEP 383).
    is_byte = "\udc80" <= character <= "\udcff"
    return "".join(
        f"\\{byte:03o}" for byte in character.encode(errors="surrogateescape" if is_byte else "surrogatepass")
    )


def shown_path(path: PurePath) -> str:
    """Return a path in a form that can be copied into this system's shell.

    A path that the shell would split is quoted, and :func:`wrapped` keeps it whole. Outside of Windows, ``~`` replaces
    the user's home folder if the path needs no quotes: shorter lines break less often within a name.
    """
    from pathlib import PureWindowsPath  # imported late: help does not need it, and must be fast

    if isinstance(path, PureWindowsPath):
        text = "\\".join(map(escape, str(path).split("\\")))
        return f'"{text}"' if set(text) & _SPLITTING else text
    if _UNSAFE.search(str(path)) or harmless(str(path)) != str(path):
        return _for_shell(str(path))
    if (own := os.environ.get("HOME")) and path.is_relative_to(own):
        return f"~/{path.relative_to(own)}"
    return str(path)


_SPLITTING: Final = frozenset(" '&();<>|")
"""Characters that end a word or begin a quotation in Windows shells."""
_UNSAFE: Final = re.compile(r"[^\w@%+=:,./-]")
"""A character that has to be quoted in some POSIX shell."""


def shown(text: str | Parts) -> str:
    """Return a text of the protocol for the terminal: paths as by :func:`shown_path`, everything else escaped."""
    parts = (text,) if isinstance(text, str) else text
    return "".join(escape(part) if isinstance(part, str) else shown_path(part) for part in parts)


def one_line(text: str) -> str:
    """Return the first line of ``text``, escaped, so that a sentence can quote another program's message."""
    return escape(text.strip().partition("\n")[0])


def clause(text: str) -> str:
    """Return ``text``, stripped, with a full stop unless it ends with a punctuation mark or is empty.

    >>> f"It is closed: {clause('the host has left')}"
    'It is closed: the host has left.'
    """
    text = text.strip()
    return text + ("" if text.endswith((".", "!", "?", ":")) else ".") if text else ""


_WORD: Final = re.compile(r"[a-z]+(?:['’-][a-z]+)*[,;:.!?]?(?=\s|$)")
"""A lowercase word at the start of a sentence. Paths, addresses and quotations contain other characters as well."""


def sentence(text: str) -> str:
    """Return ``text`` with a full stop, and with a capital letter if it begins with an ordinary word.

    >>> sentence("nobody answers")
    'Nobody answers.'
    >>> sentence("home/identity.key is no key")
    'home/identity.key is no key.'
    """
    text = clause(text)
    return text[:1].upper() + text[1:] if _WORD.match(text) else text


def stated(parts: Parts) -> str:
    """Return a text of the protocol as a sentence. A leading path keeps its case: ``ben`` is not ``Ben``."""
    text = shown(parts)
    return clause(text) if parts and not isinstance(parts[0], str) else sentence(text)


_OURS: Final = re.compile(r"(?:you|your|the|nobody|everybody|a spectator|it is|waiting for)\b")


def capital(text: str) -> str:
    """Capitalize the beginning of a sentence, unless it is a nickname, which keeps its owner's spelling.

    >>> capital("you are to move"), capital("root is to move")
    ('You are to move', 'root is to move')
    """
    return text[:1].upper() + text[1:] if _OURS.match(text) else text


def initial(text: str) -> str:
    """Capitalize the first letter of text that the program wrote itself, such as ``six fives``."""
    return text[:1].upper() + text[1:]


def wrapped(text: str, columns: int) -> str:
    """Return ``text`` wrapped between words to fewer than ``columns`` columns.

    Lines indented by four spaces are commands, and stay whole so that they can be copied. So do words longer than a
    line, such as paths, and quoted paths with spaces. If such a line has a second column, only that column is wrapped.

    >>> print(wrapped("Verify it with this:\\n    p2pdice verify a-long-file-name", 14))
    Verify it
      with this:
        p2pdice verify a-long-file-name
    >>> print(wrapped("    odds  how likely a bid is to be true", 24))
        odds  how likely a
              bid is to be
              true
    """
    return "\n".join(_wrapped(line, max(columns - 1, 8)) for line in text.split("\n"))


def _wrapped(line: str, width: int) -> str:
    if not line.startswith("    "):
        return _filled(line, width)
    explained = _EXPLAINED.match(line)
    return line if explained is None or columns(line) <= width else _hung(explained[1], explained[2], width)


_EXPLAINED: Final = re.compile(r"( {4}(?!p2pdice )\S.*?  +)(\S.*)")
"""A line in two columns, separated by two or more spaces."""
_UNBROKEN: Final = re.compile(r"\S+ *")


def _hung(head: str, rest: str, width: int) -> str:
    """Return two columns of text. The second is wrapped under its own beginning, but at mid-line at the latest."""
    indent = " " * min(columns(head), width // 2)
    lines = [head]
    for word in _UNBROKEN.findall(rest):
        if columns(lines[-1] + word.rstrip()) > width and lines[-1].strip():
            lines.append(indent)
        lines[-1] += word
    return "\n".join(line.rstrip() for line in lines)


_QUOTED_PATH: Final = re.compile(r"""(?<!\w)(['"])(?=[^'"]*[/\\])[^'"]+\1""")
_TIED: Final = "\0"
"""Replaces spaces in paths while lines are wrapped. No printed text contains this character."""


def _filled(line: str, width: int) -> str:
    indent = "    " if line.startswith("  ") else "  "
    tied = _QUOTED_PATH.sub(lambda path: path[0].replace(" ", _TIED), line)
    filled = textwrap.fill(
        tied, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False, replace_whitespace=False
    )
    return filled.replace(_TIED, " ")


_QUIET: Final = 2
"""The width of the quiet zone around a QR code, in modules. The standard requires four; cameras accept two."""
_INVERSE: Final = str.maketrans("█▀▄ ", " ▄▀█")


def qr_code(text: str, background: str) -> list[str]:
    """Return the rows of the QR code for a text.

    :param background: the terminal's background, ``dark`` or ``light``. ``ascii`` is for a dark terminal that has no
        block characters, and takes four times the space.
    """
    import segno

    code = segno.make(text, error="l", micro=False)
    if background == "ascii":
        return ["".join("  " if square else "##" for square in row) for row in code.matrix_iter(border=_QUIET)]
    rows = StringIO()
    code.terminal(rows, border=_QUIET, compact=True)
    drawn = rows.getvalue().splitlines()
    return [row.translate(_INVERSE) for row in drawn] if background == "light" else drawn


class Paragraphs:
    """Joins sentences into paragraphs. If a text has several lines, as for revealed cups, only its last line is joined.

    >>> gathered = Paragraphs()
    >>> [*gathered.take("Ada calls liar."), *gathered.take("Ada: 5. One counts.\\nOne five, one short.")]
    ['Ada calls liar.', '    Ada: 5. One counts.']
    >>> [*gathered.take("A lie: Ada was right."), *gathered.end()]
    ['One five, one short. A lie: Ada was right.']
    """

    def __init__(self) -> None:
        self._sentences: list[str] = []

    def take(self, text: str) -> Iterator[str]:
        """Add a text; yield the lines that are complete now."""
        *alone, last = text.split("\n")
        if alone:
            yield from self.end()
            yield from (f"    {line}" for line in alone)
        self._sentences.append(last)

    def begin(self, headline: str) -> Iterator[str]:
        """Yield the unfinished paragraph, if any, an empty line, and the headline of a round."""
        yield from (*self.end(), "", headline)

    def end(self) -> Iterator[str]:
        """Yield the unfinished paragraph, if any."""
        if self._sentences:
            yield " ".join(self._sentences)
            self._sentences.clear()
