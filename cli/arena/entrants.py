"""Entrants of an arena: a house bot, a program, or a class of players, each named by one word or command."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Final, Literal, NamedTuple

from cli.bots.bot import Bot, PlayerBot
from cli.bots.program_bot import ProgramBot
from cli.bots.programs import split_command
from cli.render import escape, one_line
from p2pdice.errors import IllegalMove
from p2pdice.moves import Move, parse_move
from p2pdice.players import LEVELS, Player, house_player
from p2pdice.views import View

_CLASS: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class EntrantError(ValueError):
    """Nobody can play under this name."""


class UnmadeError(EntrantError):
    """The class is there, but its author's code fails to make a player."""


class Entrant(NamedTuple):
    """A player of a tournament."""

    text: str
    """As it was typed: a level of the house bots, ``module:Class``, or a command."""
    name: str
    """Unlike any other's of the tournament, and safe to print."""

    @property
    def kind(self) -> Literal["house", "class", "program"]:
        """Where its moves come from."""
        if self.text in LEVELS:
            return "house"
        return "class" if _CLASS.fullmatch(self.text) else "program"

    def seat(self, rng: Random, move_ms: int) -> Bot:
        """Return a bot that plays for this entrant. A program still has to be opened.

        :param rng: the only source of randomness of a house bot, and of a class that takes one.
        :param move_ms: milliseconds that a program has for a move.
        :raises EntrantError: if there is no such class, or it makes something else than a player.
        :raises UnmadeError: if it cannot be made.
        :raises ProgramError: if the command cannot be read.
        """
        if self.kind == "program":
            return ProgramBot(split_command(self.text), move_ms=move_ms)
        if self.kind == "house":
            return PlayerBot(self.name, house_player(self.text, rng))
        return _ClassBot(self.name, _made(self.text, rng))


class _ClassBot(PlayerBot):
    """A player of somebody's class: its moves are spelled and read again, so nothing but a move reaches the engine."""

    async def choose(self, view: View) -> Move:
        move: object = await super().choose(view)
        if not isinstance(move, Move):
            raise IllegalMove("this is not a move")
        return parse_move(str(move))


def named(texts: Sequence[str]) -> tuple[Entrant, ...]:
    """Return entrants with names of their own: the second ``odds`` is ``odds 2``."""
    entrants: list[Entrant] = []
    for text in texts:
        short = escape(text)
        so_far = sum(entrant.text == text for entrant in entrants)
        name = f"{short} {so_far + 1}" if so_far else short
        while any(entrant.name == name for entrant in entrants):  # the command "odds 2" beside two odds
            name += "'"
        entrants.append(Entrant(text, name))
    return tuple(entrants)


def _made(text: str, rng: Random) -> Player:
    """Return a player of a class, ``Class(rng)``: the interface of :mod:`p2pdice.players`."""
    module, name = text.split(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # behind everything else, so that no file here hides a library
    kind: type[EntrantError] = EntrantError
    try:
        maker = getattr(import_module(module), name)
        kind = UnmadeError
        made = maker(rng)
    except (Exception, SystemExit) as error:  # the author's code: whatever it raises is theirs to read
        raise kind(f"{text} cannot be made: {type(error).__name__}: {one_line(str(error))}") from error
    if not isinstance(made, Player):
        raise EntrantError(f"{text} is not a p2pdice.players.Player")
    return made
