"""A seat at a live table for any kind of bot, for one match or an evening, with reports for its owner."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from cli.bots.bot import Bot, program_name
from cli.bots.faults import Fault, fault_in_talk, fault_sentence, trace_lines
from cli.bots.program_bot import MOVE_MS, ProgramBot, fault_summary
from cli.bots.programs import ProgramError
from cli.exits import ExitCode, Failure, closing_code
from cli.output import complain, say
from cli.render import command_line, escape, sentence
from cli.text.narrate import BOT_DONE, BOT_FAILED, BOT_FAULT, event_line, narrate
from cli.text.seating import Seating
from p2pdice.moves import Concede, Move
from p2pdice.rulesets import Ruleset
from protocol.errors import LOOK_ON, ErrorCode, NodeError
from protocol.events import (
    AwaitingHost,
    Continued,
    Diverged,
    Happened,
    MatchFormed,
    MatchResult,
    MatchStarted,
    NodeEvent,
    Notice,
    PeerLost,
    PlayerInfo,
    Stopped,
    Suspended,
    TableClosed,
    YourTurn,
)
from protocol.node.node import Node

ShowEvent = Callable[[NodeEvent, Seating], None]
"""Receives each event of the node, with the seating at that time."""
Attend = Callable[[Node, Bot, ShowEvent], Awaitable[object]]
"""Makes a bot play at the table of a node."""

BUSY: Final = 0.1
"""Seconds between two attempts to open a home that is in use."""


async def seat(
    home: Path,
    name: str,
    interface: str | None,
    enter: Callable[[Node], Awaitable[object]],
    bot: Bot,
    reporter: Reporter,
    grace: float = 0,
    attend: Attend | None = None,
) -> None:
    """Sit down at a table, and let a bot play there to the end.

    :param enter: makes the node host, join or resume.
    :param reporter: prints what happens; it gets the node.
    :param grace: time limit in seconds for another process to release the home.
    :param attend: lets the bot play; by default :func:`follow`, which plays one match.
    :raises NodeError: if the home cannot be used, or the table cannot be entered.
    :raises Failure: if the table is closed or the node stops.
    """
    node: Node | None = None
    try:
        node = reporter.node = await _opened(home, name, interface, grace)
        await enter(node)
        await (attend or follow)(node, bot, reporter.show)
    finally:
        # Close both concurrently, because the parent process waits only for a moment.
        await asyncio.gather(bot.close(), *([node.close()] if node is not None else []))


async def _opened(home: Path, name: str, interface: str | None, grace: float) -> Node:
    deadline = asyncio.get_running_loop().time() + grace
    while True:
        try:
            return await Node.open(home, name, interface=interface)
        except NodeError as error:
            if error.code is not ErrorCode.HOME_IN_USE or asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(BUSY)


async def follow(node: Node, bot: Bot, show: ShowEvent) -> MatchResult:
    """Let a bot play one match at its table to the end. Matches that it only watches are shown, but do not count.

    :raises Failure: if the table is closed, the node stops, or the match cannot go on.
    """
    seating = Seating()
    is_playing = False
    async for event in node.events():
        if isinstance(event, MatchStarted):
            seating = Seating.of(event.players, me=None)
            is_playing = event.my_seat is not None
        show(event, seating)
        match event:
            case MatchStarted(my_seat=int() as seat):
                await bot.started(event.ruleset, seat, [player.name for player in event.players])
            case Happened() if is_playing:
                bot.happened(event.event)
            case YourTurn():
                _play(node, await bot.choose(event.view), event.token)
            case MatchResult() if is_playing:
                bot.over(event.places)
                return event
            case TableClosed():
                raise Failure(narrate(event, seating), code=closing_code(event))
            case Stopped() | Diverged():
                raise Failure(narrate(event, seating))
    raise Failure("The node was closed before the match was over.")


def _play(node: Node, move: Move, token: int) -> None:
    if isinstance(move, Concede):
        node.concede()
        return
    with suppress(NodeError):  # the turn may have passed while the bot was thinking
        node.play(move, token)


class Reporter:
    """Prints the events at a table, in sentences or as NDJSON."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.node: Node | None = None
        """The node at this table, once it is open."""

    def show(self, event: NodeEvent, seating: Seating) -> None:
        """Print an event of the node."""
        if self.as_json:
            print(event_line(event, seating), flush=True)
        else:
            say(narrate(event, seating))

    def pass_on(self, said: dict[str, Any]) -> None:
        """Print an event that does not come from the node, in the format of :mod:`cli.text.narrate`."""
        if self.as_json:
            print(json.dumps(said), flush=True)
        else:
            say("\n".join([said["sentence"], *trace_lines(said.get("trace", ""))]))


class ProgramReporter(Reporter):
    """Prints the events that a program at a table sees, and its faults.

    :param name: the program's nickname.
    """

    def __init__(self, name: str, as_json: bool) -> None:
        super().__init__(as_json=as_json)
        self._bot = name
        self._name = escape(name)
        self._faults = 0

    def fault(self, fault: Fault) -> None:
        """Print a fault. Tell the table, too, but without text from the program, which could reveal its dice."""
        self._faults += 1
        sentence = fault_sentence(self._name, fault, self._faults)
        self._say(BOT_FAULT, sentence, kind=fault.kind, faults=self._faults, trace=fault.trace)
        if self.node is not None and self._faults.bit_count() == 1:  # only the faults number 1, 2, 4, 8, …
            with suppress(NodeError):  # no player is there to read it
                self.node.say(fault_in_talk(fault, self._faults))

    def failed(self, failure: Failure) -> None:
        """In JSON, report why the program does not play. For people, the command prints the failure when it ends."""
        if self.as_json:
            self._say(BOT_FAILED, failure.what)

    def sum_up(self, bot: ProgramBot) -> None:
        """Print the number of moves and faults of the program."""
        self._say(BOT_DONE, fault_summary(self._name, bot), moves=bot.moves, faults=dict(bot.faults))

    def _say(self, what: str, text: str, **data: Any) -> None:
        self.pass_on({"type": what, "sentence": text, "bot": self._bot, **data})


@asynccontextmanager
async def reported(
    name: str, command: Sequence[str], as_json: bool, move_ms: int = MOVE_MS, logs: Path | None = None
) -> AsyncIterator[tuple[ProgramBot, ProgramReporter]]:
    """Start a program to play inside the block, which must close it. Report its faults and, on exit, a summary.

    :raises Failure: if it cannot be started.
    """
    witness = ProgramReporter(name, as_json)
    program = ProgramBot(command, move_ms=move_ms, on_fault=witness.fault, logs=logs)
    try:
        await program.open()
    except ProgramError as error:
        failure = not_started(error)
        witness.failed(failure)
        raise failure from None
    try:
        yield program, witness
    finally:
        witness.sum_up(program)


async def introduced(command: Sequence[str], ruleset: Ruleset) -> str:
    """Run a program briefly before it sits down; return the name that it gives itself, or else the name of its file.

    :raises Failure: if it cannot be started, or sends no valid hello.
    """
    try:
        return await ProgramBot(command).introduce(ruleset) or program_name(command)
    except ProgramError as error:
        raise not_started(error, command) from None


def not_started(error: ProgramError, command: Sequence[str] = ()) -> Failure:
    """Print the output of a program that cannot be started, or sends no valid hello; return the failure to report.

    :param command: the program's command, for a hint to check it alone; empty for no hint.
    """
    if error.trace:
        complain("\n".join(trace_lines(error.trace)))
    choices = [(command_line("bot", "check", "--", *command), "Try it alone")] if command else []
    return Failure(sentence(f"the bot's program {escape(str(error))}"), hint=escape(error.hint), choices=choices)


class TooLongError(Exception):
    """Nothing was played during the time limit."""


class Lull:
    """A time limit for lulls. A lull is a time without play: between matches, or while a match is suspended.

    This asynchronous context manager raises :class:`TooLongError`. The first lull begins with the block. Lulls without
    any play between them share one time limit, so players who keep coming and going do not extend it.

    :param seconds: maximum duration of a lull.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._left = seconds
        """Seconds that were left when the current lull began; between lulls, seconds left for the next lull."""
        self._since = 0.0
        self._limit = asyncio.timeout(seconds)
        self._is_lull = True

    async def __aenter__(self) -> Self:
        self._since = asyncio.get_running_loop().time()
        await self._limit.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._limit.__aexit__(kind, error, trace)
        except TimeoutError:
            raise TooLongError from None

    def take(self, event: NodeEvent) -> None:
        """Begin, end or reset the lull as an event of the node requires."""
        match event:
            case Happened():
                self._left = self._seconds
            case MatchFormed() | MatchStarted() | Continued():
                self.note(is_lull=False)
            case MatchResult() | Suspended():
                self.note(is_lull=True)

    def note(self, *, is_lull: bool) -> None:
        """Record whether there is a lull now."""
        if is_lull != self._is_lull and not self._limit.expired():
            now = asyncio.get_running_loop().time()
            self._is_lull = is_lull
            if is_lull:
                self._since = now
                self._limit.reschedule(now + self._left)
            else:
                self._left -= now - self._since
                self._limit.reschedule(None)


class _HostGoneError(Exception):
    """The host left after a match, and will not open the table again."""


class Evening:
    """Several matches of a bot at one table, one after the other.

    :param join: makes the node sit down at the table.
    :param look_on: makes the node watch the table, if no seat is free or a match is being played.
    :param give_up: seconds without play after which the bot leaves.
    """

    def __init__(
        self,
        join: Callable[[Node], Awaitable[object]],
        look_on: Callable[[Node], Awaitable[object]],
        matches: int,
        give_up: float,
    ) -> None:
        self._join = join
        self._look_on = look_on
        self._matches = matches
        self._give_up = give_up
        self._is_late = False
        self._played = 0
        self._gone: set[str] = set()
        self._lull: Lull

    async def enter(self, node: Node) -> None:
        """Sit down, or watch until a seat is free.

        :raises NodeError: if the table cannot be entered.
        """
        try:
            await self._join(node)
        except NodeError as error:
            if error.code is not ErrorCode.FULL and error.choices != LOOK_ON:
                raise
            await self._look_on(node)
            self._is_late = True

    async def attend(self, node: Node, bot: Bot, show: ShowEvent) -> None:
        """Let the bot play until the evening is over.

        :raises NodeError: if the node cannot return to the table, unless the host is unreachable after a match.
        :raises Failure: if nothing was played for too long, or as :func:`cli.bots.bot_seat.follow` does.
        """

        def take(event: NodeEvent, seating: Seating) -> None:
            self._lull.take(event)
            is_end = self._follow_host(event)
            # Not shown: other events that end the evening say that the node waits for the host, but this bot leaves.
            if not is_end or isinstance(event, TableClosed):
                show(event, seating)
            if is_end:
                raise _HostGoneError

        while self._played < self._matches:
            try:
                async with Lull(self._give_up) as self._lull:
                    if self._played or self._is_late:
                        await _beside(node.rejoin(), follow(node, bot, take))
                    else:
                        await follow(node, bot, take)
            except TooLongError:
                what = f"Nothing was played for {self._give_up:.0f} seconds."
                raise Failure(what, code=ExitCode.TOO_FEW) from None
            except _HostGoneError:
                break
            except NodeError as error:
                if not self._played or error.code is not ErrorCode.UNREACHABLE:
                    raise
                break
            self._played += 1
        else:
            return
        show(Notice("The host is not opening the table again"), Seating())

    def _follow_host(self, event: NodeEvent) -> bool:
        """Track whether the host left; return whether this event means that the host will not open the table again."""
        match event:
            case PeerLost(left_on_purpose=True):
                self._gone.add(event.player.fingerprint)
            case AwaitingHost(host=PlayerInfo() as host, host_is="silent"):
                return host.fingerprint in self._gone
            case AwaitingHost(host=PlayerInfo() as host):
                self._gone.discard(host.fingerprint)
            case TableClosed():
                return self._played > 0
        return False


async def _beside(returning: Awaitable[object], playing: Awaitable[object]) -> None:
    """Return to the table and follow its events concurrently, so that a match that is being played is shown."""
    tasks = [asyncio.ensure_future(returning), asyncio.ensure_future(playing)]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in done:
        task.result()
