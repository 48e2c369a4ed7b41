"""Nicknames of bots."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from itertools import dropwhile
from pathlib import Path, PurePath
from typing import Final

from protocol.wire.names import BOT_MARKS, outline

BOT_NAMES: Final = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jun")
"""One for each seat of the largest table."""
_INTERPRETER: Final = re.compile(
    r"(env|uv|uvx|pipx|py|pythonw?|pypy|node|nodejs|deno|bun|java|ruby|perl|php|lua|luajit|rscript|julia|racket|guile"
    r"|dotnet|mono|sh|bash|dash|zsh|ksh|fish|pwsh|powershell|cmd|cscript)[0-9.-]*(\.exe)?"
)
"""Interpreters and runners: the program is the file named after one of these."""


def house_names(number: int, others: Sequence[str]) -> list[str]:
    """Return names for this many house bots. None looks like one of ``others`` as long as there are enough names."""
    taken = {outline(other) for other in others}
    free = [name for name in BOT_NAMES if outline(name) not in taken]
    return (free + list(BOT_NAMES))[:number]


def program_name(command: Sequence[str]) -> str:
    """Return a name for a program that gives none: that of its file, not of the interpreter that runs it.

    >>> program_name(["./my-bot", "--cautious"])
    'my-bot'
    """
    program = PurePath(command[0])
    files = []
    if _INTERPRETER.fullmatch(program.name.lower()):
        files = [word for word in command[1:] if not word.startswith("-") and Path(word).is_file()]
    return PurePath(files[0]).stem if files else program.stem


def bot_nickname(name: str, owner: str = "", taken: Collection[str] = (), level: str = "") -> str:
    """Return a nickname for a bot: its own name, cut to fit, and a mark that it is a bot.

    :param name: what the bot calls itself, any text.
    :param owner: nickname of the player who seated it; it goes into the mark if there is room.
    :param taken: names of others at the table. None of them is given again; marks do not make a difference.
    :param level: of a house bot; it goes into the mark if there is room.

    >>> bot_nickname("odds15"), bot_nickname("odds15", "Zoe"), bot_nickname("odds15", taken=["odds15 (bot)"])
    ('odds15 (bot)', "odds15 (Zoe's bot)", 'odds15 2 (bot)')
    >>> bot_nickname("Шанс", "Zoe")
    'Шанс (⚙)'
    >>> bot_nickname("Ada", level="mind"), bot_nickname("Ada", "Zoe", level="mind")
    ('Ada (mind bot)', "Ada (Zoe's mind bot)")
    """
    from protocol.limits import NICKNAME_CHARACTERS

    wishes = [f"{owner}'s {level} bot", f"{owner}'s bot"] if owner and level else [f"{owner}'s bot"] if owner else []
    marks = [*(f" ({mark})" for mark in [*wishes, *([f"{level} bot"] if level else [])]), *BOT_MARKS]
    outlines = {_without_mark(other) for other in taken}
    for number in range(1, len(taken) + 2):
        count = f" {number}" if number > 1 else ""
        for mark in marks:
            room = NICKNAME_CHARACTERS - len(count + mark)
            whole = mark not in BOT_MARKS
            found = None if whole and len(name) > room else _fitting(name, room, f"{count}{mark}")
            if found is not None and _without_mark(found) not in outlines:
                return found
    return f"Bot {len(taken) + 1}{BOT_MARKS[0]}"


def _without_mark(name: str) -> str:
    return outline(name.partition(" (")[0])


def _fitting(name: str, room: int, end: str) -> str | None:
    """Return as much of a name as fits, with ``end`` behind it; None if that is no nickname."""
    seen = (each if _is_nickname(f"1{each}2") else " " for each in unicodedata.normalize("NFC", name))
    begun = "".join(dropwhile(lambda each: not _is_nickname(each), seen))
    fitting = " ".join(begun.split())[:room].strip() + end
    return fitting if _is_nickname(fitting) else None


def _is_nickname(name: str) -> bool:
    from protocol.wire.names import NicknameError, check_nickname

    try:
        return check_nickname(name) == name
    except NicknameError:
        return False
