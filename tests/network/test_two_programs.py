"""Two programs use the same key: the older one is told that the newer one has taken its place."""

from __future__ import annotations

import shutil
from pathlib import Path

from protocol.events import Notice, TableClosed
from protocol.storage.home import Home
from tests.network.company import Company, Player, in_mid_match

TAKEN = "another program with your key has taken your place"


async def with_the_key_of(people: Company, player: Player) -> Player:
    """Open a node with another home but this player's key, as if a second laptop had a copy of the key."""
    home = Home(people.folder / "second")
    home.path.mkdir()
    shutil.copy(player.node.home.identity, home.identity)
    return await people.sit(player.name, home=home.path)


async def test_at_a_table_the_older_program_is_told_that_the_newer_took_its_place(people: Company) -> None:
    """The older program was once told that the host is gone."""
    (_, ada), opened = await people.table(3, "HA")
    other = await with_the_key_of(people, ada)
    await other.node.join(opened.join_line)
    closed = await ada.until(TableClosed)
    assert (closed.code, closed.reason) == ("refused", TAKEN)
    assert other.told(TableClosed) == []


async def test_in_a_match_each_program_is_told_once_by_each_player(people: Company) -> None:
    (host, ada), _ = await people.table(2, "HA")
    await in_mid_match(host)
    homes: list[Path] = [await ada.kill(), people.folder / "second"]
    shutil.copytree(homes[0], homes[1])
    both = [await people.sit("A", home=home) for home in homes]
    for each in both:
        each.hold()
        await each.node.resume()
    told = Notice(f"H has ended the connection: {TAKEN}")
    for each in both:
        await each.until(Notice, lambda event: event == told)
    assert all(each.told(Notice) == [told] for each in both)
