"""The offline judge: what a transcript proves, decided by the same fold that the players' nodes used.

Nobody is ever blamed for bytes that they did not sign: a file with a wrong signature, a foreign or missing message or
an unreadable byte is *altered*, whoever altered it. *Misconduct* needs a right signature under a broken rule.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from protocol import limits
from protocol.genesis import MalformedGenesisError
from protocol.messages import MalformedMessageError
from protocol.record import MisconductError, Outcome, Purpose, Record, RejectedMessageError
from protocol.rulesets import ruleset_label
from protocol.transcript import MalformedTranscriptError, open_transcript


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
    """Judge the bytes of a transcript. Whatever they are, the answer is a verdict, never an error."""
    if len(data) > limits.TRANSCRIPT:
        return Verdict(Judgement.ALTERED, f"larger than any match: over {limits.TRANSCRIPT} bytes")
    try:
        opened = open_transcript(data)
        record = Record(opened.genesis)
    except (MalformedTranscriptError, MalformedGenesisError) as error:
        return Verdict(Judgement.ALTERED, str(error))
    signatures = 0
    author = -1
    try:
        for signed in opened.messages:
            author = author if record.held else -1
            outcome = record.add(signed)
            if outcome is not Outcome.ADDED or record.results or signed.message.author < author:
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
    return _judge(record, signatures, Judgement.FAIR, "every signature, commitment, die and move is right")


_DISORDER = {
    Outcome.ADDED: "a message stands out of order, or is none of the history",
    Outcome.DUPLICATE: "a message stands twice",
    Outcome.FUTURE: "messages are missing before another",
    Outcome.FOREIGN: "a message belongs to another history of this match",
}


def _judge(record: Record, signatures: int, judgement: Judgement, reason: str, culprit: str | None = None) -> Verdict:
    position = record.position
    names = tuple(entry.join.nickname for entry in record.genesis.roster)
    players = tuple(names[author] for author in position.seats) or names
    state = position.state
    winners = tuple(players[seat] for seat in state.winners) if state is not None else ()
    is_whole = judgement is Judgement.FAIR
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
