"""A league night: one match after another between bots and guests, at an unattended table.

In the protocol, a host always plays: guests refuse a match in which the host has no seat. So one of the host's bots
takes the host's seat, and signs with the host's key.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from cli.bots.bot import Bot, PlayerBot
from cli.bots.bot_seat import Lull, Reporter, TooLongError, follow, reported
from cli.bots.crew import Recruit, hired
from cli.exits import ExitCode
from cli.output import say
from cli.render import command_line, sentence, shown_path
from cli.settings import home_words
from cli.text.narrate import NIGHT_OVER, STANDINGS, event_line, event_name, narrate
from cli.text.seating import Seating, display_names
from p2pdice.players import house_player
from p2pdice.plurals import plural
from protocol.errors import NodeError
from protocol.events import DiceRolled, LobbyChanged, MatchFormed, MatchResult, NodeEvent, Notice, PlayerInfo, YourTurn
from protocol.files import write_whole
from protocol.match.lobby import TableSettings
from protocol.node.node import Node
from protocol.storage import archive
from protocol.storage.home import Home

WAIT: Final = 30
"""Default number of seconds for which an unattended table with enough players waits for more."""


class Terms(NamedTuple):
    """The terms of a night."""

    matches: int
    least: int
    """Minimum number of players for a match."""
    wait: float
    """Seconds for which a table with enough players waits for more players before a match begins."""
    give_up: float
    """Seconds with too few players after which the night is over."""


class League:
    """The matches of one night.

    :param recruits: the host's bots; the last one takes the host's seat.
    :param report: receives all events.
    :param logs: the folder for logs of programs; None for no logs.
    """

    def __init__(
        self,
        table: TableSettings,
        recruits: Sequence[Recruit],
        terms: Terms,
        report: LeagueReport,
        logs: Path | None = None,
    ) -> None:
        *self._crew, self._own = recruits
        self._table = table
        self._terms = terms
        self._report = report
        self._logs = logs
        self._node: Node
        self._bot: Bot
        self._lull: Lull
        self._has_enough = False
        self._beginning: asyncio.TimerHandle | None = None
        """The timer for the end of the wait for more players."""
        self._is_due = False
        """Whether the wait for more players is over, so that a match begins as soon as there are enough."""
        self._forgetting: asyncio.TimerHandle | None = None
        """Runs while too few players are left. When it expires, the wait for more players begins anew."""
        self._is_last = False

    async def run(self, home: Path, port: int, interface: str | None, pledge: str) -> Ending:
        """Open a node, play a night, close everything, and return how the night ended.

        The first Ctrl-C lets the current match finish; the next one does not.

        :raises NodeError: if the home cannot be used, or the table cannot be opened.
        :raises Failure: if the program in the host's seat cannot be started, or the node stops.
        """
        ending = Ending.FAILED
        self._node = node = await Node.open(home, self._own.name, port=port, interface=interface)
        try:
            node.pledge = pledge
            if node.loss:
                self._report.notice(sentence(node.loss))
            async with self._own_bot() as self._bot:
                with _interrupts(self._end_soon):
                    ending = await self._play()
        except asyncio.CancelledError:
            ending = Ending.INTERRUPTED
            raise
        finally:
            match = node.match
            await node.close()
            self._report.close(ending, match.id if match is not None and match.is_formed else b"")
        return ending

    @asynccontextmanager
    async def _own_bot(self) -> AsyncIterator[Bot]:
        """Provide the bot in the host's seat, and close it on exit."""
        own = self._own
        if not own.command:
            yield PlayerBot(own.name, house_player(own.level, Random()))  # noqa: S311 - whims, no secrets
            return
        async with reported(own.name, own.command, self._report.as_json, logs=self._logs) as (program, witness):
            witness.node = self._node
            try:
                yield program
            finally:
                await program.close()

    async def _play(self) -> Ending:
        for _ in range(self._terms.matches):
            if self._is_last:
                return Ending.INTERRUPTED
            try:
                await self._play_one()
            except TooLongError:
                return Ending.TOO_FEW
        return Ending.DONE

    async def _play_one(self) -> None:
        await self._node.host(replace(self._table, asks="never"))  # no host is there to answer
        async with hired(self._node, self._crew, self._report.pass_on, self._logs):
            try:
                async with Lull(self._terms.give_up) as self._lull:
                    await follow(self._node, self._bot, self._take)
            finally:
                self._wait_no_longer()

    def _take(self, event: NodeEvent, seating: Seating) -> None:
        self._report.show(event, seating)
        self._lull.take(event)
        match event:
            case LobbyChanged():
                self._has_enough = len(event.players) >= self._terms.least
                self._lull.note(is_lull=not self._has_enough)
                self._wait()
            case MatchFormed():
                self._wait_no_longer()

    def _wait(self) -> None:
        """Wait for more players if there are enough. A guest who keeps coming and going cannot delay the match."""
        call_later = asyncio.get_running_loop().call_later
        if self._has_enough:
            if self._forgetting is not None:
                self._forgetting.cancel()
                self._forgetting = None
            if self._is_due:
                self._begin()
            elif self._beginning is None:
                self._beginning = call_later(self._terms.wait, self._begin)
        elif self._forgetting is None:
            self._forgetting = call_later(self._terms.wait, self._wait_no_longer)

    def _begin(self) -> None:
        self._beginning = None
        self._is_due = True
        if self._has_enough:
            with suppress(NodeError):  # the match has begun already, or a player has just left
                self._node.start_match()

    def _wait_no_longer(self) -> None:
        for timer in (self._beginning, self._forgetting):
            if timer is not None:
                timer.cancel()
        self._beginning = self._forgetting = None
        self._is_due = False

    def _end_soon(self) -> bool:
        """Make this match the last one. Return whether to leave at once: if none is running, or on a second request."""
        match = self._node.match
        if self._is_last or match is None or not match.is_formed or match.is_ended:
            return True
        self._is_last = True
        self._report.notice("This match is the last one. Press Ctrl-C again to leave it now.")
        return False


@contextmanager
def _interrupts(is_enough: Callable[[], bool]) -> Iterator[None]:
    """On each Ctrl-C inside the block, ask ``is_enough`` whether to cancel this task.

    This also works in the background of a script, where shells make programs ignore Ctrl-C.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def interrupt() -> None:
        if is_enough():
            task.cancel()

    before = signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(interrupt))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Ending(StrEnum):
    """The reason why a night has ended."""

    DONE = "done"
    TOO_FEW = "too-few"
    INTERRUPTED = "interrupted"
    FAILED = "failed"

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the command. An interrupted or failed command ends with an exception instead."""
        return _ENDINGS[self][0]


@dataclass(slots=True)
class Score:
    """One player's results in a night."""

    player: PlayerInfo
    """The player, with their latest name."""
    matches: int = 0
    wins: int = 0
    beaten: int = 0
    """The number of players with a worse place, summed over all matches."""


class Scores:
    """The standings of a night. Players are identified by key, because names can be copied."""

    def __init__(self) -> None:
        self._scores: dict[str, Score] = {}

    def add(self, over: MatchResult) -> None:
        """Count the result of a match."""
        behind = len(over.players)
        for place, seats in enumerate(over.places):
            behind -= len(seats)
            for seat in seats:
                player = over.players[seat]
                score = self._scores.setdefault(player.fingerprint, Score(player))
                score.player = player
                score.matches += 1
                score.wins += place == 0
                score.beaten += behind

    def ranked(self) -> list[Score]:
        """Return the scores, ordered by most wins, then by most players beaten."""
        return sorted(self._scores.values(), key=lambda score: (-score.wins, -score.beaten))

    def sentence(self) -> str:
        """Return the scores as a sentence without its full stop."""
        ranked = self.ranked()
        names = display_names([score.player for score in ranked])
        return "; ".join(
            f"{name} won {score.wins} of {score.matches}, beat {score.beaten}"
            for name, score in zip(names, ranked, strict=True)
        )

    def to_json(self) -> list[dict[str, Any]]:
        """Return the scores as data for JSON."""
        return [
            {
                "name": score.player.name,
                "fingerprint": score.player.fingerprint,
                "matches": score.matches,
                "wins": score.wins,
                "beaten": score.beaten,
            }
            for score in self.ranked()
        ]


class LeagueReport(Reporter):
    """Prints the events of a night.

    The dice of the bot in the host's seat are omitted, because a reader may be a player at the table.

    :param matches: the planned number.
    :param out: a folder for copies of the transcripts, which is created if it does not exist.
    :raises OSError: if the folder cannot be created.
    """

    def __init__(self, home: Home, matches: int, out: Path | None, *, as_json: bool) -> None:
        super().__init__(as_json=as_json)
        self._home = home
        self._of = matches
        self._out = out.resolve() if out is not None else None
        if self._out is not None:
            self._out.mkdir(parents=True, exist_ok=True)
        self._scores = Scores()
        self._transcripts: list[Path] = []

    def show(self, event: NodeEvent, seating: Seating) -> None:
        """Print an event of the node and, after a match, the standings."""
        if isinstance(event, DiceRolled | YourTurn):
            return
        if isinstance(event, MatchResult):
            event = replace(event, transcript=self._kept(event.transcript))
            self._transcripts.append(event.transcript)
        sentence = narrate(_without_me(event), seating)
        if self.as_json:
            print(event_line(event, seating, sentence=sentence), flush=True)
        else:
            say(sentence)
        if isinstance(event, MatchResult):
            self._scores.add(event)
            self._say(STANDINGS, f"After {self._played}: {self._scores.sentence()}.", **self._standings())

    def notice(self, text: str) -> None:
        """Print a message that has no event of its own."""
        self._say(event_name(Notice), text, text=text)

    def close(self, ending: Ending, left: bytes) -> None:
        """Print how the night ended, and write the transcript of its last match if that is unfinished.

        :param left: the id of the last match; empty if none was formed since the table was opened.
        """
        unfinished = self._saved(left) if left else None
        sentence = f"{_ENDINGS[ending][1].format(self._played)}."
        if unfinished is not None:
            again = command_line("resume", left.hex()[:8], *home_words(self._home.path))
            sentence += f" The last match is unfinished. To play on in place of your bot:\n    {again}"
            sentence += f"\nIts transcript so far is {shown_path(unfinished)}"
        path = str(unfinished) if unfinished is not None else None
        self._say(NIGHT_OVER, sentence, ending=ending, unfinished=path, **self._standings())

    @property
    def _played(self) -> str:
        return f"{len(self._transcripts)} of {self._of} {plural(self._of, 'match', 'matches')}"

    def _standings(self) -> dict[str, Any]:
        return {
            "matches": len(self._transcripts),
            "of": self._of,
            "players": self._scores.to_json(),
            "transcripts": list(map(str, self._transcripts)),
        }

    def _kept(self, transcript: Path) -> Path:
        """Return the path of a transcript, after copying it to the owner's folder if one was given."""
        if self._out is None:
            return transcript
        write_whole(self._out / transcript.name, transcript.read_bytes())
        return self._out / transcript.name

    def _saved(self, match: bytes) -> Path | None:
        """Write the transcript of an unfinished match, and return its path; None if it is finished or not stored."""
        with archive.read_store(self._home) as store:
            stored = next((each for each in store.matches() if each.match == match), None)
            if stored is None or stored.over:
                return None
            data = archive.transcript(store, stored)
            path = archive.path_for(self._home, store, stored)
        write_whole(path, data)
        return self._kept(path)

    def _say(self, what: str, sentence: str, /, **data: Any) -> None:
        self.pass_on({"type": what, "sentence": sentence, **data})


_ENDINGS: Final = {
    Ending.DONE: (ExitCode.DONE, "The night is over after {}"),
    Ending.TOO_FEW: (ExitCode.TOO_FEW, "The night ended after {}: too few players were there"),
    Ending.INTERRUPTED: (ExitCode.INTERRUPTED, "The night was interrupted after {}"),
    Ending.FAILED: (ExitCode.FAILURE, "The night broke off after {}"),
}


def _without_me(event: NodeEvent) -> NodeEvent:
    """Return an event in which no player is called *you*, because the report may have any reader."""
    if not isinstance(event, LobbyChanged):
        return event
    return replace(event, players=tuple(replace(player, is_me=False) for player in event.players))
