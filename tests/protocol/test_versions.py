"""Nodes, files and homes of protocol version 1 are recognized and refused with a reason."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from protocol.consensus.transcript import open_transcript
from protocol.consensus.verifier import Judgement, verify
from protocol.crypto.keys import KeyFileError, MatchKey
from protocol.crypto.tls import client_context, server_context
from protocol.errors import NodeError
from protocol.match.lobby import TableSettings
from protocol.net.discovery import Sighting
from protocol.storage import archive
from protocol.storage.home import Home
from protocol.storage.store import Store
from protocol.wire.frames import Refuse, decode_frame, frame_header
from protocol.wire.genesis import match_id
from tests.network.company import CLASSIC, HOST, Company
from tests.programs import PATIENCE
from tests.protocol.test_node import told

TRANSCRIPT = (Path(__file__).parents[1] / "data" / "version-1.p2pdice").read_bytes()
"""The transcript of a match between two nodes of version 1."""
HELLO = bytes.fromhex("9501 9101 ad7032706469636520302e312e30 cd1b58 92c400a0")
"""Version 1's request for a seat at any open table: `[1, [1], "p2pdice 0.1.0", 7000, ["", ""]]`."""
DIFFERENT = "the program there speaks version {} of the protocol, this one version {}: update the older one"


def as_version_1(context: ssl.SSLContext) -> ssl.SSLContext:
    context.set_alpn_protocols(["p2pdice/1"])
    return context


async def test_a_dialling_node_of_version_1_is_refused_with_a_reason(people: Company) -> None:
    host = await people.sit("Ada")
    await host.node.host(TableSettings("Friday", CLASSIC, 2))
    context = as_version_1(client_context(Ed25519PrivateKey.generate()))
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(HOST, host.node.port, ssl=context, server_hostname="")
        writer.write(frame_header(HELLO) + HELLO)
        answer = decode_frame(await reader.readexactly(int.from_bytes(await reader.readexactly(4))))
        assert answer == Refuse("version", DIFFERENT.format(3, 1))
        assert await reader.read() == b""
    writer.close()


@pytest.mark.parametrize("enter", ["join", "watch", "join by name"])
async def test_a_dialled_node_of_version_1_is_recognized(people: Company, enter: str) -> None:
    said = bytearray()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said.extend(await reader.read())
        writer.close()

    context = as_version_1(server_context(Ed25519PrivateKey.generate()))
    server = await asyncio.start_server(take, HOST, ssl=context)
    address: tuple[str, int] = server.sockets[0].getsockname()
    guest = await people.sit("Ben")
    where: str | list[Sighting] = f"{HOST}:{address[1]}"
    if enter == "join by name":
        host = await people.sit("Ada")
        await host.node.host(TableSettings("Friday", CLASSIC, 2))
        where = [replace(told(host), addresses=(address,))]
    with pytest.raises(NodeError) as caught:
        await getattr(guest.node, enter.split()[0])(where)
    assert (caught.value.code, caught.value.reason) == ("version", DIFFERENT.format(1, 3))
    server.close()
    await server.wait_closed()
    assert said == b"", "nothing is sent to a node that would not understand it"


def test_a_transcript_of_version_1_is_judged_as_another_version() -> None:
    verdict = verify(TRANSCRIPT)
    assert verdict.verdict is Judgement.OTHER_VERSION
    assert verdict.reason == "played by version 1 of the protocol, and this program speaks version 3"
    assert verdict.match is None


def old_match(home: Home, *, over: bool) -> bytes:
    """Put the match of version 1 into a home as version 1 stored it; return its id."""
    data = open_transcript(TRANSCRIPT).genesis
    match, key = match_id(data), MatchKey(bytes(32)).public
    with closing(Store(home.store)) as store:
        store.add_seed(key, bytes(32))
        store.add_match(match, data, key, created=0, port=0, table="Friday")
        store.mark_formed(match)
        if over:
            store.mark_over(match, (1,))
    return match


def test_the_id_of_an_old_match_is_unchanged(tmp_path: Path) -> None:
    match = old_match(Home(tmp_path), over=False)
    assert TRANSCRIPT.count(match) > 20, "every message contains the match's id"


async def test_a_home_of_version_1_keeps_its_identity_but_cannot_resume_its_matches(people: Company) -> None:
    ada = await people.sit("Ada")
    fingerprint = ada.node.identity.fingerprint
    home = await ada.kill()
    match = old_match(Home(home), over=False)
    again = await people.sit("Ada", home=home)
    assert again.node.identity.fingerprint == fingerprint
    assert again.node.unfinished() == ()
    for name in (None, "last", match.hex()[:8], "1970-01-01-friday"):
        with pytest.raises(NodeError) as caught:
            await again.node.resume(name)
        assert caught.value.code == "version"
        assert caught.value.reason == (
            "1970-01-01-friday was played by version 1 of the protocol, and this program speaks version 3"
        )


async def test_a_finished_match_of_version_1_is_not_unfinished(people: Company) -> None:
    ada = await people.sit("Ada")
    home = await ada.kill()
    old_match(Home(home), over=True)
    again = await people.sit("Ada", home=home)
    with pytest.raises(NodeError, match="there is no unfinished match here"):
        await again.node.resume()


def test_no_new_identity_is_created_in_a_home_of_version_1_without_its_key(tmp_path: Path) -> None:
    home = Home(tmp_path)
    old_match(home, over=True)
    with closing(archive.open_store(home)) as store, pytest.raises(KeyFileError, match="put it back from a backup"):
        archive.unlock(home, store)
