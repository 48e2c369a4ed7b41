"""What once went wrong and was mended: each mend can be watched while it makes a difference, and be undone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from protocol.consensus import verifier
from protocol.consensus.absence import Absence
from protocol.consensus.ballot import Ballot
from protocol.consensus.electorate import Entries, Place
from protocol.consensus.errors import MisconductError
from protocol.consensus.history import History, Outcome
from protocol.consensus.holdings import Holdings
from protocol.consensus.intake import Intake
from protocol.consensus.position import Position
from protocol.consensus.proofs import contradiction
from protocol.consensus.tally import HistoryView
from protocol.consensus.transcript import open_transcript, write_transcript
from protocol.consensus.verifier import Verdict, verify
from protocol.match.effects import Over
from protocol.match.match import RESULT_WAIT, Match
from protocol.match.stall_notices import StallNotices
from protocol.match.voter import Voter
from protocol.wire.messages import VOTES, Message, Signed
from tests.simulation import invariants
from tests.simulation import machine as machine_module
from tests.simulation.disk import MemoryDisk
from tests.simulation.plant import Plant
from tests.simulation.replacing import replaced, replaced_value

Mend = Callable[[Plant, bool], AbstractContextManager[None]]
"""Counts in the plant how often the mend makes a difference; undone, it makes none."""


def lost_steps_are_looked_for(plant: Plant, is_undone: bool) -> AbstractContextManager[None]:
    """A node that waits only for a vote about a cheat asks the others, who may have left the step behind."""
    mended = Holdings.is_astray

    def watched(replica: Holdings) -> bool:
        unmended = replica.absence.round >= 0
        if not unmended and replica.history.is_complete:
            plant.runs()
        return unmended or (replica.history.is_complete and not is_undone)

    return replaced_value(Holdings, mended, property(watched))


def votes_behind_a_lock_are_compared(plant: Plant, is_undone: bool) -> AbstractContextManager[None]:
    """A proof by two votes counts also for who has that step behind a complete LOCK."""
    take = Intake.take

    def watched(replica: Intake, signed: Signed) -> Outcome:
        author = signed.message.author
        aside = replica._aside.get(author, {})
        last = aside.get((True, True))
        if last is not None and author not in replica.proven and contradiction(last, signed):
            plant.runs()
            if is_undone:
                del aside[True, True]
        return take(replica, signed)

    return replaced(Intake, Intake.take, watched)


def _voters(ballot: Ballot, closed: Entries | None) -> set[int]:
    """Return who has voted in a step, otherwise than it was closed if it was."""
    by_author = {author: ballot.by(author) for author in ballot.place.staying}
    return {author for author, votes in by_author.items() if any(vote.entries != closed for vote in votes)}


def nobody_waits_for_far_rounds(plant: Plant, is_undone: bool) -> AbstractContextManager[None]:
    """Votes thousands of rounds ahead hold up nobody."""
    counted_voters = Absence._counted_voters

    def watched(absence: Absence, ballot: Ballot, far: int, closed: Entries | None = None) -> set[int]:
        mended, unmended = counted_voters(absence, ballot, far, closed), _voters(ballot, closed)
        if mended != unmended:
            plant.runs()
        return unmended if is_undone else mended

    return replaced(Absence, Absence._counted_voters, watched)


def a_node_that_stands_still_is_not_woken(plant: Plant, is_undone: bool) -> AbstractContextManager[None]:
    """While patience stands still for a vote nobody waits for the moment to warn of the slow: it moves on with time."""
    look = StallNotices.look

    def watched(
        awaiting: StallNotices,
        now: float,
        linked: Collection[int],
        has_quorum: bool,
        is_deciding: bool,
        unheard: Collection[int],
    ) -> float:
        mended = look(awaiting, now, linked, has_quorum, is_deciding, unheard)
        if is_deciding and look(awaiting, now, linked, has_quorum, False, unheard) != mended:
            plant.runs()
        return look(awaiting, now, linked, has_quorum, False, unheard) if is_undone else mended

    return replaced(StallNotices, StallNotices.look, watched)


def rounds_begin_after_a_restart(plant: Plant, is_undone: bool) -> AbstractContextManager[None]:
    """A node that had voted and was restarted begins a further round when the present one has lasted long enough."""
    rounds_due = Voter.rounds_due

    def watched(voter: Voter, now: float, has_quorum: bool, is_deciding: bool) -> list[tuple[bytes, float]]:
        began = voter._round_began
        due = rounds_due(voter, now, has_quorum, is_deciding)
        if began is None and voter._round_began is not None:
            plant.runs()
            if is_undone:
                voter._round_began = None
                return due[:-1]
        return due

    return replaced(Voter, Voter.rounds_due, watched)


def the_end_waits_for_a_vote_on_the_last_step(plant: Plant, is_undone: bool) -> AbstractContextManager[None]:
    """Nobody calls the end while those who are there vote about the last step."""
    mind = Match._check_end

    def watched(match: Match, wake: list[float], has_quorum: bool) -> None:
        was_over = match._over
        mind(match, wake, has_quorum)
        position = match.history.position
        confirmed = {*position.base} - {*position.left} <= {*match.history.results}
        ended_at = match._timers.ended_at
        if was_over or match._over or ended_at is None:
            return
        if confirmed or match._now >= ended_at + RESULT_WAIT:
            plant.runs()
            if is_undone:
                match._over = True
                match._emit(Over(confirmed))
        elif is_undone:
            wake.append(ended_at + RESULT_WAIT)

    return replaced(Match, Match._check_end, watched)


def _is_dropped(history: History, error: MisconductError) -> bool:
    return len(error.evidence) == 1 and not history.goes_through(error.evidence[0].message)


def proofs_of_dropped_histories_are_left_out(plant: Plant, is_undone: bool) -> AbstractContextManager[None]:
    """A proof by one message, judged by a history that was taken back, is not written down."""

    def watched(history: History, proven: Iterable[MisconductError] = ()) -> bytes:
        errors = tuple(proven)
        dropped = [error for error in errors if _is_dropped(history, error)]
        if dropped:
            plant.runs()
        if not is_undone:
            return write_transcript(history, errors)
        with replaced(History, History.goes_through, always):
            return write_transcript(history, errors)

    def always(history: History, place: Position | Message) -> bool:
        return True

    return replaced(machine_module, write_transcript, watched)


@contextmanager
def two_messages_prove_what_neither_shows_alone(plant: Plant, is_undone: bool) -> Iterator[None]:
    """Behind a transcript two messages for one slot are a proof together, though neither is part of its history."""
    is_proof = False

    def told(data: bytes) -> Verdict:
        nonlocal is_proof
        is_proof = open_transcript(data).is_proof
        return verify(data)

    def watched(first: Signed, second: Signed) -> str:
        reason = contradiction(first, second)
        if not reason or is_proof or second.message.kind in VOTES:
            return reason
        plant.runs()
        return "" if is_undone else reason

    with replaced(invariants, verify, told), replaced(verifier, contradiction, watched):
        yield


def backups_are_forgotten_at_once(plant: Plant, is_undone: bool) -> AbstractContextManager[None]:
    """In the simulator: what a backup does not have is on the disk no more, also before its owner starts again."""
    lose = MemoryDisk.lose

    def watched(disk: MemoryDisk, share: float) -> None:
        own = set(disk.own)
        lose(disk, share)
        if disk.own != own:
            plant.runs()
        if is_undone:
            disk.own = own

    return replaced(MemoryDisk, MemoryDisk.lose, watched)


def voters_who_follow_stay_one_behind(plant: Plant, is_undone: bool) -> AbstractContextManager[None]:
    """A node that is an even number of rounds behind the others stops one before them, and does not go one beyond."""
    next_round = Absence._next_round

    def watched(
        absence: Absence,
        place: Place,
        ballot: Ballot,
        history: HistoryView,
        expired: Collection[bytes],
        settling: Collection[bytes],
    ) -> int:
        mended = next_round(absence, place, ballot, history, expired, settling)
        target, _ = absence.target(history, absence.round, place.majority)
        if 0 <= absence.round < mended == target - 1 and (target - absence.round) % 2 == 0:
            plant.runs()
            return target + 1 if is_undone else mended
        return mended

    return replaced(Absence, Absence._next_round, watched)


def the_end_is_no_reason_to_stay_behind(plant: Plant, is_undone: bool) -> AbstractContextManager[None]:
    """Where no step is open or in doubt, a node follows others into a later round on a step that it has voted on."""
    left_behind = Absence._left_behind

    def watched(absence: Absence, history: HistoryView) -> Place | None:
        mended = left_behind(absence, history)
        if mended is not None:
            plant.runs()
        return None if is_undone else mended

    return replaced(Absence, Absence._left_behind, watched)
