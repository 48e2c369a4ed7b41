"""The bots that a host seats: where they live, and how they come back.

Each has a home of its own below the host's, ``bots/TABLE/NUMBER``: its key, its store, and a card that says who it is.
The homes stay as long as the match is unfinished, so that a host who was killed returns with the same bots, which have
the same keys. A table that never becomes a match leaves none behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cli.bots.bot_processes import Order, complaints_in, describe_exit, end, start_house_bot
from cli.bots.ndjson import read_object
from cli.levels import DEFAULT_LEVEL, Level
from cli.output import complain, say
from cli.render import escape, shown_path
from cli.text.event_json import OF_BOTS
from protocol.files import own_opener, read_own

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from protocol.crypto.keys import Identity
    from protocol.match.timeouts import Party
    from protocol.node.node import Node
    from protocol.storage.home import Home
    from protocol.storage.store import StoredMatch

_CARD: Final = "bot.json"
_CARD_BYTES: Final = 262_144
"""A command line is shorter."""
Tell = Callable[[dict[str, Any]], None]
"""Gets the news of programs, as :mod:`cli.text.event_json` writes them."""
_TABLE: Final = re.compile("[0-9a-f]{32}")


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


class Bot(NamedTuple):
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

    bots: tuple[Bot, ...] = ()

    @property
    def fingerprints(self) -> frozenset[str]:
        """As players are shown by."""
        from protocol.crypto.keys import fingerprint

        return frozenset(fingerprint(bot.identity) for bot in self.bots)

    def party(self, person: bytes) -> Party:
        """Return these bots and the person who has seated them."""
        from protocol.match.timeouts import Party

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
    from protocol.wire.genesis import MalformedGenesisError, parse_genesis

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
    from protocol.wire.genesis import MalformedGenesisError, parse_genesis

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


def settle(folder: Path, number: int, recruit: Recruit) -> Bot:
    """Give a bot a home.

    :raises OSError: if that cannot be written.
    """
    from protocol.crypto.keys import IDENTITY_FILE

    home = folder.absolute() / str(number)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    home.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):  # the home of the match before could not be removed; its key is the same
        recruit.key.save(home / IDENTITY_FILE)
    bot = Bot(home, recruit.name, recruit.key.public, recruit.command, os.getcwd(), recruit.level)
    card = {**bot._asdict(), "identity": bot.identity.hex()}
    del card["home"]
    with open(home / _CARD, "w", encoding="utf-8", opener=own_opener) as file:
        json.dump(card, file)
        file.flush()
        os.fsync(file.fileno())  # a match that survives a power cut is no match without its bots
    return bot


def _read_card(home: Path) -> Bot:
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
    return Bot(home.absolute(), name, bytes.fromhex(identity), tuple(command), folder, level)


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


async def _follow(node: Node, bot: Bot, process: Process, is_ending: asyncio.Event, tell: Tell) -> None:
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
