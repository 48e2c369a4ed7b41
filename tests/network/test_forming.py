"""How a match is formed among nodes of which one lies, is silent or leaves: who is there plays, and nobody is out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from p2pdice import PlayerOut
from protocol import limits
from protocol.consensus.kinds import parse_signed
from protocol.consensus.replica import Replica
from protocol.events import Happened, LobbyChanged, MatchFormed, MatchOver, MatchStarted, TableClosed
from protocol.limits import Limits
from protocol.match.lobby import TableSettings
from protocol.node.player_session import PlayerSession
from protocol.wire.frames import Carried, Frame, Have, JoinTable, Page, Propose, decode_frame, encode_frame
from protocol.wire.messages import Kind, Message, sign
from tests.network.company import CLASSIC, IMPATIENT, Company, Player, agree

Letter = tuple[bytes, bytes]
"""Receiver and encoded frame."""


def bend(player: Player, send: Callable[[bytes, Frame], bool | Frame]) -> None:
    """Let a player's node send only what ``send`` says, told receiver and frame: the frame or not, or another one."""
    post = player.node._runtime.post_encoded

    def bent(identities: tuple[bytes, ...], frame: bytes) -> None:
        for identity in identities:
            sent = send(identity, decode_frame(frame))
            if sent is not False:
                post((identity,), frame if sent is True else encode_frame(sent))

    player.node._runtime.post_encoded = bent  # type: ignore[method-assign]


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
async def test_a_guest_who_hides_a_signature_from_the_host_puts_nobody_out(people: Company, shown: Kind) -> None:
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
    liar.node._runtime.post(me, JoinTable(liar.node._sign_on(host.node.table).wire))
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
            host.node._runtime.post(it, Propose(shown[0]))
            host.node._runtime.flush()  # before anything that the host itself makes of what it hears
        take(identity, frame)

    me = host.node.identity.public
    host.node.peer_frame = hear  # type: ignore[method-assign]
    await victim.node.join(line)
    transcript = await agree(host, *honest, victim)
    assert shown
    assert shown[0] not in transcript
    assert nobody_was_evicted(host, *honest, victim)


async def test_a_guest_who_takes_the_last_seat_and_leaves_is_not_in_the_match(people: Company) -> None:
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


def step_of(data: bytes, signature: bytes) -> int:
    return parse_signed(data, signature).message.step


def without_later_steps(frame: Frame) -> bool | Frame:
    """Return what is left of a frame without messages for steps after the first; false for nothing."""
    if isinstance(frame, Page):
        return frame._replace(messages=tuple(wire for wire in frame.messages if step_of(*wire) == 0))
    return not (isinstance(frame, Carried) and step_of(frame.data, frame.signature) > 0)


def show(liar: Player, to: Player, what: Kind) -> None:
    """Let a player sign something for the first roll of what is proposed, and show it to one other."""
    proposal = liar.node._playing
    assert proposal is not None
    record, me = proposal.match.record, proposal.match.me
    assert me is not None
    body = (bytes(32),) if what is Kind.COMMIT else ()
    signed = sign(Message(record.match, 1, record.chain[1].tip, me, what, body), proposal.match.signer.key)
    liar.node._mesh.send(to.node.identity.public, encode_frame(Carried(*signed.wire)))
    liar.node._mesh.flush()


async def test_a_node_shown_a_withdrawal_returns_to_nodes_shown_a_commitment(people: Company) -> None:
    """They had called the match off while they could not hear each other, and were voted out of it."""
    host, line = await open_table(people, 3)
    bend(host, lambda _, frame: not isinstance(frame, Have) and without_later_steps(frame))
    ada, ben = await sit_down(people, line, "Ada", "Ben")
    honest = {player.node.identity.public for player in (ada, ben)}
    is_cut = False

    def replica(player: Player) -> Replica:
        assert player.node.match is not None
        return player.node.match.replica

    def is_waiting_for_the_host(player: Player) -> bool:
        return is_about_to_commit(player) and len(replica(player).record.held) == 2

    for player in (ada, ben):
        bend(player, lambda identity, _: not (is_cut and identity in honest))
    for player in (ada, ben):
        await player.until_true(partial(is_waiting_for_the_host, player))
    is_cut = True
    show(host, ada, Kind.RESIGN)
    await ada.until_true(lambda: replica(ada).is_called_off)
    show(host, ben, Kind.COMMIT)
    await ben.until(MatchFormed)
    is_cut = False
    ada.node._mesh.disconnect(ben.node.identity.public)  # what was said meanwhile is lost
    ends = [await player.until(MatchOver) for player in (ada, ben)]
    assert ends[0].places == ends[1].places
    for player in (ada, ben):
        (started,) = player.told(MatchStarted)
        out = [event.event for event in player.told(Happened) if event.eviction is not None]
        assert {started.players[event.seat].name for event in out if isinstance(event, PlayerOut)} <= {"Host"}


async def test_a_guest_killed_amid_two_proposals_returns_to_the_formed_match(people: Company) -> None:
    """They returned to the newest, and were voted out of the other."""
    host, line = await open_table(people, 4)
    honest = await sit_down(people, line, "Ada", "Ben")
    victim = await people.sit("Victim")
    it = victim.node.identity.public
    is_hiding = True
    for player in (host, *honest):
        bend(player, lambda identity, frame: without_later_steps(frame) if is_hiding and identity == it else True)
    await victim.node.join(line)
    await victim.until_true(lambda: is_about_to_commit(victim))
    hosting = host.node._hosting
    assert hosting is not None
    first = hosting.table.genesis()
    fewer = first._replace(roster=tuple(each for each in first.roster if each.join.nickname != "Ada"))
    host.node._runtime.post(it, Propose(fewer.encoded()))
    await host.until(MatchFormed)
    await victim.until_true(lambda: len(victim.node._proposals.sessions) == 2)
    home = await victim.kill()
    is_hiding = False
    victim = await people.sit("Victim", home=home)
    await victim.node.resume()
    await agree(host, *honest, victim)
    assert nobody_was_evicted(host, *honest, victim)


async def test_a_guest_who_resigned_has_no_seat_though_the_link_stays(people: Company) -> None:
    host, line = await open_table(people, 3)
    (ada,) = await sit_down(people, line, "Ada")
    eve = await people.sit("Eve")
    bend(eve, lambda _, frame: kind(frame) is not Kind.COMMIT and not isinstance(frame, Page))
    await eve.node.join(line)
    await host.until_true(lambda: is_about_to_commit(host))
    await eve.until_true(lambda: is_about_to_commit(eve))
    show(eve, host, Kind.RESIGN)
    await host.until(LobbyChanged, lambda event: [player.name for player in event.left] == ["Eve"])
    assert host.node._mesh.is_linked(eve.node.identity.public)
    assert [player.name for player in host.told(LobbyChanged)[-1].players] == ["Host", "Ada"]
    assert ada.told(MatchStarted) == []


async def test_a_proposal_is_withdrawn_when_a_guest_of_it_sits_down_anew_though_seats_are_free(
    people: Company,
) -> None:
    host, line = await open_table(people, 4)
    (ada,) = await sit_down(people, line, "Ada")
    eve = await people.sit("Eve")
    bend(eve, lambda _, frame: kind(frame) is not Kind.COMMIT and not isinstance(frame, Page))
    await eve.node.join(line)
    host.node.start_match()
    await ada.until_true(lambda: is_about_to_commit(ada))
    eve.node._runtime.post(host.node.identity.public, JoinTable(eve.node._sign_on(host.node.table).wire))
    await ada.until_true(lambda: ada.node.match is not None and ada.node.match.replica.is_called_off)
    assert host.told(MatchStarted) == []


async def test_a_request_for_a_seat_after_the_match_has_begun_is_refused(people: Company) -> None:
    slow = Limits(handshake=3600)  # who is welcome and says nothing has time
    host = await people.sit("Host", bounds=slow)
    settings = TableSettings("Friday", CLASSIC.with_options({"dice": "1"}), 3, IMPATIENT)
    line = (await host.node.host(settings)).join_line
    await sit_down(people, line, "Ada")
    late = await people.sit("Late", bounds=slow)
    it, me = late.node.identity.public, host.node.identity.public
    bend(late, lambda _, frame: not isinstance(frame, JoinTable))
    joining = asyncio.ensure_future(late.node.join(line))
    await host.until_true(lambda: host.node._mesh.is_linked(it))
    host.node.start_match()
    await host.until(MatchStarted)
    assert host.node._mesh.is_linked(it)
    late.node.peer_frame = lambda *_: None  # type: ignore[method-assign]
    late.node._mesh.send(me, encode_frame(JoinTable(late.node._sign_on(host.node.table).wire)))
    late.node._mesh.flush()
    await host.until_true(lambda: not host.node._mesh.is_linked(it))
    joining.cancel()


async def test_a_host_remembers_a_bounded_number_of_withdrawn_proposals(people: Company) -> None:
    host, line = await open_table(people, 2)
    guest = await people.sit("Eve")
    bend(guest, lambda _, frame: not isinstance(frame, Carried))
    guest.node.peer_frame = lambda *_: None  # type: ignore[method-assign]
    joining = asyncio.ensure_future(guest.node.join(line))
    await host.until_true(lambda: host.node._playing is not None)
    hosting = host.node._hosting
    assert hosting is not None

    def is_proposed_anew(before: PlayerSession | None) -> bool:
        return host.node._playing is not before

    for _ in range(limits.PROPOSALS + 2):
        before = host.node._playing
        guest.node._runtime.post(host.node.identity.public, JoinTable(guest.node._sign_on(hosting.table.table).wire))
        await host.until_true(partial(is_proposed_anew, before))
    assert len(hosting._withdrawn) <= limits.PROPOSALS
    joining.cancel()
