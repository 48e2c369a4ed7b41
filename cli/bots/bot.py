"""Bots: their interface to a seat, house players as bots, nicknames, default moves, and matches in memory."""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from itertools import dropwhile
from pathlib import Path, PurePath
from random import Random
from typing import Any, Final

from cli.text.move_forms import is_stake
from p2pdice.engine import apply
from p2pdice.errors import IllegalMove
from p2pdice.events import Event
from p2pdice.motes import GROUPS
from p2pdice.moves import FACES, LIAR, PASS, SIDES, Hand, Input, Lose, Move, Play, Pledges, Roll, Rolled, Stake, Stakes
from p2pdice.players import Player
from p2pdice.players.contest import Course, Dice, answer
from p2pdice.rulesets import Ruleset
from p2pdice.state import State
from p2pdice.views import View
from protocol.limits import NICKNAME_CHARACTERS
from protocol.wire.names import BOT_MARKS, NicknameError, check_nickname, outline


class Level(StrEnum):
    """A level of the house bots. :data:`p2pdice.players.LEVELS` has the same levels."""

    RANDOM = "random"
    CAUTIOUS = "cautious"
    PRESS = "press"
    ODDS = "odds"
    MIND = "mind"

    @property
    def mark(self) -> str:
        """The level as it appears in a nickname; empty for the default level."""
        return "" if self is DEFAULT_LEVEL else self.value


DEFAULT_LEVEL: Final = Level.ODDS
"""It sometimes bluffs, and a person can beat it. ``mind`` is for people who want a hard opponent."""


class Bot(ABC):
    """Makes the decisions of a seat. A table makes one request at a time."""

    name: str
    """The bot's name, safe to print."""

    @abstractmethod
    async def started(self, ruleset: Ruleset, seat: int, names: Sequence[str]) -> None:
        """Receive the rules, this bot's seat, and the names by seat."""

    @abstractmethod
    async def choose(self, view: View) -> Move:
        """Return a legal move or, if stakes are due, a stake within the funds."""

    def happened(self, event: Event) -> None:  # noqa: B027 - some bots remember nothing
        """Receive an event of the match."""

    def over(self, places: Sequence[Sequence[int]]) -> None:  # noqa: B027
        """Receive the seats by place at the end of the match, the best first."""

    async def close(self) -> None:  # noqa: B027
        """Release all resources; by default there are none."""


class PlayerBot(Bot):
    """A :class:`p2pdice.players.Player` as a bot, in this process."""

    def __init__(self, name: str, player: Player) -> None:
        self.name = name
        self._player = player

    async def started(self, ruleset: Ruleset, seat: int, names: Sequence[str]) -> None:
        self._player.started(ruleset, seat, len(names))

    async def choose(self, view: View) -> Move:
        return answer(self._player, view)

    def happened(self, event: Event) -> None:
        self._player.happened(event)

    def over(self, places: Sequence[Sequence[int]]) -> None:
        self._player.over(tuple(map(tuple, places)))


def default_move(view: View) -> Move:
    """Return the move that replaces an invalid or missing answer of a bot. It never prolongs a match.

    In the bidding it is a call of liar if possible, otherwise the lowest bid. Elsewhere it is to pass, side with the
    bidder, lose the last listed die, crown the first one, or stake nothing.
    """
    if is_stake(view):
        return Stake(0)
    legal = view.legal
    for move in (LIAR, PASS, SIDES[1]):
        if move in legal:
            return move
    return legal[-1] if isinstance(legal[0], Lose) else legal[0]


def check_move(move: Move, view: View) -> None:
    """Check that a bot that was asked for a move with this view may make this one.

    :raises RulesError: if the move is illegal, or the stake cannot be paid.
    """
    if not is_stake(view):
        apply(view.state, Play(view.seat, move))
    elif isinstance(move, Stake):
        view.wager(move)
    else:
        raise IllegalMove(f"{move} is not a stake, such as stake 50")


BOT_NAMES: Final = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jun")
"""Names of house bots: one for each seat of the largest table."""
_SCRIPT: Final = re.compile(r"[\w./\\-]+\.\w+")
"""A word that looks like a file name. The file need not exist on this machine."""
_INTERPRETER: Final = re.compile(
    r"(env|uv|uvx|pipx|py|pythonw?|pypy|node|nodejs|deno|bun|java|ruby|perl|php|lua|luajit|rscript|julia|racket|guile"
    r"|dotnet|mono|sh|bash|dash|zsh|ksh|fish|pwsh|powershell|cmd|cscript)[0-9.-]*(\.exe)?"
)
"""Interpreters and runners. If a command begins with one, the program is the first file among its arguments."""


def house_names(number: int, others: Sequence[str]) -> list[str]:
    """Return names for ``number`` house bots, avoiding names that look like one of ``others`` as long as possible."""
    taken = {outline(other) for other in others}
    free = [name for name in BOT_NAMES if outline(name) not in taken]
    return (free + list(BOT_NAMES))[:number]


def program_name(command: Sequence[str]) -> str:
    """Return a default name for a program: the name of its file, even if the command begins with an interpreter.

    >>> program_name(["./my-bot", "--cautious"]), program_name(["python3", "-O", "my_bot.py"])
    ('my-bot', 'my_bot')
    """
    program = PurePath(command[0])
    files = []
    if is_interpreter(command[0]):
        words = [word for word in command[1:] if not word.startswith("-")]
        files = [word for word in words if _SCRIPT.fullmatch(word) or Path(word).is_file()]
    return PurePath(files[0]).stem if files else program.stem


def is_interpreter(word: str) -> bool:
    """Return whether the first word of a command runs another file, as ``python3`` does."""
    return _INTERPRETER.fullmatch(PurePath(word).name.lower()) is not None


def bot_nickname(name: str, owner: str = "", taken: Collection[str] = (), level: str = "") -> str:
    """Return a nickname for a bot: its name, cut to fit, and a mark such as ``(bot)``.

    :param name: the name that the bot gives itself; any text.
    :param owner: the nickname of the player who seated it, which is part of the mark if it fits.
    :param taken: names of others at the table. The nickname differs from each of them by more than its mark.
    :param level: the level of a house bot, which is part of the mark if it fits.

    >>> bot_nickname("odds15"), bot_nickname("odds15", "Zoe"), bot_nickname("odds15", taken=["odds15 (bot)"])
    ('odds15 (bot)', "odds15 (Zoe's bot)", 'odds15 2 (bot)')
    >>> bot_nickname("Шанс", "Zoe")
    'Шанс (⚙)'
    >>> bot_nickname("Ada", level="mind"), bot_nickname("Ada", "Zoe", level="mind")
    ('Ada (mind bot)', "Ada (Zoe's mind bot)")
    """
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
    """Return as much of a name as fits, followed by ``end``; None if the result is not a nickname."""
    seen = (each if _is_nickname(f"1{each}2") else " " for each in unicodedata.normalize("NFC", name))
    begun = "".join(dropwhile(lambda each: not _is_nickname(each), seen))
    fitting = " ".join(begun.split())[:room].strip() + end
    return fitting if _is_nickname(fitting) else None


def _is_nickname(name: str) -> bool:
    try:
        return check_nickname(name) == name
    except NicknameError:
        return False


class SharedDice:
    """Dice from a seed. A seat's dice in a round depend on nothing else, so two matches can share their luck."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._rolls = 0

    def leader(self, players: int) -> int:
        """Return the seat that leads the first round."""
        return self._random("leader").randrange(players)

    def hands(self, state: State) -> tuple[Hand, ...]:
        """Return the hands of the round, by seat."""
        rng = self._random(f"round {state.round}")
        # Draw die by die for all seats, so that the first dice of a hand do not depend on the size of other hands.
        dice = [rng.choices(FACES, k=state.players) for _ in range(max(state.dice))]
        return tuple(tuple(sorted(faces[seat] for faces in dice[:count])) for seat, count in enumerate(state.dice))

    def roll(self) -> int:
        """Return the face of the next public die."""
        self._rolls += 1
        return self._random(f"roll {self._rolls}").choice(FACES)

    def pledges(self, players: int) -> tuple[str, ...]:
        """Return the groups of motes to which the players are pledged."""
        return tuple(self._random("pledges").choices(GROUPS, k=players))

    def _random(self, purpose: str) -> Random:
        return Random(f"{self._seed} {purpose}")  # noqa: S311 - no secrets are at stake


Line = dict[str, Any]
"""A line of input for ``p2pdice referee``."""


async def rehearse(
    ruleset: Ruleset, bots: Sequence[Bot], dice: Dice, note: Callable[[Line], None] = lambda line: None
) -> State:
    """Play a match to its end, and return its last state.

    :param bots: by seat. They are not closed.
    :param note: receives each input of the match, as a line of input for ``p2pdice referee``.
    """
    names = [bot.name for bot in bots]
    for seat, bot in enumerate(bots):
        await bot.started(ruleset, seat, names)

    def tell(event: Event) -> None:
        for bot in bots:
            bot.happened(event)

    course = Course(ruleset, len(bots), dice, tell, lambda item, hands: _note(item, hands, note))
    while (view := course.asked) is not None:
        course.go_on(await bots[view.seat].choose(view))
    for bot in bots:
        bot.over(course.state.places)
    return course.state


def _note(item: Input, hands: tuple[Hand, ...], note: Callable[[Line], None]) -> None:
    match item:
        case Play():
            note({"seat": item.seat, "do": str(item.move)})
        case Rolled():
            note({"deal": hands})
        case Roll():
            note({"roll": item.face})
        case Pledges():
            note({"pledges": item.pledges})
        case Stakes():
            note({"stakes": item.stakes})
        # Hands() needs no line: the referee has kept the dice.
