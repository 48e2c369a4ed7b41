"""Folding a history: scripts, the hash chain, resignations in every kind of slot, and proofs of misconduct."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from p2pdice.rulesets import PRESETS
from p2pdice.state import Expect
from protocol.consensus import reading as reading_module
from protocol.consensus.branches import Outcome
from protocol.consensus.history import History
from protocol.consensus.kinds import SCRIPTS, parse_signed
from protocol.consensus.position import FORMED, Position, Purpose
from protocol.consensus.reading import Reading
from protocol.consensus.rule import MisconductError, RejectedMessageError
from protocol.consensus.transcript import write_transcript
from protocol.consensus.verifier import verify
from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import MatchKey
from protocol.events import YourTurn
from protocol.match.effects import Broadcast, MatchInput, Played, Received, Show, Ticked
from protocol.match.match import Match
from protocol.wire.frames import Carried
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.protocol.histories import add
from tests.protocol.scribe import due, signed_by, votes_to_close
from tests.simulation.world import World, genesis

CLASSIC = PRESETS["classic"]


def played(players: int = 3, seed: int = 1) -> World:
    world = World(CLASSIC, players, seed)
    world.run()
    return world


WORLD: World
CHAIN: Sequence[Position]
KEYS: tuple[MatchKey, ...]


@pytest.fixture(scope="module", autouse=True)
def _played() -> None:
    """Play the match of these tests in a fixture, so that workers which only collect tests do not play it."""
    global WORLD, CHAIN, KEYS
    WORLD = played()
    CHAIN = WORLD.machines[0].match.history.chain
    KEYS = tuple(MatchKey(seed) for seed in WORLD.seeds)


def record_at(step: int) -> History:
    """Return a history of the played match in which ``step`` is the open step."""
    history = History(WORLD.data)
    for position in CHAIN[1 : step + 1]:
        for signed in position.entries.values():
            assert add(history, signed) is Outcome.ADDED
    assert history.position.step == step
    return history


def first(condition: Callable[[Position], bool]) -> int:
    """Return the first step of the played match whose position meets a condition."""
    return next(position.step for position in CHAIN if condition(position))


def at(purpose: Purpose, kind: Kind) -> int:
    return first(lambda position: position.purpose is purpose and position.kind is kind and len(position.owed) != 2)


def said(step: int) -> list[Signed]:
    """Return the messages of a step of the played match, sorted by author."""
    return list(CHAIN[step + 1].entries.values())


def spoken(history: History, author: int, kind: int, body: object, **changes: object) -> Signed:
    position = history.position
    message = Message(history.match, position.step, position.tip, author, kind, body)  # type: ignore[arg-type]
    return sign(message._replace(**changes), KEYS[author])  # type: ignore[arg-type]


def resigns(history: History, author: int) -> Signed:
    return spoken(history, author, Kind.RESIGN, ())


def test_votes_must_name_exactly_the_messages_that_close_a_step() -> None:
    step = at(Purpose.DEAL, Kind.COMMIT)
    first, second, _ = said(step)
    for is_held in (False, True):
        history = record_at(step)
        held = (first, second) if is_held else (first,)
        reading = Reading(history)
        for signed in held:
            reading.add(signed)
        entries = (first.id, second.id, b"")
        votes = [votes_to_close(history, voter, KEYS[voter], entries) for voter in range(2)]
        reading.add(votes[0])
        if is_held:
            reading.add(votes[1])
            assert (history.position.step, [*history.position.entries]) == (step + 1, [0, 1])
        else:
            with pytest.raises(RejectedMessageError, match="do not name the messages"):
                reading.add(votes[1])
            assert history.position.step == step


def test_the_steps_of_a_match_follow_the_scripts() -> None:
    for before, after in itertools.pairwise(CHAIN):
        script = SCRIPTS[before.purpose]
        assert before.kind is script[before.place_in_script]
        if before.place_in_script + 1 < len(script):
            assert (after.purpose, after.place_in_script) == (before.purpose, before.place_in_script + 1)
        elif after.purpose is Purpose.DEAL and before.purpose is Purpose.SHOWDOWN:
            assert after.kind is Kind.LOCK  # the showdown's OPEN messages carry the commitments
        else:
            assert after.place_in_script == 0
    assert CHAIN[-1].purpose is Purpose.END


def test_secrets_are_owed_only_right_after_a_lock() -> None:
    for before, after in itertools.pairwise(CHAIN):
        if after.kind in (Kind.REVEAL, Kind.OPEN):
            assert before.kind is Kind.LOCK


def test_every_message_changes_the_hash_of_the_history() -> None:
    step = at(Purpose.DEAL, Kind.COMMIT)
    tips = set()
    for changed in (None, *CHAIN[step].owed):
        history = record_at(step)
        for signed in said(step):
            add(history, resigns(history, signed.message.author) if signed.message.author == changed else signed)
        tips.add(history.position.tip)
    assert len(tips) == 1 + len(CHAIN[step].owed)


def test_the_order_within_a_step_does_not_matter() -> None:
    step = at(Purpose.DEAL, Kind.COMMIT)
    history = record_at(step)
    for signed in reversed(said(step)):
        add(history, signed)
    assert history.position.tip == CHAIN[step + 1].tip
    assert list(history.position.entries) == sorted(history.position.entries)


# Resignation


SLOTS = {
    "reveal of the seats": (Purpose.SEATING, Kind.REVEAL),
    "commit of a deal": (Purpose.DEAL, Kind.COMMIT),
    "reveal of a deal": (Purpose.DEAL, Kind.REVEAL),
    "move": (Purpose.TURN, Kind.MOVE),
    "opening": (Purpose.SHOWDOWN, Kind.OPEN),
}


def resigned(step: int) -> tuple[History, int]:
    """Close a step in which its first author resigns; return the history and that author."""
    history = record_at(step)
    messages = said(step)
    quitter = messages[0].message.author
    add(history, resigns(history, quitter))
    for signed in messages[1:]:
        add(history, signed)
    assert history.position.step == step + 1
    return history, quitter


@pytest.mark.parametrize(("purpose", "kind"), SLOTS.values(), ids=SLOTS.keys())
def test_a_resignation_fills_any_ordinary_slot_and_the_match_ends_without_its_author(
    purpose: Purpose, kind: Kind
) -> None:
    history, quitter = resigned(at(purpose, kind))
    assert quitter not in history.position.owed
    left = finish(history)
    state = left.position.state
    assert state is not None
    assert state.expects.kind is Expect.OVER
    assert left.position.seats.index(quitter) not in state.winners
    assert verify(write_transcript(left)).verdict == "fair"


@pytest.mark.parametrize("purpose", [Purpose.SEATING, Purpose.DEAL, Purpose.SHOWDOWN, Purpose.ENDING])
def test_a_resignation_at_a_lock_is_misconduct(purpose: Purpose) -> None:
    history = record_at(first(lambda position: position.purpose is purpose and position.kind is Kind.LOCK))
    with pytest.raises(MisconductError, match="sent RESIGN where LOCK was due"):
        add(history, resigns(history, history.position.owed[0]))


def test_the_step_after_a_lock_is_the_same_whether_messages_or_votes_closed_it() -> None:
    """The tip is the same, and no player has left."""
    step = first(lambda position: position.purpose is Purpose.DEAL and position.kind is Kind.LOCK)
    history = record_at(step)
    reading = Reading(history)
    for voter in history.position.base[:2]:
        reading.add(votes_to_close(history, voter, KEYS[voter]))
    assert history.position.tip == CHAIN[step + 1].tip
    assert (history.position.left, history.position.owed) == ((), CHAIN[step + 1].owed)
    assert (history.position.entries, len(history.position.certificate)) == ({}, 2)


def test_each_root_has_one_ballot() -> None:
    """The root follows the last closed LOCK, or the last decision after it."""
    root = 0
    for before, after in itertools.pairwise(CHAIN):
        root = after.step if before.kind is Kind.LOCK else root
        assert (after.root_step, after.root_tip) == (root, CHAIN[root].tip)
    history = record_at(at(Purpose.TURN, Kind.MOVE))
    voters = [each for each in history.position.base if each not in history.position.owed]
    reading = Reading(history)
    for voter in voters:
        reading.add(votes_to_close(history, voter, KEYS[voter]))
    assert (history.position.root_step, history.position.root_tip) == (history.position.step, history.position.tip)


def finish(history: History) -> History:
    """Let the remaining players finish the match from this history, and return its end."""
    messages = [each for after in history.chain[1:] for each in (*after.entries.values(), *after.certificate)]
    messages += history.held.values()
    players = [
        author for author in range(history.roster_size) if author in history.position.owed or history.position.state
    ]
    matches: dict[int, Match] = {}
    for author in players:
        matches[author] = match = Match(WORLD.data, author, WORLD.seeds[author], messages)
        match.waiting.may_sign = True  # all players are linked and hold the same messages
    inbox: list[tuple[int, MatchInput]] = [(author, Ticked()) for author in players]
    while inbox:
        me, item = inbox.pop(0)
        for effect in matches[me].handle(item, 0.0):
            if isinstance(effect, Broadcast) and isinstance(effect.frame, Carried):
                signed = parse_signed(effect.frame.data, effect.frame.signature)
                inbox += [(other, Received(me, signed)) for other in players if other != me]
            elif isinstance(effect, Show) and isinstance(effect.event, YourTurn):
                legal = effect.event.view.legal
                inbox.append((me, Played(legal[-1], effect.event.token)))
    tips = {match.history.position.tip for match in matches.values()}
    assert len(tips) == 1
    return matches[players[0]].history


@pytest.mark.parametrize("purpose", [Purpose.SEATING, Purpose.DEAL])
def test_a_roll_starts_over_if_a_player_leaves_at_its_reveal(purpose: Purpose) -> None:
    """The player who leaves may already know the outcome."""
    history, _ = resigned(at(purpose, Kind.REVEAL))
    assert (history.position.purpose, history.position.kind) == (purpose, Kind.COMMIT)
    assert history.position.committed is None
    assert history.position.deal is None
    if purpose is Purpose.SEATING:
        assert history.position.seats == ()


def test_a_hand_that_is_never_opened_stays_unknown() -> None:
    step = at(Purpose.SHOWDOWN, Kind.OPEN)
    history, quitter = resigned(step)
    position = history.position
    shown = [state.hands for _, state in position.happened if state.hands]
    assert shown
    assert shown[0][position.seats.index(quitter)] is None
    assert sum(hand is not None for hand in shown[0]) == history.roster_size - 1


def test_the_match_ends_when_one_player_is_left_even_before_the_seat_draw() -> None:
    history = record_at(FORMED + 1)
    for author in (0, 1):
        add(history, resigns(history, author))
    add(history, next(signed for signed in said(FORMED + 1) if signed.message.author == 2))
    assert (history.position.purpose, history.position.owed) == (Purpose.ENDING, (2,))
    assert history.position.state is not None
    assert [history.position.seats[seat] for seat in history.position.state.winners] == [2]


def test_a_player_who_resigned_before_the_seat_draw_gets_a_seat_and_concedes_at_the_start() -> None:
    history, quitter = resigned(at(Purpose.SEATING, Kind.REVEAL))
    left = finish(history)
    start = next(position for position in left.chain if position.state is not None)
    assert start.state is not None
    assert sorted(start.seats) == list(range(history.roster_size))
    assert start.state.exits == (((start.seats.index(quitter),), "conceded"),)
    assert start.left == (quitter,)


@pytest.mark.parametrize("staying", [(), (1,)])
def test_without_joint_randomness_seats_are_roster_indices(
    staying: tuple[int, ...],
) -> None:
    history = record_at(FORMED + 1)
    for author in range(history.roster_size):
        if author not in staying:
            add(history, resigns(history, author))
    for signed in said(FORMED + 1):
        if signed.message.author in staying:
            add(history, signed)
    for author in staying:  # only they owe the last LOCK; if none stays, it closes at once
        add(history, spoken(history, author, Kind.LOCK, history.position.signed_hash))
    state = history.position.state
    assert state is not None
    assert history.position.seats == tuple(range(history.roster_size))
    assert history.position.purpose is Purpose.END
    assert state.exits == tuple(((seat,), "conceded") for seat in ((0, 2) if staying else (0, 1)))
    assert verify(write_transcript(history)).winners == (history.genesis.roster[1 if staying else 2].join.nickname,)


def of_five(*closers: int, absent: tuple[int, ...], resigning: tuple[int, ...] = (), left: int) -> History:
    """Return a match of five after one player left. The closers vote to close the next COMMIT without the absent."""
    seeds = World(CLASSIC, 5, seed=1).seeds
    history = History(World(CLASSIC, 5, seed=1).data)
    for _ in range(3):
        for author in range(5):
            add(history, due(history, author, seeds[author]))
    for author in range(5):
        resigns = signed_by(history, author, seeds[author], Kind.RESIGN, ())
        add(history, resigns if author == left else due(history, author, seeds[author]))
    assert (history.position.step, history.position.kind) == (4, Kind.COMMIT)
    for author in history.position.owed:
        if author not in absent:
            resigns = signed_by(history, author, seeds[author], Kind.RESIGN, ())
            add(history, resigns if author in resigning else due(history, author, seeds[author]))
    reading = Reading(history)
    for author in closers:
        reading.add(votes_to_close(history, author, MatchKey(seeds[author])))
    return history


def test_a_player_who_left_before_a_step_has_no_vote_on_it_but_counts_in_the_base() -> None:
    assert of_five(0, 2, 3, absent=(4,), left=1).position.step == 5
    assert of_five(0, 2, absent=(4,), left=1).position.step == 4
    with pytest.raises(RejectedMessageError, match="who may not vote on the step"):
        of_five(0, 1, 2, absent=(4,), left=1)


def test_a_player_who_resigns_in_a_step_does_not_count_as_staying() -> None:
    with pytest.raises(RejectedMessageError, match="not a valid certificate"):
        of_five(0, 2, 3, absent=(4,), resigning=(3,), left=1)


def test_a_certificate_with_a_superfluous_vote_is_refused() -> None:
    history, seeds = of_five(absent=(4,), left=1), World(CLASSIC, 5, seed=1).seeds
    closes = [votes_to_close(history, author, MatchKey(seeds[author])) for author in (0, 2, 3)]
    backing = votes_to_close(history, 0, MatchKey(seeds[0]), kind=Kind.ABSENT)
    reading = Reading(history)
    for vote in (backing, *closes[:-1]):
        reading.add(vote)
    with pytest.raises(RejectedMessageError, match="not a valid certificate: one per voter, in order"):
        reading.add(closes[-1])
    reading = Reading(history)
    for vote in closes:
        reading.add(vote)
    assert history.position.step == 5


def test_a_player_who_left_before_a_lock_is_not_in_the_base_after_it() -> None:
    history, quitter = resigned(at(Purpose.TURN, Kind.MOVE))
    later = [
        position
        for position in finish(history).chain
        if position.locks and position.locks[-1][0] >= history.position.step
    ]
    assert quitter in history.position.base
    assert later
    assert not any(quitter in position.base for position in later)


@pytest.mark.parametrize("step", range(FORMED))
def test_a_resignation_before_the_match_is_formed_fills_no_slot_and_proves_nothing(step: int) -> None:
    history = record_at(step)
    add(history, resigns(history, 0))
    for signed in said(step):
        if signed.message.author != 0:
            add(history, signed)
    assert history.position.step == step
    assert history.missing() == (0,)
    assert {author: signed.id for author, signed in history.withdrawals.items()} == {0: resigns(history, 0).id}
    assert verify(write_transcript(history)).verdict == "incomplete"


# Refused messages and misconduct


def test_two_messages_in_one_slot_prove_misconduct_in_open_and_closed_steps() -> None:
    step = at(Purpose.DEAL, Kind.COMMIT)
    author = said(step)[0].message.author
    history = record_at(step)
    other = resigns(history, author)
    add(history, said(step)[0])
    with pytest.raises(MisconductError) as caught:
        add(history, other)
    assert caught.value.author == author
    assert {signed.id for signed in caught.value.evidence} == {said(step)[0].id, other.id}
    with pytest.raises(MisconductError):
        add(record_at(step + 5), other)


def test_an_equivocation_with_an_invalid_signature_proves_nothing() -> None:
    step = at(Purpose.DEAL, Kind.COMMIT)
    history = record_at(step + 5)
    other = sign(said(step)[0].message._replace(kind=Kind.RESIGN, body=()), MatchKey(b"x" * 32))
    with pytest.raises(RejectedMessageError, match="signature"):
        add(history, other._replace(checked=False))


def test_the_identity_key_signs_nothing_in_a_match() -> None:
    """A thief of that key can impersonate its owner in the next match, but not in this one."""
    step = at(Purpose.DEAL, Kind.COMMIT)
    history = record_at(step)
    message = said(step)[0].message
    identity = Ed25519PrivateKey.from_private_bytes(tagged_hash("test-identity", (1).to_bytes(8, "big"), 0))
    author = next(
        author
        for author, entry in enumerate(WORLD.genesis.roster)
        if entry.join.identity == identity.public_key().public_bytes_raw()
    )
    signed = spoken(history, author, message.kind, message.body)
    with pytest.raises(RejectedMessageError, match="signature"):
        add(history, signed._replace(signature=identity.sign(signed.data), checked=False))


def test_a_message_out_of_turn_is_misconduct() -> None:
    step = at(Purpose.TURN, Kind.MOVE)
    history = record_at(step)
    author = next(each for each in range(3) if each not in history.position.owed)
    with pytest.raises(MisconductError, match="out of turn") as caught:
        add(history, spoken(history, author, Kind.MOVE, "1x1"))
    assert caught.value.author == author


WRONG: dict[str, tuple[Purpose, Kind, Kind, object]] = {
    "a kind that is not due": (Purpose.DEAL, Kind.COMMIT, Kind.LOCK, bytes(32)),
    "too few commitments": (Purpose.DEAL, Kind.COMMIT, Kind.COMMIT, (bytes(32),)),
    "too many commitments": (Purpose.SEATING, Kind.COMMIT, Kind.COMMIT, (bytes(32), bytes(32))),
    "another share": (Purpose.DEAL, Kind.REVEAL, Kind.REVEAL, bytes(32)),
    "a resignation at a lock": (Purpose.DEAL, Kind.LOCK, Kind.RESIGN, ()),
    "another hand key": (Purpose.SHOWDOWN, Kind.OPEN, Kind.OPEN, (bytes(32), bytes(32), bytes(32), b"")),
    "an illegal move": (Purpose.TURN, Kind.MOVE, Kind.MOVE, "liar"),
    "no move": (Purpose.TURN, Kind.MOVE, Kind.MOVE, "hello"),
    "another spelling": (Purpose.TURN, Kind.MOVE, Kind.MOVE, " 1x1"),
    "conceding as a move": (Purpose.TURN, Kind.MOVE, Kind.MOVE, "concede"),
}


@pytest.mark.parametrize(("purpose", "due", "kind", "body"), WRONG.values(), ids=WRONG.keys())
def test_a_signed_message_that_breaks_a_rule_is_misconduct_and_leaves_the_history_unchanged(
    purpose: Purpose, due: Kind, kind: Kind, body: object
) -> None:
    history = record_at(at(purpose, due))
    author = history.position.owed[0]
    with pytest.raises(MisconductError) as caught:
        add(history, spoken(history, author, kind, body))
    assert caught.value.author == author
    assert history.held == {}
    assert len(caught.value.evidence) == 1


def test_an_unauthentic_or_foreign_message_is_refused_without_blame() -> None:
    step = at(Purpose.DEAL, Kind.LOCK)
    history = record_at(step)
    good = said(step)[0]
    others, _ = genesis(CLASSIC, 3, b"another table")
    for bad in (
        spoken(history, 0, Kind.LOCK, bytes(32)),
        sign(good.message._replace(match=bytes(32)), KEYS[good.message.author]),
        sign(good.message._replace(author=7), KEYS[0]),
        sign(good.message, KEYS[good.message.author - 1])._replace(checked=False),
        good._replace(signature=bytes(64), checked=False),
    ):
        with pytest.raises(RejectedMessageError):
            add(history, bad)
    assert history.held == {}
    assert History(others.encoded()).match != history.match


def test_future_foreign_and_duplicate_messages_are_distinguished() -> None:
    step = at(Purpose.DEAL, Kind.LOCK)
    history = record_at(step)
    good = said(step)[0]
    assert add(history, said(step + 1)[0]) is Outcome.FUTURE
    assert add(history, said(step - 1)[0]) is Outcome.DUPLICATE
    assert add(history, spoken(history, 0, Kind.LOCK, bytes(32), tip=bytes(32))) is Outcome.FOREIGN
    assert add(history, good) is Outcome.ADDED
    assert add(history, good) is Outcome.DUPLICATE


# The end


def test_after_the_end_only_receipts_for_that_end_are_accepted() -> None:
    history = record_at(len(CHAIN) - 1)
    assert history.position.owed == ()
    transcript = write_transcript(history)
    with pytest.raises(MisconductError, match="after the end"):
        add(history, spoken(history, 0, Kind.LOCK, history.position.signed_hash))
    with pytest.raises(RejectedMessageError, match="another state"):
        add(history, spoken(history, 0, Kind.RESULT, bytes(32)))
    for author in range(3):
        assert add(history, spoken(history, author, Kind.RESULT, history.position.signed_hash)) is Outcome.ADDED
    assert sorted(history.results) == [0, 1, 2]
    assert write_transcript(history) == transcript


def test_a_receipt_of_a_resigned_player_is_refused_without_blame() -> None:
    history, quitter = resigned(at(Purpose.TURN, Kind.MOVE))
    history = finish(history)
    for author in range(3):
        receipt = spoken(history, author, Kind.RESULT, history.position.signed_hash)
        if author == quitter:
            with pytest.raises(RejectedMessageError, match="who has resigned"):
                history.hold(receipt)
        else:
            history.hold(receipt)
    assert sorted(history.results) == [author for author in range(3) if author != quitter]


def test_a_receipt_before_the_end_is_refused_without_blame() -> None:
    for step in (0, 1, first(lambda position: position.kind is Kind.MOVE)):
        history = record_at(step)
        for place in history.chain:
            receipt = spoken(history, 0, Kind.RESULT, bytes(32), step=place.step, tip=place.tip)
            with pytest.raises(RejectedMessageError, match="before the end"):
                history.hold(receipt)


def test_any_other_message_after_a_receipt_is_misconduct_by_itself() -> None:
    """The proof holds the message alone. The receipt is not part of the history, so the pair would prove nothing."""
    history = record_at(len(CHAIN) - 1)
    assert history.hold(spoken(history, 0, Kind.RESULT, history.position.signed_hash)) is Outcome.ADDED
    with pytest.raises(MisconductError, match="after the end") as caught:
        history.hold(spoken(history, 0, Kind.MOVE, "liar"))
    assert len(caught.value.evidence) == 1


def test_a_history_recomputes_dropped_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_module, "STATES_APART", 7)
    history = History(WORLD.data)
    reading = Reading(history)
    for position in CHAIN[1:]:
        for signed in position.entries.values():
            reading.add(signed)
        reading.drop_state()
    assert sum(position.state is not None for position in history.chain) <= len(CHAIN) // 7 + 2
    for position in CHAIN:
        assert history.full(position.step)._replace(entries={}) == position._replace(entries={})
    move = next(
        signed for position in CHAIN for signed in position.entries.values() if signed.message.kind is Kind.MOVE
    )
    assert history.weigh(move) is Outcome.DUPLICATE
    assert history.weigh(move._replace(signature=bytes(64))) is Outcome.DUPLICATE
    assert write_transcript(history) == WORLD.machines[0].transcript
