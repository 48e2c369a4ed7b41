"""Whole matches over simulated links end with the same result on every node, whatever the links and processes do."""

import random
from unittest.mock import patch

import pytest

from p2pdice import events
from p2pdice.errors import IllegalMove
from p2pdice.moves import Bid, Concede, Liar
from p2pdice.players import OddsPlayer
from p2pdice.rulesets import PRESETS
from p2pdice.state import Exit
from protocol import limits
from protocol.consensus.kinds import parse_signed, read_vote
from protocol.consensus.position import Purpose
from protocol.consensus.verifier import verify
from protocol.crypto.keys import MatchKey
from protocol.events import (
    ConcedeAccepted,
    Continued,
    DiceRolled,
    Diverged,
    Happened,
    MatchFormed,
    MatchResult,
    MatchStarted,
    Misbehaved,
    PeerBack,
    PeerLost,
    Suspended,
    YourTurn,
)
from protocol.match.effects import (
    Broadcast,
    Conceded,
    Effect,
    Linked,
    PassOn,
    Played,
    Received,
    Ticked,
    Unlinked,
    WakeAt,
)
from protocol.match.match import Match
from protocol.match.signer import StaleMoveError
from protocol.wire.canonical import Value
from protocol.wire.frames import Carried, Need
from protocol.wire.genesis import Patience
from protocol.wire.messages import VOTES, Kind, Message, Signed, sign
from tests.simulation.world import World
from tests.tiers import slowly, thoroughly

CLASSIC = PRESETS["classic"].with_options({"dice": "2"})
LONG = PRESETS["classic"]


def assert_all_agree(world: World) -> None:
    """Check that all nodes hold one history, and one transcript unless a step was closed by votes.

    Transcripts may then hold different votes of the same majority.
    """
    assert len({machine.match.history.position.tip for machine in world.machines}) == 1
    transcripts = {machine.transcript for machine in world.machines}
    assert {verify(transcript).verdict for transcript in transcripts} == {"fair"}
    if not any(position.certificate for position in world.machines[0].match.history.chain):
        assert len(transcripts) == 1


@pytest.mark.parametrize("players", [2, 3, 5, *thoroughly([4, 6, 7, 8, 9, 10])])
def test_a_match_of_any_size_ends_with_identical_fair_transcripts(players: int) -> None:
    world = World(CLASSIC, players, seed=players)
    world.run()
    assert_all_agree(world)
    assert all(machine.confirmed for machine in world.machines)


@pytest.mark.parametrize("players", [2, 3, 5])
def test_the_last_receipt_confirms_the_end_without_a_timer(players: int) -> None:
    world = World(CLASSIC, players, seed=players)
    # Catch-up fetches the messages that were sent before the links existed.
    while not all(machine.match.is_formed for machine in world.machines):
        assert world.step()
    began = world.now
    while any(world.links.values()) or any(machine.turn for machine in world.machines):
        assert world.step()
    assert world.now == began
    assert [machine.confirmed for machine in world.machines] == [True] * players


@pytest.mark.parametrize("preset", ["motes", *thoroughly(["classic", "joker", "perudo"])])
@pytest.mark.parametrize("seed", [0, *thoroughly(range(1, 5)), *slowly(range(5, 20))])
def test_skipping_checks_whose_result_cannot_have_changed_makes_no_difference(
    preset: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds when links break and nodes restart, too."""

    def play() -> tuple[World, int]:
        with patch.object(Match, "_pump", autospec=True, side_effect=Match._pump) as look:
            world = World(PRESETS[preset], 4, seed, patience=Patience(5, 5))
            rng = random.Random(seed)
            for number in range(4000):
                if not world.step() or all(machine.confirmed for machine in world.machines):
                    break
                if number % 100 == 50:
                    one, other = rng.sample(range(4), 2)
                    world.cut(one, other)
                elif number % 100 == 75:
                    world.link(one, other)
                elif number % 400 == 180:
                    world.crash(one)
                elif number % 400 == 185:
                    world.restart(one)
        return world, look.call_count

    world, looks = play()
    monkeypatch.setattr(Match, "_is_calm", lambda match: False)
    same, more_looks = play()
    assert looks < 0.9 * more_looks
    for machine, twin in zip(world.machines, same.machines, strict=True):
        assert machine.shown == twin.shown
        assert (machine.transcript, machine.confirmed) == (twin.transcript, twin.confirmed)
    assert (world.now, world.delivered) == (same.now, same.delivered)


@pytest.mark.parametrize("seed", [*range(2), *thoroughly(range(2, 8))])
def test_the_order_of_delivery_does_not_change_what_honest_players_agree_on(seed: int) -> None:
    world = World(CLASSIC, 3, seed)
    world.run()
    assert_all_agree(world)


def test_a_seed_reproduces_a_match_byte_for_byte() -> None:
    transcripts = set()
    for _ in range(2):
        world = World(CLASSIC, 3, seed=5)
        world.run()
        transcripts.add((world.machines[0].transcript, world.delivered))
    assert len(transcripts) == 1


def test_the_owner_receives_the_events_of_a_match_in_order() -> None:
    world = World(CLASSIC, 2, seed=1)
    world.run()
    kinds = [type(event) for event in world.machines[0].shown]
    assert kinds[0] is MatchFormed
    assert kinds[1] is MatchStarted
    assert DiceRolled in kinds
    assert Happened in kinds
    assert YourTurn in kinds
    assert Misbehaved not in kinds
    assert Suspended not in kinds


def test_the_last_event_of_one_input_is_marked_as_last() -> None:
    world = World(CLASSIC, 2, seed=1)
    world.run()
    told = world.told(0, Happened)
    groups: list[list[str]] = [[]]
    for happened in told:
        groups[-1].append(type(happened.event).__name__)
        if happened.is_last:
            groups.append([])
    assert groups.pop() == []
    assert ["RoundStarted"] in groups
    assert ["BidMade"] in groups
    assert {tuple(group[:2]) for group in groups if group[0] == "HandsShown"} == {("HandsShown", "Judged")}
    assert groups[-1][-2:] == ["PlayerOut", "MatchOver"]


def test_the_hands_opened_at_a_showdown_are_the_ones_that_players_were_shown() -> None:
    world = World(CLASSIC, 4, seed=2)
    world.run()
    history = world.machines[0].match.history
    showdowns = [position.state for position in history.chain if position.state and position.state.hands]
    assert showdowns
    for me, machine in enumerate(world.machines):
        seat = machine.match.history.position.seats.index(me)
        hands = [event.hand for event in machine.shown if isinstance(event, DiceRolled)]
        opened = [state.hands[seat] for state in dict.fromkeys(showdowns) if state.hands and state.hands[seat]]
        assert opened
        assert set(opened) <= set(hands)


@pytest.mark.parametrize("seed", [*range(3), *thoroughly(range(3, 8)), *slowly(range(8, 20))])
def test_a_match_survives_cut_links_and_killed_nodes(seed: int) -> None:
    """Random links fail and random nodes die at random moments; all come back, and no player loses a seat."""
    world = World(CLASSIC, 3, seed)
    trouble = random.Random(seed)
    for _ in range(60):
        for _ in range(trouble.randrange(30)):
            world.step()
        one, other = trouble.sample(range(3), 2)
        if trouble.random() < 0.5:
            world.cut(one, other)
            for _ in range(trouble.randrange(20)):
                world.step()
            world.link(one, other)
        else:
            world.crash(one)
            for _ in range(trouble.randrange(20)):
                world.step()
            world.restart(one)
    world.run()
    assert_all_agree(world)
    assert not any(world.told(me, Misbehaved) for me in range(3))


@pytest.mark.parametrize("seed", [*range(4), *thoroughly(range(4, 12))])
def test_a_store_that_lost_its_last_messages_refetches_them_from_peers(seed: int) -> None:
    world = World(CLASSIC, 3, seed)
    trouble = random.Random(seed)
    for _ in range(15):
        for _ in range(20 + trouble.randrange(60)):
            world.step()
        one = trouble.randrange(3)
        world.crash(one)
        disk = world.machines[one].disk
        world.restart(one, disk[: trouble.randrange(len(disk) + 1)])
    world.run()
    assert_all_agree(world)
    assert not any(world.told(me, Misbehaved) for me in range(3))


@pytest.mark.parametrize("seed", range(6))
def test_two_players_without_a_link_play_on_through_a_third(seed: int) -> None:
    """Their link is cut before the match is formed."""
    world = World(CLASSIC, 3, seed, patience=Patience(120, 15))
    world.cut(1, 2)
    world.run()
    assert_all_agree(world)
    assert world.still_since < 15


def test_a_report_of_unreached_players_ends_with_the_link_over_which_it_came() -> None:
    """One end of a link may notice its end much later than the other, and frames in between are lost."""
    world = World(CLASSIC, 3, seed=1)
    world.first_turn()
    world.cut(1, 2)
    while world.links[1, 0]:
        world.deliver(1, 0)
    relay = world.machines[0].match.relay
    assert relay.unreached[1] == (2,)
    world.feed(0, Unlinked(1))
    world.link(1, 2)
    world.links[1, 0].clear()
    world.feed(0, Linked(1))
    world.feed(1, Linked(0))
    while world.links[1, 0]:
        world.deliver(1, 0)
    assert not relay.unreached.get(1)


def test_relayed_votes_have_a_budget_per_author_and_useless_votes_are_not_relayed() -> None:
    world = World(CLASSIC, 5, seed=1, patience=Patience(120, 15))
    world.cut(1, 2)
    world.cut(1, 4)
    relay, victim, liar = 0, 1, 2
    match = world.machines[relay].match
    while not (
        match.relay.unreached.get(victim) and match.history.position.step > match.history.position.root_step + 1
    ):
        assert world.step()
    history = match.history
    root, place = history.root, history.position
    value = (place.step, place.tip, (b"",) * len(place.owed))

    def vote(number: int, author: int = liar) -> Signed:
        message = Message(history.match, root.step, root.tip, author, Kind.ABSENT, (number, value, -1))
        return sign(message, MatchKey(world.seeds[author]))

    def passed_on(effects: list[Effect]) -> int:
        return sum(isinstance(effect, PassOn) and victim in effect.authors for effect in effects)

    def budget(numbers: range, at: float, author: int = liar) -> int:
        for number in numbers:
            match.relay.pass_on(vote(number, author), at)
        effects, match._effects[:] = [*match._effects], []
        return passed_on(effects)

    now = world.now + 10
    assert budget(range(300), now) == limits.PASS_ON_BURST
    assert budget(range(1), now, author=4) == 1
    ordinary = next(place.entries[liar] for place in reversed(history.chain) if liar in place.entries)
    match.relay.pass_on(ordinary, now)
    assert passed_on([match._effects.pop()]) == 1, "votes do not use up the budget of the liar's other messages"
    assert budget(range(300, 400), now + 2) == 2 * limits.PASS_ON_RATE

    now += 100
    heard = [effect for number in range(100) for effect in match.handle(Received(liar, vote(number)), now)]
    assert passed_on(heard) == 2, "only the votes of this round and the next are relayed"
    shown = match.catch_up.answer(victim, Need(history.match, root.step, root.tip, 0), now)
    assert shown is not None
    votes = [read_vote(each).round for pair in shown.messages if (each := parse_signed(*pair)).message.kind in VOTES]
    assert len(votes) <= 2 + limits.VOTE_ROUNDS_LATER


@pytest.mark.parametrize("seed", [0, 7, *thoroughly([3, 5, 9, 12]), *slowly([1, 2, 4, 6, 8, 10, 11, 13])])
def test_two_halves_that_voted_during_a_partition_reunite_without_delay(seed: int) -> None:
    """Votes cast before the dead links were noticed must not delay every later step or cost a player the seat."""
    patience = 5
    world = World(CLASSIC, 4, seed, patience=Patience(patience, patience))
    while world.delivered < 400 + seed:
        assert world.step()
    across = [(one, other) for one in (0, 1) for other in (2, 3)]
    cut_at = world.now
    while world.now < cut_at + 3 * patience:  # frames are lost until the links are found to be dead
        for one, other in across:
            world.links[one, other].clear()
            world.links[other, one].clear()
        if not world.step():
            break
    world.now = cut_at + 3 * patience
    for one, other in across:
        world.cut(one, other)
    for one, other in across:
        world.link(one, other)
    healed_at = world.now
    world.run()
    assert_all_agree(world)
    assert world.still_since < healed_at + 5 * patience


def test_a_link_that_comes_back_is_charged_only_to_a_player_whose_message_is_missing() -> None:
    world = World(CLASSIC, 3, seed=1, patience=Patience(120, 15))
    match = world.machines[0].match
    while not (match.is_formed and match.history.missing() == (2,)):
        assert world.step()
    with patch.object(match.waiting.timeouts, "came_back") as charged:
        for author in (1, 2):
            world.cut(0, author)
            world.link(0, author)
    assert [call.args[0] for call in charged.call_args_list] == [2]


def test_nodes_that_were_all_killed_at_once_resume_from_disk() -> None:
    world = World(CLASSIC, 3, seed=3)
    for _ in range(150):
        world.step()
    for me in range(3):
        world.crash(me)
    for me in range(3):
        world.restart(me)
    world.run()
    assert_all_agree(world)


def test_a_lost_player_suspends_the_match_visibly_and_their_return_continues_it() -> None:
    world = World(LONG, 2, seed=4)
    for _ in range(80):
        world.step()
    world.crash(1)
    world.run()
    assert world.told(0, PeerLost)
    assert world.told(0, Suspended)
    assert not world.machines[0].transcript
    world.restart(1)
    world.run()
    assert world.told(0, PeerBack)
    assert world.told(0, Continued)
    assert_all_agree(world)


def test_a_link_lost_before_the_match_is_formed_is_reported_once_it_is() -> None:
    world = World(CLASSIC, 3, seed=1)
    world.cut(1, 2)
    world.now += 2.0
    world.feed(1, Ticked())
    assert not world.told(1, PeerLost)
    world.first_turn()
    world.feed(1, Ticked())
    assert world.told(1, PeerLost) == [PeerLost(world.machines[1].match.info[2])]


def test_a_link_that_is_soon_back_is_not_reported_lost() -> None:
    world = World(CLASSIC, 3, seed=1)
    world.first_turn()
    world.cut(1, 2)
    world.now += 0.5
    world.link(1, 2)
    world.now += 1.0
    world.feed(1, Ticked())
    assert not world.told(1, PeerLost)


def test_a_player_who_left_came_back_and_lost_the_link_has_not_left_again() -> None:
    world = World(CLASSIC, 3, seed=1)
    world.first_turn()
    for on_purpose in (True, False):
        world.feed(1, Unlinked(2, on_purpose=on_purpose))
        world.now += 1.0
        world.feed(1, Ticked())
        world.feed(1, Linked(2))
    assert [lost.left_on_purpose for lost in world.told(1, PeerLost)] == [True, False]


@pytest.mark.parametrize(("is_linked", "seconds"), [(True, 5), (False, 3)])
def test_the_end_is_unconfirmed_if_a_linked_player_has_not_signed_it_in_time(is_linked: bool, seconds: int) -> None:
    """A player without a link is waited for only briefly."""
    world = World(CLASSIC, 2, seed=1, patience=Patience(5, 5))
    while not world.machines[0].match.is_ended:
        assert world.step()
    if not is_linked:
        world.cut(0, 1)
    for _ in range(seconds - 1):
        world.now += 1
        world.feed(0, Ticked())
    assert not world.told(0, MatchResult)
    world.now += 1
    world.feed(0, Ticked())
    assert [end.confirmed for end in world.told(0, MatchResult)] == [False]


def test_after_the_end_a_player_who_leaves_is_reported_and_a_lost_link_is_not() -> None:
    world = World(CLASSIC, 3, seed=1)
    world.run()
    world.feed(0, Unlinked(1, on_purpose=True))
    world.feed(0, Unlinked(2))
    assert world.told(0, PeerLost) == [PeerLost(world.machines[0].match.info[1], left_on_purpose=True)]


class Quitter(OddsPlayer):
    """Concedes on the second turn."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.turns = 0

    def choose(self, view):  # type: ignore[no-untyped-def]
        self.turns += 1
        return Concede() if self.turns == 2 else super().choose(view)


@pytest.mark.parametrize("players", [2, 3, 5])
def test_conceding_ends_the_match_only_for_that_player(players: int) -> None:
    world = World(CLASSIC, players, seed=players)
    world.machines[0].player = Quitter(random.Random(1))
    world.run()
    assert_all_agree(world)
    history = world.machines[0].match.history
    assert world.told(0, ConcedeAccepted)
    state = history.position.state
    assert state is not None
    assert history.position.seats.index(0) in state.out
    kinds = [signed.message.kind for position in history.chain for signed in position.entries.values()]
    assert kinds.count(Kind.RESIGN) == 1


@pytest.mark.parametrize("players", [2, 3])
def test_a_player_who_conceded_and_then_crashed_still_concedes_after_a_restart(players: int) -> None:
    world = World(CLASSIC, players, seed=players)
    turn = world.first_turn()
    me = (turn + 1) % players
    world.feed(me, Conceded())
    (accepted,) = world.told(me, ConcedeAccepted)
    assert accepted.awaited, "it is not this player's step"
    world.crash(me)
    world.machines[me].shown.clear()
    world.restart(me)
    kinds = [type(event) for event in world.machines[me].shown]
    assert kinds.index(MatchStarted) < kinds.index(ConcedeAccepted)
    world.run()
    assert_all_agree(world)
    history = world.machines[me].match.history
    assert history.position.state is not None
    assert Exit((history.position.seats.index(me),), "conceded") in history.position.state.exits
    world.crash(me)
    world.machines[me].shown.clear()
    world.restart(me)
    assert world.told(me, ConcedeAccepted) == []


def test_a_concession_is_reported_before_its_consequences() -> None:
    world = World(CLASSIC, 2, seed=1)
    world.machines[0].player = Quitter(random.Random(1))
    world.run()
    told = world.machines[0].shown
    (accepted,) = (place for place, event in enumerate(told) if isinstance(event, ConcedeAccepted))
    outs = [
        place
        for place, event in enumerate(told)
        if isinstance(event, Happened) and isinstance(event.event, events.PlayerOut)
    ]
    assert accepted < outs[0]


def test_an_illegal_move_is_refused_before_it_is_signed() -> None:
    world = World(CLASSIC, 2, seed=6)
    me = world.first_turn()
    turn = world.machines[me].turn
    assert turn is not None
    disk = list(world.machines[me].disk)
    with pytest.raises(IllegalMove):
        world.machines[me].match.handle(Played(Liar(), turn.token), world.now)
    assert world.machines[me].disk == disk
    world.run()
    assert_all_agree(world)


def test_an_answer_to_a_turn_that_is_over_is_refused() -> None:
    world = World(CLASSIC, 2, seed=6)
    me = world.first_turn()
    turn = world.machines[me].turn
    assert turn is not None
    with pytest.raises(StaleMoveError):
        world.machines[me].match.handle(Played(Bid(1, 2), turn.token + 1), world.now)
    world.machines[me].match.handle(Played(Bid(1, 2), turn.token), world.now)
    with pytest.raises(StaleMoveError):
        world.machines[me].match.handle(Played(Bid(1, 3), turn.token), world.now)


def test_a_player_who_signs_an_illegal_move_is_proven_guilty_and_evicted() -> None:
    world = World(CLASSIC, 3, seed=7)
    cheat = world.first_turn()
    step = world.call_nothing(cheat).message.step
    world.run()
    assert len({machine.match.history.position.tip for machine in world.machines}) == 1
    name = world.machines[cheat].match.info[cheat].name
    for other in range(3):
        if other != cheat:
            (accusation,) = world.told(other, Misbehaved)
            assert accusation.player == world.machines[other].match.info[cheat]
            (proof,) = world.machines[other].proofs
            verdict = verify(proof)
            assert (verdict.verdict, verdict.culprit, verdict.step) == ("misconduct", name, step)
            whole = verify(world.machines[other].transcript)
            assert (whole.verdict, whole.culprit, whole.step) == ("misconduct", name, step)
            assert whole.winners
    state = world.machines[0].match.history.position.state
    assert state is not None
    assert state.places[-1] == (world.machines[0].match.history.position.seats.index(cheat),)


@pytest.mark.parametrize(("later", "signs_anew"), [(0, False), (1, True)])
def test_an_invalid_message_signed_with_a_players_key_does_not_stop_the_match(later: int, signs_anew: bool) -> None:
    """A second holder of the match key signs an illegal move for the open step, or one with a wrong step number."""
    world = World(CLASSIC, 3, seed=5)
    histories = [machine.match.history for machine in world.machines]
    while len({history.position.tip for history in histories}) > 1 or histories[0].position.purpose is not Purpose.TURN:
        assert world.step()
    (bidder,) = histories[0].position.owed
    before = histories[0].position.tip
    while histories[bidder].position.tip == before:
        assert world.step()
    step, tip, (me,) = histories[bidder].position.step, histories[bidder].position.tip, histories[bidder].position.owed
    assert histories[me].position.tip == before
    match = world.machines[me].match
    forged = Message(match.history.match, step + later, tip, me, Kind.MOVE, "1x2")
    world.feed(me, Received(bidder, sign(forged, match.signer.key)))
    while match.history.position.tip == before:
        assert world.step()
    assert (me in match.replica.proven) is not signs_anew
    while match.history.position.step == step:
        assert world.step()
    assert (me in match.history.chain[step + 1].entries) is signs_anew


@pytest.mark.parametrize("has_friend", [False, True])
def test_a_late_proof_of_an_old_contradiction_does_not_undo_the_round(has_friend: bool) -> None:
    """The cheat signs a second REVEAL for an earlier step; an accomplice may vote that the first never arrived."""
    world = World(LONG, 5, seed=4, patience=Patience(20, 10))
    history = world.machines[0].match.history
    while len(history.chain) < 7 or any(position.purpose is not Purpose.TURN for position in history.chain[-7:]):
        assert world.step()
    step = next(position.step for position in reversed(history.chain) if position.kind is Kind.REVEAL)
    position, bids = history.chain[step], history.chain[-1].step
    tips = [place.tip for place in history.chain]
    cheat, friend = 1, 4
    said = history.chain[step + 1].entries
    second = Message(history.match, step, position.tip, cheat, Kind.REVEAL, bytes(32))
    if has_friend:
        world.crash(friend)
        ids = tuple(b"" if author == cheat else said[author].id for author in position.owed)
        vote = Message(history.match, step, position.tip, friend, Kind.ABSENT, (0, ids, -1))
        for other in range(4):
            world.send(friend, other, Carried(*sign(vote, MatchKey(world.seeds[friend])).wire))
    for other in range(4):
        if other != cheat:
            world.send(cheat, other, Carried(*sign(second, MatchKey(world.seeds[cheat])).wire))
    world.run()
    for author in set(range(4)) - {cheat}:
        chain = world.machines[author].match.history.chain
        assert [place.tip for place in chain[: bids + 1]] == tips
        left = next(after.step - 1 for after in chain if cheat in after.left)
        assert left >= bids
        assert world.told(author, Misbehaved)


def test_a_spectator_follows_without_a_seat() -> None:
    from protocol.consensus.transcript import open_transcript
    from protocol.match.effects import Received

    world = World(CLASSIC, 3, seed=8)
    world.run()
    spectator = Match(world.data, None, bytes(32))
    for signed in open_transcript(world.machines[0].transcript).messages:
        assert not any(
            isinstance(event, YourTurn | DiceRolled)
            for event in spectator.handle(Received(signed.message.author, signed), 0.0)
        )
    assert spectator.is_ended
    assert spectator.history.position.state == world.machines[0].match.history.position.state


class Mistaken(Match):
    """A program with a bug: once the match runs, its LOCKs name a different game state from the other players'."""

    def _sign(self, kind: int, body: Value) -> None:
        is_wrong = kind is Kind.LOCK and self.is_formed
        super()._sign(kind, bytes(32) if is_wrong else body)

    def _send(self, signed: Signed) -> None:
        if signed.message.body == bytes(32):
            self._effects.append(Broadcast(Carried(*signed.wire)))
            self._diverged = True
        else:
            super()._send(signed)


def test_two_programs_that_disagree_stop_and_blame_no_player() -> None:
    world = World(CLASSIC, 2, seed=3, kinds={1: Mistaken})
    world.run()
    (told,) = world.told(0, Diverged)
    assert told.step == world.machines[0].match.history.position.step
    assert not world.told(0, Misbehaved)
    assert not world.machines[0].transcript


def test_a_program_that_disagrees_with_two_others_counts_as_absent() -> None:
    world = World(CLASSIC, 3, seed=3, patience=Patience(5, 5), kinds={1: Mistaken})
    world.run()
    history = world.machines[0].match.history
    assert history.position.left == (1,)
    assert history.position.purpose is Purpose.END
    assert not world.told(0, Diverged)
    assert not world.told(0, Misbehaved)


def test_a_timer_that_fires_early_is_set_again() -> None:
    """An event loop may fire a timer slightly early. The match then asks again to be woken at the same time."""
    world = World(CLASSIC, 2, seed=4)
    for _ in range(80):
        world.step()
    world.crash(1)
    match = world.machines[0].match
    due = world.machines[0].wake
    assert due is not None
    again = [effect for effect in match.handle(Ticked(), due - 0.01) if isinstance(effect, WakeAt)]
    assert again
    assert again[-1].time <= due


@pytest.mark.parametrize("after", range(40, 640, 60))
def test_a_match_of_three_is_not_suspended_while_two_are_present(after: int) -> None:
    world = World(LONG, 3, 5, patience=Patience(30, 10))
    for _ in range(after):
        assert world.step()
    world.crash(2)
    world.run()
    assert [world.told(me, Suspended) for me in (0, 1)] == [[], []]
    assert any(isinstance(event.event, events.PlayerOut) for event in world.told(0, Happened))
