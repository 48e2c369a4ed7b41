"""Nicknames of bots."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from pathlib import Path, PurePath
from typing import Final

from protocol import outline

BOT_NAMES: Final = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jun")
"""One for each seat of the largest table."""
_INTERPRETER: Final = re.compile(
    r"(env|uv|uvx|pipx|py|pythonw?|pypy|node|nodejs|deno|bun|java|ruby|perl|php|lua|luajit|rscript|julia|racket|guile"
    r"|dotnet|mono|sh|bash|dash|zsh|ksh|fish|pwsh|powershell|cmd|cscript)[0-9.-]*(\.exe)?"
)
"""What runs a program that is named after it."""


def house_names(number: int, others: Sequence[str]) -> list[str]:
    """Return names for as many of the house's bots, none of which looks like one of ``others``."""
    taken = {outline(other) for other in others}
    free = [name for name in BOT_NAMES if outline(name) not in taken]
    return (free + list(BOT_NAMES))[:number]


def program_name(command: Sequence[str]) -> str:
    """Return what to call a program that gives no name: its file, not the interpreter that runs it.

    >>> program_name(["./my-bot", "--cautious"])
    'my-bot'
    """
    program = PurePath(command[0])
    files = []
    if _INTERPRETER.fullmatch(program.name.lower()):
        files = [word for word in command[1:] if not word.startswith("-") and Path(word).is_file()]
    return PurePath(files[0]).stem if files else program.stem


def bot_nickname(name: str, owner: str = "", taken: Collection[str] = ()) -> str:
    """Return a nickname for a bot: its own name, as far as it can be one, and that it is a bot.

    :param name: what the bot calls itself, any text.
    :param owner: nickname of the player who seated it, which is named if there is room.
    :param taken: names of others at the table, without what stands in parentheses; none of them is given again.

    >>> bot_nickname("odds15"), bot_nickname("odds15", "Zoe"), bot_nickname("odds15", taken=["odds15 (bot)"])
    ('odds15 (bot)', "odds15 (Zoe's bot)", 'odds15 2 (bot)')
    """
    from protocol.limits import NICKNAME_CHARACTERS

    # A name in a script of its own bears no mark, as names mix no scripts.
    marks = [*([f" ({owner}'s bot)"] if owner else []), " (bot)", ""]
    outlines = {_without_mark(other) for other in taken}
    for number in range(1, len(taken) + 2):
        count = f" {number}" if number > 1 else ""
        for mark in marks:
            room = NICKNAME_CHARACTERS - len(count + mark)
            whole = mark not in (" (bot)", "")
            found = None if whole and len(name) > room else _fitting(name, room, f"{count}{mark}")
            if found is not None and _without_mark(found) not in outlines:
                return found
    return f"Bot {len(taken) + 1}"


def _without_mark(name: str) -> str:
    return outline(name.partition(" (")[0])


def _fitting(name: str, room: int, end: str) -> str | None:
    """Return as much of a name as there is room for, with something behind it, if that can be a nickname."""
    from protocol import NicknameError, check_nickname

    seen = "".join(each if _is_seen(each) else " " for each in unicodedata.normalize("NFC", name))
    try:
        return check_nickname(" ".join(seen.split())[:room].strip() + end)
    except NicknameError:
        return None


def _is_seen(character: str) -> bool:
    from protocol import NicknameError, check_nickname

    try:
        return bool(check_nickname(f"1{character}2" if character != " " else "1 2"))
    except NicknameError:
        return False
