"""How a match is formed among nodes of which one lies, is silent or leaves: who is there plays, and nobody is out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from protocol.events import Happened, LobbyChanged, MatchStarted, TableClosed
from protocol.lobby import TableSettings
from protocol.messages import Kind, parse_signed
from protocol.wire import Carried, Frame, JoinTable, Page, Propose, decode_frame
from tests.network.company import CLASSIC, IMPATIENT, Company, Player, agree

Letter = tuple[bytes, bytes]
"""Receiver and encoded frame."""


def bend(player: Player, send: Callable[[bytes, Frame], bool]) -> None:
    """Let a player's node send only what ``send`` says, told receiver and frame."""
    post = player.node._shell.post_encoded

    def bent(identities: tuple[bytes, ...], frame: bytes) -> None:
        post(tuple(identity for identity in identities if send(identity, decode_frame(frame))), frame)

    player.node._shell.post_encoded = bent  # type: ignore[method-assign]


def kind(frame: Frame) -> Kind | None:
    return parse_signed(frame.data, frame.signature).message.kind if isinstance(frame, Carried) else None


async def open_table(people: Company, seats: int) -> tuple[Player, str]:
    host = await people.sit("Host")
    opened = await host.node.host(TableSettings("Friday", CLASSIC.with_options({"dice": "1"}), seats, IMPATIENT))
    return host, opened.join_line


async def sit_down(people: Company, line: str, *names: str) -> list[Player]:
    guests = [await people.sit(name) for name in names]
    for guest in guests:
        await guest.node.join(line)
    return guests


def is_about_to_commit(player: Player) -> bool:
    return player.node.match is not None and player.node.match.record.position.step == 1


def nobody_was_evicted(*players: Player) -> bool:
    told = [event for player in players for event in player.told(Happened)]
    return all(event.eviction is None for event in told)


@pytest.mark.parametrize("shown", [Kind.LOCK, Kind.COMMIT])
async def test_who_signs_for_all_but_the_host_and_sits_down_anew_puts_nobody_out(people: Company, shown: Kind) -> None:
    """The host proposed anew and followed the old match no more; the others had begun it, and voted the host absent."""
    host, line = await open_table(people, 4)
    honest = await sit_down(people, line, "Ada", "Ben")
    liar = await people.sit("Liar")
    me = host.node.identity.public
    hidden = 0

    def send(identity: bytes, frame: Frame) -> bool:
        nonlocal hidden
        if identity != me or kind(frame) is not shown or hidden:
            return True
        hidden += 1
        return False

    bend(liar, send)
    await liar.node.join(line)
    await liar.until_true(lambda: hidden > 0)
    liar.node._shell.post(me, JoinTable(liar.node._sign_on(host.node.table).wire))
    transcript = await agree(host, *honest)
    assert transcript
    assert nobody_was_evicted(host, *honest)


async def test_a_host_who_shows_a_guest_another_match_puts_nobody_out(people: Company) -> None:
    """The guest left the match that it had signed, as another was proposed; the others began the first."""
    host, line = await open_table(people, 4)
    honest = await sit_down(people, line, "Ada", "Ben")
    victim = await people.sit("Victim")
    it, take = victim.node.identity.public, host.node.peer_frame
    shown: list[bytes] = []

    def hear(identity: bytes, frame: Frame) -> None:
        if identity == it and kind(frame) is Kind.LOCK and not shown:
            hosting = host.node._hosting
            assert hosting is not None
            first = hosting.table.genesis()
            seat = next(place for place, each in enumerate(first.roster) if each.join.identity not in (it, me))
            fewer = first._replace(roster=first.roster[:seat] + first.roster[seat + 1 :])
            shown.append(fewer.encoded())
            host.node._shell.post(it, Propose(shown[0]))
            host.node._shell.flush()  # before anything that the host itself makes of what it hears
        take(identity, frame)

    me = host.node.identity.public
    host.node.peer_frame = hear  # type: ignore[method-assign]
    await victim.node.join(line)
    transcript = await agree(host, *honest, victim)
    assert shown
    assert shown[0] not in transcript
    assert nobody_was_evicted(host, *honest, victim)


async def test_who_fills_the_last_seat_and_leaves_at_once_is_not_in_the_match(people: Company) -> None:
    host, line = await open_table(people, 3)
    (ada,) = await sit_down(people, line, "Ada")
    (eve,) = await sit_down(people, line, "Eve")
    await eve.leave()
    await host.until(LobbyChanged, lambda event: any(player.name == "Eve" for player in event.left))
    assert host.told(MatchStarted) == ada.told(MatchStarted) == []
    (ben,) = await sit_down(people, line, "Ben")
    await agree(host, ada, ben)
    (started,) = host.told(MatchStarted)
    assert {player.name for player in started.players} == {"Host", "Ada", "Ben"}
    assert nobody_was_evicted(host, ada, ben)


@pytest.mark.parametrize("withheld", [Kind.LOCK, Kind.COMMIT])
async def test_the_match_is_proposed_anew_without_whom_nothing_comes_from(people: Company, withheld: Kind) -> None:
    host, line = await open_table(people, 3)
    (ada,) = await sit_down(people, line, "Ada")
    silent = await people.sit("Eve")
    bend(silent, lambda _, frame: kind(frame) is not withheld and not isinstance(frame, Page))
    await silent.node.join(line)
    closed = await silent.until(TableClosed)
    assert closed.code == "closed"
    await agree(host, ada)
    (started,) = host.told(MatchStarted)
    assert {player.name for player in started.players} == {"Host", "Ada"}
    assert nobody_was_evicted(host, ada)


async def test_a_host_who_leaves_while_the_match_forms_takes_the_table_along(people: Company) -> None:
    host, line = await open_table(people, 3)
    (ada,) = await sit_down(people, line, "Ada")
    silent = await people.sit("Eve")
    bend(silent, lambda _, frame: kind(frame) is not Kind.COMMIT and not isinstance(frame, Page))
    await silent.node.join(line)
    for player in (host, ada):
        await player.until_true(partial(is_about_to_commit, player))
    await host.leave()
    await ada.until(TableClosed)
    await ada.until_true(lambda: ada.node.match is not None and bool(ada.node.match.record.declined))
    assert ada.told(MatchStarted) == []
