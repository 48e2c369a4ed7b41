"""Purses: the fold over their entries, what proves them to others, and every way to cheat with one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from random import Random
from typing import Any, cast

import pytest

from p2pdice import PRESETS, Ruleset
from p2pdice.moves import MAX_COINS
from protocol.consensus.accounts import result_hash
from protocol.consensus.branches import Outcome
from protocol.consensus.errors import MisconductError
from protocol.consensus.position import Purpose
from protocol.consensus.purse_proofs import (
    END_TAG,
    FORK_TAG,
    PROOF_TAG,
    End,
    Relation,
    Shown,
    after,
    compare,
    fork_of,
    is_end,
    is_fork,
    read_end,
    read_fork,
    read_proof,
    settlement,
    write_fork,
)
from protocol.consensus.settlements import Evidence, gather, read_evidence
from protocol.consensus.voids import check_void, void_data, write_void
from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import Identity, MatchKey, PurseKey
from protocol.limits import FROZEN, PURSE, SOULS
from protocol.match.effects import Conceded
from protocol.match.own_purse import OwnPurse, PurseError
from protocol.wire.canonical import Value, decode, encode
from protocol.wire.genesis import JoinRecord, MalformedGenesisError, make_join_record, parse_genesis
from protocol.wire.messages import Kind, Message, Signed, sign
from protocol.wire.purses import (
    Body,
    Entry,
    EntryKind,
    Forfeit,
    Freeze,
    Frozen,
    MalformedPurseError,
    Opening,
    Purse,
    Settled,
    SignedEntry,
    Void,
    following,
    parse_brought,
    parse_entry,
    parse_purse,
    sign_entry,
)
from tests.protocol.histories import until
from tests.simulation.world import IDENTITIES, World, identity_of

ONE_DIE = PRESETS["classic"].with_options({"dice": "1", "stakes": "yes"})


class Owner:
    """Somebody with an identity and a purse, and what was kept of it."""

    def __init__(self, name: str, grant: int = 1000) -> None:
        self.identity = identity_of(name.encode(), 0)
        self.kept: list[SignedEntry] = []
        seed = tagged_hash("test-purse", name.encode())
        self.own = OwnPurse.opened(
            seed, self.identity.public, lambda entries, _: self.kept.extend(signed for signed, _ in entries), grant
        )
        self.kept.extend(self.own.shown.entries)

    @property
    def seat(self) -> tuple[Identity, OwnPurse]:
        return self.identity, self.own

    @property
    def purse(self) -> Purse:
        return self.own.purse


def play(owners: Sequence[Owner], seed: int, ruleset: Ruleset = ONE_DIE) -> World:
    """Let the owners play a whole match."""
    world = World(ruleset, len(owners), seed, owners=[owner.seat for owner in owners])
    world.run()
    return world


def evidence_of(world: World, me: int = 0) -> Evidence:
    found = gather(world.machines[me].match.history)
    assert found is not None
    return found


def settle(world: World) -> None:
    for me, own in enumerate(world.purses):
        assert own.settle(evidence_of(world, me).encoded()) is not None


def matches(owners: Sequence[Owner], seeds: range) -> World:
    """Let the owners play matches and settle them; return the last."""
    world = None
    for seed in seeds:
        world = play(owners, seed)
        settle(world)
    assert world is not None
    return world


def test_a_newcomer_has_a_thousand_coins_and_no_ticket() -> None:
    purse = read_proof(Owner("a").own.proof()).purse
    assert (purse.balance, purse.funds, purse.tickets, purse.souls, purse.height) == (1000, 1000, 0, (), 0)


def test_a_match_moves_coins_from_purse_to_purse_and_into_the_next_match() -> None:
    owners = [Owner(name) for name in "abc"]
    before = {owner.purse.key: owner.purse.balance for owner in owners}
    world = play(owners, 1)
    state = world.machines[0].match.history.position.state
    assert state is not None
    bets = [wager.bet for wager in state.wagers]
    assert sum(owner.purse.funds for owner in owners) == 3000 - sum(bets)  # frozen meanwhile
    settle(world)
    bonus = sum(w.bet * w.bet // w.funds for seat, w in enumerate(state.wagers) if seat in state.winners)
    assert sum(owner.purse.balance for owner in owners) == 3000 + bonus
    assert all(not owner.purse.frozen for owner in owners)
    again = play(owners, 2)
    for author, record in enumerate(again.genesis.roster):
        assert record.join.purse is not None
        assert again.genesis.holdings(author) == (record.join.purse.balance, 0)
    assert {owner.purse.balance for owner in owners} != set(before.values())


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_every_preset_can_be_played_for_stakes_out_of_purses(preset: str) -> None:
    owners = [Owner(name) for name in ("a", "b")]
    world = play(owners, 3, PRESETS[preset].with_options({"stakes": "yes"}))
    settle(world)
    assert all(read_proof(owner.own.proof()).purse == owner.purse for owner in owners)


def test_motes_put_tickets_and_a_twin_soul_into_purses() -> None:
    owners = [Owner(name) for name in ("a", "b")]
    for seed in range(10, 16):
        settle(play(owners, seed, PRESETS["motes"]))
        if any(owner.purse.souls for owner in owners):
            break
    assert any(owner.purse.souls for owner in owners)
    for owner in owners:
        assert read_proof(owner.own.proof()).purse == owner.purse


def test_a_proof_begins_with_the_last_match_that_was_settled() -> None:
    owners = [Owner(name) for name in "ab"]
    matches(owners, range(20, 24))
    shown = read_proof(owners[0].own.proof())
    assert (shown.first, shown.purse.height, len(shown.evidence)) == (7, 8, 1)
    assert shown.identity == owners[0].identity.public
    assert shown.grant is None
    assert len(owners[0].kept) == 9
    assert len(owners[0].own.proof()) < PURSE / 10


def test_a_match_that_is_suspended_is_settled_after_others() -> None:
    owners = [Owner(name) for name in "abc"]
    suspended = play(owners[:2], 30)
    frozen = owners[0].purse.frozen
    settle(play(owners, 31))
    assert owners[0].purse.frozen == frozen
    read_proof(owners[0].own.proof())
    settle(suspended)
    assert not owners[0].purse.frozen
    for owner in owners:
        assert read_proof(owner.own.proof()).purse == owner.purse
    settle(play(owners, 32))
    assert len(read_proof(owners[0].own.proof()).evidence) == 1


def test_a_match_is_settled_once() -> None:
    owners = [Owner(name) for name in "ab"]
    world = matches(owners, range(33, 34))
    assert owners[0].own.settle(evidence_of(world).encoded()) is None


@pytest.mark.parametrize("is_hidden", [False, True], ids=["in the proof", "before the proof begins"])
def test_a_match_for_which_a_stake_is_frozen_once_more_is_settled_no_more(is_hidden: bool) -> None:
    owners = [Owner(name) for name in "ab"]
    world = matches(owners, range(33, 34))
    cheat, evidence = owners[0], evidence_of(world).encoded()
    first = next(signed.entry for signed in cheat.kept if isinstance(signed.entry.body, Freeze))
    cheat.own.freeze(following(cheat.purse, first.body))
    if is_hidden:
        matches([cheat, Owner("c")], range(34, 35))
        assert all(signed.entry.body != first.body for signed in cheat.own.shown.entries)
    with pytest.raises(MalformedPurseError, match="no such stake"):
        cheat.own.settle(evidence)
    ended = read_evidence(evidence)
    alike = cheat.purse._replace(frozen=tuple(each._replace(height=first.height) for each in cheat.purse.frozen))
    again = sign_entry(following(cheat.purse, settlement(alike, ended).body), cheat.own.key)
    shown = cheat.own.shown
    forged = shown._replace(entries=(*shown.entries, again), evidence=(*shown.evidence, evidence))
    with pytest.raises(MalformedPurseError, match="no such stake"):
        read_proof(forged.encoded())


def test_a_forfeit_gives_up_what_was_frozen_and_no_settlement_follows() -> None:
    owners = [Owner(name) for name in "ab"]
    world = play(owners, 40)
    (frozen,) = owners[0].purse.frozen
    owners[0].own.forfeit(world.genesis and frozen.match)
    assert owners[0].purse.balance == 1000 - frozen.bet
    assert owners[0].own.settle(evidence_of(world).encoded()) is None
    with pytest.raises(PurseError):
        owners[0].own.forfeit(frozen.match)
    assert read_proof(owners[0].own.proof()).purse == owners[0].purse


def test_a_void_that_all_have_signed_gives_the_stake_back() -> None:
    owners = [Owner(name) for name in "ab"]
    world = play(owners, 41)
    (frozen,) = owners[0].purse.frozen
    signatures = tuple(MatchKey(seed).sign(void_data(frozen.match)) for seed in world.seeds)
    own = owners[0].own
    voided = sign_entry(following(own.purse, Void(frozen.match)), own.key)
    shown = own.shown._replace(entries=(*own.shown.entries, voided), evidence=(encode((world.data, signatures)),))
    assert read_proof(shown.encoded()).purse.funds == 1000
    for wrong in ((signatures[0], signatures[0]), signatures[:1], (*signatures, signatures[0]), (1, 2)):
        with pytest.raises(MalformedPurseError, match="all its players"):
            read_proof(shown._replace(evidence=(encode((world.data, wrong)),)).encoded())
    own.void(frozen.match, encode((world.data, signatures)))
    own.freeze(following(own.purse, Freeze(frozen.match, frozen.bet, frozen.tickets)))
    with pytest.raises(MalformedPurseError, match="no such stake"):  # once is enough
        own.void(frozen.match, encode((world.data, signatures)))


def test_a_match_is_void_only_for_its_own_players_by_their_own_word() -> None:
    """A cheat could sign for a match that they have made up among their own identities."""
    owners = [Owner(name) for name in "ab"]
    right, made_up = play(owners, 41), play([Owner("a"), Owner("c")], 42)
    match = right.machines[0].match.id
    assert void_data(match) == encode(("p2pdice/3/void", match))

    def signed(world: World) -> bytes:
        return encode((world.data, tuple(MatchKey(seed).sign(void_data(match)) for seed in world.seeds)))

    key = owners[0].purse.key
    assert check_void(signed(right), match, key) == Owner("a").purse
    for evidence, owner in ((signed(made_up), owners[0]), (signed(right), Owner("c"))):
        with pytest.raises(MalformedPurseError, match="without this purse"):
            check_void(evidence, match, owner.purse.key)


def test_a_stake_is_frozen_by_the_same_signature_again_after_a_restart() -> None:
    owner = Owner("a")
    entry = following(owner.purse, Freeze(bytes(32), 10, 0))
    signature = owner.own.freeze(entry)
    assert signature is not None
    assert owner.own.freeze(entry) == signature
    assert owner.purse.height == 1


def test_a_stake_in_two_matches_at_once_is_never_signed() -> None:
    owner = Owner("a")
    brought = owner.purse
    assert owner.own.freeze(following(brought, Freeze(bytes(32), 10, 0))) is not None
    assert owner.own.freeze(following(brought, Freeze(b"1" * 32, 10, 0))) is None


def test_one_purse_freezes_so_many_stakes_and_no_more() -> None:
    owner = Owner("a")
    for number in range(FROZEN):
        assert owner.own.freeze(following(owner.purse, Freeze(bytes(31) + bytes((number,)), 1, 0))) is not None
    assert owner.own.freeze(following(owner.purse, Freeze(b"1" * 32, 1, 0))) is None
    assert len(owner.own.proof()) < PURSE
    assert parse_purse(decode(encode(owner.purse.wire))) == owner.purse


# Cheats


def test_old_head() -> None:
    owners = [Owner(name) for name in "ab"]
    old = read_proof(owners[0].own.proof())
    matches(owners, range(50, 51))
    new = read_proof(owners[0].own.proof())
    assert compare(new, old) is Relation.OLDER
    assert compare(old, new) is Relation.NEWER
    assert compare(new, new) is Relation.SAME


def test_an_owner_who_lost_entries_takes_them_back() -> None:
    owners = [Owner(name) for name in "ab"]
    restored = Owner("a")
    matches(owners, range(50, 53))
    assert restored.own.adopt(read_proof(owners[0].own.proof()))
    assert restored.purse == owners[0].purse
    assert not restored.own.adopt(read_proof(owners[0].own.proof()))
    assert not Owner("c").own.adopt(read_proof(owners[1].own.proof()))
    assert restored.own.proof() == owners[0].own.proof()


def forked() -> tuple[Shown, Shown]:
    one, other = Owner("a"), Owner("a")
    one.own.freeze(following(one.purse, Freeze(bytes(32), 10, 0)))
    other.own.freeze(following(other.purse, Freeze(b"1" * 32, 10, 0)))
    return one.own.shown, other.own.shown


def test_fork() -> None:
    one, other = forked()
    assert compare(one, other) is Relation.FORK
    fork = fork_of(one.entries, other.entries)
    assert fork is not None
    data = write_fork(fork)
    assert is_fork(data)
    assert not is_fork(one.encoded())
    assert read_fork(data) == fork
    mine = Owner("a")
    mine.own.adopt(one)
    with pytest.raises(PurseError):
        mine.own.adopt(other)


def test_entries_that_do_not_contradict_each_other_are_no_fork() -> None:
    one, _ = forked()
    stranger = Owner("b").own.shown
    far = sign_entry(Entry(one.purse.key, 2, b"x" * 32, Forfeit(bytes(32))), PurseKey(tagged_hash("test-purse", b"a")))
    for pair in (one.entries, (one.entries[0],) * 2, (one.entries[0], stranger.entries[0]), (one.entries[0], far)):
        with pytest.raises(MalformedPurseError):
            read_fork(write_fork((pair[0], pair[1])))


def test_two_entries_are_a_fork_only_by_its_name() -> None:
    """Else a node could take for a fork what others take for something else."""
    one, other = (shown.entries[1].wire for shown in forked())
    assert read_fork(encode((FORK_TAG, one, other)))
    with pytest.raises(MalformedPurseError):
        read_fork(encode((PROOF_TAG, one, other)))


def test_a_fork_further_back_is_seen_by_the_predecessor() -> None:
    one, _ = forked()
    key = PurseKey(tagged_hash("test-purse", b"a"))
    later = sign_entry(Entry(key.public, 2, b"x" * 32, Forfeit(bytes(32))), key)
    assert fork_of(one.entries, (later,)) == (one.entries[1], later)
    assert fork_of((later,), one.entries) == (later, one.entries[1])
    assert read_fork(write_fork((one.entries[1], later)))


@cache
def evening() -> World:
    """Three players whose match is over and not settled yet."""
    return play([Owner(name) for name in ("d", "e", "f")], 60)


def refused(evidence: Evidence, why: str) -> None:
    with pytest.raises(MalformedPurseError, match=why):
        read_evidence(evidence.encoded())


def test_forged_settlement() -> None:
    """Another winner, other sums, signatures by others or by too few, resignations that nobody signed."""
    world = evening()
    good = evidence_of(world)
    read_evidence(good.encoded())
    account = read_evidence(good.encoded()).account
    another = account._replace(winners=tuple((each + 1) % 3 for each in account.winners)).encoded()
    refused(good._replace(account=another), "was not signed")
    refused(good._replace(results=good.results[:1]), "too few")
    refused(good._replace(results=(good.results[0],) * 3), "out of order")
    (author, signature), (second, _), *_ = good.results
    refused(good._replace(results=((author, signature), (second, signature))), "was not signed")
    refused(good._replace(results=good.results[:1], resignations=((1, 3, bytes(32), signature),)), "was not signed")
    refused(good._replace(tip=bytes(32)), "was not signed")
    refused(good._replace(state=bytes(32)), "was not signed")
    refused(good._replace(genesis=b"\x90"), "cannot be")
    own = world.purses[0]
    right = settlement(own.purse, read_evidence(good.encoded()))
    body = right.body
    assert isinstance(body, Settled)
    for wrong in (
        body._replace(change=body.change + 1, balance=body.balance + 1),
        body._replace(soul="Eclipse"),
        body._replace(ticket_change=1, tickets=1),
        body._replace(result=bytes(32)),
    ):
        entry = sign_entry(following(own.purse, wrong), own.key)
        shown = own.shown._replace(entries=(*own.shown.entries, entry), evidence=(good.encoded(),))
        with pytest.raises(MalformedPurseError, match="differs from the account"):
            read_proof(shown.encoded())
    with pytest.raises(MalformedPurseError, match="sums"):
        after(own.purse, sign_entry(following(own.purse, body._replace(balance=body.balance + 1)), own.key))


def test_forged_end() -> None:
    """What somebody hands back to an owner is judged like the evidence in a proof."""
    world = evening()
    key, good = world.purses[0].key.public, evidence_of(world)
    match = read_evidence(good.encoded()).match
    end = End(key, EntryKind.SETTLEMENT, match, good.encoded())
    assert is_end(end.encoded())
    assert read_end(end.encoded()) == end
    for wrong, why in (
        (end._replace(evidence=good._replace(results=good.results[:1]).encoded()), "too few"),
        (end._replace(evidence=b""), "cannot be read"),
        (end._replace(key=Owner("x").purse.key), "without this purse"),
        (end._replace(key=b""), "without this purse"),
        (end._replace(evidence=evidence_of(play([Owner("x"), Owner("y")], 62)).encoded()), "without this purse"),
        (end._replace(evidence=bytes(PURSE)), f"at most {PURSE}"),
        (end._replace(match=bytes(32)), "not the end"),
        (end._replace(kind=EntryKind.FORFEIT), "not the end"),
        (end._replace(kind=EntryKind.VOID), "all its players"),
    ):
        with pytest.raises(MalformedPurseError, match=why):
            read_end(wrong.encoded())
    signatures = {author: MatchKey(seed).sign(void_data(match)) for author, seed in enumerate(world.seeds)}
    voided = End(key, EntryKind.VOID, match, write_void(good.genesis, signatures))
    assert read_end(voided.encoded()) == voided
    for wrong, why in (
        (voided._replace(match=bytes(32)), "without this purse"),
        (voided._replace(key=Owner("x").purse.key), "without this purse"),
        (voided._replace(evidence=write_void(good.genesis, {**signatures, 1: signatures[0]})), "all its players"),
        (voided._replace(kind=EntryKind.SETTLEMENT), "wrong form"),
    ):
        with pytest.raises(MalformedPurseError, match=why):
            read_end(wrong.encoded())
    renamed = encode((FORK_TAG, *cast("tuple[Value, ...]", decode(end.encoded()))[1:]))
    for data in (b"", end.encoded()[:-1], encode((END_TAG, key)), renamed, world.purses[0].proof()):
        with pytest.raises(MalformedPurseError):
            read_end(data)
    assert not is_end(world.purses[0].proof())


def test_who_resigned_need_not_sign_and_cannot_keep_the_pot() -> None:
    owners = [Owner(name) for name in ("g", "h")]
    world = World(ONE_DIE, 2, 61, owners=[owner.seat for owner in owners])
    while (state := world.machines[0].match.history.position.state) is None or not state.wagers:
        assert world.step()
    world.feed(0, Conceded())
    world.run()
    history = world.machines[1].match.history
    del history.results[0]
    found = gather(history)
    assert found is not None
    assert [author for author, *_ in found.resignations] == [0]
    assert world.purses[1].settle(found.encoded()) is not None
    assert world.purses[1].purse.balance >= 1000


def test_a_settlement_of_a_match_that_was_not_played() -> None:
    """A genesis of real players, made up by one of them, with stakes that they never froze."""
    world = evening()
    good = evidence_of(world)
    honest = world.purses[1]
    cheat = world.purses[0]
    other = play([Owner("x"), Owner("y")], 62)
    # the evidence of another match does not fit the frozen stake
    with pytest.raises(MalformedPurseError, match="without this purse"):
        settlement(cheat.purse, read_evidence(evidence_of(other).encoded()))
    # a stake that the other purse did not freeze
    empty = good._replace(freezes=(good.freezes[0], good.freezes[0], good.freezes[2]))
    refused(empty, "no purse has frozen")
    assert honest.purse.frozen
    # a match for which nothing is frozen here, or something else
    (frozen,) = cheat.purse.frozen
    for wrong in ((), (frozen._replace(bet=frozen.bet + 1),), (frozen._replace(tickets=frozen.tickets + 1),)):
        with pytest.raises(MalformedPurseError, match="no such stake"):
            settlement(cheat.purse._replace(frozen=wrong), read_evidence(good.encoded()))


def test_a_resignation_before_the_match_was_formed_does_not_count() -> None:
    world = evening()
    good = evidence_of(world)
    match = world.machines[0].match.id
    gone = []
    for author in (1, 2):
        said = sign(Message(match, 0, match, author, Kind.RESIGN, ()), MatchKey(world.seeds[author]))
        gone.append((author, 0, match, said.signature))
    refused(good._replace(results=good.results[:1], resignations=tuple(gone)), "was not signed")


def test_one_stake_in_two_matches_at_once() -> None:
    """Both matches have the signature of the purse, and whoever sees both has the fork."""
    one, other = forked()
    assert one.purse.frozen != other.purse.frozen
    assert compare(one, other) is Relation.FORK


def test_a_stake_above_funds() -> None:
    owner = Owner("a")
    for bet, tickets in ((1001, 0), (0, 1)):
        assert owner.own.freeze(following(owner.purse, Freeze(bytes(32), bet, tickets))) is None
        entry = sign_entry(following(owner.purse, Freeze(bytes(32), bet, tickets)), owner.own.key)
        with pytest.raises(MalformedPurseError, match="more than its funds"):
            read_proof(owner.own.shown._replace(entries=(*owner.own.shown.entries, entry)).encoded())


def test_anothers_purse() -> None:
    """Its first entry, or the join record before it, names its owner; the others compare that with who sits there."""
    owners = [Owner(name) for name in "ab"]
    assert read_proof(owners[0].own.proof()).identity == owners[0].identity.public
    matches(owners, range(63, 64))
    assert read_proof(owners[0].own.proof()).identity == owners[0].identity.public
    stolen = sign_entry(following(owners[0].purse, Freeze(bytes(32), 1, 0)), owners[1].own.key)
    with pytest.raises(MalformedPurseError, match="signature"):
        parse_entry(*stolen.wire)


def test_coins_from_matches_among_ones_own_identities() -> None:
    """They cannot be prevented: two identities of one person are two players. The purse shows where coins came from."""
    mine = [Owner("me"), Owner("also me")]
    world = matches(mine, range(64, 67))
    shown = read_proof(mine[0].own.proof())
    ended = read_evidence(shown.evidence[-1])
    assert {record.join.identity for record in ended.genesis.roster} == {owner.identity.public for owner in mine}
    assert world.genesis == ended.genesis


# In a match


def staked(world: World, me: int) -> Signed:
    """Return the STAKE of a player."""
    chain = world.machines[me].match.history.chain
    return next(each.entries[me] for each in chain if each.entries and each.entries[me].message.kind is Kind.STAKE)


def test_a_stake_with_a_wrong_signature_of_its_purse_is_misconduct() -> None:
    world = evening()
    history = world.machines[0].match.history
    step = staked(world, 0).message.step
    for change in (
        lambda body: body[:3],
        lambda body: (*body[:3], bytes(64)),
        lambda body: (*body[:3], staked(world, 1).message.body[3]),  # type: ignore[index]
    ):
        right = staked(world, 0).message
        wrong = sign(right._replace(body=change(right.body)), MatchKey(world.seeds[0]))
        fork = until(history, step)
        assert fork.weigh(staked(world, 0)) is Outcome.ADDED
        with pytest.raises(MisconductError, match="stake"):
            fork.weigh(wrong)


def test_a_match_without_purses_takes_no_signature_of_one() -> None:
    world = World(ONE_DIE, 2, 80)
    world.run()
    history = world.machines[0].match.history
    right = staked(world, 0)
    body = right.message.body
    assert isinstance(body, tuple)
    wrong = sign(right.message._replace(body=(*body, bytes(64))), MatchKey(world.seeds[0]))
    with pytest.raises(MisconductError, match="other purses"):
        until(history, right.message.step).weigh(wrong)


def test_a_stake_that_came_too_late_comes_back() -> None:
    """Its author froze it, and was voted absent without it: the account has no bet."""
    owners = [Owner(name) for name in ("u", "v", "w")]
    world = World(ONE_DIE, 3, 84, owners=[owner.seat for owner in owners])
    late = world.purses[0]
    while stage(world, 1) != (Purpose.STAKES, Kind.STAKE):
        assert world.step()
    world.run()
    history = world.machines[1].match.history
    right = evidence_of(world, 1)
    bets = list(read_evidence(right.encoded()).account.bets)
    assert bets[0] == late.purse.frozen[0][1:3]
    account = read_evidence(right.encoded()).account._replace(bets=((0, 0), *bets[1:]))
    result = result_hash(right.state, account.encoded())
    signatures = tuple(
        (
            author,
            sign(Message(history.match, right.step, right.tip, author, Kind.RESULT, result), MatchKey(seed)).signature,
        )
        for author, seed in enumerate(world.seeds)
    )
    without = right._replace(account=account.encoded(), freezes=(b"", *right.freezes[1:]), results=signatures)
    before = late.purse.balance
    assert late.settle(without.encoded()) is not None
    assert not late.purse.frozen
    assert late.purse.balance == before + account.changes(world.genesis, 0)[0]
    assert read_proof(late.proof()).purse == late.purse


def stage(world: World, me: int) -> tuple[Purpose, int | None]:
    position = world.machines[me].match.history.position
    return position.purpose, position.kind


def test_who_has_staked_the_same_coins_elsewhere_resigns_when_the_stake_is_due() -> None:
    owners = [Owner(name) for name in ("p", "q", "r")]
    world = World(ONE_DIE, 3, 81, owners=[owner.seat for owner in owners])
    own = world.purses[0]
    own.freeze(following(own.purse, Freeze(bytes(32), 10, 0)))
    world.run()
    state = world.machines[1].match.history.position.state
    assert state is not None
    seat = world.machines[1].match.history.position.seats.index(0)
    assert [exit.reason for exit in state.exits if seat in exit.seats] == ["conceded"]
    assert state.wagers[seat].bet == 0


def test_a_stake_comes_back_if_all_others_resign_while_stakes_are_opened() -> None:
    """The match is over without stakes. Once the evidence showed the frozen stake without a bet, and nobody took it."""
    owners = [Owner(name) for name in ("p", "q")]
    world = World(ONE_DIE, 2, 81, owners=[owner.seat for owner in owners])
    elsewhere, own = world.purses
    elsewhere.freeze(following(elsewhere.purse, Freeze(bytes(32), 10, 0)))
    world.run()
    assert own.purse.frozen_for(world.machines[1].match.id)
    assert own.settle(evidence_of(world, 1).encoded()) is not None
    assert (own.purse.frozen, own.purse.balance) == ((), 1000)
    assert read_proof(own.proof()).purse == own.purse


def test_the_whole_match_is_the_same_after_a_crash_before_any_step() -> None:
    """A restarted node signs the same STAKE again, and freezes it once."""
    owners = [Owner(name) for name in ("s", "t")]
    world = World(ONE_DIE, 2, 82, owners=[owner.seat for owner in owners])
    for _ in range(2000):
        if world.random.random() < 0.05:
            world.crash(0)
            world.restart(0)
        if not world.step():
            break
    world.run()
    settle(world)
    assert [own.purse.height for own in world.purses] == [2, 2]
    assert not world.machines[1].proofs


# Genesis


def test_all_bring_a_purse_or_none() -> None:
    owners = [Owner(name) for name in "ab"]
    world = World(ONE_DIE, 2, 83, owners=[owner.seat for owner in owners])
    made = world.genesis
    assert parse_genesis(made.encoded()) == made
    one, other = made.roster
    assert one.join.purse is not None

    def again(record: JoinRecord, purse: Purse | None) -> JoinRecord:
        key = next(MatchKey(s) for s in world.seeds if MatchKey(s).public == record.join.match_key)
        return make_join_record(record.join._replace(purse=purse), IDENTITIES[record.join.identity], key)

    for roster in (
        (one, again(other, None)),
        (one, again(other, one.join.purse)),
        (one, again(other, one.join.purse._replace(key=other.join.match_key))),
        (one, again(other, one.join.purse._replace(key=bytes(32)))),
    ):
        with pytest.raises(MalformedGenesisError):
            parse_genesis(made._replace(roster=roster).encoded())
    with pytest.raises(MalformedGenesisError, match="no other"):
        parse_genesis(made._replace(ruleset=PRESETS["classic"]).encoded())
    without = (again(one, None), again(other, None))
    assert not parse_genesis(made._replace(roster=without).encoded()).has_purses


@pytest.mark.parametrize(
    "change",
    [
        {"balance": -1},
        {"balance": 10**12 + 1},
        {"height": 2**32},
        {"head": b""},
        {"key": b"short"},
        {"frozen": (Frozen(bytes(32), 1001, 0, 0),)},
        {"frozen": (Frozen(bytes(32), 0, 1, 0),)},
        {"frozen": (Frozen(b"1" * 32, 1, 0, 0), Frozen(b"0" * 32, 1, 0, 0))},
        {"frozen": (Frozen(b"1" * 32, 1, 0, 0),) * 2},
        {"frozen": tuple(Frozen(bytes((number,)) * 32, 0, 0, 0) for number in range(17))},
        {"souls": (("", 1),)},
        {"souls": (("x" * 41, 1),)},
        {"souls": (("é" * 21, 1),)},
        {"souls": (("a", 0),)},
        {"souls": (("b", 1), ("a", 1))},
        {"souls": (("a", 1), ("a", 1))},
        {"souls": tuple((f"{number:02}", 1) for number in range(33))},
    ],
)
def test_an_impossible_purse_is_refused(change: dict[str, Any]) -> None:
    purse = Owner("a").purse._replace(**change)
    with pytest.raises(MalformedPurseError):
        parse_purse(decode(encode(purse.wire)))


def _wrong(leaf: Value, *, is_signed: bool) -> tuple[Value, ...]:
    """Return what cannot stand in the place of this part of a purse or an entry."""
    if isinstance(leaf, bytes):
        return leaf[:-1], leaf + b"x", 0, "x" * 32, ()
    if isinstance(leaf, str):
        return "x" * 41, "\u00e9" * 21, 0, b"", ()
    if isinstance(leaf, int):
        return 10**12 + 1, -(10**12) - 1 if is_signed else -1, "", b"", ()
    return 0, "", b"", (*leaf, 0)


def _altered(value: tuple[Value, ...], signed: Collection[int] = ()) -> Iterator[tuple[Value, ...]]:
    """Yield a value with one part wrong, at any depth, or with one part less or more.

    :param signed: the places of those numbers that can be negative.
    """
    yield value[:-1]
    yield (*value, 0)
    for place, part in enumerate(value):
        for wrong in _wrong(part, is_signed=place in signed):
            yield (*value[:place], wrong, *value[place + 1 :])
        for inner in _altered(part) if isinstance(part, tuple) and part and not isinstance(part[0], tuple) else ():
            yield (*value[:place], inner, *value[place + 1 :])


PURSE_PARTS: tuple[Value, ...] = (bytes(32), 3, bytes(32), 900, ((bytes(32), 1, 1, 1),), 2, (("Eclipse", 1),))


def test_each_part_of_a_purse_has_its_form() -> None:
    assert parse_purse(PURSE_PARTS).wire == PURSE_PARTS
    frozen, souls = cast("Any", PURSE_PARTS[4])[0], cast("Any", PURSE_PARTS[6])[0]
    wrong: list[Any] = [
        *_altered(PURSE_PARTS),
        *((*PURSE_PARTS[:4], (each,), *PURSE_PARTS[5:]) for each in (*_altered(frozen), 0)),
        *((*PURSE_PARTS[:6], (each,)) for each in (*_altered(souls), 0)),
    ]
    for each in (*wrong, 0, "purse"):
        with pytest.raises(MalformedPurseError):
            parse_purse(each)


@pytest.mark.parametrize(
    "body",
    [
        Opening(bytes(32), 1000),
        Freeze(bytes(32), 1, 1),
        Settled(bytes(32), bytes(32), 1, 1, "Eclipse", 1, 1),
        Void(bytes(32)),
        Forfeit(bytes(32)),
    ],
)
def test_each_part_of_an_entry_has_its_form(body: Body) -> None:
    """Whoever signs it: else an entry could be right for one node and wrong for another."""
    key = PurseKey(bytes(32))
    height, before = (0, b"") if isinstance(body, Opening) else (1, bytes(32))
    right = Entry(key.public, height, before, body)
    fields = cast("tuple[Value, ...]", decode(right.encoded()))
    assert parse_entry(*sign_entry(right, key).wire).entry == right
    signed = (2, 3) if isinstance(body, Settled) else ()
    wrong = [
        *((*fields[:5], each) for each in _altered(tuple(body), signed)),
        *((*each, fields[5]) for each in _altered(fields[:5]) if each != fields[:5]),
    ]
    for each in wrong:
        with pytest.raises(MalformedPurseError):
            parse_entry(encode(each), key.sign(encode(each)))
    with pytest.raises(MalformedPurseError, match="64 bytes"):
        parse_entry(right.encoded(), bytes(63))


def test_a_purse_that_is_brought_has_room_for_another_stake() -> None:
    full = tuple(Frozen(bytes((number,)) * 32, 0, 0, 0) for number in range(FROZEN))
    purse = Owner("a").purse
    assert parse_purse(decode(encode(purse._replace(frozen=full).wire))).frozen == full
    souls = tuple((f"{number:02}", 1) for number in range(SOULS))
    assert parse_purse(decode(encode(purse._replace(souls=souls).wire))).souls == souls
    for wrong in (purse._replace(frozen=full), purse._replace(height=2**32 - 1)):
        with pytest.raises(MalformedPurseError, match="nothing more"):
            parse_brought(decode(encode(wrong.wire)))
    for right in (purse._replace(frozen=full[1:]), purse._replace(height=2**32 - 2)):
        assert parse_brought(decode(encode(right.wire))) == right


def test_a_purse_can_always_be_shown() -> None:
    """An entry that would make the proof too long is not signed."""
    owner = Owner("a")
    for number in range(200):
        match = number.to_bytes(32)
        if owner.own.freeze(following(owner.purse, Freeze(match, 0, 0))) is None:
            break
        if len(owner.own.proof()) > PURSE - 200:
            with pytest.raises(PurseError, match="could not be shown"):
                owner.own.forfeit(match)
            break
        owner.own.forfeit(match)
    assert PURSE - 600 < len(owner.own.proof()) <= PURSE
    assert read_proof(owner.own.proof()).purse == owner.purse


@pytest.mark.parametrize("room", range(-3, 4))
def test_a_purse_has_room_exactly_if_it_can_be_shown_after_the_largest_stake(room: int) -> None:
    """To the byte. What is in the way is evidence here, as that can have any length."""
    owner = Owner("a")
    rich = owner.purse._replace(balance=MAX_COINS, tickets=MAX_COINS)
    largest = following(rich, Freeze(b"1" * 32, MAX_COINS, MAX_COINS))

    def own(filling: int) -> OwnPurse:
        shown = owner.own.shown._replace(purse=rich, evidence=(bytes(filling),))
        return OwnPurse(owner.own.key, shown, lambda *_: None)

    tried = own(PURSE // 2)
    assert tried.freeze(largest) is not None
    tight = own(PURSE // 2 + PURSE - len(tried.proof()) - room)
    assert tight.has_room == (room >= 0)
    assert (tight.freeze(largest) is not None) == (room >= 0)
    assert tight.purse.height == (1 if room >= 0 else 0)


# Forms


def test_what_is_no_entry_is_refused() -> None:
    owner = Owner("a")
    data, signature = owner.kept[0].wire
    assert parse_entry(data, signature) == owner.kept[0]
    key = owner.own.key
    for fields in (
        ("p2pdice/3/purse", key.public, 1, b"", 1, (owner.identity.public, 1000)),
        ("p2pdice/3/purse", key.public, 0, b"", 1, (owner.identity.public, 999)),
        ("p2pdice/3/purse", key.public, 0, b"", 2, (bytes(32), 1, 0)),
        ("p2pdice/3/purse", key.public, 1, bytes(32), 1, (owner.identity.public, 0)),
        ("p2pdice/3/purse", key.public, 1, bytes(32), 6, (bytes(32),)),
        ("p2pdice/3/purse", key.public, 1, bytes(32), 2, (bytes(32), -1, 0)),
        ("p2pdice/3/purse", key.public, 1, bytes(32), 3, (bytes(32), bytes(32), 10**12 + 1, 0, "", 0, 0)),
        ("p2pdice/3/message", key.public, 1, bytes(32), 4, (bytes(32),)),
    ):
        spelled = encode(fields)
        with pytest.raises(MalformedPurseError):
            parse_entry(spelled, key.sign(spelled))
    with pytest.raises(MalformedPurseError, match="signature"):
        parse_entry(data, bytes(64))
    with pytest.raises(MalformedPurseError, match="so long"):
        parse_entry(bytes(2000), signature)


def test_a_proof_is_refused_by_its_length_before_it_is_read() -> None:
    for read in (read_proof, read_fork):
        with pytest.raises(MalformedPurseError, match="at most 32768 bytes"):
            read(bytes(PURSE + 1))
        with pytest.raises(MalformedPurseError, match="cannot be read"):
            read(bytes(PURSE))


def test_mangled_proofs_are_refused_and_nothing_else_happens() -> None:
    owners = [Owner(name) for name in "ab"]
    matches(owners, range(70, 72))
    data, chance = owners[0].own.proof(), Random(1)
    for _ in range(300):
        mangled = bytearray(data)
        mangled[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        with pytest.raises(MalformedPurseError):
            read_proof(bytes(mangled))
    for length in chance.sample(range(len(data)), 50):
        with pytest.raises(MalformedPurseError):
            read_proof(data[:length])


def test_a_proof_that_begins_in_the_middle_is_refused() -> None:
    owners = [Owner(name) for name in "ab"]
    matches(owners, range(73, 75))
    shown = owners[0].own.shown
    cut = shown._replace(entries=shown.entries[1:])
    with pytest.raises(MalformedPurseError, match="nobody has signed"):
        read_proof(cut.encoded())
    for evidence in ((), shown.evidence * 2):
        with pytest.raises(MalformedPurseError, match="lacks evidence"):
            read_proof(shown._replace(evidence=evidence).encoded())


def test_a_proof_has_entries_and_evidence_in_bytes() -> None:
    shown = Owner("a").own.shown
    entries = tuple(signed.wire for signed in shown.entries)
    for wrong in ((PROOF_TAG, (), ()), (FORK_TAG, entries, ()), (PROOF_TAG, entries, (1,))):
        with pytest.raises(MalformedPurseError, match="not the proof"):
            read_proof(encode(wrong))


def test_the_opening_tells_grants() -> None:
    assert read_proof(Owner("a").own.proof()).grant == 1000
    assert read_proof(Owner("a", 0).own.proof()).grant == 0
    entry = Owner("a").kept[0].entry
    assert isinstance(entry.body, Opening)
