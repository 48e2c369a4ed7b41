"""Chat over real links: all at the table receive each message once, and no peer can chat in another's name."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from protocol import limits
from protocol.errors import NodeError
from protocol.events import LobbyChanged, MatchResult, MatchStarted, PeerLost, Said
from protocol.match.lobby import TableSettings
from protocol.match.words import SignedWord, sign_word
from protocol.wire.frames import Customs, Say
from tests.network import views
from tests.network.company import CLASSIC, Company, Player, agree, in_mid_match
from tests.network.test_watching import Watcher
from tests.simulation.room import Room, in_a_room
from tests.simulation.small_forming import line
from tests.waiting import until


def heard(player: Player) -> list[tuple[str, str]]:
    return [(said.player.name, said.text) for said in player.told(Said)]


async def all_hear(speaker: Player, text: str, *others: Player) -> None:
    """Let ``speaker`` send a chat message, and wait until all others have received it."""
    speaker.node.say(text)
    for player in (speaker, *others):
        said = await player.until(Said, lambda said: said.text == text)
        assert (said.player.name, said.player.is_me) == (speaker.name, player is speaker)
        assert said.player.fingerprint == speaker.node.identity.fingerprint


def throw(sender: Player, receiver: Player, *words: SignedWord) -> None:
    """Send signed chat messages, whoever signed them, over the sender's link to the receiver."""
    for word in words:
        sender.node._runtime.post(receiver.node.identity.public, Say(word.data, word.signature))


async def lobby(people: Company, seats: int = 4) -> tuple[list[Player], Player, str]:
    """Return a host and two guests at a table with a free seat, a spectator, and the join line."""
    (host, *guests), opened = await people.table(seats, "ABC")
    for guest in guests:
        await guest.until(LobbyChanged, lambda event: len(event.players) == 3)
    watching = await people.sit("W")
    await watching.node.watch(opened.join_line)
    return [host, *guests], watching, opened.join_line


# Delivery


async def test_the_host_relays_chat_to_all_at_its_table(people: Company) -> None:
    players, watching, _ = await lobby(people)
    host, one, other = players
    await all_hear(one, "hello there", host, other, watching)
    await all_hear(host, "welcome", one, other, watching)
    await all_hear(other, "שלום", host, one, watching)
    story = [("B", "hello there"), ("A", "welcome"), ("C", "שלום")]
    assert [heard(player) for player in (*players, watching)] == [story] * 4


async def test_players_and_spectators_receive_chat_during_and_after_a_match(people: Company) -> None:
    players, opened = await people.table(3)
    await in_mid_match(players[0])
    watching = [await people.sit(name) for name in "VW"]
    for each in watching:
        await each.node.watch(opened.join_line)
        await each.until(MatchStarted)
    for player in players:
        await all_hear(player, f"{player.name} has a bad feeling", *(each for each in players if each is not player))
    for each in watching:
        await until(lambda each=each: len(each.told(Said)) == 3)  # type: ignore[misc]
    players[0].go_on()
    await agree(*players, *watching)
    await all_hear(players[1], "well played", players[0], players[2], *watching)
    for player in (*players, *watching):
        names = [name for name, _ in heard(player)]
        assert sorted(names) == ["A", "B", "B", "C"]  # each message once, although it may arrive over several links


async def test_chat_is_in_no_transcript_and_no_file(people: Company) -> None:
    players, _ = await people.table(2)
    await in_mid_match(players[0])
    await all_hear(players[1], "nobody-keeps-this", players[0])
    players[0].go_on()
    transcript = await agree(*players)
    assert b"nobody-keeps-this" not in transcript
    for player in players:
        await player.leave()
        for path in player.node.home.path.rglob("*"):
            assert path.is_dir() or b"nobody-keeps-this" not in path.read_bytes(), path


async def test_chat_of_a_restarted_player_is_accepted_again(people: Company) -> None:
    """Its chat messages get higher numbers after the restart, although no number is stored."""
    players, _ = await people.table(2)
    await in_mid_match(players[0])
    await all_hear(players[1], "one moment", players[0])
    back = await people.sit("B", home=await players[1].kill())
    await back.node.resume()
    await until(lambda: players[0].node._mesh.is_linked(back.node.identity.public))
    await until(lambda: back.node._mesh.is_linked(players[0].node.identity.public))
    await all_hear(back, "here I am", players[0])
    players[0].go_on()
    await agree(players[0], back)


# Refused messages


async def test_invalid_chat_is_refused_with_an_explanation(people: Company) -> None:
    (host, guest, _), watching, _ = await lobby(people)
    for player, text, reason, hint in (
        (host, "x" * 201, "what you say has 201 characters, and at most 200 can be said at once", "shorten it"),
        (
            guest,
            "\x1b[2J",
            "what you say must not have control or invisible characters (U+001B)",
            "leave these characters out",
        ),
        (guest, " ", "what you say is empty", "type something after say"),
        (watching, "hello", "spectators cannot speak", "sit down for the next match"),
        (await people.sit("lonely"), "hello", "nobody is there to hear it", ""),
    ):
        with pytest.raises(NodeError) as caught:
            player.node.say(text)
        assert (caught.value.reason, caught.value.hint) == (reason, hint)
    assert heard(host) == heard(guest) == heard(watching) == []


async def test_a_player_who_chats_too_fast_is_told_so(people: Company) -> None:
    (host, guest, other), watching, _ = await lobby(people)
    for number in range(limits.WORD_BURST):
        guest.node.say(f"word {number}")
    with pytest.raises(NodeError, match="too many messages at once") as caught:
        guest.node.say("one more")
    assert caught.value.hint == "wait a second"
    for player in (host, other, watching):
        await player.until(Said, lambda said: said.text == "word 4")
        assert heard(player) == [("B", f"word {number}") for number in range(limits.WORD_BURST)]


async def test_a_host_alone_at_the_table_cannot_chat(people: Company) -> None:
    host = await people.sit("A")
    await host.node.host(TableSettings("Friday", CLASSIC, 2))
    with pytest.raises(NodeError, match="nobody is there"):
        host.node.say("hello?")


# Hostile chat


async def settled(sender: Player, receiver: Player, text: str) -> None:
    """Wait until the receiver has handled all frames that the sender has sent so far."""
    context = sender.node._active.floors()[-1].context
    throw(sender, receiver, sign_word(context, sender.node.identity, 2**62, text))
    await receiver.until(Said, lambda said: said.text == text)


async def test_chat_cannot_be_replayed_elsewhere_or_in_anothers_name(people: Company) -> None:
    """The hostile player has received chat from all others, and has a link with each."""
    players, _ = await people.table(3)
    await in_mid_match(players[0])
    honest, hostile, other = players
    match = views.match_of(honest)
    here, table = match.history.match, match.history.genesis.table
    eve, ada = hostile.node.identity, other.node.identity
    before = len(honest.told(Said))
    throw(
        hostile,
        honest,
        sign_word(here, ada, 5, "by another, well signed, over my link"),
        sign_word(here, eve, 5, "in another's name")._replace(data=sign_word(here, ada, 5, "in her name").data),
        sign_word(here, eve, 6, "signed wrongly")._replace(signature=bytes(64)),
        sign_word(table, eve, 7, "at the table, after the start")._replace(signature=bytes(64)),
        sign_word(bytes(32), eve, 8, "in another match"),
        sign_word(b"t" * 16, eve, 9, "at another table"),
    )
    throw(hostile, honest, *[sign_word(here, eve, 10, "once")] * 3, sign_word(here, eve, 9, "out of order"))
    await settled(hostile, honest, "that is all")
    assert heard(honest)[before:] == [("B", "once"), ("B", "that is all")]
    assert honest.told(PeerLost) == []  # none of these messages cuts a link
    players[0].go_on()
    await agree(*players)


async def test_a_host_cannot_invent_or_repeat_a_guests_chat(people: Company) -> None:
    (host, guest, other), watching, _ = await lobby(people)
    table = host.node.table_id
    await all_hear(guest, "hello", host, other, watching)
    word = sign_word(table, guest.node.identity, 2**60, "once more")
    throw(
        host,
        other,
        word._replace(data=sign_word(table, guest.node.identity, 2**60, "I give up").data),
        sign_word(table, watching.node.identity, 3, "by somebody who does not sit here"),
        word,
        word,
        sign_word(table, guest.node.identity, 1, "what was said earlier"),
    )
    await settled(host, other, "that is all")
    assert heard(other) == [("B", "hello"), ("B", "once more"), ("A", "that is all")]


async def test_a_guest_cannot_chat_in_anothers_name(people: Company) -> None:
    (host, guest, other), _, _ = await lobby(people)
    throw(guest, host, sign_word(host.node.table_id, other.node.identity, 3, "well signed, over the wrong link"))
    await settled(guest, host, "that is all")
    assert heard(host) == [("B", "that is all")]
    assert guest.told(LobbyChanged)


async def test_a_flood_of_chat_is_limited_and_cuts_no_link(people: Company) -> None:
    players, _ = await people.table(2)
    await in_mid_match(players[0])
    honest, hostile = players
    match = views.match_of(honest)
    flood = [sign_word(match.history.match, hostile.node.identity, number, f"{number}") for number in range(500)]
    throw(hostile, honest, *flood)
    await asyncio.sleep(0)
    last = sign_word(match.history.match, hostile.node.identity, 2**61, "last")
    while ("B", "last") not in heard(honest):  # the rate limit soon allows chat again
        throw(hostile, honest, last)
        await asyncio.sleep(0.2)
    assert limits.WORD_BURST_HEARD <= len(heard(honest)) <= limits.WORD_BURST_HEARD + 3
    assert honest.told(PeerLost) == []
    players[0].go_on()
    await agree(*players)


async def test_malformed_chat_cuts_the_link_but_not_the_match(people: Company) -> None:
    players, _ = await people.table(2)
    await in_mid_match(players[0])
    honest, hostile = players
    frames = (Say(b"nonsense", bytes(64)), Say(bytes(limits.WORD + 1), bytes(64)), Say(b"", b""))
    peers, key = honest.node._mesh._peers, hostile.node.identity.public
    for frame in frames:
        cut = peers[key]
        views.send(hostile, honest.node.identity.public, frame)
        await until(lambda cut=cut: peers.get(key, cut) is not cut)  # type: ignore[misc]
        await until(lambda: hostile.node._mesh.is_linked(honest.node.identity.public))
    assert heard(honest) == []
    players[0].go_on()
    await agree(*players)


async def test_chat_of_spectators_and_strangers_is_ignored(people: Company) -> None:
    players, _, _ = await lobby(people)
    stranger = Watcher()
    await stranger.watch(players[0])
    word = sign_word(players[0].node.table_id, stranger.identity, 1, "hello")
    stranger.tell(Say(word.data, word.signature))
    stranger.tell(Say(b"nonsense", bytes(64)))
    await all_hear(players[1], "did you hear anything?", players[0], players[2])
    assert [name for name, _ in heard(players[0])] == ["B"]
    assert "down" not in stranger.told
    await stranger.mesh.close()


async def test_chat_sent_while_the_match_starts_is_not_lost(people: Company) -> None:
    """Players move from the table to the match one by one. A player who moves late receives chat of both."""
    host = await people.sit("A")
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 3))
    guests = [await people.sit(name) for name in "BC"]
    for guest in guests:
        await guest.node.join(opened.join_line)
        for _ in range(2):
            guest.node.say(f"{guest.name} {len(guest.told(Said))}")
            await asyncio.sleep(0)
    for player in (host, *guests):
        await player.until(MatchResult)
    for player in (host, guests[0]):
        assert [name for name, _ in heard(player)].count("B") == 2


@pytest.mark.parametrize("talk", [0, 1])
def test_spectators_can_chat_if_the_tables_customs_allow(tmp_path: Path, talk: int) -> None:
    async def scene(room: Room) -> None:
        host = await room.sit("Host")
        await host.node.host(TableSettings("Friday", CLASSIC, 3, customs=Customs(talk=talk)))
        target = line(room, host.key, host.node.identity.fingerprint)
        guest, watching, other = [await room.sit(name) for name in ("Ada", "Eve", "Fay")]
        await guest.node.join(target)
        for each in (watching, other):
            await each.node.watch(target)
        listeners = [host, guest, other]
        if not talk:
            with pytest.raises(NodeError, match="cannot speak"):
                watching.node.say("hello")
            data = sign_word(host.node.table_id, watching.node.identity, 1, "hello")
            views.send(watching, host.key, Say(data.data, data.signature))
            await asyncio.sleep(2)
            assert not any(each.told(Said) for each in listeners)
            return
        watching.node.say("hello")
        await until(lambda: all(each.told(Said) for each in listeners))
        last = await room.sit("Ben")
        await last.node.join(target)
        listeners.append(last)
        await until(lambda: all(each.node.match is not None and each.node.match.is_formed for each in listeners))
        await asyncio.sleep(1)
        watching.node.say("well played")
        await until(
            lambda: all(each.told(Said)[-1:] and each.told(Said)[-1].text == "well played" for each in listeners)
        )
        for each in listeners:
            assert {said.player.fingerprint for said in each.told(Said)} == {watching.node.identity.fingerprint}
            assert [said.text for said in each.told(Said)].count("well played") == 1
        for number in range(20):
            watching.node.say(str(number))
            await asyncio.sleep(1.1)
        for each in (*listeners, watching):
            texts = [said.text for said in each.told(Said)]
            assert texts[-20:] == [str(number) for number in range(20)]

    in_a_room(tmp_path, 1, scene)
