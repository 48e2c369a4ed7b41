"""Secrets never leave a player's home directory, and only its owner can read it.

The secrets are the identity key, the match seed, and each value derived from the seed until the protocol opens it.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from cli.home import EscapingFormatter, PrivateFileHandler
from protocol.consensus.kinds import parse_signed
from protocol.consensus.position import FORMED
from protocol.crypto.hashing import derive_secret, tagged_hash
from protocol.crypto.keys import MatchKey
from protocol.events import Stopped, YourTurn
from protocol.match.lobby import TableSettings
from protocol.net.link import Link
from protocol.node.node import Node
from protocol.storage.home import Home
from protocol.wire.frames import Carried, Page, decode_frame
from protocol.wire.messages import Kind
from tests.network import views
from tests.network.company import CLASSIC, Company, Player, agree, company

needs_mode_bits = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows keeps a profile private by access lists, not by mode bits"
)

LOG_BYTES = 100_000
"""The size at which the test's log rotates; the real limit is larger."""


def secrets_of(node: Node) -> list[bytes]:
    """Return the values that only this node may know, even after the match."""
    private = node.identity.private_key
    seed = node._active.proposals._seed
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return [seed, private.private_bytes_raw(), tagged_hash("match-key", seed), pem.split(b"\n")[1]]


def spellings(secret: bytes) -> set[str]:
    """Return the forms in which a secret could appear in a text."""
    return {secret.hex(), repr(secret), repr(secret)[2:-1], secret.decode("latin-1")}


async def test_no_log_and_no_repr_contains_a_secret(people: Company, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    players, _ = await people.table(2)
    await agree(*players)
    for player in players:
        node = player.node
        match = node.match
        assert match is not None
        things = [node, match, node.identity, match.signer.key, node._store, *node._store.matches(), node._mesh]
        told = caplog.text + "".join(map(repr, (*things, *player.events)))
        for secret in secrets_of(node):
            assert not [spelling for spelling in spellings(secret) if spelling in told]


async def test_no_frame_and_no_transcript_contains_a_secret_before_it_is_opened(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hand key is sent only in an OPEN, and a share only in a REVEAL. All other secrets are never sent."""
    sent: list[bytes] = []
    queue = Link.queue

    def queue_and_note(link: Link, frame: bytes) -> None:
        sent.append(frame)
        queue(link, frame)

    monkeypatch.setattr(Link, "queue", queue_and_note)
    players, _ = await people.table(2)
    await players[0].until(YourTurn)
    players[0].node.say("good luck")
    transcript = await agree(*players)
    for player in players:
        for secret in secrets_of(player.node):
            assert not [data for data in (*sent, transcript) if secret in data or secret.hex().encode() in data]
        assert player.node.match is not None
        seed, chain = player.node._active.proposals._seed, player.node.match.history.chain
        dealt = {position.deal.context for position in chain if position.deal is not None}
        rolled = {position.committed.context for position in chain if position.committed is not None}
        for contexts, purpose, opening in ((dealt, "hand", Kind.OPEN), (rolled, "share", Kind.REVEAL)):
            keys = [derive_secret(seed, context, purpose) for context in contexts]
            assert {kind for key in keys for kind in kinds_with(key, sent)} == {opening}


def kinds_with(secret: bytes, frames: list[bytes]) -> Iterator[int | None]:
    """Yield the kinds of messages in these frames that contain a secret, and None if it is elsewhere in a frame."""
    for data in frames:
        if secret in data:
            frame = decode_frame(data)
            wires = [(frame.data, frame.signature)] if isinstance(frame, Carried) else []
            wires += frame.messages if isinstance(frame, Page) else ()
            kinds = [parse_signed(*wire).message.kind for wire in wires if secret in wire[0]]
            yield from kinds or (None,)


@pytest.mark.parametrize("hosts", [True, False], ids=["the host's", "a guest's"])
async def test_the_seed_is_on_the_disk_before_a_commitment_is_sent(people: Company, hosts: bool) -> None:
    """A player who sends COMMIT and then loses the seed in a crash would lose the seat."""
    host, guest = await people.sit("host"), await people.sit("guest")
    player = host if hosts else guest
    stored: list[tuple[bytes, bytes]] = []

    def look() -> None:
        stored.extend(player.node._store.database.connection.execute("SELECT match_key, seed FROM seeds").fetchall())
        assert not player.node._store.database.connection.in_transaction

    watch_for_commitments(player, look)
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 2))
    await guest.node.join(opened.join_line)
    await agree(host, guest)
    assert (MatchKey(views.proposals(player)._seed).public, views.proposals(player)._seed) in stored


def watch_for_commitments(player: Player, look: Callable[[], None]) -> None:
    """Call ``look`` just before this player sends its first COMMIT."""
    mesh = player.node._mesh
    send = mesh.send

    def watched(identity: bytes, frame: bytes) -> None:
        said = decode_frame(frame)
        match = player.node.match
        if isinstance(said, Carried) and match is not None and not match.history.position.step > FORMED:
            message = parse_signed(said.data, said.signature).message
            if (message.kind, message.author) == (Kind.COMMIT, match.me):
                look()
        send(identity, frame)

    mesh.send = watched  # type: ignore[method-assign]


@needs_mode_bits
async def test_other_accounts_cannot_read_any_file_of_a_home_after_a_match(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with company(tmp_path) as people:
            players, _ = await people.table(2)
            await agree(*players)
    finally:
        os.umask(before)
    for player in players:
        home = player.node.home
        assert {home.identity, home.store, *(home.path / "matches").glob("*.p2pdice")} < {*home.path.rglob("*")}
        for path in (home.path, *home.path.rglob("*")):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


async def test_no_name_of_a_peer_becomes_part_of_a_path(people: Company, tmp_path: Path) -> None:
    host = await people.sit("h/../../host", home=tmp_path / "a")
    guest = await people.sit("g\\..\\guest", home=tmp_path / "b")
    opened = await host.node.host(TableSettings("../../../table", CLASSIC, 2))
    await guest.node.join(opened.join_line)
    await agree(host, guest)
    match = host.node.match.history.match.hex()  # type: ignore[union-attr]
    (stored,) = host.node._store.matches()
    assert stored.name == f"{date.fromtimestamp(stored.created)}-table"
    for player in (host, guest):
        home = player.node.home.path
        files = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}
        assert {name for name in files if not name.startswith("store.sqlite3")} == {
            "identity.key",
            f"matches/{date.fromtimestamp(stored.created)}-house-rules-{match[:8]}.p2pdice",
        }
    assert set(os.listdir(tmp_path)) == {"a", "b"}


async def test_a_transcript_is_not_written_through_a_planted_symbolic_link(people: Company, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (host, _), _ = await people.table(2)
    (host.node.home.path / "matches").symlink_to(tmp_path / "elsewhere")
    assert "is a link" in (await host.until(Stopped)).reason
    assert list((tmp_path / "elsewhere").iterdir()) == []


# The log


@pytest.fixture
def log(tmp_path: Path) -> Iterator[logging.Logger]:
    handler = PrivateFileHandler(Home(tmp_path).log, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", delay=True)
    handler.setFormatter(EscapingFormatter("%(message)s"))
    logger = logging.Logger("test")
    logger.addHandler(handler)
    yield logger
    handler.close()


def test_text_of_a_peer_is_escaped_in_the_log(log: logging.Logger, tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\u202e\r\x9b31m\u200b\nforged: all is well"
    log.warning("from a peer: %s", hostile)
    try:
        raise ValueError(hostile)
    except ValueError:
        log.exception("failed")
    written = Home(tmp_path).log.read_bytes().decode("utf-8")
    assert "\\x1b]0;owned\\x07\\x1b[2J\\u202e\\x0d\\x9b31m\\u200b" in written
    lines = written.splitlines()
    assert [line.partition(" ")[0] for line in lines if not line.startswith("    ")] == ["from", "failed"]
    assert all(character.isprintable() or character == "\n" for character in written.replace(os.linesep, "\n"))


def test_a_warning_that_cannot_be_formatted_is_reported(
    log: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    log.warning("from %s to %d", "here")
    assert "not enough arguments for format string" in capsys.readouterr().err


def test_a_log_that_cannot_be_written_is_ignored_silently(
    log: logging.Logger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Home(tmp_path).log.mkdir()
    log.warning("from here")
    assert capsys.readouterr().err == ""


def test_a_peer_who_provokes_warnings_cannot_fill_the_disk(log: logging.Logger, tmp_path: Path) -> None:
    for _ in range(4 * LOG_BYTES // 1000):
        log.warning("x" * 1000)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["p2pdice.log", "p2pdice.log.1"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2 * LOG_BYTES


@needs_mode_bits
def test_other_accounts_cannot_read_the_log_even_after_rotation(tmp_path: Path, log: logging.Logger) -> None:
    before = os.umask(0)
    try:
        for _ in range(2 * LOG_BYTES // 1000):
            log.warning("x" * 1000)
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    assert len(list(tmp_path.iterdir())) == 2
