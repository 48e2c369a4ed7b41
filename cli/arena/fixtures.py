"""The entrants and fixtures of an arena: which entrant sits where in each game, and with which dice.

Luck is shared. Each deal is played once for every rotation of its table, so every bot gets each cup, and the first
turn, equally often. The dice of a seat in a round depend only on the deal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, zip_longest
from random import Random
from typing import Final, NamedTuple

from cli.bots.bot import Bot, PlayerBot
from cli.bots.line_log import LineLog, Mark
from cli.bots.player_class import BotKind, kind_of, label_of, make_player, version_of
from cli.foreign_text import write_object
from cli.render import escape, shortened
from cli.text.move_forms import choices
from p2pdice.errors import IllegalMove, RulesError
from p2pdice.events import Event
from p2pdice.moves import Move, parse_move
from p2pdice.players import LEVELS, Player
from p2pdice.rulesets import Ruleset
from p2pdice.views import View


class ArenaTable(NamedTuple):
    """A table whose games are counted together."""

    rules: str
    """The name of the ruleset, as it was typed."""
    seats: tuple[int, ...]
    """Entrants by seat, in the first rotation."""


class Fixture(NamedTuple):
    """One game to be played."""

    number: int
    """The index in the order in which results are read. It does not depend on the number of games planned."""
    table: int
    deal: int
    """From 0. Games of one table and one deal have the same dice."""
    rotation: int
    """The number of seats by which the entrants are shifted."""


def round_robin(entrants: int, rules: Sequence[str], sizes: Sequence[int]) -> tuple[ArenaTable, ...]:
    """Return the tables at which all entrants meet each other equally often.

    Each entrant has at most one seat at a table, unless there are fewer entrants than seats. Then all of them sit at
    every table, and take the remaining seats in turn.
    """
    return tuple(
        ArenaTable(name, tuple(seats[seat % len(seats)] for seat in range(size)))
        for name in rules
        for size in sizes
        for seats in combinations(range(entrants), min(size, entrants))
    )


def gauntlet(entrants: int, rules: Sequence[str], sizes: Sequence[int]) -> tuple[ArenaTable, ...]:
    """Return the tables at which the first entrant sits alone among copies of one other entrant."""
    return tuple(
        ArenaTable(name, (0, *(other,) * (size - 1)))
        for name in rules
        for size in sizes
        for other in range(1, entrants)
    )


def fixtures(tables: Sequence[ArenaTable], games: int) -> Iterator[Fixture]:
    """Yield all games, deal by deal, so that all tables progress equally.

    :param games: the number of games at each table; rounded up to whole deals.
    """
    order = one_deal(tables)
    deals = [-(-games // len(table.seats)) for table in tables]
    for deal in range(max(deals)):
        for number, (index, _) in enumerate(order, deal * len(order)):
            if deal < deals[index]:
                yield fixture_at(order, number)


def one_deal(tables: Sequence[ArenaTable]) -> list[tuple[int, int]]:
    """Return the table's index and the rotation of each game of one deal, in the order of the fixtures."""
    return [(index, rotation) for index, table in enumerate(tables) for rotation in range(len(table.seats))]


def fixture_at(order: Sequence[tuple[int, int]], number: int) -> Fixture:
    """Return the fixture with this number.

    :param order: see :func:`one_deal`.
    """
    deal, offset = divmod(number, len(order))
    return Fixture(number, order[offset][0], deal, order[offset][1])


def seated(table: ArenaTable, rotation: int) -> tuple[int, ...]:
    """Return the entrants by seat in one rotation of the table."""
    return table.seats[rotation:] + table.seats[:rotation]


class Entrant(NamedTuple):
    """A player of a tournament."""

    text: str
    """The text that was typed: a level of the house bots, ``module:Class``, or a command."""
    name: str
    """See :func:`unique_names`."""
    version: str = ""
    """A hash of its code: see :func:`cli.bots.player_class.version_of`."""

    @property
    def kind(self) -> BotKind:
        """The kind of player, which determines where its moves come from."""
        return kind_of(self.text)

    def seat(self, rng: Random, log: LineLog | None = None) -> Bot:
        """Return a bot that plays for this entrant, which must be a house bot or a class.

        :param rng: the only source of randomness of a house bot, and of a class that takes one.
        :param log: records the messages to and from a class in the form that a program reads and writes.
        :raises EntrantError: if the class does not exist, or does not make a player.
        :raises UnmadeError: if the code of the class fails.
        """
        if self.kind == "house":
            return PlayerBot(self.name, make_player(self.text, rng))
        return ClassBot(self.name, make_player(self.text, rng), log)


class ClassBot(PlayerBot):
    """A player of a user's class. Moves are converted to text and parsed again, so only real moves reach the engine."""

    def __init__(self, name: str, player: Player, log: LineLog | None) -> None:
        super().__init__(name, player)
        self.log = log

    async def started(self, ruleset: Ruleset, seat: int, names: Sequence[str]) -> None:
        rules = dict(ruleset.options())
        self._note(">", {"type": "hello", "rules": rules, "seat": seat, "players": list(names)})
        await super().started(ruleset, seat, names)

    def happened(self, event: Event) -> None:
        if self.log is not None:
            self._note(">", {"type": "event", "event": event.to_json()})
        super().happened(event)

    def _note(self, mark: Mark, message: dict[str, object]) -> None:
        if self.log is not None:
            self.log.feed(mark, write_object(message))

    async def choose(self, view: View) -> Move:
        if self.log is not None:
            self._note(">", {"type": "turn", "view": view.to_json(), "legal": choices(view)})
        move: object = await super().choose(view)
        if not isinstance(move, Move):
            raise IllegalMove(f"it returned an object of the type {type(move).__name__}")
        text = str(move)
        self._note("<", {"type": "move", "do": text})
        try:
            return parse_move(text)
        except RulesError as error:
            raise IllegalMove(str(error)) from None  # without the frames of the parser


NAME_COLUMNS: Final = 14
"""Maximum columns of a name, so that a line of the standings has room for two names."""


def unique_names(texts: Sequence[str]) -> list[str]:
    """Return short names for bots, given the typed texts. The names are unique and safe to print.

    A name is numbered if an earlier bot has it, or if it is a house bot's level but names a program or a class.

    >>> unique_names(["odds", "./odds.py", "my_bots:Careful", "my_bots:Careful", "odds"])
    ['odds', 'odds 2', 'Careful', 'Careful 2', 'odds 3']
    """
    names: list[str] = []
    for text in texts:
        label, number, tail = escape(label_of([text])), 1, ""
        is_taken = label in LEVELS and kind_of(text) != "house"
        while is_taken or shortened(label, NAME_COLUMNS, tail) in names:
            is_taken, number = False, number + 1
            tail = f" {number}"
        names.append(shortened(label, NAME_COLUMNS, tail))
    return names


def name_key(texts: Sequence[str], names: Sequence[str], beside: Sequence[str] = ()) -> Iterator[str]:
    """For each bot whose name was shortened, or has a namesake, yield a sentence with its typed text.

    :param beside: for each bot, another fact that tells it from its namesakes; unescaped.
    """
    labels = [label_of([text]) for text in texts]
    for text, label, name, origin in zip_longest(texts, labels, names, beside, fillvalue=""):
        if (label != name or labels.count(label) > 1) and (origin or name != text):
            yield f"{name} is {escape(text)}{escape(f' ({origin})') if origin else ''}."


def named(texts: Sequence[str]) -> tuple[Entrant, ...]:
    """Return the entrants for typed texts."""
    versions = {text: version_of(text) for text in texts}
    return tuple(Entrant(text, name, versions[text]) for text, name in zip(texts, unique_names(texts), strict=True))
