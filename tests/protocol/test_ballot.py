"""The ballot on one root, line by line of SPEC.md, §6; tests/simulation/small_worlds.py explores all lines together."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping

import pytest

from protocol import limits
from protocol.consensus.ballot import Ballot
from protocol.consensus.branches import Branches, Outcome
from protocol.consensus.kinds import Vote, VoteValue, read_vote, spell_vote, vote_contradiction
from protocol.consensus.position import FORMED, Position, Purpose
from protocol.crypto.hashing import tagged_hash
from protocol.wire.messages import Kind, Message, Signed

MATCH = bytes(32)
TIMES = range(3)


class Live(Position):
    """A position whose ``seats`` or ``players`` are the players in the game, so that tests can set them."""

    @property
    def live(self) -> tuple[int, ...]:
        return self.seats or self.players


class Play:
    """An invented game: a script of steps (kind and owing players), whose last step repeats for ever."""

    def __init__(
        self,
        *script: tuple[Kind, Collection[int]],
        base: Collection[int] = TIMES,
        live: Collection[int] = (),
    ) -> None:
        self.script = script
        kind, owed = script[0]
        players = tuple(live or base)
        self.root = Live(
            FORMED,
            b"root".ljust(32),
            Purpose.DEAL,
            0,
            kind,
            tuple(owed),
            tuple(base),
            players,
            signed_hash=b"state".ljust(32),
        )

    def judge(self, position: Position, signed: Signed) -> None:
        """Accept every message."""

    def tip_after(self, position: Position, entries: Mapping[int, Signed]) -> bytes:
        named = {} if position.kind is Kind.LOCK else entries
        return tagged_hash("test", position.tip, *(named[author].id for author in sorted(named)))

    def after(self, position: Position, entries: Mapping[int, Signed]) -> Position:
        out = {author for author, signed in entries.items() if signed.message.kind is Kind.RESIGN}
        kind, owed = self.script[min(position.step + 1 - FORMED, len(self.script) - 1)]
        return position._replace(
            step=position.step + 1,
            tip=self.tip_after(position, entries),
            kind=kind,
            owed=tuple(author for author in owed if author not in out),
            left=tuple(sorted({*position.left, *out})),
            players=tuple(author for author in position.players if author not in out),
        )


def said(position: Position, author: int, kind: int | None = None, which: int = 0) -> Signed:
    """Return a message for the step of a position; different ``which`` give contradicting messages."""
    kind = kind if kind is not None else position.kind
    assert kind is not None
    message = Message(MATCH, position.step, position.tip, author, kind, which)
    return Signed(b"", b"", message, tagged_hash("test", position.tip, author, int(kind), which), checked=True)


class Table:
    """A ballot to which tests give messages and votes."""

    def __init__(self, play: Play, me: int = 0) -> None:
        self.play = play
        self.ballot = Ballot(me, play.root, play)

    def give(self, *messages: Signed) -> Outcome:
        for signed in messages:
            outcome = self.ballot.take(signed, is_kept=signed.message.author == self.ballot.me)
            while again := self.ballot.grow():
                self.give(*again)
        return outcome

    def go(self, authors: Collection[int], which: int = 0) -> None:
        """Give the ballot the messages that these authors owe the open step."""
        open_step = self.ballot.line[-1]
        for author in authors:
            self.give(said(open_step, author, which=which))

    def value(self, *absent: int, position: Position | None = None) -> VoteValue:
        """Return the value that closes a step: its LOCK, or the messages held of all but ``absent``."""
        place = position or self.ballot.line[-1]
        if place.kind is Kind.LOCK:
            return VoteValue(place.step, place.tip, place.signed_hash)
        slots = self.ballot.branches.messages[place.tip]
        ids = (b"" if author in absent else slots[author][0].id for author in place.owed)
        return VoteValue(place.step, place.tip, tuple(ids))

    def vote(self, vote: Vote) -> Outcome:
        kind, body = spell_vote(vote)
        root = self.play.root
        message = Message(MATCH, root.step, vote.root_tip, vote.author, kind, body)
        number = tagged_hash("test", repr(body).encode(), vote.author, int(kind))
        return self.give(Signed(b"", b"", message, number, checked=True))

    def absents(self, value: VoteValue, *authors: int, number: int = 0, polka_round: int = -1) -> None:
        for author in authors:
            self.vote(Vote(self.play.root.tip, author, False, number, value, polka_round))

    def closes(self, value: VoteValue | None, *authors: int, number: int = 0) -> None:
        for author in authors:
            self.vote(Vote(self.play.root.tip, author, True, number, value))


def turn(me: int = 1) -> Table:
    """Return a table of three on which player 0 is on turn and has sent nothing."""
    return Table(Play((Kind.MOVE, (0,)), (Kind.LOCK, TIMES)), me)


# Wishes


def test_a_wish_at_an_ordinary_step_needs_a_timeout_of_every_missing_player() -> None:
    table = Table(Play((Kind.COMMIT, TIMES), (Kind.LOCK, TIMES)))
    table.go([0])
    assert table.ballot.missing == (1, 2)
    assert table.ballot.wish({1}) is None
    assert table.ballot.wish({1, 2}) is None, "one player is no majority of three"
    table.go([1])
    assert table.ballot.wish({2}) == table.value(2)


def test_a_wish_for_a_lock_needs_one_timeout_or_one_vote() -> None:
    table = Table(Play((Kind.LOCK, TIMES)))
    table.go([0])
    assert table.ballot.wish(()) is None
    assert table.ballot.wish({2}) == table.value()
    table.closes(None, 1)
    assert table.ballot.wish(()) == table.value()


def test_a_node_that_has_voted_wishes_for_a_lock_it_may_not_sign() -> None:
    table = turn()
    table.absents(table.value(0), 1)
    table.go([0])
    assert table.ballot.line[-1].kind is Kind.LOCK
    assert not table.ballot.may_lock
    assert table.ballot.wish(()) == table.value()


def test_a_node_that_signed_after_another_branch_wishes_for_the_lock_of_the_followed_one() -> None:
    table = Table(Play((Kind.MOVE, (0,)), (Kind.LOCK, range(4)), base=range(4)), 1)
    table.ballot.convict(0)
    table.give(said(table.play.root, 0), said(following(table, 0), 1))
    table.give(said(table.play.root, 0, which=1), said(following(table, 1), 2), said(following(table, 1), 3))
    assert table.ballot.line[-1].tip == following(table, 1).tip
    assert table.ballot.wish(()) == table.value()


def test_a_node_that_has_left_or_is_not_in_the_base_has_no_wish() -> None:
    for me in (2, 3):
        play = Play((Kind.COMMIT, TIMES), (Kind.LOCK, (0, 1)), base=(0, 1, 2), live=(0, 1, 2))
        table = Table(play, me)
        table.give(said(play.root, 0), said(play.root, 1), said(play.root, 2, Kind.RESIGN))
        assert table.ballot.wish({0, 1}) is None


# Line 2 of SPEC.md, §6: what a node may sign


@pytest.mark.parametrize("reason", ["a vote", "a nil vote", "a leading polka", "a LOCK of another branch"])
def test_a_lock_is_not_signed_after(reason: str) -> None:
    table = turn()
    without = table.value(0)
    assert table.ballot.may_lock
    assert table.ballot.may_resign
    if reason == "a vote":
        table.absents(without, 1)
    elif reason == "a nil vote":
        table.closes(None, 1)
    elif reason == "a leading polka":
        table.absents(without, 0, 2)
    table.go([0])
    if reason == "a LOCK of another branch":
        table.go([1])
        table.give(said(table.play.root, 0, which=1))
    assert not table.ballot.may_lock
    assert table.ballot.may_resign is (reason in ("a leading polka", "a LOCK of another branch"))


# Rounds


def test_a_round_ends_with_closes_of_a_majority_even_for_different_values() -> None:
    table = Table(Play((Kind.MOVE, (0,)), base=range(4)), 1)
    value = table.value(0)
    table.closes(None, 0, 1)
    assert table.ballot.round == 0
    table.closes(value._replace(tip=bytes(32)), 2)
    assert table.ballot.round == 1, "a CLOSE for an unknown value counts too"
    table.closes(None, 0, 2, 3, number=7)
    assert table.ballot.round == 8


@pytest.mark.parametrize("is_known", [True, False])
def test_the_round_is_at_least_the_last_one_this_node_voted_in(is_known: bool) -> None:
    table = turn()
    table.absents(table.value(0) if is_known else VoteValue(9, bytes(32), (b"",)), 1, number=4)
    table.absents(table.value(0), 2, number=9)
    assert table.ballot.round == 4


def test_votes_of_the_previous_round_are_taken_and_older_ones_are_late() -> None:
    table = turn()
    table.closes(None, 0, 2, number=1)
    for number, outcome in ((2, Outcome.ADDED), (1, Outcome.ADDED), (0, Outcome.LATE)):
        assert table.vote(Vote(table.play.root.tip, 0, False, number, table.value(0), -1)) is outcome


def test_votes_of_a_later_round_count_once_that_round_begins() -> None:
    table = turn()
    table.absents(table.value(0), 0, 2, number=1)
    assert table.ballot.leading is None
    table.closes(None, 0, 2)
    assert table.ballot.leading == (1, table.value(0), {0, 2})


# Polkas


def test_an_absent_vote_is_for_the_leading_polka_and_names_its_round() -> None:
    table = turn()
    value = table.value(0)
    table.absents(value, 0, 2)
    table.closes(None, 0, 2)
    assert table.ballot.absent_vote(()) == Vote(table.play.root.tip, 1, False, 1, value, 0)


def test_a_node_signs_no_absent_in_the_round_of_the_leading_polka() -> None:
    table = turn()
    value = table.value(0)
    table.absents(value, 2)
    assert table.ballot.absent_vote({0}) is not None
    table.absents(value, 0)
    assert table.ballot.absent_vote({0}) is None


def test_the_latest_polka_leads() -> None:
    table = turn()
    without = table.value(0)
    table.absents(without, 0, 2)
    table.closes(None, 0, 2)
    table.go([0])
    lock = table.value()
    table.absents(lock, 0, 2, number=1)
    assert table.ballot.wish(()) == lock


def test_a_vote_that_names_an_unknown_polka_counts_once_that_polka_is_known() -> None:
    table = turn()
    value = table.value(0)
    table.closes(None, 0, 2)
    table.absents(value, 0, 2, number=1, polka_round=0)
    assert table.ballot.leading is None
    table.absents(value, 0, 2)
    assert table.ballot.leading is not None
    assert table.ballot.leading.round == 1


def test_a_polka_with_a_cheats_vote_leads_only_after_another_players_close() -> None:
    table = turn()
    value = table.value(0)
    table.absents(value, 0, 2)
    assert table.ballot.close_vote is not None
    table.ballot.convict(0)
    assert table.ballot.leading is None
    assert table.ballot.close_vote is None
    table.closes(value, 0)
    assert table.ballot.leading is None
    table.closes(value, 2)
    assert table.ballot.leading is not None
    assert table.ballot.close_vote is None


def test_votes_of_players_who_left_before_the_step_decide_nothing() -> None:
    table = Table(Play((Kind.MOVE, (0,)), (Kind.MOVE, (1,)), base=range(5)), 2)
    table.give(said(table.play.root, 0, Kind.RESIGN))
    table.absents(table.value(1), 0, 2, 3)
    assert table.ballot.leading is None
    table.closes(table.value(1), 0, 2, 3)
    assert table.ballot.closed is None
    table.closes(table.value(1), 4)
    assert table.ballot.closed is not None


def test_nodes_share_the_votes_of_the_leading_polka_even_after_many_rounds() -> None:
    table = turn()
    table.absents(table.value(0), 0, 2)
    for number in range(4):
        table.closes(None, 0, 2, number=number)
    shared = {(vote.author, vote.round) for vote in table.ballot.counting() if not vote.is_close}
    assert shared == {(0, 0), (2, 0)}


def test_no_vote_may_put_out_all_players_in_the_game() -> None:
    play = Play((Kind.COMMIT, (0, 1)), base=(0, 1, 2, 3), live=(0, 1))
    table = Table(play, 2)
    value = VoteValue(play.root.step, play.root.tip, (b"", b""))
    table.absents(value, 0, 1, 3)
    assert table.ballot.leading is None
    assert table.ballot.wish({0, 1}) is None


def test_the_last_lock_is_decided_although_no_player_is_in_the_game() -> None:
    play = Play((Kind.LOCK, (0, 1)), base=(0, 1, 2))
    play.root = play.root._replace(players=())
    table = Table(play, 0)
    assert table.ballot.wish({0, 1}) == table.value()
    table.closes(table.value(), 0, 2)
    assert table.ballot.closed is not None


@pytest.mark.parametrize("entries", [(b"",) * 2, (b"x" * 32,), b"state".ljust(32)])
def test_votes_for_a_malformed_or_unknown_value_do_not_count(entries: tuple[bytes, ...]) -> None:
    table = turn()
    root = table.play.root
    table.absents(VoteValue(root.step, root.tip, entries), 0, 2)
    table.absents(VoteValue(root.step, b"?" * 32, (b"",)), 0, 2, number=1)
    assert table.ballot.leading is None


# Decisions


def test_a_decision_needs_a_majority_of_the_whole_base_in_one_round() -> None:
    table = Table(Play((Kind.MOVE, (0,)), base=range(4)), 1)
    value = table.value(0)
    table.closes(value, 1, 2)
    table.closes(value, 3, number=1)
    assert table.ballot.closed is None
    table.closes(value, 3)
    closed = table.ballot.closed
    assert closed is not None
    assert [signed.message.author for signed in closed.certificate] == [1, 2, 3]


def test_a_decision_needs_votes_of_half_the_players_who_stay_in_the_game() -> None:
    """With two players in the game and three out of it, the three alone cannot put a player out."""
    play = Play((Kind.MOVE, (0,)), base=range(5), live=(0, 1))
    table = Table(play, 2)
    value = VoteValue(play.root.step, play.root.tip, (b"",))
    table.closes(value, 2, 3, 4, number=2)
    assert table.ballot.closed is None
    table.absents(value, 1, number=3)
    assert table.ballot.closed is None, "a vote of a later round backs no earlier decision"
    table.absents(value, 1, number=2)
    closed = table.ballot.closed
    assert closed is not None
    kinds = [(signed.message.kind, signed.message.author) for signed in closed.certificate]
    assert kinds == [(Kind.ABSENT, 1), (Kind.CLOSE, 2), (Kind.CLOSE, 3), (Kind.CLOSE, 4)]


def test_a_finalist_and_two_players_out_of_the_game_close_a_lock_without_the_other_finalist() -> None:
    table = Table(Play((Kind.LOCK, (0, 1)), base=range(4), live=(0, 1)), 0)
    table.closes(table.value(), 0, 2, 3)
    assert table.ballot.closed is not None


def test_a_lock_signed_by_all_closes_despite_votes_for_another_value() -> None:
    table = turn()
    table.absents(table.value(0), 0, 1, 2)
    table.go([0])
    lock = table.ballot.line[-1]
    table.give(*(said(lock, author) for author in TIMES))
    closed = table.ballot.closed
    assert closed is not None
    assert (closed.position, closed.certificate) == (lock, ())


def test_a_decision_of_a_much_earlier_round_is_accepted() -> None:
    """The other players have decided and moved on, and will not vote on this root again."""
    table = turn()
    value = table.value(0)
    for number in range(5):
        table.closes(None, 0, 2, number=number)
    assert table.ballot.round == 5
    table.closes(value, 0, 2, number=1)
    assert table.ballot.closed is not None


# Lines 4 and 5 of SPEC.md, §6


def test_a_node_closes_only_the_current_round_and_only_once() -> None:
    table = turn()
    value = table.value(0)
    table.absents(value, 1, 2)
    close = table.ballot.close_vote
    assert close == Vote(table.play.root.tip, 1, True, 0, value)
    assert table.ballot.nil_vote is None
    table.vote(close)
    assert (table.ballot.close_vote, table.ballot.nil_vote, table.ballot.absent_vote({0})) == (None, None, None)
    table.closes(None, 0, 2)
    assert table.ballot.round == 1
    assert table.ballot.close_vote is None, "the polka belongs to the previous round"


def test_a_node_closes_a_round_with_nil_only_after_a_vote_in_it() -> None:
    table = turn()
    assert table.ballot.nil_vote is None
    table.absents(table.value(0), 1)
    assert table.ballot.nil_vote == Vote(table.play.root.tip, 1, True, 0, None)
    table.closes(None, 1)
    assert (table.ballot.nil_vote, table.ballot.absent_vote({0})) == (None, None)


def test_the_grounds_of_a_vote_begin_with_the_message_before_its_step() -> None:
    table = Table(Play((Kind.MOVE, (0,)), (Kind.MOVE, (1,)), (Kind.LOCK, TIMES)), 2)
    table.go([0])
    value = table.value(1)
    table.absents(value, 0, 1)
    table.closes(None, 0, 1)
    vote = table.ballot.absent_vote(())
    assert vote is not None
    kinds = [signed.message.kind for signed in table.ballot.grounds(vote)]
    assert kinds[0] is Kind.MOVE
    assert sorted(kinds) == [Kind.MOVE, Kind.ABSENT, Kind.ABSENT, Kind.CLOSE, Kind.CLOSE]


# Branches


def branching() -> Table:
    """Return a table at which player 0, who is on turn, is convicted; a COMMIT and a LOCK follow."""
    table = Table(Play((Kind.MOVE, (0,)), (Kind.COMMIT, (1, 2, 3)), (Kind.LOCK, range(4)), base=range(4)), 1)
    table.ballot.convict(0)
    return table


def following(table: Table, which: int) -> Position:
    root = table.play.root
    return table.play.after(root, {0: said(root, 0, which=which)})


def test_a_convicted_players_message_closes_a_step_only_if_another_player_signed_after_it() -> None:
    table = branching()
    root = table.play.root
    table.give(said(root, 0))
    assert table.ballot.line == [root]
    assert table.ballot.missing == (0,)
    table.give(said(following(table, 0), 0))
    assert table.ballot.line == [root], "the convicted player's own signature does not count"
    table.give(said(following(table, 0), 2))
    assert table.ballot.line == [root, following(table, 0)]


def test_a_second_message_reopens_a_step_until_a_message_after_either_arrives() -> None:
    table = Table(Play((Kind.MOVE, (0,)), (Kind.COMMIT, (1, 2, 3)), (Kind.LOCK, range(4)), base=range(4)), 1)
    root = table.play.root
    table.give(said(root, 0))
    assert table.ballot.line == [root, following(table, 0)]
    table.ballot.convict(0)
    table.give(said(root, 0, which=1))
    assert table.ballot.line == [root], "no other player has signed after either message"
    table.give(said(following(table, 0), 2))
    assert table.ballot.line == [root, following(table, 0)]


def test_a_vote_for_a_later_step_supports_the_branch_before_it() -> None:
    table = branching()
    table.give(said(table.play.root, 0))
    place = following(table, 0)
    table.absents(VoteValue(place.step, place.tip, (b"", b"", b"")), 3)
    assert table.ballot.line[-1].tip == place.tip


def test_the_history_that_a_conviction_refers_to_is_kept() -> None:
    table = branching()
    table.give(said(table.play.root, 0))
    table.ballot.convict(0, following(table, 0).tip)
    assert table.ballot.line[-1].tip == following(table, 0).tip


def test_two_commits_of_the_forming_step_are_branches_and_put_no_player_out() -> None:
    """A guest who sends different COMMITs to different players cannot block them for ever."""
    play = Play((Kind.LOCK, range(3)))
    play.root = play.root._replace(step=FORMED - 1, kind=Kind.COMMIT)
    table = Table(play, 1)
    table.ballot.convict(0)
    root = play.root
    table.give(said(root, 1), said(root, 2))
    assert table.ballot.wish({0}) is None
    table.give(said(root, 0), said(root, 0, which=1))
    others = {author: said(root, author) for author in (1, 2)}
    tips = sorted(play.tip_after(root, {0: said(root, 0, which=which), **others}) for which in (0, 1))
    assert table.ballot.line[-1].tip == tips[0]
    other = table.ballot.branches.positions[tips[1]]
    table.give(said(other, 2))
    assert table.ballot.line[-1].tip == tips[1]
    assert table.ballot.wish({0, 1}) == table.value()


def test_the_branch_with_most_signers_is_followed_and_ties_go_to_the_smallest_tip() -> None:
    table = branching()
    root = table.play.root
    table.give(said(root, 0), said(root, 0, which=1))
    tips = {which: following(table, which).tip for which in (0, 1)}
    less, more = sorted(tips, key=lambda which: tips[which], reverse=True)
    table.give(said(following(table, less), 2), said(following(table, more), 1))
    assert table.ballot.line[-1].tip == tips[more], "one signer each, so the smaller tip is followed"
    table.give(said(following(table, less), 3))
    assert table.ballot.line[-1].tip == tips[less]


def test_a_third_message_is_kept_only_if_another_player_signed_after_it() -> None:
    table = branching()
    root = table.play.root
    table.give(said(root, 0), said(root, 0, which=1))
    assert table.give(said(root, 0, which=2)) is Outcome.SURPLUS
    assert table.give(said(following(table, 2), 2)) is Outcome.FUTURE
    assert table.give(said(root, 0, which=2)) is Outcome.ADDED
    assert table.ballot.line[-1].tip == following(table, 2).tip


def test_messages_that_only_their_author_supports_do_not_crowd_out_one_that_others_support() -> None:
    table = branching()
    root, junk = table.play.root, range(limits.SUPPORTED_PER_SLOT)
    for which in junk:
        place = following(table, which)
        table.give(said(place, 0))
        table.absents(VoteValue(root.step, root.tip, (said(root, 0, which=which).id,)), 0, number=which % 2)
    kept = [table.give(said(root, 0, which=which)) for which in junk]
    assert kept.count(Outcome.ADDED) == limits.IDS_PER_SLOT
    held = said(root, 0, which=len(junk))
    table.give(said(following(table, len(junk)), 2))
    assert table.give(held) is Outcome.ADDED
    assert table.ballot.line[-1].tip == following(table, len(junk)).tip


def test_a_third_close_is_taken_if_another_player_has_voted_for_its_value() -> None:
    table = Table(Play((Kind.MOVE, (0,)), base=range(4)), 1)
    value, other = table.value(0), VoteValue(9, bytes(32), (b"",))
    table.closes(None, 0)
    table.closes(other, 0)
    third = Vote(table.play.root.tip, 0, True, 0, value)
    assert table.vote(third) is Outcome.SURPLUS
    table.absents(value, 1, 2, 3)
    table.closes(value, 1, 2)
    assert table.ballot.closed is None
    assert table.vote(third) is Outcome.ADDED
    assert table.ballot.closed is not None


def test_a_third_message_is_kept_if_another_player_signed_after_its_authors_next_turn() -> None:
    """A player may have two turns in a row. Many messages for the second must not hide the right one."""
    play = Play((Kind.MOVE, (0,)), (Kind.MOVE, (0,)), (Kind.COMMIT, (1, 2, 3)), (Kind.LOCK, range(4)), base=range(4))
    table = Table(play, 1)
    table.ballot.convict(0)
    root = play.root
    first = said(root, 0, which=2)
    middle = play.after(root, {0: first})
    second = said(middle, 0)
    for which in range(1, 2 * limits.FUTURE_PER_AUTHOR):
        table.give(said(middle, 0, which=which))
    table.give(said(root, 0), said(root, 0, which=1))
    table.give(said(play.after(middle, {0: second}), 2))
    assert table.give(first) is Outcome.SURPLUS
    table.give(second)
    assert table.give(first) is Outcome.ADDED
    assert table.ballot.line[-1].tip == play.after(middle, {0: second}).tip


def test_many_votes_for_one_value_do_not_crowd_out_a_vote_for_another_value() -> None:
    """The many votes differ in the polka that they name."""
    table, value = turn(), VoteValue(9, bytes(32), (b"",))
    table.absents(table.value(0), 1)
    for polka_round in range(-1, 11):
        table.absents(table.value(0), 0, number=11, polka_round=polka_round)
    table.absents(value, 2)
    assert table.vote(Vote(table.play.root.tip, 0, False, 11, value, -1)) is Outcome.ADDED


def test_votes_of_later_rounds_do_not_displace_an_absent_that_a_certificate_needs() -> None:
    """Only a vote of a later round completes the votes of half the players who stay in the game."""
    table = Table(Play((Kind.MOVE, (3,)), base=range(7), live=range(4)), 0)
    value = table.value(3)
    table.absents(value._replace(entries=(bytes(32),)), 1, number=6)
    table.absents(value._replace(entries=(bytes(32),)), 1, number=7)
    for _ in range(2):  # a node repeats its request while peers hold messages it lacks
        table.absents(value, 1, number=5)
        table.closes(value, 2, 4, 5, 6, number=5)
    assert table.ballot.closed is not None


def test_the_messages_that_close_a_step_are_found_despite_more_branches_than_the_limit() -> None:
    """Liars sign more messages for the step, which sort before the ones that the branch was folded with."""
    authors = range(4)
    play = Play((Kind.COMMIT, authors), (Kind.LOCK, authors), base=authors)
    branches = Branches(play.root, play)
    signed = [[said(play.root, author, which=which) for which in range(12)] for author in authors]
    named = {each.id: {9} for slot in signed for each in slot}
    chosen = [slot[1] for slot in signed]
    tip = play.tip_after(play.root, dict(enumerate(chosen)))
    for which in range(12):
        for slot in signed:
            assert branches.take(slot[which], named) is Outcome.ADDED
        assert not [*branches.grow({tip: {9}})]
    choices = itertools.product(*branches.messages[play.root.tip].values())
    assert tuple(chosen) not in itertools.islice(choices, limits.BRANCHINGS)
    assert branches.between(branches.positions[tip]) == chosen


def test_messages_of_a_future_step_are_taken_once_the_steps_before_it_arrive() -> None:
    table = turn()
    root = table.play.root
    lock = table.play.after(root, {0: said(root, 0)})
    assert table.give(said(lock, 2)) is Outcome.FUTURE
    table.give(said(root, 0))
    assert table.ballot.held.keys() == {2}


def test_a_message_for_the_step_of_the_root_in_another_history_is_not_kept_for_later() -> None:
    """That step will never be known here."""
    table = turn()
    strange = table.play.root._replace(tip=bytes(32))
    assert table.give(said(strange, 0)) is Outcome.FOREIGN
    assert not [*table.ballot.branches.own(0)]


# Limits on what is kept


def test_of_too_many_messages_for_later_the_one_that_arrived_longest_ago_is_dropped() -> None:
    """A message that arrives again counts as new: somebody still sends it."""
    table = turn()
    later = [said(table.play.root._replace(step=FORMED + 1, tip=bytes([n] * 32)), 0) for n in range(99)]
    fill, more = later[: limits.FUTURE_PER_AUTHOR], later[limits.FUTURE_PER_AUTHOR :]
    table.give(*fill, fill[0], more[0])
    assert [*table.ballot.branches.own(0)] == [*fill[2:], fill[0], more[0]]


def test_a_flood_of_votes_and_messages_is_kept_only_within_limits() -> None:
    table = Table(Play((Kind.MOVE, (0,)), (Kind.LOCK, range(4)), base=range(4)), 1)
    value = table.value(0)
    root = table.play.root
    table.absents(value, 1)
    for number in range(500):
        table.absents(value if number % 2 else VoteValue(9, bytes(32), (b"",)), 3, number=number)
        table.closes(None if number % 3 else value, 3, number=number)
        table.give(said(root, 0, which=number))
        strange = root._replace(step=root.step + 1 + number, tip=tagged_hash("test", number))
        table.give(said(strange, 0))
    votes = [vote for vote in table.ballot.votes() if vote.author == 3]
    assert len(votes) <= 2 * 2 * (2 + limits.VOTE_ROUNDS_LATER) + 2
    kept = [*table.ballot.branches.own(0)]
    assert len(kept) <= limits.IDS_PER_SLOT + limits.FUTURE_PER_AUTHOR
    assert table.ballot.round == 0


def test_a_vote_backs_only_polkas_of_its_round_or_of_later_rounds() -> None:
    """Two players are in the game, three out of it. No decision may need votes that a node may have to drop."""
    table = Table(Play((Kind.MOVE, (0,)), base=range(5), live=(0, 1)), 2)
    value = table.value(0)
    table.absents(value, 1, number=1)
    table.absents(value, 2, 3, 4)
    assert table.ballot.leading is None
    table.closes(None, 2, 3, 4)
    table.absents(value, 2, 3, 4, number=1)
    assert table.ballot.leading is not None
    assert table.ballot.leading.round == 1


@pytest.mark.parametrize("backing", [0, 1])
def test_later_votes_do_not_displace_one_that_backs_the_polka_of_a_nodes_own_close(backing: int) -> None:
    """Without the liar's vote, fewer than half the players who stay in the game have voted for the value."""
    live, liar, late, out = (0, 1, 2, 3), 1, 3, (4, 5, 6)
    table = Table(Play((Kind.MOVE, (late,)), (Kind.MOVE, (liar,)), base=range(7), live=live), 0)
    value = table.value(late)
    other = value._replace(entries=(bytes(32),))
    table.closes(None, 0, *out)
    table.absents(value, liar, number=backing)
    table.absents(value, 0, *out, number=1)
    close = table.ballot.close_vote
    assert close is not None
    table.vote(close)
    table.absents(value, liar, number=6)
    table.absents(other, liar, number=7)
    table.absents(other, liar, number=8)
    table.closes(None, *out, number=1)
    table.give(said(table.play.root, late))
    absent = table.ballot.absent_vote({liar})
    assert absent is not None
    assert not vote_contradiction(close, absent)


def test_a_nodes_own_messages_are_kept_beyond_all_limits() -> None:
    table, number = turn(), limits.FUTURE_PER_AUTHOR + limits.IDS_PER_SLOT
    for step in range(number):
        table.give(said(table.play.root._replace(step=9 + step, tip=tagged_hash("test", step)), 1))
    assert len([*table.ballot.branches.own(1)]) == number


def test_a_step_is_decided_after_a_flood_of_votes() -> None:
    table = Table(Play((Kind.MOVE, (0,)), base=range(4)), 1)
    value = table.value(0)
    for number in range(100):
        table.absents(VoteValue(9, bytes(32), (b"",)), 3, number=number)
    table.absents(value, 0, 1, 2)
    assert table.ballot.close_vote is not None
    table.closes(value, 0, 1, 2)
    assert table.ballot.closed is not None


# Contradictions


ONE, OTHER = VoteValue(3, b"t" * 32, (b"",)), VoteValue(3, b"t" * 32, (b"i" * 32,))


@pytest.mark.parametrize(
    ("close", "absent", "is_contradiction"),
    [
        ((0, ONE), (1, OTHER, -1), True),
        ((0, ONE), (1, OTHER, 0), False),
        ((1, ONE), (3, OTHER, 0), True),
        ((1, ONE), (3, OTHER, 2), False),
        ((1, ONE), (1, OTHER, 0), False),
        ((2, ONE), (1, OTHER, -1), False),
        ((0, ONE), (1, ONE, -1), False),
        ((0, None), (1, OTHER, -1), False),
    ],
)
def test_a_close_binds_until_a_newer_polka(
    close: tuple[int, VoteValue | None], absent: tuple[int, VoteValue, int], is_contradiction: bool
) -> None:
    votes = Vote(b"", 0, True, *close), Vote(b"", 0, False, *absent)
    assert bool(vote_contradiction(*votes)) is bool(vote_contradiction(*votes[::-1])) is is_contradiction


def test_two_votes_of_one_kind_and_round_contradict_even_if_one_is_nil() -> None:
    for first, second in (
        (Vote(b"", 0, True, 2, ONE), Vote(b"", 0, True, 2, OTHER)),
        (Vote(b"", 0, True, 2, ONE), Vote(b"", 0, True, 2, None)),
        (Vote(b"", 0, False, 2, ONE, -1), Vote(b"", 0, False, 2, ONE, 1)),
    ):
        assert vote_contradiction(first, second)
        assert not vote_contradiction(first, second._replace(round=3))
        assert not vote_contradiction(first, first)


def test_a_vote_survives_writing_and_reading() -> None:
    for vote in (
        Vote(b"r" * 32, 1, False, 2, ONE, 1),
        Vote(b"r" * 32, 1, True, 2, VoteValue(3, b"t" * 32, b"s" * 32)),
        Vote(b"r" * 32, 1, True, 2, None),
    ):
        kind, body = spell_vote(vote)
        assert read_vote(Signed(b"", b"", Message(MATCH, 2, vote.root_tip, 1, kind, body), b""))[:-1] == vote[:-1]
