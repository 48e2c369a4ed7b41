"""How single nodes form a match: when each signs, what binds it, and what a host's RESIGN does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from p2pdice.rulesets import PRESETS
from protocol.consensus.history import History
from protocol.consensus.kinds import parse_signed
from protocol.consensus.position import FORMED
from protocol.consensus.transcript import write_transcript
from protocol.consensus.verifier import verify
from protocol.crypto.keys import MatchKey
from protocol.match.effects import Broadcast, CalledOff, Linked, Received, StoreChoice, Ticked, Withdrawn
from protocol.match.match import Match
from protocol.wire.frames import Carried
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.protocol.scribe import due
from tests.simulation.world import World

CLASSIC = PRESETS["classic"].with_options({"dice": "1"})
HOST, ANN, BEN = range(3)
WORLD = World(CLASSIC, 3, seed=1)
DATA, SEEDS = WORLD.data, WORLD.seeds


def node(me: int, *stored: Signed, **options: Any) -> Match:
    return Match(DATA, me, SEEDS[me], stored or None, host=HOST, **options)


def signed_by(history: History, author: int, kind: Kind | None = None, step: int | None = None) -> Signed:
    """Return the message that an author owes the open step, or one of another kind for a step."""
    if kind is None:
        return due(history, author, SEEDS[author])
    place = history.chain[history.position.step if step is None else step]
    return sign(Message(history.match, place.step, place.tip, author, kind, ()), MatchKey(SEEDS[author]))


def hear(match: Match, *messages: Signed, now: float = 0.0) -> list[object]:
    return [effect for signed in messages for effect in match.handle(Received(HOST, signed), now)]


def said(effects: Iterable[object]) -> list[tuple[int, Kind]]:
    """Return the author and kind of each broadcast message."""
    frames = [effect.frame for effect in effects if isinstance(effect, Broadcast)]
    messages = [parse_signed(*frame).message for frame in frames if isinstance(frame, Carried)]
    return [(message.author, Kind(message.kind)) for message in messages]


def of_ann(effects: Iterable[object]) -> list[Kind]:
    return [kind for author, kind in said(effects) if author == ANN]


def locks(history: History) -> list[Signed]:
    return [signed_by(history, author) for author in (HOST, ANN, BEN)]


def bound(me: int = ANN) -> Match:
    """Return the match of a guest who has signed COMMIT."""
    match = node(me)
    match.handle(Ticked(), 0.0)
    hear(match, *(each for each in locks(match.history) if each.message.author != me))
    assert match.is_bound
    return match


def test_a_guest_signs_lock_at_once_and_commit_when_it_holds_all_locks() -> None:
    match = node(ANN)
    assert said(match.handle(Ticked(), 0.0)) == [(ANN, Kind.LOCK)]
    first, second = (signed_by(match.history, author) for author in (BEN, HOST))
    assert said(hear(match, first)) == []
    assert said(hear(match, second)) == [(ANN, Kind.COMMIT)]


def test_the_host_signs_each_step_last_and_sends_the_whole_step_to_all() -> None:
    match = node(HOST)
    assert said(match.handle(Ticked(), 0.0)) == []
    for kind in (Kind.LOCK, Kind.COMMIT):
        assert said(hear(match, signed_by(match.history, ANN))) == []
        told = said(hear(match, signed_by(match.history, BEN)))
        assert told[:3] == [(ANN, kind), (BEN, kind), (HOST, kind)]
    assert match.is_formed


def test_the_host_forms_the_match_although_a_guest_has_signed_two_commits() -> None:
    """Otherwise such a guest could keep everybody at the table waiting. The others go on without the cheat."""
    match = node(HOST)
    match.handle(Ticked(), 0.0)
    hear(match, signed_by(match.history, ANN), signed_by(match.history, BEN))
    commit = signed_by(match.history, BEN)
    other = sign(commit.message._replace(body=(bytes(32),)), MatchKey(SEEDS[BEN]))
    told = said(hear(match, commit, other, signed_by(match.history, ANN)))
    assert BEN in match.replica.proven
    assert (HOST, Kind.COMMIT) in told
    assert match.is_formed


def test_no_guest_signs_commit_while_another_match_binds_it() -> None:
    match = node(ANN)
    is_free = False
    match.may_commit = lambda: is_free
    match.handle(Ticked(), 0.0)
    assert said(hear(match, *(each for each in locks(match.history) if each.message.author != ANN))) == []
    assert not match.is_bound
    is_free = True
    assert said(match.handle(Ticked(), 1.0)) == [(ANN, Kind.COMMIT)]


@pytest.mark.parametrize("step", range(FORMED))
def test_the_host_withdraws_with_a_resign_in_the_open_step_and_signs_nothing_more(step: int) -> None:
    match = node(HOST)
    match.handle(Ticked(), 0.0)
    if step:
        hear(match, signed_by(match.history, ANN), signed_by(match.history, BEN))
    effects = match.handle(Withdrawn(), 0.0)
    assert said(effects) == [(HOST, Kind.RESIGN)]
    assert match.history.withdrawals[HOST].message.step == step
    assert [effect for effect in effects if isinstance(effect, CalledOff)] == [CalledOff()]
    assert said(hear(match, signed_by(match.history, ANN), signed_by(match.history, BEN))) == []
    assert said(match.handle(Ticked(), 1.0)) == []
    assert not match.is_formed


def test_a_host_that_has_signed_commit_cannot_withdraw() -> None:
    match = node(HOST)
    match.handle(Ticked(), 0.0)
    for _ in range(FORMED):
        hear(match, signed_by(match.history, ANN), signed_by(match.history, BEN))
    assert (HOST, Kind.RESIGN) not in said(match.handle(Withdrawn(), 0.0))
    assert match.is_formed


@pytest.mark.parametrize("step", range(FORMED))
def test_the_resign_of_the_host_frees_a_guest_for_good(step: int) -> None:
    match = bound()
    effects = hear(match, signed_by(match.history, HOST, Kind.RESIGN, step))
    assert not match.is_bound
    assert match.is_called_off
    assert CalledOff() in effects
    assert any(isinstance(effect, StoreChoice) for effect in effects)


def test_the_resign_of_a_guest_frees_no_other_guest() -> None:
    match = bound()
    assert CalledOff() not in hear(match, signed_by(match.history, BEN, Kind.RESIGN))
    assert match.is_bound


def test_all_commits_form_the_match_although_the_host_also_signed_resign() -> None:
    match = bound()
    commits = [signed_by(match.history, author) for author in (HOST, BEN)]
    resign = signed_by(match.history, HOST, Kind.RESIGN)
    hear(match, *commits)
    assert match.is_formed
    effects = hear(match, resign)
    assert match.is_formed
    assert not match.is_called_off
    assert CalledOff() not in effects
    assert set(match.replica.proven) == {HOST}
    assert verify(write_transcript(match.history, match.replica.proven.values())).verdict == "misconduct"


@pytest.mark.parametrize("kind", [Kind.LOCK, Kind.COMMIT])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_forming_message_counts_despite_a_resign_of_its_author_and_the_two_prove_misconduct(
    kind: Kind, is_first: bool
) -> None:
    match = node(ANN) if kind is Kind.LOCK else bound()
    match.handle(Ticked(), 0.0)
    history = match.history
    own, resign = signed_by(history, HOST), signed_by(history, HOST, Kind.RESIGN)
    hear(match, *((own, resign) if is_first else (resign, own)), signed_by(history, BEN))
    assert history.chain[own.message.step + 1].entries[HOST].id == own.id
    assert {signed.id for signed in match.replica.proven[HOST].evidence} == {own.id, resign.id}
    assert history.withdrawals[HOST].id == resign.id


@pytest.mark.parametrize("frees", ["the host", "the owner"])
def test_a_guest_who_was_freed_locks_a_match_that_formed_anyway_and_then_resigns(frees: str) -> None:
    match = bound()
    commits = [signed_by(match.history, author) for author in (HOST, BEN)]
    if frees == "the host":
        hear(match, signed_by(match.history, HOST, Kind.RESIGN))
    else:
        match.handle(Withdrawn(), 30.0)
    assert of_ann(hear(match, *commits)) == [Kind.LOCK]
    assert match.is_formed
    others = [signed_by(match.history, author) for author in (HOST, BEN)]
    assert of_ann(hear(match, *others)) == [Kind.RESIGN]
    assert (match.history.position.step, match.history.position.kind) == (3, Kind.REVEAL)


def test_a_guest_who_withdrew_is_still_free_after_a_restart() -> None:
    match = bound()
    stored = list(match.replica.messages())
    effects = match.handle(Withdrawn(), 30.0)
    choices = {effect.step: effect.text for effect in effects if isinstance(effect, StoreChoice)}
    again = node(ANN, *stored, choices=choices)
    assert again.has_committed
    assert not again.is_bound
    assert again.is_called_off
    assert CalledOff() in again.handle(Ticked(), 0.0)  # the process may have died after it stored the choice
    assert node(ANN, *stored).is_bound


def test_a_restarted_guest_forms_the_match_from_the_other_commits() -> None:
    match = bound()
    again = node(ANN, *match.replica.messages())
    again.handle(Linked(HOST), 0.0)
    hear(again, *(signed_by(match.history, author) for author in (HOST, BEN)))
    assert again.is_formed


def test_the_withdrawal_of_the_host_is_sent_to_peers_that_catch_up() -> None:
    match = bound()
    resign = signed_by(match.history, HOST, Kind.RESIGN)
    before = match.replica.digests()
    hear(match, resign)
    assert resign.id in [signed.id for signed in match.replica.shown(0)]
    assert match.replica.digests() != before


def test_whole_matches_are_formed_and_played() -> None:
    world = World(CLASSIC, 3, seed=1)
    world.run()
    assert {machine.transcript for machine in world.machines} == {world.machines[HOST].transcript} != {b""}
