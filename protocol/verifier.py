"""The offline judge: what a transcript or a proof shows, decided by the same fold that the players' nodes used.

Nobody is ever blamed for bytes that they did not sign: a file with a wrong signature, a foreign or missing message or
an unreadable byte is *altered*, whoever altered it. *Misconduct* needs a right signature under a broken rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import islice, pairwise
from typing import Any

from protocol import limits
from protocol.genesis import MalformedGenesisError
from protocol.messages import VOTES, Kind, MalformedMessageError, Signed
from protocol.position import Purpose
from protocol.proofs import contradiction
from protocol.record import MisconductError, Outcome, Record, RejectedMessageError
from protocol.rulesets import ruleset_label
from protocol.transcript import MalformedTranscriptError, open_transcript, write_transcript


class Judgement(StrEnum):
    """What a file turned out to be."""

    FAIR = "fair"
    MISCONDUCT = "misconduct"
    INCOMPLETE = "incomplete"
    ALTERED = "altered"
    UNPROVEN = "unproven"
    """Fair, but with claims that nothing in the file can prove, such as a player's absence."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement on one file, and how far it could be followed."""

    verdict: Judgement
    reason: str
    culprit: str | None = None
    """Nickname of who broke the rules, proven by their own signature."""
    step: int | None = None
    """Step at which the match breaks off or the rules were broken."""
    match: str | None = None
    rules: str | None = None
    """Name of the ruleset; for house rules the start of their hash."""
    players: tuple[str, ...] = ()
    """Nicknames by seat; in the order of the roster if the seats were never drawn."""
    winners: tuple[str, ...] = ()
    steps: int = 0
    """Closed steps."""
    signatures: int = 0
    """Message signatures that were checked and right."""

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as ``verify --json`` prints it."""
        return asdict(self)


def verify(data: bytes) -> Verdict:
    """Judge the bytes of a transcript or a proof. Whatever they are, the answer is a verdict, never an error."""
    if len(data) > limits.TRANSCRIPT:
        return Verdict(Judgement.ALTERED, f"larger than any match: over {limits.TRANSCRIPT} bytes")
    try:
        opened = open_transcript(data)
        record = Record(opened.genesis)
    except (MalformedTranscriptError, MalformedGenesisError) as error:
        return Verdict(Judgement.ALTERED, str(error))
    signatures = 0
    author = -1
    behind: list[Signed] = []
    try:
        if opened.is_proof:
            return _judge_contradiction(record, tuple(islice(opened.messages, 3)))
        for signed in opened.messages:
            if record.position.purpose is Purpose.END:
                behind.append(signed)
                if len(behind) > limits.EVIDENCE:
                    return _judge(record, signatures, Judgement.ALTERED, "too much stands behind the end of the match")
                continue
            author = author if record.held else -1
            outcome = record.add(signed)
            is_vote = signed.message.kind is Kind.CLOSE
            if outcome is not Outcome.ADDED or (signed.message.author < author and not is_vote):
                return _judge(record, signatures, Judgement.ALTERED, _DISORDER[outcome])
            author = signed.message.author
            signatures += 1
    except MisconductError as error:
        culprit = record.genesis.roster[error.author].join.nickname
        return _judge(record, signatures, Judgement.MISCONDUCT, f"{culprit} {error}", culprit)
    except (MalformedTranscriptError, MalformedMessageError, RejectedMessageError) as error:
        return _judge(record, signatures, Judgement.ALTERED, f"{error} (message {signatures})")
    if record.position.purpose is not Purpose.END:
        names = ", ".join(record.genesis.roster[author].join.nickname for author in record.missing())
        return _judge(record, signatures, Judgement.INCOMPLETE, f"nothing wrong so far; the file ends awaiting {names}")
    if behind and data.startswith(write_transcript(record)):
        return _judge_evidence(record, signatures, behind)
    if write_transcript(record) != data:
        reason = "beside the history stand votes or messages that have no part in it, or it is out of order"
        return _judge(record, signatures, Judgement.ALTERED, reason)
    if absences := _absences(record):
        return _judge(record, signatures, Judgement.UNPROVEN, absences)
    return _judge(record, signatures, Judgement.FAIR, "every signature, commitment, die and move is right")


def _judge_contradiction(record: Record, messages: tuple[Signed, ...]) -> Verdict:
    """Judge a file that claims that one player signed two messages of which an honest one signs only one."""
    checked = [record.check_signature(signed) for signed in messages]
    reason = contradiction(*checked) if len(checked) == 2 else ""
    if not reason:
        return _judge(record, len(checked), Judgement.ALTERED, "two messages that prove nothing about anybody")
    message = checked[0].message
    culprit = record.genesis.roster[message.author].join.nickname
    verdict = _judge(record, len(checked), Judgement.MISCONDUCT, f"{culprit} {reason}", culprit)
    return replace(verdict, step=message.step)


def _judge_evidence(record: Record, signatures: int, messages: Sequence[Signed]) -> Verdict:
    """Judge what stands behind the end of a match: each message must prove misconduct, alone or with the one before."""
    culprits: dict[int, MisconductError] = {}
    waiting: Signed | None = None
    for signed in messages:
        message = signed.message
        try:
            signed = record.check_signature(signed)
            if waiting is not None and (reason := contradiction(waiting, signed)):
                raise MisconductError(message.author, message.step, reason, (waiting, signed))
            if message.kind not in VOTES:
                outcome = record.hold(signed)
                if outcome not in (Outcome.FOREIGN, Outcome.LATE) or record.results:
                    return _judge(record, signatures, Judgement.ALTERED, _DISORDER[outcome])
        except MisconductError as error:
            culprits.setdefault(error.author, error)
            waiting = None
            continue
        except RejectedMessageError as error:
            return _judge(record, signatures, Judgement.ALTERED, str(error))
        if waiting is not None:
            break
        waiting = signed
    if waiting is not None or not culprits:
        return _judge(record, signatures, Judgement.ALTERED, "a message behind the end of the match proves nothing")
    names = [entry.join.nickname for entry in record.genesis.roster]
    first = next(iter(culprits.values()))
    reason = "; ".join(f"{names[author]} {error}" for author, error in culprits.items())
    verdict = _judge(record, signatures, Judgement.MISCONDUCT, reason, names[first.author])
    winners = () if record.position.state is None else record.position.state.winners
    return replace(verdict, step=first.step, winners=tuple(verdict.players[seat] for seat in winners))


def _absences(record: Record) -> str:
    """Tell who was put out because others said so, which is all that a transcript can show of somebody's silence."""
    names = [entry.join.nickname for entry in record.genesis.roster]
    found = []
    for before, after in pairwise(record.chain):
        if after.certificate:
            absent = [author for author in before.owed if author not in after.entries]
            silent = ", ".join(names[author] for author in absent if author not in before.witnesses)
            if not silent:
                continue  # who was out already lost nothing by it
            voters = ", ".join(names[signed.message.author] for signed in after.certificate)
            found.append(f"{silent} was silent in step {before.step}, say {voters}")
    return "everything signed is right; nothing can prove that " + "; that ".join(found) if found else ""


_DISORDER = {
    Outcome.ADDED: "a message stands out of order, or is none of the history",
    Outcome.DUPLICATE: "a message stands twice",
    Outcome.FUTURE: "messages are missing before another",
    Outcome.LATE: "a message stands behind the step that it belongs to",
    Outcome.FOREIGN: "a message belongs to another history of this match",
}


def _judge(record: Record, signatures: int, judgement: Judgement, reason: str, culprit: str | None = None) -> Verdict:
    position = record.position
    names = tuple(entry.join.nickname for entry in record.genesis.roster)
    players = tuple(names[author] for author in position.seats) or names
    state = position.state
    winners = tuple(players[seat] for seat in state.winners) if state is not None else ()
    is_whole = judgement in (Judgement.FAIR, Judgement.UNPROVEN)
    return Verdict(
        judgement,
        reason,
        culprit,
        None if is_whole else position.step,
        record.match.hex(),
        ruleset_label(record.genesis.ruleset),
        players,
        winners if is_whole else (),
        position.step,
        signatures,
    )
