"""The generated vectors are up to date, also in SPEC.md, and contain what their descriptions promise."""

from __future__ import annotations

import pytest

from p2pdice.state import State
from protocol.consensus.history import History
from protocol.consensus.kinds import CARRIED
from protocol.consensus.verifier import examine
from protocol.events import MatchStarted
from protocol.net.link import Link
from protocol.net.mesh import Mesh
from protocol.wire.frames import Frame, Have, decode_frame
from protocol.wire.messages import Kind, Signed
from tests.network.company import Company
from tests.vectors.connection import frames
from tests.vectors.matches import FILES
from tests.vectors.specification import FOLDER, PATH, with_vectors


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_bytes() == FILES[name](), "out of date; run python -m tests.vectors"


def test_the_specification_is_up_to_date() -> None:
    text = PATH.read_text(encoding="utf-8")
    assert text == with_vectors(text), "out of date; run python -m tests.vectors"


def folded(name: str) -> tuple[History, State]:
    history = examine((FOLDER / name).read_bytes()).history
    assert history is not None
    assert history.position.state is not None
    return history, history.position.state


def closed_without(history: History) -> dict[int, list[Kind]]:
    """Return, by step that was closed without a message, the kinds of the deciding votes."""
    steps = {position.step - 1: position.certificate for position in history.chain if position.certificate}
    return {step: sorted(Kind(vote.message.kind) for vote in votes) for step, votes in steps.items()}


def resigned(history: History) -> dict[int, int]:
    """Return the author of each RESIGN, by step."""
    said: list[Signed] = [signed for position in history.chain for signed in position.entries.values()]
    return {signed.message.step: signed.message.author for signed in said if signed.message.kind is Kind.RESIGN}


def test_three_resign_in_one_file_and_one_of_them_before_the_seats_are_drawn() -> None:
    history, state = folded("resign.p2pdice")
    who = resigned(history)
    assert (list(who), who[3], len(set(who.values()))) == ([3, 13, 17], 2, 3)
    assert [history.chain[step].kind for step in (3, 4, 13)] == [Kind.REVEAL, Kind.COMMIT, Kind.OPEN]
    assert state.round == 2
    assert {exit.reason for exit in state.exits} == {"conceded"}


def test_one_decision_needs_an_absent_vote_and_another_closes_a_lock() -> None:
    history, state = folded("votes.p2pdice")
    closes = [Kind.CLOSE] * 3
    assert closed_without(history) == {7: closes, 10: closes, 17: [Kind.ABSENT, *closes[1:]]}
    assert (history.chain[10].kind, history.chain[11].entries) == (Kind.LOCK, {})
    assert [exit.reason for exit in state.exits] == ["evicted", "lost", "evicted"]


def test_witnesses_vote_out_a_player_who_signed_two_messages() -> None:
    history, _ = folded("proof.p2pdice")
    assert closed_without(history) == {22: [Kind.CLOSE] * 3}
    bodies = [signed.message.body for signed in history.chain[19].entries.values()]
    (witnesses,) = {tuple(body[32::CARRIED]) for body in bodies if isinstance(body, bytes)}
    assert len(witnesses) == 1
    owed = {author for step in (21, 17, 15) for author in history.chain[step].owed}
    assert {*history.chain[22].base} == {0, 1, 2, 3} == {*owed, *witnesses}
    assert witnesses[0] not in history.chain[21].owed


def test_two_players_stake_from_their_purses() -> None:
    history, state = folded("purses.p2pdice")
    assert {(wager.bet, wager.funds, wager.owned) for wager in state.wagers} == {(100, 1000, 0), (100, 1100, 2)}
    changes = examine((FOLDER / "purses.p2pdice").read_bytes()).verdict.purses
    assert [(each.balance, each.change) for each in changes] == [(1100, -100), (1000, 110)]
    assert history.genesis.has_purses


async def test_real_nodes_send_the_frames_of_the_connection(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    """HAVEs are left out, because their number depends on time."""
    heard: list[tuple[bool, str]] = []
    take = Mesh.frame_received

    def note(mesh: Mesh, link: Link, frame: bytes) -> None:
        heard.append((link.outbound, _name(decode_frame(frame))))
        take(mesh, link, frame)

    monkeypatch.setattr(Mesh, "frame_received", note)
    (host, guest), _ = await people.table(2, ["host", "guest"])
    expected = [(each.by_host, _name(each.frame)) for each in frames() if not isinstance(each.frame, Have)]
    for player in (host, guest):
        await player.until(MatchStarted)
    assert [each for each in heard if each[1] != "Have"][: len(expected)] == expected


def _name(frame: Frame) -> str:
    return type(frame).__name__
