"""A replay of an arena's game from its file. The game is not signed, so its replay proves nothing.

The file may come from a stranger, so the engine plays the whole game again before any of it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from cli.arena.game_file import Game, SeatFault, reading
from cli.bots.faults import predicate
from cli.bots.referee import Referee
from cli.exits import Failure
from cli.render import counted, sentence, shown_path
from p2pdice.errors import RulesError
from p2pdice.events import Event
from p2pdice.moves import Hand
from p2pdice.rulesets import Ruleset
from p2pdice.state import Expect, State
from protocol.events import CupsSeen, DiceRolled, Happened, MatchResult, MatchStarted, NodeEvent, Notice, PlayerInfo
from protocol.match.replay import ClosedStep, Moment


class UnreadableGameError(ValueError):
    """The game breaks the rules, has no moves, or ends otherwise than its record says.

    The message is a clause about the game, unescaped.
    """


def game_from(path: Path, number: int | None) -> RetoldGame:
    """Return a game from an arena's file.

    :param number: None for the only game in the file.
    :raises Failure: if there is no such game, or ``number`` is None and there are several.
    :raises GameFileError: if a line that was parsed on the way to the game does not belong in such a file.
    :raises UnreadableGameError: if the game cannot be shown.
    :raises OSError: if the file cannot be read, or is no regular file.
    """
    found: Game | None = None
    with reading(path, wanted=number) as file:
        for each in file:
            if not isinstance(each, Game):
                continue
            if found is not None:
                raise _no_game(path, "it has several games", found.number)
            found = each
            if number is not None:
                break
    if found is None:
        asked = "" if number is None else f" {number}"
        if not file.games:
            raise _no_game(path, f"it has no game{asked}", None)
        is_one = file.games == 1
        there = f"is number {file.lowest}" if is_one else f"are numbered {file.lowest} to {file.highest}"
        raise _no_game(path, f"it has no game{asked}: its {counted(file.games, 'game')} {there}", file.lowest)
    return RetoldGame(path, found)


def _no_game(path: Path, reason: str, example: int | None) -> Failure:
    hint = "" if example is None else f"Give the number of a game, such as --game {example}."
    return Failure(f"{shown_path(path)}: {sentence(reason)}", hint=hint)


class RetoldGame:
    """One game of an arena, played again: a :class:`cli.table.replay_table.Retelling`.

    :raises UnreadableGameError: if the game cannot be shown.
    """

    verdict: Final = None
    """Always None: a game without signatures cannot be verified."""

    def __init__(self, path: Path, game: Game) -> None:
        self.path = path
        seats = len(game.names)
        try:
            self._ruleset = Ruleset.from_options(game.options.items())
            if not game.lines:
                raise UnreadableGameError("the process that played it died, so its file has no moves")
            referee = Referee(self._ruleset, seats, game.leader)
            self._first = referee.state
            self._steps = [(referee.take(line), _deal(line)) for line in game.lines]
        except UnreadableGameError:
            raise
        except (KeyError, TypeError, ValueError, RulesError) as error:
            raise UnreadableGameError(f"it breaks the rules: {error}") from None
        if referee.state.awaits is not Expect.OVER or referee.state.places != game.places:
            raise UnreadableGameError("its moves lead to another result")
        self._last = referee.state
        self._faults = game.described
        self.number = game.number
        self.seed = game.seed
        self.rules = self._ruleset.name or game.rules
        self.players = tuple(PlayerInfo(name, f"seat {seat}") for seat, name in enumerate(game.names))
        """The bots by seat. They have no keys, so the seat replaces the fingerprint, and tells equal names apart."""
        self.rounds = tuple(step for step, (_, deal) in enumerate(self._steps) if deal is not None)
        self.last_step = len(self._steps) - 1
        self.last_dice = tuple(referee.state.dice)

    def tell(self, seat: int | None = None, since: int = 0) -> Iterator[Moment]:
        players = tuple(PlayerInfo(each.name, each.fingerprint, at == seat) for at, each in enumerate(self.players))
        if not since:
            yield Moment(0, MatchStarted("", self._ruleset, players, seat, self._first, rules_name=self._house_rules))
        for step, (happened, deal) in enumerate(self._steps[since:], since):
            for event in self._at(step, happened, deal, seat):
                yield Moment(step, event)
        for fault in self._faults:
            if fault.line > self.last_step:
                yield Moment(self.last_step, self._notice(fault))
        yield Moment(self.last_step, MatchResult("", self._last.places, players, self.path))

    def _at(
        self, step: int, happened: list[tuple[Event, State]], deal: tuple[Hand, ...] | None, seat: int | None
    ) -> Iterator[NodeEvent]:
        for fault in self._faults:
            if fault.line == step:
                yield self._notice(fault)
        for index, (event, state) in enumerate(happened):
            is_last = index + 1 == len(happened) or happened[index + 1][1] is not state
            yield Happened(event, state, is_last=is_last)
        if deal is not None and seat is not None and deal[seat]:
            yield DiceRolled(deal[seat])
        elif deal is not None and seat is None:
            yield CupsSeen(deal, happened[-1][1])

    @property
    def _house_rules(self) -> str:
        return "" if self._ruleset.name else self.rules

    def _notice(self, fault: SeatFault) -> Notice:
        first = f"the first of {counted(fault.times, 'such fault')} in this game" if fault.times > 1 else ""
        told = predicate(fault.reason, fault.played, first, fault.log)
        return Notice(f"{self.players[fault.seat].name} {told}")

    def steps(self) -> Iterator[ClosedStep]:
        return iter(())


def _deal(line: dict[str, Any]) -> tuple[Hand, ...] | None:
    """Return the hands of a line that deals, which the referee has accepted; None for any other line."""
    return None if line.get("deal") is None else tuple(tuple(sorted(hand)) for hand in line["deal"])
