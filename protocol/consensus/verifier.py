"""The offline judge: what a transcript or a proof shows, computed by the same code that the players' nodes run.

Nobody is ever blamed for bytes that they did not sign. A file with an invalid signature, a foreign or missing message
or an unreadable byte is *altered*, which accuses nobody. *Misconduct* requires a valid signature under a message that
breaks a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from itertools import islice
from typing import Any, Final

from protocol import limits
from protocol.consensus.branches import Outcome
from protocol.consensus.history import History
from protocol.consensus.kinds import RULES, contradiction, read_vote
from protocol.consensus.position import FORMED, Position, Purpose, voters
from protocol.consensus.reading import Reading
from protocol.consensus.rule import MisconductError, RejectedMessageError
from protocol.consensus.steps import account_of
from protocol.consensus.transcript import MalformedTranscriptError, open_transcript
from protocol.crypto.keys import fingerprint
from protocol.version import PROTOCOL_VERSION, written_by
from protocol.wire.genesis import MalformedGenesisError
from protocol.wire.messages import VOTES, Kind, Signed
from protocol.wire.names import ruleset_label, which_are_alike
from protocol.wire.purses import SOUL_NAMES

Mapped = Callable[[Callable[[Signed], bool], Sequence[Signed]], Iterable[bool]]
"""A function such as ``map``, which applies a predicate to each of many messages and keeps their order."""


class Judgement(StrEnum):
    """The result of judging a file."""

    FAIR = "fair"
    MISCONDUCT = "misconduct"
    INCOMPLETE = "incomplete"
    ALTERED = "altered"
    UNPROVEN = "unproven"
    """Fair, except for claims that nothing in the file can prove, such as a player's absence."""
    OTHER_VERSION = "other version"
    """The file belongs to another version of the protocol and was not judged."""


@dataclass(frozen=True, slots=True)
class PurseChange:
    """What a match changes in the purse of one player."""

    era: int
    """The era of the head in the player's join record. Height, balance and tickets come from that head, too."""
    height: int
    head: str
    """The id of that head, in hexadecimal digits."""
    balance: int
    tickets: int
    bet: int
    """The coins staked; 0 if the stake was never opened."""
    staked_tickets: int
    change: int | None
    """The coins by which the balance changes; None until the match is over."""
    ticket_change: int | None
    soul: str | None
    """The Twin Soul that the purse gains; empty for none, None until the match is over."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement on one file, and how far the match in it could be followed."""

    verdict: Judgement
    reason: str
    culprit: str | None = None
    """The nickname of the player who broke the rules. Other players may have the same nickname."""
    culprit_fingerprint: str | None = None
    step: int | None = None
    """The step at which the file ends or the rules were broken; None for a finished match without misconduct."""
    round: int | None = None
    """The round in which an unfinished match stops; None before the first round."""
    awaited: tuple[str, ...] = ()
    """The nicknames of the players whose messages an unfinished match awaits."""
    match: str | None = None
    rules: str | None = None
    """The name of the ruleset; for house rules, the start of their hash."""
    players: tuple[str, ...] = ()
    """The players' nicknames, by seat; in roster order if the seats were never drawn."""
    fingerprints: tuple[str, ...] = ()
    """The fingerprints of the players' identity keys, in the same order."""
    alike: tuple[str, ...] = ()
    """Those nicknames that are easily confused with another one."""
    winners: tuple[str, ...] = ()
    winner_fingerprints: tuple[str, ...] = ()
    steps: int = 0
    """The number of closed steps."""
    signatures: int = 0
    """The number of valid message signatures."""
    purses: tuple[PurseChange, ...] = ()
    """In the order of ``players``; empty for a match without purses. No file can show that a head was the newest of its
    purse, or that its balance was right."""

    def to_json(self) -> dict[str, Any]:
        """Return the verdict in the form that ``verify --json`` prints."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Examined:
    """A file that was judged, with the match in it if the file is unaltered."""

    verdict: Verdict
    history: History | None = None
    """The history, most of its states dropped; None for an altered file and for a proof of two messages."""
    proven: Mapping[int, MisconductError] = field(default_factory=dict)
    """The proof of misconduct, by author."""


def verify(data: bytes, mapped: Mapped = map) -> Verdict:
    """Judge the bytes of a transcript or a proof. Any bytes get a verdict; no error is raised.

    Memory use does not grow with the length of the match.

    :param mapped: replaces ``map`` for checking signatures, a few hundred per call. The checks are independent of each
        other, so it may use several threads.
    """
    return _examine(data, frozenset(), mapped).verdict


def examine(data: bytes, mapped: Mapped = map) -> Examined:
    """Judge the bytes of a transcript or a proof; return the verdict together with the match that was judged.

    :param mapped: as for :func:`verify`.
    """
    return _examine(data, None, mapped)


def _examine(data: bytes, kept: Collection[int] | None, mapped: Mapped, checked: int = 0) -> Examined:
    """Judge the bytes of a file, as :func:`examine` does.

    :param kept: the steps of the match that are kept in memory; None for all.
    :param checked: how many signatures are known to be right.
    """
    if len(data) > limits.TRANSCRIPT:
        return Examined(Verdict(Judgement.ALTERED, f"larger than any match: over {limits.TRANSCRIPT} bytes"))
    try:
        opened = open_transcript(data)
        if opened.version != PROTOCOL_VERSION:
            return Examined(Verdict(Judgement.OTHER_VERSION, written_by(opened.version)))
        examination = _Examination(History(opened.genesis), kept)
    except (MalformedTranscriptError, MalformedGenesisError) as error:
        return Examined(Verdict(Judgement.ALTERED, str(error)))
    failure: ValueError | None = None
    try:
        if opened.is_proof:
            return Examined(examination.judge_contradiction(tuple(islice(opened.messages, 3))))
        for signed in _checked(examination.history, opened.messages, mapped, checked):
            examination.take(signed)
    except (MalformedTranscriptError, RejectedMessageError) as error:
        failure = error
    if kept is not None and not kept and (steps := examination.steps_of_evidence()):
        return _examine(data, steps, mapped, examination.signatures)  # again, now that the steps to keep are known
    if failure is not None:
        return Examined(examination.altered(examination.complaint or f"{failure} (message {examination.signatures})"))
    return examination.judge()


def _checked(history: History, messages: Iterator[Signed], mapped: Mapped, known: int) -> Iterator[Signed]:
    """Yield messages as they come, marked as checked if their signatures are valid.

    Signatures are checked in batches, each before any of its messages is folded in. If checking and folding alternated,
    each would evict the other's code and data from the caches, which takes up to a tenth more time.

    :param known: the number of leading messages whose signatures are known to be valid.
    """
    batch: list[Signed] = []
    try:
        for number, signed in enumerate(messages):
            batch.append(signed._replace(checked=True) if number < known else signed)
            if len(batch) == _IN_A_ROW:
                yield from _marked(history, batch, mapped)
                batch = []
    except MalformedTranscriptError:
        yield from _marked(history, batch, mapped)
        raise
    yield from _marked(history, batch, mapped)


_IN_A_ROW: Final = 256


def _marked(history: History, messages: Sequence[Signed], mapped: Mapped) -> list[Signed]:
    return [
        Signed(signed.data, signed.signature, signed.message, signed.id, is_right)
        for signed, is_right in zip(messages, mapped(history.is_right, messages), strict=True)
    ]


class _Examination:
    """A file that is being judged: the history at its beginning, and the messages after the history.

    The history continues as long as each message fits into it. Each message after it must prove misconduct, by itself
    against the history or together with an adjacent message, whether or not the match is over.

    :param kept: the steps whose positions are kept; None to keep all of them, most without a state.
    """

    def __init__(self, history: History, kept: Collection[int] | None) -> None:
        self.history = history
        self._reading = Reading(history)
        self.signatures = 0
        self.complaint = ""
        """Why the first message after the history does not belong to it, if it proves nothing against its author."""
        self._kept = kept
        self._absences: list[str] = []
        self._has_more = False
        """Whether the file has messages or votes for a step besides those that closed it."""
        self._last: Signed | None = None
        """The last message of the history."""
        self._evidence: list[Signed] = []

    def take(self, signed: Signed) -> None:
        """Read one message.

        :raises RejectedMessageError: if too many messages follow the history.
        """
        history, before, steps = self.history, self.history.position, len(self.history.chain)
        given = len(history.held) + len(self._reading.votes) + 1
        if not self._evidence and self._add(before, signed):
            self.signatures += 1
            self._last = signed
            for after in history.chain[steps:]:
                self._close(before, after, given)
                before, given = after, 0  # a LOCK that nobody owes closes at once
            return
        self._evidence.append(signed)
        if len(self._evidence) > limits.EVIDENCE:
            raise RejectedMessageError("too many messages follow the history")

    def _close(self, before: Position, after: Position, given: int) -> None:
        """Record that a step has closed.

        :param given: the number of messages and votes that the file has for the step.
        """
        self._has_more |= given > len(after.entries) + len(after.certificate)
        if told := _absence(self.history, before, after):
            self._absences.append(told)
        if self._kept is None:
            self._reading.drop_state()
        else:
            self._reading.drop_position(self._kept)

    def steps_of_evidence(self) -> frozenset[int]:
        """Return the steps whose positions are needed to judge the messages after the history."""
        return frozenset(step + each for step in (signed.message.step for signed in self._evidence) for each in (0, 1))

    def _add(self, position: Position, signed: Signed) -> bool:
        """Add a message to the history, and return whether it fits there."""
        if position.kind is None:
            self.complaint = "a message after the end of the match proves nothing"
            return False
        last = self._last
        if last is not None and _sort_key(signed)[0] == _sort_key(last)[0] and _sort_key(signed) <= _sort_key(last):
            self.complaint = _DISORDER[Outcome.DUPLICATE if signed.id == last.id else Outcome.ADDED]
            return False
        if signed.message.kind is Kind.RESIGN and signed.message.step < FORMED:
            self.complaint = "a RESIGN of a match that is not formed is no part of its history"
            return False
        try:
            outcome = self._reading.add(signed)
        except MisconductError:
            return False
        except RejectedMessageError as error:
            self.complaint = f"{error} (message {self.signatures})"
            return False
        if outcome is Outcome.ADDED:
            return True
        self.complaint = _DISORDER[outcome]
        return False

    def judge(self) -> Examined:
        """Return the verdict on the whole file, once all messages are read, together with the match."""
        history = self.history
        errors = self._prove()
        if errors is None:
            return Examined(self.altered(self.complaint or "a message after the history proves nothing"))
        if self._has_more:
            return Examined(self.altered("the file has extra votes or messages that closed no step"))
        return Examined(self._judge_history(errors), history, errors)

    def _judge_history(self, errors: Mapping[int, MisconductError]) -> Verdict:
        if errors:
            return self._misconduct(errors)
        if self.history.position.purpose is not Purpose.END:
            return self._incomplete()
        if self._absences:
            reason = f"everything signed is right; nothing can prove that {'; that '.join(self._absences)}"
            return self._verdict(Judgement.UNPROVEN, reason)
        return self._verdict(Judgement.FAIR, "every signature, commitment, die and move is right")

    def _prove(self) -> dict[int, MisconductError] | None:
        """Return the misconduct proven by the messages after the history, by author; None if one proves nothing."""
        evidence = self._evidence
        proven: dict[int, MisconductError] = {}
        if len({signed.id for signed in evidence}) < len(evidence):
            return None
        try:
            evidence = [self.history.check_signature(signed) for signed in evidence]
        except RejectedMessageError:
            return None
        # These messages may include a copy of one in the history: next to a message that contradicts it, it is a proof.
        for before, signed, after in zip([self._last, *evidence], evidence, [*evidence[1:], None], strict=False):
            error = self._hold_against(signed)
            reason = "" if before is None else contradiction(before, signed)
            if error is None and not reason and (after is None or not contradiction(signed, after)):
                return None
            if error is None and before is not None and reason:
                error = MisconductError(before.message.author, before.message.step, reason, (before, signed))
            if error is not None:
                proven.setdefault(error.author, error)
        return proven

    def _hold_against(self, signed: Signed) -> MisconductError | None:
        """Return the misconduct that a message after the history proves by itself; None if it proves none."""
        try:
            self._reading.weigh(signed)
        except MisconductError as error:
            return error
        except RejectedMessageError:
            pass
        return None

    def judge_contradiction(self, messages: tuple[Signed, ...]) -> Verdict:
        """Judge a file that claims that two messages of one player contradict each other.

        :raises RejectedMessageError: if one of them has no valid signature by a player of the match.
        """
        checked = [self.history.check_signature(signed) for signed in messages]
        self.signatures = len(checked)
        reason = contradiction(*checked) if len(checked) == 2 else ""
        if not reason:
            return self.altered("two messages that prove nothing about anybody")
        message = checked[0].message
        return self._misconduct({message.author: MisconductError(message.author, message.step, reason, tuple(checked))})

    def _misconduct(self, errors: Mapping[int, MisconductError]) -> Verdict:
        names = _labels(self.history)
        reason = "; ".join(f"{names[author]} {error}" for author, error in errors.items())
        first = next(iter(errors.values()))
        culprit = self.history.genesis.roster[first.author].join
        return replace(
            self._verdict(Judgement.MISCONDUCT, reason),
            culprit=culprit.nickname,
            culprit_fingerprint=fingerprint(culprit.identity),
            step=first.step,
        )

    def _incomplete(self) -> Verdict:
        position = self.history.position
        names = _labels(self.history)
        missing = self.history.missing()
        state = position.state
        where = "before the first round" if state is None else f"in round {state.round}"
        assert position.kind is not None
        awaited = f"{', '.join(names[author] for author in missing)} to {RULES[position.kind].task}"
        return replace(
            self._verdict(Judgement.INCOMPLETE, f"nothing wrong so far; the file ends {where}, waiting for {awaited}"),
            round=None if state is None else state.round,
            awaited=tuple(self.history.genesis.roster[author].join.nickname for author in missing),
        )

    def altered(self, reason: str) -> Verdict:
        """Return the verdict on a file that proves nothing."""
        return self._verdict(Judgement.ALTERED, reason)

    def _verdict(self, judgement: Judgement, reason: str) -> Verdict:
        history, position = self.history, self.history.position
        roster = history.genesis.roster
        players = [roster[author].join for author in position.seats] or [entry.join for entry in roster]
        names = [join.nickname for join in players]
        is_whole = judgement in (Judgement.FAIR, Judgement.UNPROVEN)
        # A proof after the end does not change the result. An altered file has no result.
        is_over = position.purpose is Purpose.END and judgement is not Judgement.ALTERED
        state = position.state if is_over else None
        winners = [] if state is None else [players[seat] for seat in state.winners]
        return Verdict(
            judgement,
            reason,
            step=None if is_whole else position.step,
            match=history.match.hex(),
            rules=ruleset_label(history.genesis.ruleset),
            players=tuple(names),
            fingerprints=tuple(fingerprint(join.identity) for join in players),
            alike=tuple(name for name, is_alike in zip(names, which_are_alike(names), strict=True) if is_alike),
            winners=tuple(join.nickname for join in winners),
            winner_fingerprints=tuple(fingerprint(join.identity) for join in winners),
            steps=position.step,
            signatures=self.signatures,
            purses=() if judgement is Judgement.ALTERED else _purses(history, position),
        )


def _purses(history: History, position: Position) -> tuple[PurseChange, ...]:
    """Return what a match changes in its players' purses, by seat; by roster index before the seats are drawn."""
    genesis, state = history.genesis, position.state
    seats = position.seats or tuple(range(len(genesis.roster)))
    account = account_of(seats, state) if state is not None and position.purpose is Purpose.END else None
    changes = []
    for seat, author in enumerate(seats):
        head = genesis.roster[author].join.head
        if head is None:
            return ()
        wager = state.wagers[seat] if state is not None and state.wagers else (0, 0, 0, 0)
        change: tuple[Any, ...] = (None, None, None)
        if account is not None:
            record = account.record(genesis, history.match, author, (wager[0], wager[2]))
            change = record.change, record.ticket_change, SOUL_NAMES[record.soul]
        held = head.era, head.height, head.id.hex(), head.balance, head.tickets
        changes.append(PurseChange(*held, wager[0], wager[2], *change))
    return tuple(changes)


def _absence(history: History, before: Position, after: Position) -> str:
    """Describe who was voted absent in a step, and by whom; empty if nobody was. Silence cannot be proven."""
    if not after.certificate or before.kind is Kind.LOCK:
        return ""
    silent = [author for author in before.owed if author not in after.entries]
    names = _labels(history)
    absent, others = (", ".join(names[each] for each in group) for group in (silent, voters(before, after)))
    return f"{absent} was silent in step {before.step}, say {others}"


def _sort_key(signed: Signed) -> tuple[int, int, int]:
    """Return the sort key of a message in a file: by step, with votes after all other messages, and CLOSEs last."""
    message = signed.message
    if message.kind not in VOTES:
        return message.step, 0, message.author
    value = read_vote(signed).value
    return message.step if value is None else value.step, VOTES.index(message.kind) + 1, message.author


def _labels(history: History) -> tuple[str, ...]:
    """Return the players' names for use in sentences, with the fingerprint where two names look alike."""
    joins = [entry.join for entry in history.genesis.roster]
    return tuple(
        f"{join.nickname} [{fingerprint(join.identity)}]" if is_alike else join.nickname
        for join, is_alike in zip(joins, which_are_alike([join.nickname for join in joins]), strict=True)
    )


_DISORDER: Final = {
    Outcome.ADDED: "a message is out of order, or is not part of the history",
    Outcome.DUPLICATE: "a message appears twice",
    Outcome.FUTURE: "an earlier message is missing",
    Outcome.LATE: "a message comes after its step was closed",
    Outcome.FOREIGN: "a message belongs to another history of this match",
}
