"""What once went wrong and was mended: each mend can be watched while it makes a difference, and be undone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from protocol.consensus import verifier
from protocol.consensus.absence import Absence, Ballot, Entries
from protocol.consensus.errors import MisconductError
from protocol.consensus.history import History, Outcome
from protocol.consensus.position import Position
from protocol.consensus.proofs import contradiction
from protocol.consensus.replica import Replica
from protocol.consensus.transcript import open_transcript, write_transcript
from protocol.consensus.verifier import Verdict, verify
from protocol.match.effects import Over
from protocol.match.match import RECEIPTS, Match
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
    """Who waits only for a vote about a cheat asks the others, who may have left the step behind."""
    mended = Replica.is_astray

    def watched(replica: Replica) -> bool:
        unmended = replica.absence.round >= 0
        if not unmended and replica.record.is_complete:
            plant.runs()
        return unmended or (replica.record.is_complete and not is_undone)

    return replaced_value(Replica, mended, property(watched))


def votes_behind_a_lock_are_compared(plant: Plant, is_undone: bool) -> AbstractContextManager[None]:
    """A proof by two votes counts also for who has that step behind a complete LOCK."""
    take = Replica.take

    def watched(replica: Replica, signed: Signed) -> Outcome:
        author = signed.message.author
        aside = replica._aside.get(author, {})
        last = aside.get((True, True))
        if last is not None and author not in replica.proven and contradiction(last, signed):
            plant.runs()
            if is_undone:
                del aside[True, True]
        return take(replica, signed)

    return replaced(Replica, Replica.take, watched)


def _voters(ballot: Ballot, closed: Entries | None) -> set[int]:
    """Return who has voted in a step, otherwise than it was closed if it was."""
    by_author = {author: ballot.by(author) for author in ballot.place.staying}
    return {author for author, votes in by_author.items() if any(vote.entries != closed for vote in votes)}


def nobody_waits_for_far_rounds(plant: Plant, is_undone: bool) -> AbstractContextManager[None]:
    """Votes thousands of rounds ahead hold up nobody."""
    near_voters = Absence._near_voters

    def watched(absence: Absence, ballot: Ballot, far: int, closed: Entries | None = None) -> set[int]:
        mended, unmended = near_voters(absence, ballot, far, closed), _voters(ballot, closed)
        if mended != unmended:
            plant.runs()
        return unmended if is_undone else mended

    return replaced(Absence, Absence._near_voters, watched)


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
    """Who had voted and was restarted begins a further round when the one under way has lasted long enough."""
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
    mind = Match._mind_the_end

    def watched(match: Match, wake: list[float]) -> None:
        was_over = match._over
        mind(match, wake)
        position = match.record.position
        confirmed = {*position.base} - {*position.left} <= {*match.record.results}
        ended_at = match._timers.ended_at
        if was_over or match._over or ended_at is None:
            return
        if confirmed or match._now >= ended_at + RECEIPTS:
            plant.runs()
            if is_undone:
                match._over = True
                match._emit(Over(confirmed))
        elif is_undone:
            wake.append(ended_at + RECEIPTS)

    return replaced(Match, Match._mind_the_end, watched)


def _is_dropped(record: History, error: MisconductError) -> bool:
    return len(error.evidence) == 1 and not record.goes_through(error.evidence[0].message)


def proofs_of_dropped_histories_are_left_out(plant: Plant, is_undone: bool) -> AbstractContextManager[None]:
    """A proof by one message, judged by a history that was taken back, is not written down."""

    def watched(record: History, proven: Iterable[MisconductError] = ()) -> bytes:
        errors = tuple(proven)
        dropped = [error for error in errors if _is_dropped(record, error)]
        if dropped:
            plant.runs()
        if not is_undone:
            return write_transcript(record, errors)
        with replaced(History, History.goes_through, always):
            return write_transcript(record, errors)

    def always(record: History, place: Position | Message) -> bool:
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
