"""Planted bugs. Each changes the program in one place, and names the check that must catch it.

``python -m tests.simulation.planted`` searches for the first seed that catches each bug.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from p2pdice import stakes
from p2pdice.errors import RulesError
from p2pdice.events import Transition
from p2pdice.moves import Wager
from p2pdice.stakes import check_wager
from p2pdice.state import State
from protocol import limits
from protocol.consensus import ballot as ballot_module
from protocol.consensus import history as history_module
from protocol.consensus import kinds as kinds_module
from protocol.consensus import replica as replica_module
from protocol.consensus import steps as steps_module
from protocol.consensus.ballot import Ballot, Closed
from protocol.consensus.branches import Branches, Outcome
from protocol.consensus.history import History
from protocol.consensus.kinds import SCRIPTS, contradiction
from protocol.consensus.position import FORMED, Commitments, Position, Purpose
from protocol.consensus.replica import Learned, Replica
from protocol.consensus.rule import MisconductError, RejectedMessageError, Rule
from protocol.consensus.steps import advance, next_step
from protocol.crypto.hashing import Context, derive_secret, tagged_hash
from protocol.match import match as match_module
from protocol.match import signer as signer_module
from protocol.match import waiting as waiting_module
from protocol.match.catch_up import CatchUp
from protocol.match.effects import Effect, MatchInput, StoreChoice
from protocol.match.match import Match
from protocol.match.waiting import Timeouts, Voter, Waiting
from protocol.node.outbox import Deliver, Delivered, Do, Outbox, Write
from protocol.node.playing import PlayerSession, Proposals
from protocol.storage.database import Database
from protocol.wire.frames import Have, Need, Page
from protocol.wire.genesis import Genesis
from protocol.wire.messages import Kind, Signed
from tests.simulation.invariants import Check
from tests.simulation.plant import Bug, NotCaughtError, Plant, first_catch
from tests.simulation.replacing import replaced, replaced_value


def own_messages_are_not_stored(plant: Plant) -> AbstractContextManager[None]:
    """A node sends its own messages without storing them."""

    def is_own(match: Match, effect: Effect) -> bool:
        return isinstance(effect, Learned) and effect.must_store and effect.signed.message.author == match.me

    return _dropping(plant, is_own)


def stakes_are_not_stored(plant: Plant) -> AbstractContextManager[None]:
    """A node does not store its owner's stake, which is still sealed."""
    return _dropping(plant, lambda _, effect: isinstance(effect, StoreChoice))


def _dropping(plant: Plant, is_dropped: Callable[[Match, Effect], bool]) -> AbstractContextManager[None]:
    """Ignore some effects of each input."""
    handle = Match.handle

    def bad(match: Match, item: MatchInput, now: float) -> list[Effect]:
        effects = handle(match, item, now)
        kept = [effect for effect in effects if not is_dropped(match, effect)]
        if len(kept) < len(effects):
            plant.runs()
        return kept

    return replaced(Match, Match.handle, bad)


def frames_are_sent_before_the_store_is_written(plant: Plant) -> AbstractContextManager[None]:
    """A node sends frames before it has written its store."""
    steps = Outbox.steps

    def bad(outbox: Outbox[Any]) -> Iterator[Write | Deliver[Any] | Delivered | Do]:
        late = []
        for step in steps(outbox):
            if isinstance(step, Write):
                late.append(step)
            else:
                if late:
                    plant.runs()
                yield step
        yield from late

    return replaced(Outbox, Outbox[Any].steps, bad)


def moves_are_sent_before_they_are_stored(plant: Plant) -> AbstractContextManager[None]:
    """A move is sent before it is on the disk."""
    binds = Rule[Any].binds

    def bad(rule: Rule[Any], position: Position, witnessed: Collection[int]) -> bool:
        if rule.kind != Kind.MOVE:
            return binds(rule, position, witnessed)
        plant.runs()
        return False

    return replaced(Rule, Rule[Any].binds, bad)


def openings_are_sent_before_they_are_stored(plant: Plant) -> AbstractContextManager[None]:
    """A REVEAL or OPEN is sent before it is on the disk, even if witnesses' signatures in it arrived just now."""
    may_carry_more = kinds_module._may_carry_more

    def bad(position: Position, witnessed: Collection[int]) -> bool:
        if may_carry_more(position, witnessed):
            plant.runs()
        return False

    return replaced(kinds_module, may_carry_more, bad)


def commits_are_confirmed_before_they_are_on_the_disk(plant: Plant) -> AbstractContextManager[None]:
    """The store confirms a commit, and its note counts it, before the disk is synchronized."""
    convert = Database._convert

    def bad(database: Database) -> int:
        plant.runs()
        version = convert(database)
        database.connection.execute("PRAGMA synchronous=NORMAL")
        return version

    return replaced(Database, Database._convert, bad)


@contextmanager
def rolls_have_no_lock(plant: Plant) -> Iterator[None]:
    """A roll has no LOCK: players reveal as soon as all have committed."""
    scripts = {**SCRIPTS, Purpose.DEAL: (Kind.COMMIT, Kind.REVEAL), Purpose.SEATING: (Kind.COMMIT, Kind.REVEAL)}

    def bad(position: Position, state: State | None, ahead: Commitments | None, is_spoilt: bool) -> tuple[Purpose, int]:
        purpose = Purpose.SEATING if state is None else steps_module.FOR[state.expects.kind]
        if purpose is position.purpose and position.kind in (Kind.COMMIT, Kind.LOCK) and not is_spoilt:
            if purpose in (Purpose.DEAL, Purpose.SEATING):
                plant.runs()
            return purpose, position.place_in_script + 1
        return purpose, int(purpose is Purpose.DEAL and ahead is not None)

    with replaced_value(steps_module, SCRIPTS, scripts), replaced(steps_module, next_step, bad):
        yield


def the_tip_does_not_cover_the_step_number(plant: Plant) -> AbstractContextManager[None]:
    """The hash T does not cover the number of the step."""

    def bad(tag: str, *parts: bytes | int) -> bytes:
        if tag != "step":
            return tagged_hash(tag, *parts)
        plant.runs()
        return tagged_hash(tag, *parts[:1], *parts[2:])

    return replaced(steps_module, tagged_hash, bad)


def _on_resume(break_it: Callable[[Match], None]) -> AbstractContextManager[None]:
    init = Match.__init__

    def bad(
        match: Match,
        genesis_data: bytes,
        me: int | None,
        seed: bytes,
        stored: Iterable[Signed] | None = None,
        choices: Mapping[int, str] | None = None,
        **options: Any,
    ) -> None:
        init(match, genesis_data, me, seed, stored, choices, **options)
        if stored is not None:
            break_it(match)

    return replaced(Match, Match.__init__, bad)


@contextmanager
def a_restarted_node_draws_new_secrets(plant: Plant) -> Iterator[None]:
    """A restarted node draws new secrets, and does not check whether they match its commitments."""

    def fresh(match: Match) -> None:
        match.signer._seed = tagged_hash("fresh", match.signer._seed)

    judge, send = History.judge, Match._send

    def lenient(history: History, position: Position, signed: Signed) -> None:
        try:
            judge(history, position, signed)
        except MisconductError:
            plant.runs()

    def blind(match: Match, signed: Signed) -> None:
        with replaced(History, History.judge, lenient):
            send(match, signed)

    with _on_resume(fresh), replaced(Match, Match._send, blind):
        yield


def signatures_in_pages_are_not_checked(plant: Plant) -> AbstractContextManager[None]:
    """A node does not check the signatures of messages in pages."""
    take_page = Match._take_page

    def believe(history: History, signed: Signed) -> Signed:
        plant.runs()
        return signed._replace(checked=True)

    def bad(match: Match, sender: int, page: Page) -> None:
        with replaced(History, History.check_signature, believe):
            take_page(match, sender, page)

    return replaced(Match, Match._take_page, bad)


def a_duplicate_counts_as_a_contradiction(plant: Plant) -> AbstractContextManager[None]:
    """A message that arrives twice counts as two different messages for one slot."""
    take = Ballot.take

    def bad(ballot: Ballot, signed: Signed, *, is_kept: bool = False) -> Outcome:
        outcome = take(ballot, signed, is_kept=is_kept)
        if outcome is Outcome.DUPLICATE:
            plant.runs()
            message = signed.message
            raise MisconductError(message.author, message.step, "two messages", (signed, signed))
        return outcome

    return replaced(Ballot, Ballot.take, bad)


def a_second_message_for_a_slot_is_ignored(plant: Plant) -> AbstractContextManager[None]:
    """A node ignores a second message for one slot."""

    def blind(first: Signed, second: Signed) -> str:
        if contradiction(first, second):
            plant.runs()
        return ""

    return replaced(replica_module, contradiction, blind)


def _not_judged(plant: Plant, kind: Kind) -> AbstractContextManager[None]:
    judge = History.judge

    def bad(history: History, position: Position, signed: Signed) -> None:
        try:
            judge(history, position, signed)
        except (MisconductError, RejectedMessageError):
            if signed.message.kind is not kind or signed.message.author not in position.owed or kind != position.kind:
                raise
            plant.runs()

    return replaced(History, History.judge, bad)


def shares_are_not_checked(plant: Plant) -> AbstractContextManager[None]:
    """A revealed share is not compared with its commitment."""
    return _not_judged(plant, Kind.REVEAL)


def hand_keys_are_not_checked(plant: Plant) -> AbstractContextManager[None]:
    """An opened hand key is not compared with its commitment."""
    return _not_judged(plant, Kind.OPEN)


def locks_are_not_compared(plant: Plant) -> AbstractContextManager[None]:
    """A node accepts a LOCK on a different state."""
    return _not_judged(plant, Kind.LOCK)


@contextmanager
def stakes_are_not_checked(plant: Plant) -> Iterator[None]:
    """A bet above the player's funds is accepted, in the consensus and in the engine."""

    def bad(wager: Iterable[int]) -> Wager:
        numbers = tuple(wager)
        try:
            return check_wager(numbers)
        except RulesError:
            plant.runs()
            return Wager(*numbers)

    with replaced(kinds_module, check_wager, bad), replaced(stakes, check_wager, bad):
        yield


def messages_for_later_steps_are_not_limited(plant: Plant) -> AbstractContextManager[None]:
    """A node keeps an unlimited number of messages for later steps."""

    def bad(branches: Branches, signed: Signed, *, is_kept: bool = False) -> Outcome:
        message = signed.message
        kept = branches.later.setdefault(message.author, {})
        kept[signed.id] = signed
        if len(kept) > limits.FUTURE_PER_AUTHOR:
            plant.runs()
        return Outcome.FUTURE

    return replaced(Branches, Branches.keep_for_later, bad)


def missing_messages_are_not_requested(plant: Plant) -> AbstractContextManager[None]:
    """A node does not request the messages of a peer that announces more than the node has."""
    lacks = CatchUp._lacks

    def bad(catch_up: CatchUp, mine: Have, theirs: Have) -> bool:
        if lacks(catch_up, mine, theirs):
            plant.runs()
        return False

    return replaced(CatchUp, CatchUp._lacks, bad)


@contextmanager
def every_page_starts_at_the_beginning(plant: Plant) -> Iterator[None]:
    """Every page starts at the beginning, not where the last one ended. Pages are small, so that there are many."""
    answer = CatchUp.answer

    def bad(catch_up: CatchUp, asker: int, need: Need, now: float) -> Page | None:
        if need.cursor:
            plant.runs()
        return answer(catch_up, asker, need._replace(cursor=0), now)

    with replaced(CatchUp, CatchUp.answer, bad), replaced_value(limits, limits.PAGE, 2 * limits.KIB):
        yield


def messages_of_a_step_are_not_sorted(plant: Plant) -> AbstractContextManager[None]:
    """The messages of a step are not sorted by author."""
    follow = History.follow

    def bad(history: History, line: Sequence[Position], held: Mapping[int, Signed]) -> int | None:
        void = follow(history, line, held)
        for step, position in enumerate(history.chain):
            if len(position.entries) > 1:
                plant.runs()
                history.chain[step] = position._replace(entries=dict(reversed([*position.entries.items()])))
        return void

    return replaced(History, History.follow, bad)


def the_match_ends_only_when_all_have_signed(plant: Plant) -> AbstractContextManager[None]:
    """A match is over only when all players have signed the result."""
    await_results = Waiting._await_results

    def bad(waiting: Waiting, now: float) -> float:
        due = await_results(waiting, now)
        history = waiting._history
        if waiting.is_over and not {*history.position.players} <= {*history.results}:
            plant.runs()
            waiting.is_over = False
        return due

    return replaced(Waiting, Waiting._await_results, bad)


def hand_key_and_share_are_equal(plant: Plant) -> AbstractContextManager[None]:
    """A player's hand key and share are the same secret."""

    def bad(seed: bytes, context: Context, purpose: str) -> bytes:
        plant.runs()
        return derive_secret(seed, context, "hand")

    return replaced(signer_module, derive_secret, bad)


def evicted_players_leave_the_base_at_once(plant: Plant) -> AbstractContextManager[None]:
    """A player who is voted absent no longer counts in the next vote, even before the next LOCK."""

    def bad(
        genesis: Genesis,
        match: bytes,
        position: Position,
        entries: Mapping[int, Signed],
        certificate: tuple[Signed, ...],
        transition: Transition | None,
    ) -> Position:
        after = advance(genesis, match, position, entries, certificate, transition)
        base = tuple(author for author in after.base if author not in after.left)
        if base != after.base:
            plant.runs()
        return after._replace(base=base)

    return replaced(history_module, advance, bad)


def rounds_of_votes_do_not_wait(plant: Plant) -> AbstractContextManager[None]:
    """A node leaves a round of votes as soon as it has voted, without waiting for other votes."""
    ripe_nil = Voter._ripe_nil

    def bad(voter: Voter, now: float) -> Any:
        vote = voter._replica.ballot.nil_vote
        if vote is not None:
            plant.runs()
        return vote or ripe_nil(voter, now)

    return replaced(Voter, Voter._ripe_nil, bad)


def a_proven_cheat_stays_in_the_match(plant: Plant) -> AbstractContextManager[None]:
    """A player who is proven to have cheated stays in the match."""

    def bad(ballot: Ballot, author: int, tip: bytes = b"") -> None:
        plant.runs()

    return replaced(Ballot, Ballot.convict, bad)


def absence_counts_as_misconduct(plant: Plant) -> AbstractContextManager[None]:
    """A player who is voted absent counts as a cheat."""
    close = Replica._close

    def bad(replica: Replica, closed: Closed) -> None:
        close(replica, closed)
        for author in set(closed.position.owed).difference(closed.entries) if closed.certificate else ():
            plant.runs()
            replica._prove(MisconductError(author, closed.position.step, "was silent", closed.certificate[:1]))

    return replaced(Replica, Replica._close, bad)


def nobody_votes_that_another_is_absent(plant: Plant) -> AbstractContextManager[None]:
    """No player ever votes that another is absent."""

    def bad(clock: Timeouts, missing: Iterable[int], out: Iterable[int]) -> float:
        plant.runs()
        return 1e9

    return replaced(Timeouts, Timeouts.due, bad)


def messages_without_a_place_are_not_kept(plant: Plant) -> AbstractContextManager[None]:
    """A message without a place in the history is not compared with later messages of its author."""

    def bad(replica: Replica, signed: Signed) -> None:
        plant.runs()

    return replaced(Replica, Replica._put_aside, bad)


def useless_pages_are_requested_for_ever(plant: Plant) -> AbstractContextManager[None]:
    """A node keeps requesting pages from a peer whose pages do not advance the history."""
    go_on = CatchUp.go_on

    def bad(catch_up: CatchUp, author: int, page: Page, waste: float) -> bool:
        plant.runs()
        return go_on(catch_up, author, page, 0.0)

    return replaced(CatchUp, CatchUp.go_on, bad)


@contextmanager
def absent_players_are_evicted_from_a_proposal(plant: Plant) -> Iterator[None]:
    """A player who has not signed COMMIT of the first roll is voted absent."""
    vote = Match._vote

    def bad(match: Match) -> bool:
        if match.history.position.step < FORMED:
            plant.runs()
        return vote(match)

    with (
        replaced_value(match_module, FORMED, FORMED - 1),
        replaced_value(waiting_module, FORMED, FORMED - 1),
        replaced_value(ballot_module, FORMED, FORMED - 1),
        replaced(Match, Match._vote, bad),
    ):
        yield


def players_are_bound_to_several_proposals(plant: Plant) -> AbstractContextManager[None]:
    """A player who has signed the COMMIT of the first roll in one proposal also signs it in others."""
    may_commit = Proposals._may_commit

    def bad(proposals: Proposals, playing: PlayerSession) -> bool:
        if not may_commit(proposals, playing):
            plant.runs()
        return True

    return replaced(Proposals, Proposals._may_commit, bad)


def a_late_contradiction_reopens_a_step(plant: Plant) -> AbstractContextManager[None]:
    """A cheat counts as absent from a step even if others have signed after it."""
    line = Ballot.line

    def bad(ballot: Ballot) -> list[Position]:
        found: list[Position] = line.__get__(ballot)
        for number, position in enumerate(found[:-1]):
            if not ballot._convicted.isdisjoint(position.owed):
                plant.runs()
                return found[: number + 1]
        return found

    return replaced_value(Ballot, line, property(bad))


def all_votes_are_stored(plant: Plant) -> AbstractContextManager[None]:
    """A node stores all votes of other players."""
    take = Replica._take_vote

    def bad(replica: Replica, signed: Signed) -> Outcome:
        outcome = take(replica, signed)
        if outcome is Outcome.ADDED and signed.message.author != replica.me:
            plant.runs()
            replica.store_votes((signed,))
        return outcome

    return replaced(Replica, Replica._take_vote, bad)


PLANTED: Final[Mapping[str, Bug]] = {
    bug.name: bug
    for bug in (
        Bug(a_duplicate_counts_as_a_contradiction, Check.THE_VERIFIER_CONFIRMS_ACCUSATIONS, 2),
        Bug(a_late_contradiction_reopens_a_step, Check.A_LATE_CONTRADICTION_CHANGES_NO_STEP, 156),
        Bug(a_proven_cheat_stays_in_the_match, Check.EVERY_MATCH_ENDS, 379),
        Bug(a_restarted_node_draws_new_secrets, Check.NO_HONEST_PLAYER_IS_BLAMED, 16),
        Bug(a_second_message_for_a_slot_is_ignored, Check.CONTRADICTIONS_ARE_PROVEN, 44),
        Bug(absence_counts_as_misconduct, Check.THE_VERIFIER_CONFIRMS_ACCUSATIONS, 6),
        Bug(absent_players_are_evicted_from_a_proposal, Check.NOBODY_IS_EVICTED_FROM_A_PROPOSAL, 70),
        Bug(all_votes_are_stored, Check.STORED_VOTES_ARE_BOUNDED, 85),
        Bug(commits_are_confirmed_before_they_are_on_the_disk, Check.NO_CONFIRMED_DATA_IS_LOST, 16),
        Bug(every_page_starts_at_the_beginning, Check.EVERY_MATCH_ENDS, 80),
        Bug(evicted_players_leave_the_base_at_once, Check.NOBODY_IS_EVICTED_WITHOUT_VOTES, 34),
        Bug(frames_are_sent_before_the_store_is_written, Check.MESSAGES_ARE_STORED_BEFORE_SENDING, 0),
        Bug(hand_key_and_share_are_equal, Check.NO_FRAME_CONTAINS_AN_UNOPENED_SECRET, 0),
        Bug(hand_keys_are_not_checked, Check.CHEATS_ARE_NOTICED, 514),
        Bug(locks_are_not_compared, Check.LOCKS_AGREE, 371),
        Bug(messages_for_later_steps_are_not_limited, Check.MESSAGES_KEPT_FOR_LATER_ARE_BOUNDED, 72),
        Bug(messages_of_a_step_are_not_sorted, Check.THE_VERIFIER_CONFIRMS_ACCUSATIONS, 0),
        Bug(messages_without_a_place_are_not_kept, Check.CONTRADICTIONS_ARE_PROVEN, 10),
        Bug(missing_messages_are_not_requested, Check.EVERY_MATCH_ENDS, 2),
        Bug(moves_are_sent_before_they_are_stored, Check.MESSAGES_ARE_STORED_BEFORE_SENDING, 0),
        Bug(nobody_votes_that_another_is_absent, Check.EVERY_MATCH_ENDS, 10),
        Bug(openings_are_sent_before_they_are_stored, Check.MESSAGES_ARE_STORED_BEFORE_SENDING, 1),
        Bug(own_messages_are_not_stored, Check.MESSAGES_ARE_STORED_BEFORE_SENDING, 0),
        Bug(players_are_bound_to_several_proposals, Check.NOBODY_IS_BOUND_TO_TWO_PROPOSALS, 559),
        Bug(rolls_have_no_lock, Check.NO_SECRET_IS_SENT_BEFORE_ITS_LOCK, 0),
        Bug(rounds_of_votes_do_not_wait, Check.NO_NODE_VOTES_TOO_OFTEN, 6),
        Bug(shares_are_not_checked, Check.CHEATS_ARE_NOTICED, 523),
        Bug(signatures_in_pages_are_not_checked, Check.THE_VERIFIER_CONFIRMS_ACCUSATIONS, 153),
        Bug(stakes_are_not_checked, Check.CHEATS_ARE_NOTICED, 818),
        Bug(stakes_are_not_stored, Check.NOBODY_RESIGNS_BY_MISTAKE, 285),
        Bug(the_match_ends_only_when_all_have_signed, Check.EVERY_MATCH_ENDS, 38),
        Bug(the_tip_does_not_cover_the_step_number, Check.THE_TIP_IS_THE_HASH_OF_THE_HISTORY, 0),
        Bug(useless_pages_are_requested_for_ever, Check.NO_NODE_ASKS_TOO_OFTEN, 768),
    )
}
"""By name."""

WITHIN: Final = 1_000
"""Every bug must be caught by a seed below this one."""


def as_row(name: str) -> str:
    """Return the row of a bug in the table of docs/reliability.md."""
    bug = PLANTED[name]
    return f"| {name} | {bug.seed} | {bug.check} |"


def main() -> int:
    """Search for all bugs, or for those whose names are given. Return the exit code."""
    failures = 0
    for name in sys.argv[1:] or PLANTED:
        try:
            seed = first_catch(PLANTED[name], WITHIN)
        except NotCaughtError as error:
            failures += 1
            print(f"{name}: {error}", file=sys.stderr)
        else:
            print(f"{name}: first caught at seed {seed} by {PLANTED[name].check}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
