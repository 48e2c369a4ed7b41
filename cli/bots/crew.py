"""Bots in processes, started by a host or by a demo. No bot outlives the process that started it.

Each bot that a host seats has its own home below the host's, ``bots/TABLE/NUMBER``. It holds the bot's key, its store,
and a card that describes it. The homes are kept as long as the match is unfinished, so a host that was killed can
return with the same bots and keys. If no match begins at a table, its homes are removed.
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
from typing import Any, Final, NamedTuple

import cli
from cli.bots.bot import BOT_NAMES, DEFAULT_LEVEL, Level, bot_nickname
from cli.bots.programs import forbid_vfork, own_group
from cli.exits import ExitCode, Failure
from cli.foreign_text import read_object
from cli.output import complain, say
from cli.render import escape, shown_path
from cli.text.narrate import OF_BOTS, event_name
from protocol.crypto.keys import IDENTITY_FILE, Identity, fingerprint
from protocol.events import MatchResult, TableOpened
from protocol.files import is_full, own_opener, read_own
from protocol.match.waiting import Party
from protocol.node.node import Node
from protocol.storage.home import Home
from protocol.storage.store import StoredMatch
from protocol.wire.genesis import MalformedGenesisError, parse_genesis

KILL_AFTER: Final = 3.0
"""Seconds that a child gets to leave the table properly before it is killed. A finished node lingers for two."""
_EXITS: Final[dict[int, str]] = {
    ExitCode.UNREACHABLE: "could not reach the table",
    ExitCode.FULL: "found no free seat",
    ExitCode.REFUSED: "was refused",
}
STALLED: Final = 60.0
"""Seconds without news after which a match between programs is abandoned."""
_CARD: Final = "bot.json"
_CARD_BYTES: Final = 262_144
"""Maximum size of a card. Command lines are much shorter."""
Tell = Callable[[dict[str, Any]], None]
"""Receives the events of programs, in the format of :mod:`cli.text.narrate`."""
_TABLE: Final = re.compile("[0-9a-f]{32}")
_ROOT: Final = str(Path(cli.__file__).parents[1])
"""The folder that contains the packages of this running p2pdice."""


class Order(NamedTuple):
    """The table or match that a bot must go to: the first line of its standard input.

    It is not an argument, because every account of a machine can read the arguments of processes, and the order may
    contain the join line of a private table.
    """

    table: str = ""
    """The target of a bot that joins, or the name of the table for one that hosts."""
    match: str = ""
    """The id of a match to which the bot must return, instead of going to a table."""
    person: str = ""
    """The identity key, in hexadecimal, of the player who seated the bot; empty for a bot in a demo."""
    programs: tuple[str, ...] = ()
    """The identity keys of all bots that this player seated."""

    @classmethod
    def to_join(cls, table: str, party: Party) -> Order:
        """Return the order to sit down at ``table`` as a bot of a party."""
        return cls(table, "", party.person.hex(), tuple(sorted(each.hex() for each in party.programs)))

    @classmethod
    def to_resume(cls, match: str, party: Party) -> Order:
        """Return the order to return to a match as a bot of a party."""
        return cls.to_join("", party)._replace(match=match)

    @classmethod
    def read(cls, line: str) -> Order:
        """Parse a line made by :meth:`line`."""
        table, match, person, programs = json.loads(line)
        return cls(table, match, person, tuple(programs))

    def line(self) -> str:
        """Return the order as JSON, without a line break."""
        return json.dumps(self)

    def party(self) -> Party | None:
        """Return the party of the player who seated the bot; None for a bot in a demo."""
        if not self.person:
            return None
        return Party(bytes.fromhex(self.person), frozenset(map(bytes.fromhex, self.programs)))


async def start_house_bot(
    order: Order, arguments: Sequence[str], log: Path, *, folder: str | None = None, is_heard: bool
) -> Process:
    """Start ``p2pdice house-bot``. It exits when its standard input closes, as happens if this process is killed.

    :param log: the file to which its standard error is appended.
    :param folder: its working directory; None for the current one.
    :param is_heard: whether its standard output is a pipe.
    :raises OSError: if it cannot be started.
    """
    # Use this interpreter and this p2pdice, never another p2pdice in the current folder.
    path = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH"))))
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    forbid_vfork()
    with open(log, "ab", opener=own_opener) as complaints:  # noqa: ASYNC230 - a local file, for a moment
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
            **own_group(),  # Ctrl-C is for this process, which tells the child when to leave
        )
    assert process.stdin is not None
    process.stdin.write(f"{order.line()}\n".encode())
    return process


def restore_path() -> None:
    """Remove the entry that :func:`start_house_bot` put into PYTHONPATH, so that bot programs do not inherit it.

    Otherwise a program in Python would import packages from p2pdice's folder in place of its own.
    """
    first, _, rest = os.environ.get("PYTHONPATH", "").partition(os.pathsep)
    if first == _ROOT:
        os.environ["PYTHONPATH"] = rest  # Python ignores an empty value


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
    """Return a clause that names a process's log or, if the disk is full, says so: then there may be no log."""
    return f"The disk is full: {shown_path(log.parent)}" if is_full(log.parent) else f"Its log: {shown_path(log)}"


def describe_exit(code: int | None) -> str:
    """Return how a process ended, as a predicate."""
    if code is None:
        return "is still running"
    if code < 0:
        return f"was killed by signal {-code}"
    return _EXITS.get(code, f"ended with exit code {code}")


class Recruit(NamedTuple):
    """A bot to be seated."""

    name: str
    key: Identity
    """Its identity. It stays the same all evening, because the score counts by keys."""
    command: tuple[str, ...] = ()
    """The program that plays, with its arguments; empty for a house bot."""
    level: Level = DEFAULT_LEVEL
    """The level of a house bot."""


class SeatedBot(NamedTuple):
    """A bot that has a home."""

    home: Path
    name: str
    identity: bytes
    """The bot's public key."""
    command: tuple[str, ...]
    folder: str
    """The folder in which the command was typed, from which its relative paths start."""
    level: Level = DEFAULT_LEVEL


class Crew(NamedTuple):
    """The bots of one host at one table."""

    bots: tuple[SeatedBot, ...] = ()

    @property
    def fingerprints(self) -> frozenset[str]:
        """The fingerprints of the bots' keys."""
        return frozenset(fingerprint(bot.identity) for bot in self.bots)

    def party(self, person: bytes) -> Party:
        """Return the party of these bots and the person who seated them."""
        return Party(person, frozenset(bot.identity for bot in self.bots))


def _print(said: dict[str, Any]) -> None:
    say(said["sentence"])


@asynccontextmanager
async def hired(
    node: Node, recruits: Sequence[Recruit], tell: Tell = _print, logs: Path | None = None
) -> AsyncIterator[Crew]:
    """Seat new bots at the open table of a node, for as long as the block lasts.

    :param logs: the folder for logs of programs; None for no logs.
    :raises OSError: if their homes cannot be written.
    """
    tidy(node.home, node.unfinished())
    folder = node.home.bots / node.table_id.hex()
    crew = Crew(tuple(settle(folder, number, each) for number, each in enumerate(recruits)))
    node.party = crew.party(node.identity.public)
    async with _running(node, crew, Order.to_join(node.join_line, node.party), tell, logs):
        yield crew


@asynccontextmanager
async def recalled(node: Node, crew: Crew) -> AsyncIterator[Crew]:
    """Seat the bots of a match again, for as long as the block lasts."""
    assert node.match is not None
    assert node.party is not None
    async with _running(node, crew, Order.to_resume(node.match.history.match.hex(), node.party), _print):
        yield crew


def at_home(home: Home, stored: StoredMatch) -> Crew:
    """Return the bots of a match that have homes here. If a card is unreadable, print a complaint and omit its bot."""
    try:
        folder = home.bots / parse_genesis(stored.genesis).table.hex()
    except MalformedGenesisError:
        return Crew()  # returning to the match reports the error
    bots = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            bots.append(_read_card(path))
        except (OSError, ValueError) as error:
            complain(f"A bot cannot come back: {shown_path(path / _CARD)} is unreadable ({escape(str(error))}).")
    return Crew(tuple(bots))


def tidy(home: Home, unfinished: Iterable[StoredMatch]) -> None:
    """Remove the homes of bots whose match is over or forgotten, or never began.

    :param unfinished: all matches to which the player can return.
    """
    if not home.bots.is_dir():
        return
    try:
        kept = {parse_genesis(stored.genesis).table.hex() for stored in unfinished}
    except MalformedGenesisError:
        return  # the store is damaged, but once repaired may show that these homes are needed
    for folder in list(home.bots.iterdir()):
        if _TABLE.fullmatch(folder.name) and folder.name not in kept:
            shutil.rmtree(folder, ignore_errors=True)  # files that are still in use are removed the next time
    with suppress(OSError):  # the folder is not empty
        home.bots.rmdir()


def settle(folder: Path, number: int, recruit: Recruit) -> SeatedBot:
    """Create a home for a bot.

    :raises OSError: if it cannot be written.
    """
    home = folder.absolute() / str(number)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    home.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):  # a home of the last match that could not be removed; its key is the same
        recruit.key.save(home / IDENTITY_FILE)
    bot = SeatedBot(home, recruit.name, recruit.key.public, recruit.command, os.getcwd(), recruit.level)
    card = {**bot._asdict(), "identity": bot.identity.hex()}
    del card["home"]
    with open(home / _CARD, "w", encoding="utf-8", opener=own_opener) as file:
        json.dump(card, file)
        file.flush()
        os.fsync(file.fileno())  # a match that survives a power cut needs its bots
    return bot


def _read_card(home: Path) -> SeatedBot:
    """Return the bot described by the card in a home.

    :raises OSError: if the card cannot be read.
    :raises ValueError: if this program cannot have written the card.
    """
    content = read_own(home / _CARD, _CARD_BYTES + 1)
    if len(content) > _CARD_BYTES:
        raise ValueError("it is too long")
    card = read_object(content)
    name, identity, command, folder, level = (card.get(key) for key in SeatedBot._fields[1:])
    if not (isinstance(name, str) and isinstance(identity, str) and isinstance(folder, str)):
        raise ValueError("something is missing")
    if not (isinstance(command, list) and all(isinstance(word, str) for word in command)):
        raise ValueError("it names no program")
    return SeatedBot(home.absolute(), name, bytes.fromhex(identity), tuple(command), folder, Level(str(level)))


@asynccontextmanager
async def _running(node: Node, crew: Crew, order: Order, tell: Tell, logs: Path | None = None) -> AsyncIterator[None]:
    """Run bots as processes inside the block. Afterwards remove their homes if they are no longer needed."""
    processes: list[Process] = []
    followers: list[asyncio.Task[None]] = []
    is_ending = asyncio.Event()
    try:
        for bot in crew.bots:
            arguments = ["--name", bot.name, "--home", str(bot.home), "--level", bot.level]
            arguments += [*(["--log", str(logs)] if logs is not None else []), "--", *bot.command]
            # A bot that runs an owner's program has a folder, and its output is read: it reports the program's faults.
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
    """Pass on the events of a bot's program, and complain if the bot fails before it is told to end."""
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
    """One bot in a demo."""

    name: str
    home: Path
    level: Level
    transcript: Path | None = None
    """The path of its transcript; None until the match has ended for this bot."""
    found_by_itself: bool = True
    """Whether multicast led it to the table; otherwise it was given the address."""

    @property
    def nickname(self) -> str:
        """Its nickname at the table."""
        return bot_nickname(self.name, level=level) if (level := self.level.mark) else self.name


class DemoMatch:
    """One match between house bots.

    :param levels: one for each bot.
    :param rules: the options ``--rules`` and ``--set`` for the children.
    :param seed: determines the bots' choices, together with their names; None for random choices.
    :param show: receives each event of the hosting bot, in the format of :mod:`cli.text.narrate`.
    :param warn: receives warnings.
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

        :raises Failure: if a process fails, or nothing happens for :data:`STALLED` seconds. The hint names a log.
        """
        try:
            async with asyncio.timeout(STALLED) as patience:
                await asyncio.gather(*(self._play(each, patience) for each in self.contestants))
        except TimeoutError:
            logs = shown_path(Home(self.contestants[0].home).log)
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
            raise Failure(f"The bot {contestant.name} {why}.", hint=complaints_in(Home(contestant.home).log))

    async def _follow(self, contestant: Contestant, table: str, seat: list[str], patience: asyncio.Timeout) -> int:
        own = ["--name", contestant.nickname, "--home", str(contestant.home), "--level", contestant.level]
        arguments = [*seat, *self._rules, *own]
        if self._seed is not None:
            arguments += ["--seed", f"{self._seed}/{contestant.name}"]
        process = await start_house_bot(Order(table), arguments, Home(contestant.home).log, is_heard=True)
        self._processes.append(process)
        assert process.stdout is not None
        async for line in process.stdout:
            patience.reschedule(asyncio.get_running_loop().time() + STALLED)
            self._take(contestant, json.loads(line))
        return await process.wait()

    def _take(self, contestant: Contestant, event: dict[str, Any]) -> None:
        if event["type"] == event_name(TableOpened):
            self._join_line = event["join_line"]
        if event["type"] == event_name(MatchResult):
            contestant.transcript = Path(event["transcript"])
        if contestant is self.contestants[0]:
            self._show(event)
