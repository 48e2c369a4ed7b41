"""The name of house rules comes from the host of a table, not from a neighbour on the network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from protocol.events import MatchResult, MatchStarted, TableJoined, TableWatched
from protocol.match.lobby import TableSettings
from protocol.net.discovery import LOBBY, Advertisement, Sighting
from protocol.net.mdns import Discovery
from protocol.storage.store import Store
from protocol.wire.names import ruleset_hash, ruleset_label
from tests.network.company import CLASSIC, HOST, Company

HOUSE = CLASSIC.with_options({"dice": "1"})
TABLE = TableSettings("Friday", HOUSE, 2, rules_name="friday")


@pytest.fixture
def forged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a neighbour advertise the house rules under another name."""
    label = ruleset_label(HOUSE, "forged")
    sighting = Sighting(Advertisement("00c0ffee" * 4, "X", label, 1, 4, LOBBY, 2), ((HOST, 1),), "x")

    async def start(*_: Any) -> None:
        pass

    monkeypatch.setattr(Discovery, "start", start)
    monkeypatch.setattr(Discovery, "advertise", start)
    monkeypatch.setattr(Discovery, "withdraw", start)
    monkeypatch.setattr(Discovery, "tables", lambda _: (sighting,))


@pytest.mark.parametrize("private", [False, True])
async def test_a_table_tells_guests_and_spectators_the_name_of_its_rules(people: Company, private: bool) -> None:
    host = await people.sit("A")
    opened = await host.node.host(replace(TABLE, seats=3, private=private))
    watching, guest = await people.sit("W"), await people.sit("B")
    await watching.node.watch(opened.join_line)
    await guest.node.join(opened.join_line)
    assert (await watching.until(TableWatched)).rules_name == "friday"
    assert (await guest.until(TableJoined)).rules_name == "friday"
    host.node.start_match()
    for player in (host, guest, watching):
        assert (await player.until(MatchStarted)).rules_name == "friday"


@pytest.mark.usefixtures("forged")
async def test_a_neighbour_cannot_name_rules_or_files(people: Company) -> None:
    host = await people.sit("A", discovery=True)
    opened = await host.node.host(TABLE)
    guest = await people.sit("B", discovery=True)
    await guest.node._locator.start()
    await guest.node.join(opened.join_line)
    for player, named in ((host, "-friday-"), (guest, "-house-rules-")):
        assert (await player.until(MatchStarted)).rules_name == "friday"
        assert named in (await player.until(MatchResult)).transcript.name
        again = player.node.table_again("Friday")
        assert again is not None
        assert again.rules_name == "friday"


@pytest.mark.usefixtures("forged")
async def test_a_neighbour_cannot_name_unnamed_rules(people: Company) -> None:
    host = await people.sit("A", discovery=True)
    opened = await host.node.host(replace(TABLE, rules_name=""))
    (guest,) = await people.join(opened.join_line, "B", discovery=True)
    for player in (host, guest):
        assert (await player.until(MatchStarted)).rules_name == ""


async def test_the_owners_own_name_for_rules_is_not_replaced_by_a_host(people: Company) -> None:
    home = people.folder / "B"
    home.mkdir(mode=0o700)
    store = Store(home / "store.sqlite3")
    store.name_rules(ruleset_hash(HOUSE), "sunday")
    store.close()
    host = await people.sit("A")
    opened = await host.node.host(TABLE)
    (guest,) = await people.join(opened.join_line, "B")
    assert (await guest.until(TableJoined)).rules_name == "sunday"
    assert (await guest.until(MatchStarted)).rules_name == "sunday"
    assert "-sunday-" in (await guest.until(MatchResult)).transcript.name
