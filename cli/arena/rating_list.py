"""A rating list of the bots in many files of arenas, which may come from strangers.

Games with equal seeds have the same dice, even in different files, so they form one cluster. Therefore a second copy of
a file does not make the ratings look more certain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from cli.arena.bounds import quantile_of
from cli.arena.fixtures import Entrant
from cli.arena.game_file import LONGEST_BOT, Game, Heading, reading
from cli.arena.ratings import Deal, Deals, Rating, rate
from cli.arena.standings import CONFIDENCE

MOST_BOTS: Final = 100
"""Maximum number of bots. The time to rate them grows with its cube."""


class ListedBot(NamedTuple):
    """A bot in arena files."""

    text: str
    """The text that was typed for it."""
    origin: str
    """What else determines its play: the version of p2pdice for a house bot, else its folder and a hash of its code."""


class ListedRating(NamedTuple):
    """A line of a rating list."""

    bot: ListedBot
    rating: Rating


class RatingList:
    """The results of the games in several files.

    :param rules: count only games with these rules, named as they were typed; empty for all games.
    :param sizes: count only games with these numbers of players; empty for all games.
    """

    def __init__(self, rules: Collection[str] = (), sizes: Collection[int] = ()) -> None:
        self.games = 0
        self.incomplete = 0
        """The number of games that do not count, because their deals are incomplete."""
        self._rules = rules
        self._sizes = sizes
        self._bots: dict[ListedBot, int] = {}
        self._lucks: defaultdict[bytes, list[Deal]] = defaultdict(list)
        """Deals by a hash of the seed of their dice."""

    def read(self, path: Path) -> None:
        """Add the games of a file.

        :raises GameFileError: if it is not an arena's file, or there are too many games or bots.
        :raises OSError: if it cannot be read, or is no regular file.
        """
        arena = _Arena({})
        with reading(path, before=self.games) as file:
            for each in file:
                if isinstance(each, Game):
                    self._add(arena, each)
                else:
                    self.incomplete += arena.left
                    arena = _Arena(each)
        self.incomplete += arena.left

    def _add(self, arena: _Arena, game: Game) -> None:
        self.games += 1
        if (self._rules and game.rules not in self._rules) or (self._sizes and len(game.bots) not in self._sizes):
            return
        bots = [self._bots.setdefault(arena.bot(text), len(self._bots)) for text in game.bots]
        if len(self._bots) > MOST_BOTS:
            raise ValueError(f"there are more than {MOST_BOTS} bots")
        luck = _digest(game.seed)
        if deal := arena.add(luck, bots, game):
            self._lucks[luck].append(deal)

    def ratings(self) -> list[ListedRating]:
        """Return the bots in complete deals, the best first. The order of files and of games does not matter."""
        counted = {score.entrant for deals in self._lucks.values() for deal in deals for score in deal}
        bots = sorted(bot for bot, index in self._bots.items() if index in counted)
        if not bots:
            return []
        places = {self._bots[bot]: place for place, bot in enumerate(bots)}
        lucks = (
            [tuple(sorted(score._replace(entrant=places[score.entrant]) for score in deal)) for deal in deals]
            for deals in self._lucks.values()
        )
        listed = map(ListedRating, bots, rate(lucks, len(bots), quantile_of(CONFIDENCE)))
        return sorted(listed, key=lambda each: (-each.rating.over_mean.elo, each.bot))


class _Arena:
    """The incomplete deals of one arena.

    :param heading: the first line of its file; empty if its file has no heading.
    """

    def __init__(self, heading: Heading) -> None:
        self._program, self._folder = (str(heading.get(key, ""))[:LONGEST_BOT] for key in ("p2pdice", "folder"))
        bots, versions = (each if isinstance(each := heading.get(key), list) else [] for key in ("bots", "versions"))
        self._versions = {str(bot): str(version)[:12] for bot, version in zip(bots, versions, strict=False)}
        self._deals = Deals()
        self._tables: dict[bytes, bytes] = {}
        """A hash of the bots and the rules of each incomplete deal, by a hash of the seed of its dice."""

    @property
    def left(self) -> int:
        """The number of games in incomplete deals."""
        return self._deals.left

    def bot(self, text: str) -> ListedBot:
        if Entrant(text, "").kind == "house":
            return ListedBot(text, self._program)
        return ListedBot(text, " ".join(filter(None, [self._folder, self._versions.get(text)])))

    def add(self, luck: bytes, bots: Sequence[int], game: Game) -> Deal | None:
        """Add a game, with its bots by seat; return its deal, if that is complete now."""
        table = _digest(repr((sorted(bots), game.rules)))
        if self._tables.setdefault(luck, table) != table:
            raise ValueError(f"game {game.number} has the seed of games at another table")
        deal = self._deals.add(luck, bots, game)
        if deal is not None:
            del self._tables[luck]
        return deal


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
