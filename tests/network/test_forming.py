"""How a match is formed among nodes when one lies, is silent or leaves: those who are there play, and nobody is out."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from functools import partial

import pytest

from p2pdice import PlayerOut
from protocol import limits
from protocol.consensus.kinds import parse_signed
from protocol.consensus.replica import Replica
from protocol.events import (
    AwaitingPlayers,
    Happened,
    LobbyChanged,
    MatchFormed,
    MatchResult,
    MatchStarted,
    Stopped,
    TableClosed,
)
from protocol.limits import Limits
from protocol.match.lobby import TableSettings
from protocol.node.player_session import PlayerSession
from protocol.rate_limit import Bucket
from protocol.wire.frames import Carried, Frame, Have, JoinTable, Page, Propose, Table, decode_frame, encode_frame
from protocol.wire.genesis import match_id
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


def kind(frame: Frame) -> int | None:
    return parse_signed(frame.data, frame.signature).message.kind if isinstance(frame, Carried) else None


ONE_DIE = CLASSIC.with_options({"dice": "1"})


async def open_table(people: Company, seats: int) -> tuple[Player, str]:
    (host,), opened = await people.table(seats, ["Host"], IMPATIENT, ONE_DIE)
    return host, opened.join_line


def is_about_to_commit(player: Player) -> bool:
    return player.node.match is not None and player.node.match.history.position.step == 1


def nobody_was_evicted(*players: Player) -> bool:
    told = [event for player in players for event in player.told(Happened)]
    return all(event.eviction is None for event in told)


@pytest.mark.parametrize("shown", [Kind.LOCK, Kind.COMMIT])
async def test_a_guest_who_hides_a_signature_from_the_host_puts_nobody_out(people: Company, shown: Kind) -> None:
    """The host proposed anew and followed the old match no more; the others had begun it, and voted the host absent."""
    host, line = await open_table(people, 4)
    honest = await people.join(line, "Ada", "Ben")
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
    liar.node._runtime.post(me, JoinTable(liar.node._sign_on(host.node.table_id).wire))
    transcript = await agree(host, *honest)
    assert transcript
    assert nobody_was_evicted(host, *honest)


async def test_a_host_who_shows_a_guest_another_match_puts_nobody_out(people: Company) -> None:
    """The guest left the match that it had signed, as another was proposed; the others began the first."""
    host, line = await open_table(people, 4)
    honest = await people.join(line, "Ada", "Ben")
    victim = await people.sit("Victim")
    it, take = victim.node.identity.public, host.node._active.peer_frame
    shown: list[bytes] = []

    def hear(identity: bytes, frame: Frame) -> None:
        if identity == it and kind(frame) is Kind.LOCK and not shown:
            hosting = host.node._active.hosting
            assert hosting is not None
            first = hosting.table.genesis()
            seat = next(place for place, each in enumerate(first.roster) if each.join.identity not in (it, me))
            fewer = first._replace(roster=first.roster[:seat] + first.roster[seat + 1 :])
            shown.append(fewer.encoded())
            host.node._runtime.post(it, Propose(shown[0]))
            host.node._runtime.flush()  # before anything that the host itself makes of what it hears
        take(identity, frame)

    me = host.node.identity.public
    host.node._active.peer_frame = hear  # type: ignore[method-assign]
    await victim.node.join(line)
    transcript = await agree(host, *honest, victim)
    assert shown
    assert shown[0] not in transcript
    assert nobody_was_evicted(host, *honest, victim)


async def test_a_guest_who_takes_the_last_seat_and_leaves_is_not_in_the_match(people: Company) -> None:
    host, line = await open_table(people, 3)
    (ada,) = await people.join(line, "Ada")
    (eve,) = await people.join(line, "Eve")
    await eve.leave()
    await host.until(LobbyChanged, lambda event: any(player.name == "Eve" for player in event.left))
    assert host.told(MatchStarted) == ada.told(MatchStarted) == []
    (ben,) = await people.join(line, "Ben")
    await agree(host, ada, ben)
    (started,) = host.told(MatchStarted)
    assert {player.name for player in started.players} == {"Host", "Ada", "Ben"}
    assert nobody_was_evicted(host, ada, ben)


@pytest.mark.parametrize("withheld", [Kind.LOCK, Kind.COMMIT])
async def test_the_match_is_proposed_anew_without_a_silent_guest(people: Company, withheld: Kind) -> None:
    host, line = await open_table(people, 3)
    (ada,) = await people.join(line, "Ada")
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
    (ada,) = await people.join(line, "Ada")
    silent = await people.sit("Eve")
    bend(silent, lambda _, frame: kind(frame) is not Kind.COMMIT and not isinstance(frame, Page))
    await silent.node.join(line)
    for player in (host, ada):
        await player.until_true(partial(is_about_to_commit, player))
    await host.leave()
    await ada.until(TableClosed)
    await ada.until_true(lambda: ada.node.match is not None and bool(ada.node.match.history.declined))
    assert ada.told(MatchStarted) == []


async def test_players_who_return_to_a_proposal_are_told_who_is_missing_until_all_are_there(people: Company) -> None:
    host, line = await open_table(people, 3)
    (ada,) = await people.join(line, "Ada")
    eve = await people.sit("Eve")
    bend(eve, lambda _, frame: kind(frame) is not Kind.COMMIT and not isinstance(frame, Page))
    await eve.node.join(line)
    for player in (host, ada, eve):
        await player.until_true(partial(is_about_to_commit, player))
    homes = [await player.kill() for player in (host, ada, eve)]

    host = await people.sit("Host", home=homes[0])
    match = await host.node.resume()
    told = await host.until(AwaitingPlayers)
    assert (told.match_id, told.table, {player.name for player in told.players}) == (
        match,
        "Friday",
        {"Host", "Ada", "Eve"},
    )
    assert {player.name for player in told.awaited} == {"Ada", "Eve"}
    ada = await people.sit("Ada", home=homes[1])
    await ada.node.resume()
    for player in (host, ada):
        await player.until(AwaitingPlayers, lambda event: [each.name for each in event.awaited] == ["Eve"])
    eve = await people.sit("Eve", home=homes[2])
    await eve.node.resume()
    await agree(host, ada, eve)


def step_of(data: bytes, signature: bytes) -> int:
    return parse_signed(data, signature).message.step


def without_later_steps(frame: Frame) -> bool | Frame:
    """Return what is left of a frame without messages for steps after the first; false for nothing."""
    if isinstance(frame, Page):
        return frame._replace(messages=tuple(wire for wire in frame.messages if step_of(*wire) == 0))
    return not (isinstance(frame, Carried) and step_of(frame.data, frame.signature) > 0)


def show(liar: Player, to: Player, what: Kind) -> None:
    """Let a player sign something for the first roll of what is proposed, and show it to one other."""
    proposal = liar.node._active.playing
    assert proposal is not None
    history, me = proposal.match.history, proposal.match.me
    assert me is not None
    body = (bytes(32),) if what is Kind.COMMIT else ()
    signed = sign(Message(history.match, 1, history.chain[1].tip, me, what, body), proposal.match.signer.key)
    liar.node._mesh.send(to.node.identity.public, encode_frame(Carried(*signed.wire)))
    liar.node._mesh.flush()


async def test_a_node_shown_a_withdrawal_returns_to_nodes_shown_a_commitment(people: Company) -> None:
    """They had called the match off while they could not hear each other, and were voted out of it."""
    host, line = await open_table(people, 3)
    bend(host, lambda _, frame: not isinstance(frame, Have) and without_later_steps(frame))
    ada, ben = await people.join(line, "Ada", "Ben")
    honest = {player.node.identity.public for player in (ada, ben)}
    is_cut = False

    def replica(player: Player) -> Replica:
        assert player.node.match is not None
        return player.node.match.replica

    def is_waiting_for_the_host(player: Player) -> bool:
        return is_about_to_commit(player) and len(replica(player).history.held) == 2

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
    ends = [await player.until(MatchResult) for player in (ada, ben)]
    assert ends[0].places == ends[1].places
    for player in (ada, ben):
        (started,) = player.told(MatchStarted)
        out = [event.event for event in player.told(Happened) if event.eviction is not None]
        assert {started.players[event.seat].name for event in out if isinstance(event, PlayerOut)} <= {"Host"}


async def test_a_guest_killed_amid_two_proposals_returns_to_the_formed_match(people: Company) -> None:
    """They returned to the newest, and were voted out of the other."""
    host, line = await open_table(people, 4)
    honest = await people.join(line, "Ada", "Ben")
    victim = await people.sit("Victim")
    it = victim.node.identity.public
    is_hiding = True
    for player in (host, *honest):
        bend(player, lambda identity, frame: without_later_steps(frame) if is_hiding and identity == it else True)
    await victim.node.join(line)
    await victim.until_true(lambda: is_about_to_commit(victim))
    hosting = host.node._active.hosting
    assert hosting is not None
    first = hosting.table.genesis()
    fewer = first._replace(roster=tuple(each for each in first.roster if each.join.nickname != "Ada"))
    shown = hosting.table.frame()
    left = tuple((name, identity) for name, identity in shown.players if name != "Ada")
    host.node._runtime.post(it, shown._replace(players=left))
    host.node._runtime.post(it, Propose(fewer.encoded()))
    await host.until(MatchFormed)
    await victim.until_true(lambda: len(victim.node._active.proposals.sessions) == 2)
    home = await victim.kill()
    is_hiding = False
    victim = await people.sit("Victim", home=home)
    await victim.node.resume()
    await agree(host, *honest, victim)
    assert nobody_was_evicted(host, *honest, victim)


async def test_a_guest_who_resigned_has_no_seat_though_the_link_stays(people: Company) -> None:
    host, line = await open_table(people, 3)
    (ada,) = await people.join(line, "Ada")
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
    (ada,) = await people.join(line, "Ada")
    eve = await people.sit("Eve")
    bend(eve, lambda _, frame: kind(frame) is not Kind.COMMIT and not isinstance(frame, Page))
    await eve.node.join(line)
    host.node.start_match()
    await ada.until_true(lambda: is_about_to_commit(ada))
    eve.node._runtime.post(host.node.identity.public, JoinTable(eve.node._sign_on(host.node.table_id).wire))
    await ada.until_true(lambda: ada.node.match is not None and ada.node.match.replica.is_called_off)
    assert host.told(MatchStarted) == []


async def test_a_request_for_a_seat_after_the_match_has_begun_is_refused(people: Company) -> None:
    slow = Limits(handshake=3600)  # who is welcome and says nothing has time
    host = await people.sit("Host", bounds=slow)
    settings = TableSettings("Friday", CLASSIC.with_options({"dice": "1"}), 3, IMPATIENT)
    line = (await host.node.host(settings)).join_line
    await people.join(line, "Ada")
    late = await people.sit("Late", bounds=slow)
    it, me = late.node.identity.public, host.node.identity.public
    bend(late, lambda _, frame: not isinstance(frame, JoinTable))
    joining = asyncio.ensure_future(late.node.join(line))
    await host.until_true(lambda: host.node._mesh.is_linked(it))
    host.node.start_match()
    await host.until(MatchStarted)
    assert host.node._mesh.is_linked(it)
    late.node._active.peer_frame = lambda *_: None  # type: ignore[method-assign]
    late.node._mesh.send(me, encode_frame(JoinTable(late.node._sign_on(host.node.table_id).wire)))
    late.node._mesh.flush()
    await host.until_true(lambda: not host.node._mesh.is_linked(it))
    joining.cancel()


async def test_a_host_remembers_a_bounded_number_of_withdrawn_proposals(people: Company) -> None:
    host, line = await open_table(people, 2)
    guest = await people.sit("Eve")
    bend(guest, lambda _, frame: not isinstance(frame, Carried))
    guest.node._active.peer_frame = lambda *_: None  # type: ignore[method-assign]
    joining = asyncio.ensure_future(guest.node.join(line))
    await host.until_true(lambda: host.node._active.playing is not None)
    hosting = host.node._active.hosting
    assert hosting is not None

    def is_proposed_anew(before: PlayerSession | None) -> bool:
        return host.node._active.playing is not before

    for _ in range(limits.PROPOSALS + 2):
        before = host.node._active.playing
        guest.node._runtime.post(host.node.identity.public, JoinTable(guest.node._sign_on(hosting.table.id).wire))
        await host.until_true(partial(is_proposed_anew, before))
    assert len(hosting._withdrawn) <= limits.PROPOSALS
    joining.cancel()


def another_match(host: Player, guest: Player) -> Propose:
    """Return a proposal like the host's own, under a new key of the host."""
    hosting = host.node._active.hosting
    assert hosting is not None
    hosting.table.renew(host.node._sign_on(hosting.table.id))
    roster = [each for each in hosting.table.genesis().roster if each.join.nickname in (host.name, guest.name)]
    return Propose(hosting.table.genesis()._replace(roster=tuple(roster)).encoded())


async def test_a_host_who_proposes_many_matches_at_once_ends_nobodys_program(people: Company) -> None:
    """The oldest made room, and then what had been signed in it could not be stored."""
    host, line = await open_table(people, 10)
    (victim,) = await people.join(line, "Victim")
    it = victim.node.identity.public
    proposals = [another_match(host, victim) for _ in range(limits.PROPOSALS + 1)]
    kept = [match_id(each.genesis) for each in proposals[1:]]
    signed: list[bytes] = []

    def hear(identity: bytes, frame: Frame) -> None:
        if isinstance(frame, Carried):
            signed.append(parse_signed(frame.data, frame.signature).message.match)

    host.node._active.peer_frame = hear  # type: ignore[method-assign]
    for proposal in proposals:
        host.node._mesh.send(it, encode_frame(proposal))
    host.node._mesh.flush()
    await victim.until_true(lambda: victim.told(Stopped) != [] or kept[-1] in signed)
    assert victim.told(Stopped) == []
    assert [each.match.id for each in victim.node._active.proposals.sessions] == kept
    assert {each.match for each in victim.node._store.matches()} == {*kept}


def ask_again(guest: Player, host: Player, times: int) -> None:
    """Let a guest who has a seat ask for one so many times, all at once.

    The guest ignores what comes from now on: an honest program would leave at the first proposal that has another
    join record than its own.
    """
    guest.node._active.peer_frame = lambda identity, frame: None  # type: ignore[method-assign]
    for _ in range(times):
        record = guest.node._sign_on(host.node.table_id)
        guest.node._mesh.send(host.node.identity.public, encode_frame(JoinTable(record.wire)))
    guest.node._mesh.flush()


def proposals(player: Player) -> int:
    return len(player.node._active.proposals.sessions)


async def test_a_guest_who_asks_for_a_seat_without_end_costs_others_a_few_proposals_and_nobody_the_match(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request was a new proposal, stored and printed by all; the 17th ended the others' programs."""
    monkeypatch.setattr(limits, "JOIN_RATE", 1e-6)
    monkeypatch.setattr(limits, "JOIN_BURST", 6)
    host, line = await open_table(people, 3)
    (ada,) = await people.join(line, "Ada")
    eve = await people.sit("Eve")
    bend(eve, lambda _, frame: not isinstance(frame, Carried | Page))
    await eve.node.join(line)
    seen: list[Frame] = []
    take = host.node._active.peer_frame

    def hear(identity: bytes, frame: Frame) -> None:
        seen.append(frame)
        take(identity, frame)

    host.node._active.peer_frame = hear  # type: ignore[method-assign]
    ask_again(eve, host, 100)
    await host.until_true(lambda: len([frame for frame in seen if isinstance(frame, JoinTable)]) == 100)
    hosting = host.node._active.hosting
    assert hosting is not None
    assert list(hosting._asking) == [eve.node.identity.public]
    assert proposals(host) <= limits.JOIN_BURST
    await ada.until_true(lambda: proposals(ada) == proposals(host))
    assert [event for event in ada.told(LobbyChanged) if "Eve" in [each.name for each in event.joined]] == [
        ada.told(LobbyChanged)[-1]
    ]
    assert ada.told(Stopped) == host.told(Stopped) == []


async def test_a_newcomer_gets_a_seat_before_the_next_of_somebody_who_asks_without_end(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "JOIN_RATE", 1e-6)
    monkeypatch.setattr(limits, "JOIN_BURST", 2)
    host, line = await open_table(people, 4)
    (eve,) = await people.join(line, "Eve")
    hosting = host.node._active.hosting
    assert hosting is not None
    ask_again(eve, host, 50)
    await host.until_true(lambda: len(hosting._asking) == 1)
    ben = await people.sit("Ben")
    joining = asyncio.ensure_future(ben.node.join(line))
    await host.until_true(lambda: len(hosting._asking) == 2)
    ask_again(eve, host, 50)
    hosting._pace = Bucket(rate=1e-6, burst=2, now=0)
    hosting._admit_next()
    await joining
    assert [player.name for player in host.told(LobbyChanged)[-1].players] == ["Host", "Eve", "Ben"]


@pytest.mark.parametrize("what", [Propose, Table])
async def test_a_host_who_changes_the_table_without_end_is_left(
    people: Company, monkeypatch: pytest.MonkeyPatch, what: type[Frame]
) -> None:
    """A guest kept and stored every proposal, and told its owner every change."""
    monkeypatch.setattr(limits, "LOBBY_RATE", 1e-6)
    monkeypatch.setattr(limits, "LOBBY_BURST", 30)
    host, line = await open_table(people, 10)
    (victim,) = await people.join(line, "Victim")
    shown = len(victim.told(LobbyChanged))
    hosting = host.node._active.hosting
    assert hosting is not None
    table = hosting.table.frame()
    for number in range(50):
        frame = another_match(host, victim) if what is Propose else table._replace(seats=2 + number % 2)
        host.node._mesh.send(victim.node.identity.public, encode_frame(frame))
    host.node._mesh.flush()
    closed = await victim.until(TableClosed)
    assert (closed.code, "without end" in closed.reason) == ("refused", True)
    assert proposals(victim) <= limits.PROPOSALS
    assert len(victim.told(LobbyChanged)) - shown <= limits.LOBBY_BURST
    assert len(victim.node._mesh._wanted) <= 1


async def test_a_guest_keeps_no_proposal_that_made_room(people: Company) -> None:
    host, line = await open_table(people, 10)
    (victim,) = await people.join(line, "Victim")

    async def show(count: int) -> PlayerSession:
        shown = [another_match(host, victim) for _ in range(count)]
        for proposal in shown:
            host.node._mesh.send(victim.node.identity.public, encode_frame(proposal))
        host.node._mesh.flush()
        await victim.until_true(lambda: victim.node._active.proposals.find(match_id(shown[-1].genesis)) is not None)
        return victim.node._active.proposals.sessions[-1]

    first = weakref.ref(await show(1))
    await show(limits.PROPOSALS)
    gc.collect()
    assert first() is None
