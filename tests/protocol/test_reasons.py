"""The reasons for a closed table, a refused seat or a lost link use plain words, because users read them."""

from __future__ import annotations

import ast
import re
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cli.bots.bot import PlayerBot
from cli.bots.bot_seat import follow
from cli.exits import ExitCode, Failure
from cli.text.narrate import narrate
from cli.text.seating import Seating
from p2pdice.players import OddsPlayer
from protocol.errors import LOOK_ON, NodeError
from protocol.events import MatchStarted, TableClosed
from protocol.limits import Limits
from protocol.match.lobby import TableSettings
from protocol.net.link import _how_it_ended
from protocol.wire.frames import Frame, Leave, MatchAim, Refuse, Seat, Table, TableAim, Welcome, encode_frame
from tests.network.company import CLASSIC, HOST, Company
from tests.protocol.links import FakeHost

TABLE = bytes(16)
WELCOME = Welcome(TableAim(TABLE, ""))
SEATED = Seat(1)
SHORT = Limits(handshake=0.5, keepalive=0.1, silence=0.4, started_frame=0.4)
BREACH = "the other program does not keep to the protocol"


def shown(host: FakeHost) -> Table:
    return Table("Friday", CLASSIC.options(), 3, (120, 15), (("Eve", host.identity.public),))


# What ends a table for its guests


async def leaves(host: FakeHost) -> None:
    host.links[0].send(encode_frame(Leave("bye")))


async def is_killed(host: FakeHost) -> None:
    host.links[0].drop("killed")


async def falls_silent(host: FakeHost) -> None:
    host.links[0]._stop_watching()


async def sends(host: FakeHost, data: bytes) -> None:
    channel = host.links[0]._channel
    assert channel is not None
    channel.write(data)


async def sends_too_much(host: FakeHost) -> None:
    await sends(host, b"\xff\xff\xff\xff")


def says(*frames: Frame | bytes) -> Callable[[FakeHost], Any]:
    async def say(host: FakeHost) -> None:
        for frame in frames:
            host.links[0].send(frame if isinstance(frame, bytes) else encode_frame(frame))

    return say


GONE = {
    leaves: "the host has left.",
    is_killed: "the host is gone (the ",  # the rest depends on the operating system
    falls_silent: "the host is gone (nothing was heard for 0.4 seconds).",
    sends_too_much: f"the host is gone ({BREACH}: it sent a frame of 4294967295 bytes, where 65536 are allowed).",
    says(b"\x01"): f"the host is gone ({BREACH}: it sent an invalid message (a frame is an array)).",
    says(b"\x91\x07"): f"the host is gone ({BREACH}: it sent an invalid message (a frame of type 7 is malformed)).",
    says(
        b"\x91\xa1x"
    ): f"the host is gone ({BREACH}: it sent an invalid message (a frame without a type is malformed)).",
    says(WELCOME): f"the host is gone ({BREACH}: it greeted twice).",
    says(Refuse("closed", "we go to bed")): "we go to bed.",
    says(Table("Friday", (("x", "y"),), 3, (120, 15), ())): "what the host says cannot be accepted: ",
}


async def test_the_reason_for_a_closed_table_is_in_plain_words(people: Company) -> None:
    guest = await people.sit("Ben", bounds=SHORT)
    for happens, sentence in GONE.items():
        host = FakeHost(WELCOME)
        line = await host.open()
        host.answers = (WELCOME, shown(host), SEATED)
        before = len(guest.events)
        await guest.node.join(str(line))
        await happens(host)
        told = narrate(await guest.until(TableClosed, after=before), Seating())
        assert told.startswith((f"The table is closed: {sentence}", f"You cannot stay at this table: {sentence}"))
        assert told.endswith(".")
        host.close()


async def test_a_spectator_is_told_that_the_host_has_left(people: Company) -> None:
    host, watching = await people.sit("Ada"), await people.sit("Cleo")
    await watching.node.watch((await host.node.host(TableSettings("Friday", CLASSIC, 2))).join_line)
    await host.leave()
    assert narrate(await watching.until(TableClosed), Seating()) == "The table is closed: the host has left."


async def test_a_bot_escapes_control_characters_in_a_hosts_reason(people: Company) -> None:
    host = FakeHost(WELCOME)
    line = await host.open()
    host.answers = (WELCOME, shown(host), SEATED)
    guest = await people.sit("Ben")
    await guest.node.join(str(line))
    await says(Refuse("full", "\x1b[2Jgone"))(host)
    closed = await guest.until(TableClosed)
    await guest.leave()
    guest.node._runtime.events.put_nowait(closed)
    with pytest.raises(Failure) as caught:
        await follow(guest.node, PlayerBot("Ben", OddsPlayer(Random(0))), lambda *_: None)
    assert caught.value.what == "You cannot stay at this table: \\x1b[2Jgone."
    assert caught.value.code == ExitCode.FULL
    host.close()


# Answers to a guest who wants to join

ANSWERS: dict[str, tuple[tuple[Frame, ...], str]] = {
    "version": ((Refuse("version", "x"),), "x"),
    "match": ((Welcome(MatchAim(bytes(32))),), f"nobody let you in: {BREACH}: it answered another greeting"),
    "no table": ((WELCOME,), "the host answered but gave you no seat"),
    "table": ((shown(FakeHost()),), f"nobody let you in: {BREACH}: it did not answer the greeting"),
    "nothing": ((), "nobody let you in: the other program said nothing in time"),
}


@pytest.mark.parametrize("answer", ANSWERS)
async def test_the_reason_why_a_guest_cannot_join_is_in_plain_words(people: Company, answer: str) -> None:
    frames, reason = ANSWERS[answer]
    host = FakeHost(*frames)
    line = await host.open()
    guest = await people.sit("Ben", bounds=Limits(handshake=0.5))
    with pytest.raises(NodeError) as caught:
        await guest.node.join(str(line))
    assert caught.value.reason == reason
    host.close()


async def test_a_refusal_is_worded_from_the_readers_point_of_view(people: Company) -> None:
    """The host writes a refusal for a guest to read, so it must not use words like "here" from the host's view."""
    host, guest, other = [await people.sit(name) for name in ("Ada", "Ben", "Cleo")]
    where = f"{HOST}:{host.node.port}"
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 3, private=True))
    where = opened.addresses[0]

    async def refused(knock: Callable[[str], Any], at: str = where) -> str:
        with pytest.raises(NodeError) as caught:
            await knock(at)
        return caught.value.reason

    private = "this table is private: you need the host's short code or join line"
    assert await refused(guest.node.join) == await refused(other.node.watch) == private
    mistyped = "the last part of the join line is wrong: compare it with the line that the host sees"
    for knock in (guest.node.join, other.node.watch):
        assert await refused(knock, f"{opened.join_line[:-1]}{'AB'[opened.join_line[-1] == 'A']}") == mistyped
    await guest.node.join(opened.join_line)
    seated = "you already have a seat at this table, so you cannot watch it too"
    assert await refused(guest.node.watch, opened.join_line) == seated
    line = opened.join_line.replace(host.node.identity.fingerprint, guest.node.identity.fingerprint)
    at_guest = f"{HOST}:{guest.node.port}/{line.partition('/')[2]}"
    assert await refused(other.node.join, at_guest) == "no table is open at this address"
    assert await refused(other.node.watch, at_guest) == "there is nothing to be seen at this address"


async def test_a_guest_who_arrives_during_a_match_is_offered_to_watch(people: Company) -> None:
    host, guest, other = [await people.sit(name) for name in ("Ada", "Ben", "Cleo")]
    guest.hold()
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 2))
    await guest.node.join(opened.join_line)
    await host.until(MatchStarted)
    with pytest.raises(NodeError, match="a match is being played at this address") as caught:
        await other.node.join(opened.join_line)
    assert (caught.value.code, caught.value.choices) == ("refused", LOOK_ON)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (None, "the other program ended the connection"),
        (ConnectionResetError(104, "Connection reset by peer"), "the connection broke: Connection reset by peer"),
        (ConnectionResetError(), "the connection broke"),
        (ssl.SSLError(1, "[SSL: BAD_RECORD_MAC] decryption failed (_ssl.c:2580)"), "the connection broke"),
        (ssl.SSLError("it sent too much that carries nothing"), f"{BREACH}: it sent too much that carries nothing"),
        (ValueError("whatever"), "the connection broke"),
    ],
)
def test_the_reason_for_a_lost_connection_has_no_technical_words(problem: Exception | None, reason: str) -> None:
    assert _how_it_ended(problem) == reason


# All reasons in the source

GIVES_A_REASON = {
    *("MalformedGenesisError", "UnknownRulesError"),
    *("Refuse", "NotAdmittedError", "DialError", "RefusedError", "NodeError", "DiscoveryUnavailable", "Notice"),
    *("drop", "close", "disconnect", "_displace", "_close", "_stop", "host_gone", "TableClosed"),
}
MACHINERY = re.compile(
    r"(?<!p2pdice )\b"  # a command's name is allowed
    r"(nodes?|peers?|links?|identit(y|ies)|genesis|join records?|convenors?|rosters?|hello|welcome|proposals?|TLS)\b",
    re.IGNORECASE,
)


VARIABLES = {"reason", "problem", "what", "hint"}
"""Variables that hold a reason before it is passed on."""


def given(part: ast.AST) -> list[ast.expr]:
    """Return the expressions that a call or an assignment in the source uses as a reason."""
    if isinstance(part, ast.Assign | ast.AnnAssign) and part.value is not None:
        targets = part.targets if isinstance(part, ast.Assign) else [part.target]
        return [part.value] if {getattr(each, "id", "") for each in targets} & VARIABLES else []
    if isinstance(part, ast.Call):
        name = part.func.attr if isinstance(part.func, ast.Attribute) else getattr(part.func, "id", "")
        return [*part.args, *(each.value for each in part.keywords)] if name in GIVES_A_REASON else []
    return []


def reasons() -> Iterator[tuple[str, str]]:
    """Yield the file name and each constant text of a reason in the protocol's source."""
    for path in sorted((Path(__file__).parents[2] / "protocol").rglob("*.py")):
        for source in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for part in ast.walk(ast.Tuple(given(source))):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and " " in part.value.strip():
                    yield path.name, part.value


def test_no_reason_contains_a_technical_term() -> None:
    texts = list(reasons())
    assert len(texts) > 100
    assert [each for each in texts if MACHINERY.search(each[1])] == []
