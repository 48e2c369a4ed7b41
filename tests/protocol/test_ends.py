"""Evidence of an end, taken from whole matches. A test changes one part of it and signs the rest again."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any, cast

import pytest

from p2pdice.moves import MAX_COINS
from p2pdice.rulesets import PRESETS, Ruleset
from protocol.consensus.ends import end_of, gather, read_evidence, stakes_of, void_evidence, void_message
from protocol.consensus.steps import Account, result_hash
from protocol.crypto.keys import MatchKey
from protocol.limits import STEPS
from protocol.match.effects import Conceded
from protocol.wire.canonical import Value, decode, encode
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, Message, sign
from protocol.wire.purses import SOUL_NAMES, MalformedPurseError, Purse
from tests.simulation.world import UNHURRIED, World, identity_of

ONE_DIE = PRESETS["classic"].with_options({"dice": "1", "stakes": "yes"})
PLAYERS = 5


def world(players: int, seed: int, ruleset: Ruleset = ONE_DIE, patience: Patience = UNHURRIED) -> World:
    """Return a world of players who bring new purses."""
    owners = [identity_of(f"settling {number}".encode(), 0) for number in range(players)]
    return World(
        ruleset, players, seed, patience=patience, owners=[(each, Purse.new(each.public).head) for each in owners]
    )


@cache
def ended() -> World:
    played = world(PLAYERS, 90)
    played.run()
    return played


def right() -> list[Any]:
    found = gather(ended().machines[0].match.history)
    assert found is not None
    return list(cast("tuple[Any, ...]", found))


def signed(author: int, step: int, tip: bytes, kind: int, body: Value) -> bytes:
    said = Message(ended().machines[0].match.id, step, tip, author, kind, body)
    return sign(said, MatchKey(ended().seeds[author])).signature


def account() -> Account:
    found = read_evidence(tuple(right())).account
    assert found is not None
    return found


def told(said: Account, authors: Any = range(PLAYERS)) -> list[Any]:
    """Return evidence of this account with RESULTs signed by these players."""
    evidence = right()
    step, tip, state, _ = evidence[2]
    data = said.encoded()
    evidence[2] = (step, tip, state, data)
    evidence[3] = tuple(
        (author, signed(author, step, tip, Kind.RESULT, result_hash(state, data))) for author in authors
    )
    return evidence


def resigned(author: int, step: int = 3) -> tuple[int, int, bytes, bytes]:
    return author, step, bytes(32), signed(author, step, bytes(32), Kind.RESIGN, ())


def refused(evidence: list[Any], why: str) -> None:
    with pytest.raises(MalformedPurseError, match=why):
        read_evidence(tuple(evidence))


def test_gathered_evidence_reads_back_as_the_end() -> None:
    history = ended().machines[0].match.history
    end = read_evidence(decode(encode(tuple(right()))))
    known = end_of(history)
    assert (end.match, end.account, end.stakes) == (history.match, known.account, known.stakes)
    assert sum(bet for bet, _ in end.stakes.values()) > 0
    assert sum(end.record(author, end.stakes[author]).change for author in range(PLAYERS)) >= 0


def test_every_preset_can_be_played_for_stakes_from_purses() -> None:
    for preset in PRESETS:
        played = world(2, 7, PRESETS[preset].with_options({"stakes": "yes"}))
        played.run()
        assert read_evidence(gather(played.machines[0].match.history) or ()).account, preset


def test_motes_put_a_twin_soul_into_the_winners_record() -> None:
    played = world(3, 10, PRESETS["motes"])
    played.run()
    end = end_of(played.machines[0].match.history)
    assert end.account is not None
    souls = [end.record(author, end.stakes.get(author, (0, 0))).soul for author in range(3)]
    assert [SOUL_NAMES[soul] for soul in souls if soul] == [end.account.soul]


# Required signatures


@pytest.mark.parametrize(("resigning", "needed"), [(0, 3), (1, 3), (2, 2), (3, 2), (4, 1)])
def test_more_than_half_of_the_players_who_did_not_resign_must_have_signed(resigning: int, needed: int) -> None:
    gone = tuple(resigned(author) for author in range(resigning))
    staying = range(resigning, PLAYERS)
    evidence = told(account(), staying[:needed])
    evidence[4] = gone
    read_evidence(tuple(evidence))
    fewer = told(account(), [*range(resigning), *staying[: needed - 1]])
    fewer[4] = gone
    refused(fewer, "too few")


@pytest.mark.parametrize(
    "change",
    [
        lambda gone: (gone[1], gone[0]),
        lambda gone: (gone[0], gone[0]),
        lambda gone: ((PLAYERS, *gone[0][1:]),),
        lambda gone: ((-1, *gone[0][1:]),),
    ],
)
def test_resignations_and_results_are_sorted_by_player_without_duplicates(change: Callable[[Any], Any]) -> None:
    evidence = right()
    evidence[4] = change((resigned(0), resigned(1)))
    refused(evidence, "out of order")
    evidence = right()
    evidence[3] = change(evidence[3])
    refused(evidence, "out of order")


def test_a_resignation_must_be_signed_for_a_step_after_the_match_was_formed() -> None:
    for step in (2, STEPS - 1):
        evidence = told(account(), range(1, 4))
        evidence[4] = (resigned(0, step),)
        read_evidence(tuple(evidence))
    evidence[4] = (resigned(0, 1),)
    refused(evidence, "before it was formed")
    author, step, tip, signature = resigned(0, 3)
    for wrong in ((1, step, tip, signature), (author, 4, tip, signature), (author, step, b"t" * 32, signature)):
        evidence[4] = (wrong,)
        refused(evidence, "signature")


def test_a_result_must_be_signed_for_this_end() -> None:
    evidence = right()
    evidence[3] = told(account()._replace(winners=((account().winners[0] + 1) % PLAYERS,)))[3]
    refused(evidence, "signature")


# Gathering evidence


def test_an_unfinished_match_or_one_without_purses_gives_no_evidence() -> None:
    assert gather(world(2, 92).machines[0].match.history) is None
    without = World(ONE_DIE, 2, 91)
    without.run()
    assert without.machines[0].match.history.position.kind is None
    assert gather(without.machines[0].match.history) is None


@pytest.mark.parametrize("moment", range(18, 60, 6))
def test_gathered_evidence_is_always_accepted(moment: int) -> None:
    """Whenever a player resigns and whichever RESULTs are missing, a node gathers no evidence or enough of it."""
    played = world(3, 93)
    for _ in range(moment):
        played.step()
    played.machines[0].turn = None
    played.feed(0, Conceded())
    played.run()
    history = played.machines[1].match.history
    if history.position.kind is not None:
        return  # the match was never formed
    results = dict(history.results)
    for number in range(len(results) + 1):
        for kept in combinations(sorted(results), number):
            history.results.clear()
            history.results.update({author: results[author] for author in kept})
            found = gather(history)
            assert (found is not None) or len(kept) < 2
            if found is not None:
                read_evidence(decode(encode(found)))


# Stakes


def test_a_bet_needs_the_stake_of_its_player() -> None:
    bets = account().bets
    assert bets[0] != (0, 0)
    for other in ((bets[0][0] + 1, 0), (bets[0][0] - 1, 0), (bets[0][0], 1)):
        refused(told(account()._replace(bets=(other, *bets[1:]))), "player has not signed")
    evidence = right()
    step, tip, stakes = evidence[1]
    evidence[1] = (step, tip, stakes[1:])
    refused(evidence, "player has not signed")
    evidence[1] = ()
    refused(evidence, "player has not signed")


def test_a_player_who_opened_no_stake_in_time_loses_nothing() -> None:
    late = account()._replace(bets=((0, 0), *account().bets[1:]))
    evidence = told(late)
    step, tip, stakes = evidence[1]
    evidence[1] = (step, tip, stakes[1:])
    end = read_evidence(tuple(evidence))
    assert end.record(0, (30, 0)).change >= 0


@pytest.mark.parametrize(
    ("stake", "why"), [((1000, 0), ""), ((1001, 0), "above funds"), ((0, 1), "above funds"), ((-1, 0), "body of STAKE")]
)
def test_bets_and_tickets_may_not_exceed_the_funds_of_a_purse(stake: tuple[int, int], why: str) -> None:
    evidence = told(account()._replace(bets=(stake, *account().bets[1:]))) if stake[0] >= 0 else right()
    step, tip, stakes = evidence[1]
    mine = (0, *stake, bytes(32), signed(0, step, tip, Kind.STAKE, (*stake, bytes(32))) if stake[0] >= 0 else bytes(64))
    evidence[1] = (step, tip, (mine, *stakes[1:]))
    if why:
        refused(evidence, why)
    else:
        read_evidence(tuple(evidence))


@pytest.mark.parametrize("size", [0, 31, 33, 60_000])
def test_a_stake_of_another_size_is_refused_as_evidence_must_fit_a_frame(size: int) -> None:
    evidence = right()
    step, tip, ((author, bet, tickets, _, _), *stakes) = evidence[1]
    signature = signed(author, step, tip, Kind.STAKE, (bet, tickets, bytes(size)))
    evidence[1] = (step, tip, ((author, bet, tickets, bytes(size), signature), *stakes))
    refused(evidence, "cannot be read")


def test_winnings_are_capped_at_the_limit_on_coins() -> None:
    genesis = ended().genesis
    rich = Account(((MAX_COINS, MAX_COINS),) * PLAYERS, (0,), (), "")
    record = rich.record(genesis, bytes(32), 0, (0, 0))
    assert (record.change, record.ticket_change) == (MAX_COINS - 1000, MAX_COINS)


# Void


def test_a_match_is_void_only_if_all_its_players_sign_so() -> None:
    match, seeds = ended().machines[0].match.id, ended().seeds
    said = {author: sign(void_message(match, author), MatchKey(seed)).signature for author, seed in enumerate(seeds)}
    end = read_evidence(void_evidence(ended().data, said))
    assert end.account is None
    assert end.record(0, (30, 1)) == (match[:16], 30, 1, 0, 0, 0)
    for wrong in ({**said, 1: said[0]}, {**said, 1: bytes(64)}):
        refused(list(cast("tuple[Any, ...]", void_evidence(ended().data, wrong))), "signature")
    del said[4]
    refused(list(cast("tuple[Any, ...]", void_evidence(ended().data, said))), "void only if all")


# Forms


@pytest.mark.parametrize(
    "change",
    [
        {"winners": ()},
        {"winners": (0, 0)},
        {"winners": (PLAYERS,)},
        {"winners": (-1,)},
        {"earners": (1, 1)},
        {"earners": (PLAYERS,)},
        {"bets": ((1, 0),) * (PLAYERS - 1)},
        {"bets": ((-1, 0), *((1, 0),) * (PLAYERS - 1))},
        {"bets": ((MAX_COINS + 1, 0), *((1, 0),) * (PLAYERS - 1))},
        {"bets": ((1, 0, 0), *((1, 0),) * (PLAYERS - 1))},
        {"soul": "x"},
    ],
)
def test_an_impossible_account_is_refused_even_if_all_players_signed_it(change: dict[str, Any]) -> None:
    refused(told(account()._replace(**change)), "account of a match has the wrong form")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        (0, b""),
        (1, (0, bytes(32))),
        (1, (STEPS, bytes(32), ())),
        (1, (5, bytes(31), ())),
        (1, (5, bytes(32), ((0, 1, 0, bytes(32)),))),
        (2, (0, bytes(32), bytes(32))),
        (2, (STEPS, bytes(32), bytes(32), b"")),
        (2, (5, bytes(31), bytes(32), b"")),
        (2, (5, bytes(32), bytes(33), b"")),
        (3, ((0,),)),
        (3, ((0, bytes(63)),)),
        (3, (("0", bytes(64)),)),
        (4, ((0, 3, bytes(32)),)),
        (4, ((0, STEPS, bytes(32), bytes(64)),)),
        (4, ((0, 3, bytes(31), bytes(64)),)),
    ],
)
def test_malformed_evidence_is_refused(part: int, value: Any) -> None:
    evidence = right()
    evidence[part] = value
    refused(evidence, "wrong form|out of order|cannot be read|invalid genesis|before it was formed")


def test_evidence_needs_five_parts_and_a_match_with_purses() -> None:
    for parts in (right()[:-1], [*right(), ()]):
        refused(parts, "wrong form")
    without = World(ONE_DIE, 2, 91)
    refused([without.data, *right()[1:]], "without purses")


# Stakes and ends in whole matches


def test_a_restarted_node_opens_the_same_stake_again() -> None:
    played = world(2, 82)
    for _ in range(2000):
        if played.random.random() < 0.05:
            played.crash(0)
            played.restart(0)
        if not played.step():
            break
    played.run()
    assert len(stakes_of(played.machines[1].match.history)) == 2
    assert not played.machines[1].proofs


def test_a_player_whose_purse_forbids_the_stake_resigns_when_it_is_due() -> None:
    played = world(3, 81)
    played.machines[0].match.signer._bind_stake = lambda *_: False
    played.run()
    position = played.machines[1].match.history.position
    assert position.state is not None
    seat = position.seats.index(0)
    assert [exit.reason for exit in position.state.exits if seat in exit.seats] == ["conceded"]
    assert position.state.wagers[seat].bet == 0


def test_a_player_who_was_voted_absent_confirms_the_end_after_a_restart() -> None:
    played = world(4, 21, PRESETS["classic"].with_options({"stakes": "yes"}), Patience(30, 10))
    played.first_turn()
    played.crash(3)
    while (
        3 in played.machines[0].match.history.position.base
    ):  # with 3 in the base, the others could not vote out a second player
        assert played.step()
    played.crash(2)
    played.run()
    history = played.machines[0].match.history
    assert history.position.left == (2, 3)
    assert gather(history) is None  # two of four signatures are no majority
    played.restart(2)
    played.run()
    found = gather(played.machines[0].match.history)
    assert found is not None
    assert [author for author, _ in cast("Any", found)[3]] == [0, 1, 2]
