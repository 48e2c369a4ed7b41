"""An arena from its first game to its last: playing, resuming, counting, stopping early, and its file.

The file has a heading and a line for each game, written when the game ends. A killed process can leave
half a line. A resumed arena keeps the complete lines, and plays the missing games.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from sqlite3 import Connection
from types import TracebackType
from typing import Any, Final, NamedTuple

from cli.arena.fixtures import Fixture, fixture_at, fixtures, one_deal, seated
from cli.arena.game import Plan, luck
from cli.arena.game_file import Game, Heading, SeatFault, reading
from cli.arena.pool import Executors, play_all
from cli.arena.standings import Decision
from cli.bots.faults import predicate, trace_lines
from cli.exits import Failure
from cli.foreign_text import write_object
from cli.render import command_line, counted, escape, listing, shown_path
from p2pdice.version import VERSION as PROGRAM
from protocol.files import check_own
from protocol.storage.database import HomeInUseError, hold_file

_MOST: Final = 20
"""Maximum number of different faults in the list, per entrant."""
_SHOWN: Final = 5
"""Maximum number of different faults that are printed, per entrant."""

PlayedGames = list[tuple[Fixture, Game]]


class ArenaProgress(NamedTuple):
    """The progress of an arena."""

    games: int
    """The number of games played so far, including ``resumed``."""
    of: int
    """Maximum number of games to play."""
    resumed: int
    """The number of games from the file."""


def run(
    plan: Plan,
    journal: Journal,
    open_executor: Executors,
    workers: int,
    *,
    decision: Decision | None,
    told: Callable[[ArenaProgress], None],
) -> PlayedGames:
    """Play the games missing from the file; return all games that count, in the order of the fixtures.

    :param decision: stop as soon as it is made; None to play all games. Games that end after the decision are
        written to the file but do not count, so that the result does not depend on timing.
    :param told: called each time a batch of games has ended.
    """
    every = list(fixtures(plan.tables, plan.games))
    numbers = {fixture.number for fixture in every}
    waiting = {game.number: game for game in journal.games if game.number in numbers}
    resumed = len(waiting)
    scored: PlayedGames = []

    def is_over() -> bool:
        while not (decision and decision.is_made) and len(scored) < len(every):
            fixture = every[len(scored)]
            if fixture.number not in waiting:
                break
            scored.append((fixture, waiting[fixture.number]))
            if decision:
                decision.add(*scored[-1])
        return len(scored) == len(every) or bool(decision and decision.is_made)

    if is_over():
        return scored
    missing: Iterator[Fixture] = (fixture for fixture in every if fixture.number not in waiting)
    with closing(play_all(open_executor, workers, plan, missing)) as batches:
        for games in batches:
            journal.add(games)
            waiting.update((game.number, _result(game)) for game in games)
            told(ArenaProgress(len(waiting), len(every), resumed))
            if is_over():
                break
    return scored


def _result(game: Game) -> Game:
    """Return a game reduced to its result. Everything else is in the file."""
    return replace(game, lines=(), described=(), bots=(), names=(), options={}, seed="")


VERSION: Final = 1


def heading(plan: Plan) -> Heading:
    """Return the heading as data for JSON. It omits the number of games, so that an arena can be made longer.

    It includes the versions of p2pdice and of the bots, because these may change, and the current folder, because it
    determines what a bot's command runs.
    """
    is_anywhere = all(entrant.kind == "house" for entrant in plan.entrants)
    return {
        "type": "arena",
        "version": VERSION,
        "p2pdice": PROGRAM,
        "folder": "" if is_anywhere else str(Path.cwd()),
        "bots": [entrant.text for entrant in plan.entrants],
        "versions": [entrant.version for entrant in plan.entrants],
        "tables": [
            {"rules": table.rules, "options": dict(ruleset.options()), "seats": list(table.seats)}
            for table, ruleset in zip(plan.tables, plan.rulesets, strict=True)
        ],
        "seed": plan.seed,
        "move_ms": plan.move_ms,
    }


def filed(plan: Plan, fixture: Fixture, game: Game) -> Game:
    """Return a game with the fields that are set only in a file: its bots by seat, its rules, and its seed."""
    entrants = [plan.entrants[index] for index in seated(plan.tables[fixture.table], fixture.rotation)]
    bots, names = tuple(each.text for each in entrants), tuple(each.name for each in entrants)
    options = dict(plan.rulesets[fixture.table].options())
    return replace(game, bots=bots, names=names, options=options, seed=luck(plan, fixture))


def kept(folder: Path, plan: Plan, *, is_resumed: bool) -> Path:
    """Return the default file for these games: the latest one of this arena if it is resumed, otherwise a new one.

    A new arena does not replace the file of an earlier one, because a program may have changed in between. The file's
    name does not depend on the versions of the bots, so that a changed bot is noticed when its arena is resumed.

    :raises OSError: if the file exists, but :func:`protocol.files.check_own` refuses it.
    """
    name = sha256(write_object({**heading(plan), "versions": []})).hexdigest()[:12]
    latest = max((int(path.stem.partition("-")[2]) for path in folder.glob(f"{name}-*.ndjson")), default=0)
    path = folder / f"{name}-{max(1, latest) if is_resumed else latest + 1}.ndjson"
    check_own(path)
    return path


class Journal:
    """The file of an arena, opened for writing.

    :param is_resumed: read the games from the file, if it exists; otherwise the file must not exist.
    :raises GameFileError: if a line of the file to be resumed is damaged.
    :raises Failure: if it is the file of another arena, or the bots have changed since the games were played, or
        another arena is writing to the file.
    :raises FileExistsError: if the file exists, but is not to be resumed.
    :raises OSError: if it cannot be read or written.
    """

    def __init__(self, path: Path, plan: Plan, *, is_resumed: bool) -> None:
        self.games: list[Game] = []
        """The games from the file, without their moves: the results of a million games fit into memory."""
        self.faults = FaultList()
        """The faults described in all games, including those from the file."""
        self._plan = plan
        self._order = one_deal(plan.tables)
        begun = write_object(heading(plan))
        path = path.resolve()  # the lock must be beside the file, not beside a link to it
        self._held = _hold(path)
        try:
            is_there = is_resumed and path.exists()
            whole = self._read(path, begun) if is_there else 0
            self._file = path.open("r+b" if is_there else "xb")
        except BaseException:
            self._held.close()
            raise
        self._file.truncate(whole)
        self._file.seek(whole)
        if not whole:
            self._file.write(begun)
            self._file.flush()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()
        self._held.close()

    def add(self, games: Sequence[Game]) -> None:
        """Append games to the file."""
        for game in games:
            fixture = fixture_at(self._order, game.number)
            self._file.write(write_object(filed(self._plan, fixture, game).to_json()))
            self._note(fixture, game)
        self._file.flush()

    def _note(self, fixture: Fixture, game: Game) -> None:
        self.faults.add(game, seated(self._plan.tables[fixture.table], fixture.rotation))

    def _read(self, path: Path, begun: bytes) -> int:
        """Read the games from the complete lines; return the size of these lines in bytes."""
        with reading(path) as file:
            for each in file:
                if file.line == 1:
                    self._check_heading(each, begun, path)
                elif isinstance(each, Game):
                    self._resume(each)
                else:
                    raise ValueError("this is a second heading")
            # Without a complete line, the file may begin with a part of this heading: an earlier run was killed then.
            if not file.size and not begun.startswith(file.rest):
                raise _not_the_file(path)
        return file.size

    def _check_heading(self, found: Heading | Game, begun: bytes, path: Path) -> None:
        if isinstance(found, Game):
            raise _not_the_file(path)
        if write_object(found) == begun:
            return
        if changed := _changed(found, self._plan):
            hint = "Begin a new arena, without --resume. The old games are kept."
            raise Failure(f"{changed} since the games in {shown_path(path)} were played.", hint=hint)
        raise _not_the_file(path)

    def _resume(self, game: Game) -> None:
        fixture = fixture_at(self._order, game.number)
        table = self._plan.tables[fixture.table]
        if game.rules != table.rules or len(game.faults) != len(table.seats):
            raise ValueError("this is a game of another arena")
        self._note(fixture, game)
        self.games.append(_result(game))


@dataclass(slots=True)
class ListedFault:
    """Faults of one entrant that probably have the same cause."""

    first: SeatFault
    game: int
    """The number of the first game that ended with such a fault."""
    games: int = 0
    """The number of games with such a fault."""
    times: int = 0
    """The number of such faults in all games."""


class FaultList:
    """The faults in an arena's games, for the authors of its bots: each different fault once, with the first game."""

    def __init__(self) -> None:
        self._faults: defaultdict[int, dict[tuple[str, str, str], ListedFault]] = defaultdict(dict)
        """By entrant and likeness."""

    def add(self, game: Game, entrants: Sequence[int]) -> None:
        """Add the faults described in a game.

        :param entrants: by seat.
        """
        noted = set()
        for each in game.described:
            faults, likeness = self._faults[entrants[each.seat]], each.likeness
            if likeness not in faults and len(faults) == _MOST:
                continue
            listed = faults.setdefault(likeness, ListedFault(each, game.number))
            listed.times += each.times
            listed.games += (entrants[each.seat], likeness) not in noted  # an entrant can have several seats
            noted.add((entrants[each.seat], likeness))

    def text(self, plan: Plan, path: Path) -> str:
        """Return the faults as sentences, with commands that show their games; empty if there are no faults.

        :param path: the file of the arena.
        """
        return "\n".join(self._lines(plan, path))

    def _lines(self, plan: Plan, path: Path) -> Iterator[str]:
        for entrant, faults in sorted(self._faults.items()):
            name = plan.entrants[entrant].name
            shown = sorted(faults.values(), key=lambda each: -each.games)
            for each in shown[:_SHOWN]:
                times = f"{counted(each.times, 'time')} in {counted(each.games, 'game')}"
                where = f"first in game {each.game}{', ' * bool(each.first.log)}{each.first.log}"
                yield f"{name} {escape(predicate(each.first.reason, each.first.played, times, where))}."
                yield from trace_lines(each.first.trace)
                yield f"    {command_line('replay', path, '--game', str(each.game))}"
            if len(shown) > _SHOWN:
                others = counted(len(shown) - _SHOWN, "other kind of fault", "other kinds of faults")
                yield f"{name} made {others}, which the file describes."

    def to_json(self, plan: Plan) -> list[dict[str, Any]]:
        """Return the faults as data for JSON."""
        return [
            {
                "bot": plan.entrants[entrant].name,
                "game": each.game,
                "games": each.games,
                **each.first._asdict(),
                "times": each.times,
            }
            for entrant, faults in sorted(self._faults.items())
            for each in faults.values()
        ]


def _not_the_file(path: Path) -> Failure:
    same = "with the same version of p2pdice, and in the same folder if there are programs or classes"
    return Failure(f"{shown_path(path)} is not the file of this arena.", hint=f"Repeat the original arguments, {same}.")


def _changed(found: Heading, plan: Plan) -> str:
    """Return which bots have changed, if nothing else differs between a file's heading and this arena's."""
    wanted, versions = heading(plan), found.get("versions")
    if {**found, "versions": wanted["versions"]} != wanted or not isinstance(versions, list):
        return ""
    if len(versions) != len(plan.entrants):
        return ""
    pairs = zip(plan.entrants, versions, strict=True)
    names = list(dict.fromkeys(entrant.name for entrant, version in pairs if entrant.version != version))
    return f"{listing(names)} {'has' if len(names) == 1 else 'have'} changed"


def _hold(path: Path) -> Connection:
    """Lock the file against all other arenas, until the connection is closed or the process dies."""
    try:
        return hold_file(path)
    except HomeInUseError:
        hint = "Wait until it ends, or name another file: --out"
        raise Failure(f"{shown_path(path)} is in use by another arena.", hint=hint) from None
