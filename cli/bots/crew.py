"""Bots as processes, seated by a host or by a demo. None outlives the process that started it.

Each bot that a host seats has a home of its own below the host's, ``bots/TABLE/NUMBER``: its key, its store, and a card
that says who it is. The homes stay as long as the match is unfinished, so that a host who was killed returns with the
same bots, which have the same keys. A table that never becomes a match leaves none behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import cli
from cli.bots.bot import BOT_NAMES, DEFAULT_LEVEL, Level, bot_nickname
from cli.bots.programs import forbid_vfork, own_group
from cli.exits import ExitCode, Failure
from cli.foreign_text import read_object
from cli.home import log_path
from cli.output import complain, say
from cli.render import escape, shown_path
from cli.text.event_json import EVENT_NAMES, OF_BOTS
from protocol.crypto.keys import IDENTITY_FILE, Identity, fingerprint
from protocol.events import MatchResult, TableOpened
from protocol.files import is_full, own_opener, read_own
from protocol.match.waiting import Party
from protocol.node.node import Node
from protocol.storage.home import Home
from protocol.storage.store import StoredMatch
from protocol.wire.genesis import MalformedGenesisError, parse_genesis

KILL_AFTER: Final = 3.0
"""Seconds that a child gets to say goodbye before it is killed; a finished node lingers for two."""
_EXITS: Final[dict[int, str]] = {
    ExitCode.UNREACHABLE: "could not reach the table",
    ExitCode.FULL: "found no free seat",
    ExitCode.REFUSED: "was refused",
}
STALLED: Final = 60.0
"""Seconds without news after which a match between programs is given up."""
_CARD: Final = "bot.json"
_CARD_BYTES: Final = 262_144
"""A command line is shorter."""
Tell = Callable[[dict[str, Any]], None]
"""Gets the news of programs, as :mod:`cli.text.event_json` writes them."""
_TABLE: Final = re.compile("[0-9a-f]{32}")


class Order(NamedTuple):
    """Tells a bot which table or match to go to: the first line of its standard input.

    A join line may admit to a private table, and every account of a machine can read the arguments of a process.
    """

    table: str = ""
    """The target of a bot that joins, the name of the table for one that hosts."""
    match: str = ""
    """Id of the match to which it returns instead."""
    person: str = ""
    """Identity key of the player who seated it, in hexadecimal digits; empty if nobody did."""
    programs: tuple[str, ...] = ()
    """Identity keys of all bots that they seated."""

    @classmethod
    def to_join(cls, table: str, party: Party) -> Order:
        """Return the order to sit down at a table of the person."""
        return cls(table, "", party.person.hex(), tuple(sorted(each.hex() for each in party.programs)))

    @classmethod
    def to_resume(cls, match: str, party: Party) -> Order:
        """Return the order to return to a match with the person."""
        return cls.to_join("", party)._replace(match=match)

    @classmethod
    def read(cls, line: str) -> Order:
        """Return the order that :meth:`line` writes."""
        table, match, person, programs = json.loads(line)
        return cls(table, match, person, tuple(programs))

    def line(self) -> str:
        """Return the order as a line of JSON."""
        return json.dumps(self)

    def party(self) -> Party | None:
        """Return the person who has seated the bot, with all their bots; None if nobody has."""

        if not self.person:
            return None
        return Party(bytes.fromhex(self.person), frozenset(map(bytes.fromhex, self.programs)))


async def start_house_bot(
    order: Order, arguments: Sequence[str], log: Path, *, folder: str | None = None, is_heard: bool = False
) -> Process:
    """Start ``p2pdice house-bot`` with these arguments. It ends with its standard input, even if we are killed.

    :param log: where its complaints go.
    :param folder: where it runs; None for here.
    :param is_heard: give its standard output as a pipe.
    :raises OSError: if it cannot be started.
    """
    # The interpreter that runs us, and the very same p2pdice; never one that lies in the current folder by chance.
    root = str(Path(cli.__file__).parents[1])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    forbid_vfork()
    with _appended(log) as complaints:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "p2pdice",
            "house-bot",
            *arguments,
            stdin=PIPE,
            stdout=PIPE if is_heard else DEVNULL,
            stderr=complaints,
            env={**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1"},
            cwd=folder,
            **own_group(),  # Ctrl-C is for us: we tell it when to leave
        )
    assert process.stdin is not None
    process.stdin.write(f"{order.line()}\n".encode())
    return process


def _appended(log: Path) -> BinaryIO:
    return open(log, "ab", opener=own_opener)


async def end(processes: Iterable[Process]) -> None:
    """Ask child processes to end, and kill the ones still running after :data:`KILL_AFTER`."""
    running = [process for process in processes if process.returncode is None]
    for process in running:
        assert process.stdin is not None
        process.stdin.close()
    if not running:
        return
    _, stubborn = await asyncio.wait([asyncio.ensure_future(process.wait()) for process in running], timeout=KILL_AFTER)
    if stubborn:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await asyncio.wait(stubborn)


def complaints_in(log: Path) -> str:
    """Return where to look for what a process complained of: a full disk keeps no log, and is the likely cause."""
    return f"The disk is full: {shown_path(log.parent)}" if is_full(log.parent) else f"Its log: {shown_path(log)}"


def describe_exit(code: int | None) -> str:
    """Return how a process ended, in words."""
    if code is None:
        return "is still running"
    if code < 0:
        return f"was killed by signal {-code}"
    return _EXITS.get(code, f"ended with exit code {code}")


class Recruit(NamedTuple):
    """A bot to be seated."""

    name: str
    """Its nickname."""
    key: Identity
    """Its identity, the same all evening, because the score counts by keys."""
    command: tuple[str, ...] = ()
    """The program that plays and its arguments; empty for the house's own."""
    level: Level = DEFAULT_LEVEL
    """Of one of the house's own."""


class SeatedBot(NamedTuple):
    """A bot that has a home."""

    home: Path
    name: str
    identity: bytes
    """Public key."""
    command: tuple[str, ...]
    folder: str
    """The folder in which its command was typed: relative paths start there."""
    level: Level = DEFAULT_LEVEL


class Crew(NamedTuple):
    """The bots of one host at one table."""

    bots: tuple[SeatedBot, ...] = ()

    @property
    def fingerprints(self) -> frozenset[str]:
        """As players are shown by."""

        return frozenset(fingerprint(bot.identity) for bot in self.bots)

    def party(self, person: bytes) -> Party:
        """Return these bots and the person who has seated them."""

        return Party(person, frozenset(bot.identity for bot in self.bots))


def _print(said: dict[str, Any]) -> None:
    say(said["sentence"])


@asynccontextmanager
async def hired(node: Node, recruits: Sequence[Recruit], tell: Tell = _print) -> AsyncIterator[Crew]:
    """Seat new bots at the open table of a node, for as long as the block lasts.

    :raises OSError: if they cannot be given homes.
    """
    tidy(node.home, node.unfinished())
    folder = node.home.bots / node.table_id.hex()
    crew = Crew(tuple(settle(folder, number, each) for number, each in enumerate(recruits)))
    node.party = crew.party(node.identity.public)
    async with _running(node, crew, Order.to_join(node.join_line, node.party), tell):
        yield crew


@asynccontextmanager
async def recalled(node: Node, crew: Crew) -> AsyncIterator[Crew]:
    """Seat the bots of a match again, for as long as the block lasts."""
    assert node.match is not None
    assert node.party is not None
    async with _running(node, crew, Order.to_resume(node.match.history.match.hex(), node.party), _print):
        yield crew


def at_home(home: Home, stored: StoredMatch) -> Crew:
    """Return the bots of a match that have homes here. A bot with an unreadable card stays away, and a line says so."""

    try:
        folder = home.bots / parse_genesis(stored.genesis).table.hex()
    except MalformedGenesisError:
        return Crew()  # the player learns of it when they return to that match
    bots = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            bots.append(_read_card(path))
        except (OSError, ValueError) as error:
            complain(f"A bot cannot come back: {shown_path(path / _CARD)} is unreadable ({escape(str(error))}).")
    return Crew(tuple(bots))


def tidy(home: Home, unfinished: Iterable[StoredMatch]) -> None:
    """Remove the homes of bots whose match is over or forgotten, or never began.

    :param unfinished: all matches of the home that can be returned to.
    """

    if not home.bots.is_dir():
        return
    try:
        kept = {parse_genesis(stored.genesis).table.hex() for stored in unfinished}
    except MalformedGenesisError:
        return  # the store is damaged: a repair may still show whose homes these are
    for folder in list(home.bots.iterdir()):
        if _TABLE.fullmatch(folder.name) and folder.name not in kept:
            shutil.rmtree(folder, ignore_errors=True)  # files that are still in use go the next time
    with suppress(OSError):  # others live there
        home.bots.rmdir()


def settle(folder: Path, number: int, recruit: Recruit) -> SeatedBot:
    """Give a bot a home.

    :raises OSError: if that cannot be written.
    """

    home = folder.absolute() / str(number)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    home.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):  # the home of the match before could not be removed; its key is the same
        recruit.key.save(home / IDENTITY_FILE)
    bot = SeatedBot(home, recruit.name, recruit.key.public, recruit.command, os.getcwd(), recruit.level)
    card = {**bot._asdict(), "identity": bot.identity.hex()}
    del card["home"]
    with open(home / _CARD, "w", encoding="utf-8", opener=own_opener) as file:
        json.dump(card, file)
        file.flush()
        os.fsync(file.fileno())  # a match that survives a power cut is no match without its bots
    return bot


def _read_card(home: Path) -> SeatedBot:
    """Return the bot that lives in a home.

    :raises OSError: if there is no card.
    :raises ValueError: if the card is not one that this program writes.
    """
    content = read_own(home / _CARD, _CARD_BYTES + 1)
    if len(content) > _CARD_BYTES:
        raise ValueError("it is too long")
    card = read_object(content)
    name, identity, command, folder = (card.get(key) for key in ("name", "identity", "command", "folder"))
    if not (isinstance(name, str) and isinstance(identity, str) and isinstance(folder, str)):
        raise ValueError("something is missing")
    if not (isinstance(command, list) and all(isinstance(word, str) for word in command)):
        raise ValueError("it names no program")
    level = Level(card.get("level", DEFAULT_LEVEL))  # older cards name none
    return SeatedBot(home.absolute(), name, bytes.fromhex(identity), tuple(command), folder, level)


@asynccontextmanager
async def _running(node: Node, crew: Crew, order: Order, tell: Tell) -> AsyncIterator[None]:
    """Let bots play as processes; afterwards remove their homes if they are no longer needed."""
    processes: list[Process] = []
    followers: list[asyncio.Task[None]] = []
    is_ending = asyncio.Event()
    try:
        for bot in crew.bots:
            arguments = ["--name", bot.name, "--home", str(bot.home), "--level", bot.level, "--", *bot.command]
            # Only the faults of programs are news.
            folder = bot.folder if bot.command else None
            try:
                process = await start_house_bot(
                    order, arguments, node.home.log, folder=folder, is_heard=bool(bot.command)
                )
            except OSError as error:
                complain(f"{escape(bot.name)} cannot be started: {error.strerror}.")
                continue
            processes.append(process)
            followers.append(asyncio.create_task(_follow(node, bot, process, is_ending, tell)))
        yield
    finally:
        is_ending.set()
        await end(processes)
        await asyncio.gather(*followers)
        tidy(node.home, node.unfinished())


async def _follow(node: Node, bot: SeatedBot, process: Process, is_ending: asyncio.Event, tell: Tell) -> None:
    """Pass on news of a bot, and say how it ended if nobody told it to."""
    if process.stdout is not None:
        async for line in process.stdout:
            said = json.loads(line)
            if said["type"] in OF_BOTS:
                tell(said)
    if (code := await process.wait()) and not is_ending.is_set():
        complain(f"{escape(bot.name)} {describe_exit(code)}. {complaints_in(node.home.log)}")
        if node.match is not None and node.match.is_formed:
            complain("To seat it again, quit and resume the match.")


@dataclass(slots=True)
class Contestant:
    """One bot."""

    name: str
    home: Path
    level: Level
    transcript: Path | None = None
    """None until this bot has seen the match end."""
    found_by_itself: bool = True
    """Multicast led it to the table; otherwise it was given the address."""

    @property
    def nickname(self) -> str:
        """What the others call it."""
        return bot_nickname(self.name, level=level) if (level := self.level.mark) else self.name


class DemoMatch:
    """One match.

    :param levels: of the bots, one for each.
    :param rules: ``--rules`` and ``--set`` as a child takes them.
    :param seed: fixes the bots' choices, together with their names.
    :param show: gets every event of the hosting bot, as :mod:`cli.text.event_json` writes it.
    :param warn: gets other news that is worth a line.
    """

    def __init__(
        self,
        levels: Sequence[Level],
        rules: list[str],
        folder: Path,
        seed: str | None,
        show: Callable[[dict[str, Any]], None],
        warn: Callable[[str], None],
    ) -> None:
        self.contestants = [
            Contestant(name, folder / name.lower(), level) for name, level in zip(BOT_NAMES, levels, strict=False)
        ]
        self._rules = rules
        self._seed = seed
        self._show = show
        self._warn = warn
        self._table = f"demo {secrets.token_hex(4)}"
        self._join_line = ""
        self._processes: list[Process] = []

    async def run(self) -> None:
        """Play the match to its end on every node.

        :raises Failure: if a process fails or nothing happens any more, naming the log to look at.
        """
        try:
            async with asyncio.timeout(STALLED) as patience:
                await asyncio.gather(*(self._play(each, patience) for each in self.contestants))
        except TimeoutError:
            logs = shown_path(log_path(self.contestants[0].home))
            raise Failure(f"Nothing has happened for {STALLED:.0f} seconds.", hint=f"See the logs, as {logs}") from None
        finally:
            await end(self._processes)

    async def _play(self, contestant: Contestant, patience: asyncio.Timeout) -> None:
        is_host = contestant is self.contestants[0]
        seat = ["--seats", str(len(self.contestants))] if is_host else []
        code = await self._follow(contestant, self._table, seat, patience)
        if code == ExitCode.UNREACHABLE and self._join_line and not is_host:
            if all(each.found_by_itself for each in self.contestants):
                self._warn("The table was not found by multicast in time: the bots are told its address.")
            contestant.found_by_itself = False
            code = await self._follow(contestant, self._join_line, seat, patience)
        if code or contestant.transcript is None:
            why = describe_exit(code) if code else "ended before the match did"
            raise Failure(f"The bot {contestant.name} {why}.", hint=complaints_in(log_path(contestant.home)))

    async def _follow(self, contestant: Contestant, table: str, seat: list[str], patience: asyncio.Timeout) -> int:
        own = ["--name", contestant.nickname, "--home", str(contestant.home), "--level", contestant.level]
        arguments = [*seat, *self._rules, *own]
        if self._seed is not None:
            arguments += ["--seed", f"{self._seed}/{contestant.name}"]
        process = await start_house_bot(Order(table), arguments, log_path(contestant.home), is_heard=True)
        self._processes.append(process)
        assert process.stdout is not None
        async for line in process.stdout:
            patience.reschedule(asyncio.get_running_loop().time() + STALLED)
            self._take(contestant, json.loads(line))
        return await process.wait()

    def _take(self, contestant: Contestant, event: dict[str, Any]) -> None:
        if event["type"] == EVENT_NAMES[TableOpened]:
            self._join_line = event["join_line"]
        if event["type"] == EVENT_NAMES[MatchResult]:
            contestant.transcript = Path(event["transcript"])
        if contestant is self.contestants[0]:
            self._show(event)
