"""The absence rule, clause by clause; tests/simulation/test_small_worlds.py explores all of them together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set

import pytest

from protocol import limits
from protocol.consensus.absence import Absence
from protocol.consensus.ballot import Ballot
from protocol.consensus.electorate import Entries, Place, elect, leaves_majority
from protocol.consensus.votes import ContradictionError, Vote

TIP, LOCK = b"step", b"lock"
ALL: Entries = (b"a", b"b", b"c")
WITHOUT_C: Entries = (b"a", b"b", b"")
WITHOUT_A: Entries = (b"", b"b", b"c")
STEP = Place(0, TIP, (0, 1, 2), (0, 1, 2), (0, 1, 2), (0, 1, 2), (0, 1, 2))
NEXT = Place(1, LOCK, (0, 1, 2), (0, 1, 2), (0, 1, 2), (0, 1, 2), (0, 1, 2))


class Past:
    """A history that stands still."""

    def __init__(
        self,
        closed: Entries | None = None,
        held: Mapping[int, bytes] | None = None,
        culprits: Set[int] = frozenset(),
        step: Place = STEP,
    ) -> None:
        self._closed, self._held, self._culprits, self._step = closed, held or {}, culprits, step
        self.votes_elsewhere: list[tuple[int, int]] = []

    def tail(self) -> Sequence[Place]:
        return (self._step,) if self._closed is None else (self._step, NEXT)

    def closed(self, step: int) -> Entries | None:
        return self._closed if step == 0 else None

    def held(self, step: int) -> Mapping[int, bytes]:
        return self._held if step == 0 else {}

    def culprits(self) -> Set[int]:
        return self._culprits

    def elsewhere(self) -> Iterable[tuple[int, int]]:
        return self.votes_elsewhere


def absent(author: int, entries: Entries, number: int = 0, newest: int = -1, tip: bytes = TIP) -> Vote:
    return Vote(tip, author, False, number, entries, newest)


def close(author: int, entries: Entries, number: int = 0, tip: bytes = TIP) -> Vote:
    return Vote(tip, author, True, number, entries)


def voter(*votes: Vote, place: Place = STEP, me: int | None = 0) -> Absence:
    absence = Absence(me)
    for vote in votes:
        absence.take(vote, NEXT if vote.tip == LOCK else place)
    return absence


def test_nobody_votes_before_their_patience_ends() -> None:
    assert voter().due(Past(held={0: b"a"}), (), ()) == []
    assert voter(absent(1, WITHOUT_C)).due(Past(held={0: b"a", 1: b"b"}), (), ()) == []


def test_a_node_whose_patience_ends_votes_for_the_messages_it_holds() -> None:
    assert voter().due(Past(held={0: b"a", 1: b"b"}), {TIP}, ()) == [absent(0, WITHOUT_C)]


def test_a_node_outside_the_base_never_votes() -> None:
    assert voter(me=None).due(Past(held={0: b"a", 1: b"b"}), {TIP}, ()) == []


def test_entries_that_leave_no_majority_are_not_voted_for() -> None:
    assert voter().due(Past(held={0: b"a"}), {TIP}, ()) == []
    assert leaves_majority(STEP, WITHOUT_C)
    assert not leaves_majority(STEP, (b"a", b"", b""))


def test_a_node_that_closed_the_step_joins_a_vote_at_once_and_votes_as_it_closed() -> None:
    assert voter(absent(1, WITHOUT_C)).due(Past(ALL), (), ()) == [absent(0, ALL)]


def test_a_majority_of_absents_is_followed_by_a_close_once() -> None:
    absence = voter(absent(0, WITHOUT_C), absent(1, WITHOUT_C))
    past = Past(held={0: b"a", 1: b"b"})
    assert absence.due(past, (), ()) == [close(0, WITHOUT_C)]
    absence.take(close(0, WITHOUT_C), STEP)
    assert absence.due(past, (), ()) == []


def test_no_close_on_the_vote_of_a_proven_culprit() -> None:
    """Whoever else voted the same makes the majority, or nobody does."""
    absence = voter(absent(0, WITHOUT_C), absent(1, WITHOUT_C))
    assert absence.due(Past(held={0: b"a", 1: b"b"}, culprits={1}), (), ()) == []
    absence.take(absent(2, WITHOUT_C), STEP)
    assert absence.due(Past(held={0: b"a", 1: b"b"}, culprits={1}), (), ()) == [close(0, WITHOUT_C)]


def test_no_close_for_an_older_round() -> None:
    absence = voter(absent(0, ALL), absent(1, WITHOUT_C, 1), absent(0, ALL, 1), absent(1, ALL))
    assert absence.ballots[TIP].majorities.keys() == {0}
    assert absence.due(Past(held={0: b"a", 1: b"b", 2: b"c"}), (), ()) == []


def test_the_newest_majority_is_voted_for_in_the_next_round() -> None:
    absence = voter(absent(1, WITHOUT_A), absent(2, WITHOUT_A), absent(0, ALL))
    assert absence.due(Past(ALL), {TIP}, ()) == [absent(0, WITHOUT_A, 1, newest=0)]


def test_a_vote_that_refers_to_an_unknown_majority_does_not_count() -> None:
    absence = voter(absent(1, WITHOUT_A, 1, newest=0), absent(2, WITHOUT_A, 1))
    assert absence.ballots[TIP].majorities == {}
    absence.take(absent(1, WITHOUT_A), STEP)
    absence.take(absent(2, WITHOUT_A), STEP)
    assert absence.ballots[TIP].majorities.keys() == {0, 1}


def test_votes_count_if_all_refer_to_the_same_unknown_majority() -> None:
    absence = voter(absent(1, WITHOUT_A, 5, newest=4), absent(2, WITHOUT_A, 5, newest=3))
    assert absence.ballots[TIP].majorities == {}
    absence.take(absent(2, WITHOUT_A, 6, newest=5), STEP)
    absence.take(absent(1, WITHOUT_A, 6, newest=5), STEP)
    assert absence.ballots[TIP].majorities.keys() == {6}


@pytest.mark.parametrize("rounds", [1, 2, 3, 9, 20])
def test_a_node_that_returns_after_many_majorities_accepts_the_latest(rounds: int) -> None:
    """The others can do nothing else any more: as long as they are not believed, nobody goes on."""
    absence = voter(*(absent(author, WITHOUT_C, n, newest=n - 1) for n in range(rounds) for author in (0, 1)))
    fresh = Ballot(STEP)
    for vote in absence.ballots[TIP].votes():
        fresh.take(vote)
    assert fresh.best() == absence.ballots[TIP].best() != ()


@pytest.mark.parametrize("cast", [absent, close])
def test_a_majority_that_is_shown_late_counts_despite_later_votes(cast: Callable[..., Vote]) -> None:
    """A liar shows one node what completes a majority, and all others votes of rounds to come."""
    ballot = Ballot(STEP)
    since = [cast(author, ALL, n) for n in range(7, 12) for author in (1, 2) if n % 2 == author % 2]
    for vote in since:
        assert ballot.take(vote)
    assert not ballot.best()
    assert not ballot.take(cast(1, WITHOUT_A, 3))
    assert not ballot.take(cast(1, WITHOUT_A, 2))
    assert ballot.take(cast(2, WITHOUT_A, 2))
    assert ballot.best() == (cast(1, WITHOUT_A, 2), cast(2, WITHOUT_A, 2))


def test_exactly_a_majority_decides_also_against_how_the_step_was_closed() -> None:
    absence = voter(close(1, WITHOUT_A))
    assert absence.decision(Past(ALL)) is None
    absence.take(close(2, WITHOUT_A), STEP)
    assert absence.decision(Past(WITHOUT_A)) is None
    found = absence.decision(Past(ALL))
    assert found == (STEP, (close(1, WITHOUT_A), close(2, WITHOUT_A)))
    absence.take(close(0, WITHOUT_A), STEP)
    assert len(absence.ballots[TIP].decided) == 2


def test_a_player_who_left_before_the_step_does_not_count() -> None:
    place = STEP._replace(owed=(0, 1), staying=(0, 1))
    absence = voter(close(1, (b"a", b"b")), close(2, (b"a", b"b")), place=place)
    assert absence.ballots[TIP].decided == ()


def test_the_base_stays_as_it_was() -> None:
    place = Place(0, TIP, (0, 1, 2), (0, 1, 2, 3, 4), (0, 1, 2), (0, 1, 2), (0, 1, 2))
    absence = voter(close(1, ALL), close(2, ALL), place=place)
    assert absence.ballots[TIP].decided == ()


def test_a_vote_against_a_closed_step_reopens_it() -> None:
    absence = voter(absent(1, WITHOUT_A), absent(2, WITHOUT_A))
    assert absence.is_reopened(Past(ALL))
    assert not absence.is_reopened(Past(WITHOUT_A))


def test_a_later_majority_settles_the_steps_before_it() -> None:
    ahead = voter(absent(0, ALL, tip=LOCK), absent(1, ALL, tip=LOCK))
    ahead.take(absent(1, WITHOUT_C), STEP)
    assert ahead.leaders()[0].place == NEXT
    assert ahead.due(Past(ALL), (), ()) == [close(0, ALL, tip=LOCK)]


def test_a_newer_majority_reopens_the_step_before_an_older_one() -> None:
    absence = voter(absent(0, ALL, tip=LOCK), absent(1, ALL, tip=LOCK))
    absence.take(absent(1, WITHOUT_A, 1), STEP)
    absence.take(absent(2, WITHOUT_A, 1), STEP)
    assert absence.leaders()[0].place == STEP
    assert absence.is_reopened(Past(ALL))


class Longer(Past):
    """A history of two closed steps, and the open one."""

    def __init__(self) -> None:
        super().__init__(ALL)

    def tail(self) -> Sequence[Place]:
        return (STEP, NEXT, NEXT._replace(step=2, tip=b"open"))

    def closed(self, step: int) -> Entries | None:
        return ALL if step < 2 else None

    def held(self, step: int) -> Mapping[int, bytes]:
        return {0: b"a", 1: b"b"}


def test_an_objector_to_one_step_is_heeded_in_every_round_and_to_two_in_even_rounds() -> None:
    past = Longer()
    single, many = voter(absent(2, WITHOUT_A)), voter(absent(2, WITHOUT_A), absent(2, WITHOUT_A, tip=LOCK))
    gone_to = []
    for number in range(4):
        gone_to.append((single.contested(past), many.contested(past)))
        for absence in (single, many):
            absence.take(absent(0, ALL, number, tip=b"open"), past.tail()[2])
    assert [one for one, _ in gone_to] == [STEP] * 4
    assert [two for _, two in gone_to] == [past.tail()[2], past.tail()[2], STEP, past.tail()[2]]


def test_one_sequence_of_rounds_runs_over_all_steps() -> None:
    absence = voter(absent(0, ALL), absent(1, ALL), close(0, ALL), close(1, ALL))
    assert absence.due(Past(ALL), {LOCK}, ()) == []
    past = Past(ALL)
    past.held = lambda step: {0: b"a", 1: b"b"}  # type: ignore[method-assign]
    assert absence.due(past, {LOCK}, ()) == [absent(0, WITHOUT_C, 1, tip=LOCK)]


def test_a_round_that_a_majority_has_not_reached_does_not_end() -> None:
    past = Past(held={0: b"a", 1: b"b"})
    absence = voter(absent(0, WITHOUT_C))
    assert absence.due(past, {TIP}, ()) == []
    absence.take(absent(2, ALL), STEP)
    assert absence.due(past, {TIP}, ()) == [absent(0, WITHOUT_C, 1)]


def test_a_later_round_is_joined_once_the_current_one_has_settled() -> None:
    absence = voter(absent(0, WITHOUT_C), absent(1, WITHOUT_C, 5))
    past = Past(held={0: b"a", 1: b"b"})
    assert absence.due(past, (), {TIP}) == []
    assert absence.due(past, (), ()) == [absent(0, WITHOUT_C, 5)]


def test_a_single_voter_far_ahead_is_not_followed_where_two_others_are_a_majority() -> None:
    place = Place(0, TIP, (0, 1), (0, 1, 2, 3, 4), (0, 1, 2, 3, 4), (0, 1), (0, 1))
    far = limits.VOTE_ROUNDS_AHEAD + 1
    absence = voter(absent(0, (b"a", b"")), absent(4, (b"a", b""), far), place=place)
    assert absence.target(Past(), 0, 3) == (-1, False)
    absence.take(absent(3, (b"a", b""), far), place)
    assert absence.target(Past(), 0, 3) == (far, True)


def test_two_votes_in_one_round_contradict_each_other_and_both_are_kept() -> None:
    absence = voter(absent(1, ALL))
    with pytest.raises(ContradictionError):
        absence.take(absent(1, WITHOUT_C), STEP)
    assert list(absence.ballots[TIP].votes()) == [absent(1, ALL), absent(1, WITHOUT_C)]


@pytest.mark.parametrize("late", [False, True])
def test_voting_against_ones_own_close_without_a_newer_majority_is_a_contradiction(late: bool) -> None:
    votes = [close(1, WITHOUT_C), absent(1, ALL, 1)]
    absence = voter(votes[late])
    with pytest.raises(ContradictionError):
        absence.take(votes[not late], STEP)


def test_voting_against_ones_own_close_for_a_newer_majority_is_allowed() -> None:
    voter(close(1, WITHOUT_C), absent(1, ALL, 2, newest=1))


def test_a_third_vote_in_one_round_is_kept_only_if_somebody_else_says_the_same() -> None:
    absence = voter(absent(1, ALL))
    with pytest.raises(ContradictionError):
        absence.take(absent(1, WITHOUT_A), STEP)
    third = WITHOUT_C
    assert not absence.take(absent(1, third), STEP)
    absence.take(absent(0, third), STEP)
    with pytest.raises(ContradictionError):
        absence.take(absent(1, third), STEP)
    assert absence.ballots[TIP].majorities[0] == (absent(0, third), absent(1, third))


def test_a_liar_makes_nobody_keep_more_than_the_latest_rounds() -> None:
    absence = voter()
    for number in range(20):
        absence.take(absent(1, ALL, number), STEP)
        absence.take(close(1, ALL, number), STEP)
    assert len(list(absence.ballots[TIP].votes())) == 1 + 2 * limits.VOTE_ROUNDS


def test_everybody_chooses_the_same_of_two_majorities_that_a_liar_made() -> None:
    votes = [absent(0, ALL), absent(1, WITHOUT_A), absent(2, ALL), absent(2, WITHOUT_A)]
    chosen = []
    for order in (votes, votes[::-1]):
        absence = Absence(0)
        for vote in order:
            with contextlib.suppress(ContradictionError):
                absence.take(vote, STEP)
        chosen.append(absence.ballots[TIP].best()[0].entries)
    assert chosen == [WITHOUT_A, WITHOUT_A]


def test_a_node_that_has_not_closed_the_step_counts_a_proven_culprit_as_absent() -> None:
    past = Past(held={0: b"a", 1: b"b", 2: b"c"}, culprits={2})
    assert voter().due(past, {TIP}, ()) == [absent(0, WITHOUT_C)]


def test_a_step_with_a_cheats_message_stands_unless_as_many_have_gone_on_with_another() -> None:
    past = Past(ALL, culprits={2})
    assert voter().due(past, {TIP}, ()) == [absent(0, ALL)]
    assert voter(absent(1, ALL)).due(past, {TIP}, ()) == [absent(0, ALL)]
    assert voter(absent(1, WITHOUT_C)).due(past, {TIP}, ()) == [absent(0, ALL)]
    assert voter(absent(1, (b"a", b"b", b"C"))).due(past, {TIP}, ()) == [absent(0, WITHOUT_C)]


def test_rounds_on_steps_that_a_node_does_not_know_count_and_those_of_a_cheat_do_not() -> None:
    """Two nodes that vote after different messages of a cheat do not know each other's steps. Nor does a node that may
    close no step know the next one. Each would wait for ever for the other to reach its round."""
    alone = voter(absent(0, WITHOUT_C))
    past = Past(held={0: b"a", 1: b"b"}, culprits={2})
    past.votes_elsewhere = [(2, 0)]
    assert alone.due(past, {TIP}, ()) == []
    past.votes_elsewhere = [(1, 0), (2, 7)]
    assert [vote.round for vote in alone.due(past, {TIP}, ())] == [1]
    past.votes_elsewhere = [(1, 5)]
    assert [vote.round for vote in alone.due(past, (), ())] == [5]


def test_the_message_of_a_cheat_counts_on_which_more_players_in_the_game_have_gone_on() -> None:
    """Players who are out of it are not counted: no LOCK waits for them."""
    everyone, other = (0, 1, 2, 3, 4, 5), (b"a", b"b", b"C", b"d")
    closed: Entries = (b"a", b"b", b"c", b"d")
    place = Place(0, TIP, (0, 1, 2, 3), everyone, everyone, (0, 1, 2, 3), (0, 1, 2, 3))
    past = Past(closed, culprits={2}, step=place)
    ahead = voter(absent(1, other), absent(4, other), absent(5, other), place=place)
    assert ahead.due(past, {TIP}, ())[0].entries == (b"a", b"b", b"", b"d")
    ahead.take(absent(3, other), place)
    assert ahead.due(past, {TIP}, ())[0].entries == other
    assert voter(absent(3, closed), absent(1, other), place=place).due(past, {TIP}, ())[0].entries == closed


OUT = Place(0, TIP, (1,), (0, 1, 2, 3, 4), (0, 1, 2, 3, 4), (0, 1), (0, 1))
"""Two are in the game, three are out of it."""


def test_witnesses_put_nobody_out_without_half_of_the_players_in_the_game() -> None:
    assert elect(OUT, (b"",), (2, 3, 4)) == ()
    assert elect(OUT, (b"",), (0, 2, 3, 4)) == (0, 2, 3)
    assert elect(OUT, (b"",), (2, 3, 4), backers=(0,)) == (0, 2, 3, 4)
    assert elect(OUT, (b"",), (1, 2, 3, 4)) == ()


def test_a_backer_of_a_majority_who_is_gone_counts_in_later_rounds() -> None:
    absence = voter(*(absent(author, (b"",)) for author in (0, 2, 3)), place=OUT, me=4)
    for author in (2, 3, 4):
        absence.take(absent(author, (b"",), 1, newest=0), OUT)
    assert absence.ballots[TIP].majorities[1] == (
        absent(0, (b"",)),
        *(absent(author, (b"",), 1, newest=0) for author in (2, 3, 4)),
    )


def test_if_two_players_stay_the_votes_of_one_are_not_enough() -> None:
    place = OUT._replace(owed=(0, 1))
    entries: Entries = (b"a", b"b")
    assert elect(place, entries, (1, 2, 3)) == ()
    assert elect(place, entries, (0, 1, 2)) == (0, 1, 2)
    assert elect(place, entries, (1, 2, 3), culprits={1}) == ()
    assert elect(place, entries, (0, 2, 3), culprits={1}) == (0, 2, 3)


def test_witnesses_vote_and_owe_no_message() -> None:
    place = STEP._replace(owed=(1,))
    assert voter().due(Past(held={1: b"b"}, step=place), {TIP}, ()) == [absent(0, (b"b",))]


def test_a_copy_is_of_the_same_class() -> None:
    class Other(Absence):
        pass

    assert type(Other(0).copy()) is Other


def test_a_copy_is_independent_and_equal() -> None:
    absence = voter(absent(0, ALL))
    twin = absence.copy()
    assert twin.ballots[TIP].key() == absence.ballots[TIP].key()
    twin.take(absent(1, ALL), STEP)
    assert absence.ballots[TIP].majorities == {}
    twin.keep_only(())
    assert not twin.has_voted(TIP)
    assert absence.has_voted(TIP)


def test_the_votes_of_a_ballot_convince_a_node_that_knows_nothing() -> None:
    absence = voter(absent(1, WITHOUT_A, 1, newest=0), absent(1, WITHOUT_A), absent(2, WITHOUT_A), close(2, WITHOUT_A))
    fresh = Ballot(STEP)
    for vote in absence.ballots[TIP].votes():
        fresh.take(vote)
    assert fresh.key() == voter(*absence.ballots[TIP].votes()).ballots[TIP].key()
    assert fresh.majorities.keys() == {0}


FOUR = Place(0, TIP, (0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))


class Last(Past):
    """A history without an open step: its match is over."""

    def tail(self) -> Sequence[Place]:
        return (self._step,)


def test_behind_the_end_of_a_match_a_node_follows_those_who_have_come_round_to_its_vote() -> None:
    """Two closed the last step, two had voted on it before they held everything: no two of them are a majority."""
    whole, without = (b"a", b"b", b"c", b"d"), (b"a", b"", b"c", b"d")
    split = [absent(0, without), absent(1, whole), absent(2, whole), absent(3, without)]
    closed = Last(whole, step=FOUR)
    assert voter(*split, place=FOUR, me=1).due(closed, (), ()) == []
    later = [absent(0, whole, 1), absent(3, whole, 1)]
    assert voter(*split, *later, place=FOUR, me=1).due(closed, (), ()) == [absent(1, whole, 1)]
    culprits = Last(whole, culprits={0, 3}, step=FOUR)
    assert voter(*split, *later, place=FOUR, me=1).due(culprits, (), ()) == []


def test_nodes_that_follow_each_other_meet() -> None:
    """Whoever is two rounds behind goes one further: three who each went three further would never meet."""
    for later, next_round in ((1, 1), (2, 1), (3, 3), (4, 3)):
        absence = voter(absent(0, WITHOUT_C), absent(1, WITHOUT_C, later))
        assert absence.due(Past(held={0: b"a", 1: b"b"}), {TIP}, ()) == [absent(0, WITHOUT_C, next_round)]


def test_a_cheat_who_would_be_alone_in_the_game_is_a_voice_in_it() -> None:
    """Else a majority that nobody may close on binds everybody for ever."""
    place = Place(0, TIP, (0, 1), (0, 1, 2), (0, 1, 2), (0, 1), (0, 1, 2))
    entries: Entries = (b"a", b"")
    votes = [absent(author, entries) for author in (0, 1, 2)]
    past = Past(held={0: b"a", 1: b"b"}, culprits={0}, step=place)
    assert voter(*votes, place=place, me=2).due(past, (), ()) == [close(2, entries)]
    assert voter(*votes[1:], place=place, me=2).due(past, (), ()) == []
