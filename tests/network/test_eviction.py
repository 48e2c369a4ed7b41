"""If a player disappears or cheats, the others finish the match, and their files show what happened."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from pathlib import Path

import pytest

from p2pdice.engine import apply
from p2pdice.moves import Bid, Liar, Play
from protocol.consensus.verifier import verify
from protocol.events import Continued, Happened, MatchResult, Misbehaved, Overdue, PeerLost, Suspended
from protocol.match.match import Match
from protocol.wire.frames import Carried
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, Signed, sign
from tests.network import views
from tests.network.company import IMPATIENT, Company, Player, in_mid_match
from tests.network.journal import history
from tests.programs import MODULE, run
from tests.waiting import until


def names(over: MatchResult) -> list[str]:
    """Return the players' names by place, the winner first."""
    return [over.players[seat].name for place in over.places for seat in place]


async def one_transcript(*players: Player) -> Path:
    """Wait for the end of the match, check that all have the same history, and return one transcript."""
    ends = [await player.until(MatchResult) for player in players]
    assert len({history(end.transcript.read_bytes()) for end in ends}) == 1
    assert len({end.places for end in ends}) == 1
    return ends[0].transcript


async def verify_command(people: Company, *arguments: str) -> tuple[int, str]:
    """Run ``p2pdice verify`` as a process while the nodes continue; return its exit code and its output."""
    done = await asyncio.to_thread(run, *MODULE, "verify", *arguments, home=people.folder / "verifier")
    return done.returncode, " ".join(done.stdout.split())


@pytest.mark.parametrize("dying", ["A", "C"], ids=["the host", "a guest"])
async def test_the_others_finish_a_match_without_a_player_who_is_gone_for_good(people: Company, dying: str) -> None:
    players, _ = await people.table(3, patience=IMPATIENT)
    gone = next(player for player in players if player.name == dying)
    others = [player for player in players if player is not gone]
    await in_mid_match(gone)
    await gone.kill()
    for other in others:
        await other.until(PeerLost)
        await other.until(Overdue, lambda event: [player.name for player in event.awaited] == [dying])
    transcript = await one_transcript(*others)
    for other in others:
        assert names(other.told(MatchResult)[0])[-1] == dying
        assert other.told(Misbehaved) == []
        (why,) = [event.eviction for event in other.told(Happened) if event.eviction is not None]
        assert {other.told(MatchResult)[0].players[seat].name for seat in why.voters} == {"A", "B", "C"} - {dying}
    judged = verify(transcript.read_bytes())
    assert judged.verdict == "unproven"
    assert judged.culprit is None
    assert f"{dying} was silent" in judged.reason
    code, shown = await verify_command(people, str(transcript))
    assert code == 13
    assert f"{dying} was silent" in shown


async def test_a_player_who_returns_too_late_sees_that_they_are_out(people: Company) -> None:
    players, _ = await people.table(3, patience=Patience(10, 5))  # the player who stops must not be voted out
    late, *others = players
    await in_mid_match(late)
    home = await late.kill()
    holding = others[0]
    holding.hold()
    for other in others:
        await until(lambda other=other: "A" in are_out(other))  # type: ignore[misc]
    back = await people.sit("A", home=home)
    await back.node.resume()
    await until(lambda: "A" in are_out(back))
    holding.go_on()
    await one_transcript(back, *others)
    assert names(back.told(MatchResult)[0])[-1] == "A"


def are_out(player: Player) -> set[str]:
    """Return the names of the players who are out of the match, as this player sees it."""
    match = views.match_of(player)
    state = match.history.position.state
    assert state is not None
    return {match.by_seat()[seat].name for gone in state.exits for seat in gone.seats}


async def test_neither_of_two_players_can_vote_the_other_out(people: Company) -> None:
    """The remaining player waits without limit. The match continues when the other player is back."""
    players, _ = await people.table(2, patience=IMPATIENT)
    dying, other = players
    await in_mid_match(dying)
    home = await dying.kill()
    await other.until(Suspended)
    due = other.node._runtime.loop.time() + 2 * IMPATIENT.human
    await until(lambda: other.node._runtime.loop.time() > due)
    assert other.told(MatchResult) == []
    back = await people.sit("A", home=home)
    await back.node.resume()
    await other.until(Continued)
    transcript = await one_transcript(back, other)
    assert verify(transcript.read_bytes()).verdict == "fair"


def contradicting_move(match: Match) -> Signed:
    """Return another move for a turn for which this node has signed a move, signed with the same key."""
    chain = match.history.chain
    for before, after in pairwise(chain):
        said = after.entries.get(match.me) if match.me is not None else None
        if said is not None and said.message.kind is Kind.MOVE and before.state is not None:
            seat = before.seats.index(said.message.author)
            for move in (Liar(), Bid(2, 3), Bid(3, 3), Bid(4, 6)):
                try:
                    apply(before.state, Play(seat, move))
                except ValueError:
                    continue
                if str(move) != said.message.body:
                    return sign(said.message._replace(body=str(move)), match.signer.key)
    raise AssertionError("no move yet")


async def test_two_contradicting_moves_prove_misconduct_to_anybody(people: Company) -> None:
    players, _ = await people.table(3)
    cheat = players[2]
    await until(lambda: has_moved(cheat.node.match))
    await in_mid_match(players[0], 1)
    other = contradicting_move(views.match_of(cheat))
    views.send(cheat, players[0].node.identity.public, Carried(*other.wire))
    for honest in players[:2]:
        blamed = await honest.until(Misbehaved)
        assert blamed.player.name == "C"
        assert blamed.proof is not None
        code, shown = await verify_command(people, "--json", str(blamed.proof))
        assert code == 10
        judged = json.loads(shown)
        assert (judged["culprit"], judged["step"]) == ("C", other.message.step)
        code, shown = await verify_command(people, str(blamed.proof))
        assert code == 10
        assert "MISCONDUCT by C" in shown
    players[0].go_on()
    await one_transcript(*players[:2])
    assert not any(player.told(Misbehaved)[1:] for player in players[:2])


def has_moved(match: Match | None) -> bool:
    """Return whether the history contains a move by this node."""
    return match is not None and any(
        signed.message.kind is Kind.MOVE
        for position in match.history.chain[1:]
        for author, signed in position.entries.items()
        if author == match.me
    )
