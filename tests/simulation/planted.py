"""Bugs to be found: each breaks the real classes in one place while it lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final
from unittest.mock import patch

from protocol import position as position_module
from protocol import record as record_module
from protocol.absence import Absence
from protocol.agreement import Agreement, Reception
from protocol.effects import Choose, Effect, MatchInput, Over, Persist
from protocol.hashing import tagged_hash
from protocol.match import Match
from protocol.messages import Kind, Signed, parse_signed
from protocol.outbox import Outbox, Write
from protocol.position import SCRIPTS, Purpose, advance
from protocol.randomness import Context, derive_secret
from protocol.record import MisconductError, Outcome, Record, RejectedMessageError


@contextmanager
def _without(kind: type) -> Iterator[None]:
    """Let the match forget an effect of this kind."""
    handle = Match.handle

    def forgetful(match: Match, item: MatchInput, now: float) -> list[Effect]:
        return [effect for effect in handle(match, item, now) if type(effect) is not kind]

    with patch.object(Match, "handle", forgetful):
        yield


@contextmanager
def own_messages_are_not_stored() -> Iterator[None]:
    """What a node signs is sent, but not persisted."""
    fetch = Match._fetch_news

    def bad(match: Match) -> None:
        fetch(match)
        match._effects = [
            effect
            for effect in match._effects
            if not isinstance(effect, Persist) or effect.signed.message.author != match.me
        ]

    with patch.object(Match, "_fetch_news", bad):
        yield


@contextmanager
def send_before_store() -> Iterator[None]:
    """Frames leave before the store is written."""
    steps = Outbox.steps

    def bad(outbox: Outbox[Any]) -> Iterator[Any]:
        late = []
        for step in steps(outbox):
            if isinstance(step, Write):
                late.append(step)
            else:
                yield step
        yield from late

    with patch.object(Outbox, "steps", bad):
        yield


def stakes_are_not_stored() -> AbstractContextManager[None]:
    """The owner's sealed choice is not persisted."""
    return _without(Choose)


@contextmanager
def no_lock_before_reveal() -> Iterator[None]:
    """A roll reveals as soon as everybody has committed."""
    scripts = {**SCRIPTS, Purpose.DEAL: (Kind.COMMIT, Kind.REVEAL), Purpose.SEATING: (Kind.COMMIT, Kind.REVEAL)}

    def next_stage(position: Any, state: Any, riding: Any, is_spoilt: bool) -> tuple[Purpose, int]:
        purpose = Purpose.SEATING if state is None else position_module.FOR[state.expects.kind]
        if purpose is position.purpose and position.kind in (Kind.COMMIT, Kind.LOCK) and not is_spoilt:
            return purpose, position.stage + 1
        return purpose, int(purpose is Purpose.DEAL and riding is not None)

    with patch.object(position_module, "SCRIPTS", scripts), patch.object(position_module, "next_stage", next_stage):
        yield


@contextmanager
def hash_without_the_step() -> Iterator[None]:
    """T does not name the number of the step."""

    def bad(tag: str, *parts: bytes | int) -> bytes:
        return tagged_hash(tag, *(parts[:1] + parts[2:] if tag == "step" else parts))

    with patch.object(position_module, "tagged_hash", bad):
        yield


@contextmanager
def _on_resume(break_it: Callable[[Match], None]) -> Iterator[None]:
    init = Match.__init__

    def bad(match: Match, *arguments: Any, **options: Any) -> None:
        init(match, *arguments, **options)
        if match._heard is not None:
            break_it(match)

    with patch.object(Match, "__init__", bad):
        yield


def fresh_secrets_on_resume() -> AbstractContextManager[None]:
    """A node that comes back draws new secrets."""

    def bad(match: Match) -> None:
        match._seed = tagged_hash("fresh", match._seed)

    return _on_resume(bad)


def signing_before_anybody_answered() -> AbstractContextManager[None]:
    """A node that comes back trusts its store alone."""

    def bad(match: Match) -> None:
        match._heard = None

    return _on_resume(bad)


@contextmanager
def pages_are_believed() -> Iterator[None]:
    """Signatures of messages in pages are not checked."""

    def bad(data: bytes, signature: bytes) -> Signed:
        return parse_signed(data, signature)._replace(checked=True)

    with patch("protocol.match.parse_signed", bad):
        yield


@contextmanager
def _hold(bad: Callable[[Record, Signed, Callable[[Record, Signed], Outcome]], Outcome]) -> Iterator[None]:
    hold = Record.hold
    with patch.object(Record, "hold", lambda record, signed: bad(record, signed, hold)):
        yield


def every_duplicate_is_an_equivocation() -> AbstractContextManager[None]:
    """A message that comes twice counts as two messages for one slot."""

    def bad(record: Record, signed: Signed, hold: Callable[[Record, Signed], Outcome]) -> Outcome:
        outcome = hold(record, signed)
        if outcome is Outcome.DUPLICATE:
            message = signed.message
            raise MisconductError(message.author, message.step, "two messages", (signed, signed))
        return outcome

    return _hold(bad)


def the_first_of_two_messages_counts() -> AbstractContextManager[None]:
    """Two messages for one slot are no matter: one of them is dropped."""

    def bad(record: Record, signed: Signed, hold: Callable[[Record, Signed], Outcome]) -> Outcome:
        known = record._slot(signed.message.step, signed.message.author)
        return Outcome.DUPLICATE if known is not None else hold(record, signed)

    return _hold(bad)


@contextmanager
def _not_judged(kind: Kind) -> Iterator[None]:
    judge = Record._judge

    def bad(record: Record, position: Any, signed: Signed) -> Any:
        try:
            return judge(record, position, signed)
        except (MisconductError, RejectedMessageError):
            if signed.message.kind is kind and signed.message.author in position.owed and kind is position.kind:
                return None
            raise

    with patch.object(Record, "_judge", bad):
        yield


def shares_are_not_checked() -> AbstractContextManager[None]:
    """A share is not held against its commitment."""
    return _not_judged(Kind.REVEAL)


def hands_are_not_checked() -> AbstractContextManager[None]:
    """A hand key is not held against its commitment."""
    return _not_judged(Kind.OPEN)


def locks_are_not_compared() -> AbstractContextManager[None]:
    """A LOCK on another state is as good as any."""
    return _not_judged(Kind.LOCK)


def stakes_are_not_checked() -> AbstractContextManager[None]:
    """A bet above funds is as good as any."""
    return _not_judged(Kind.STAKE)


@contextmanager
def later_steps_are_kept_without_end() -> Iterator[None]:
    """All messages for later steps are kept, however many."""
    keep = Agreement._keep_for_later

    def bad(agreement: Agreement, signed: Signed, number: int) -> Reception:
        with patch("protocol.limits.FUTURE_PER_AUTHOR", 10**9):
            return keep(agreement, signed, number)

    with patch.object(Agreement, "_keep_for_later", bad):
        yield


@contextmanager
def nobody_asks_on_a_new_link() -> Iterator[None]:
    """What was lost with a link is not asked for over the next, nor for a while after it."""
    link = Match._link

    def bad(match: Match, author: int) -> None:
        with patch.object(Match, "_need"):
            link(match, author)
        match._timers.doubt_until = 0.0

    with patch.object(Match, "_link", bad):
        yield


@contextmanager
def entries_in_order_of_arrival() -> Iterator[None]:
    """Messages of a step are kept in the order in which they came."""

    def bad(record: Record) -> None:
        record._close(dict(record.held), ())

    with patch.object(Record, "close", bad):
        yield


@contextmanager
def the_end_waits_for_everybody() -> Iterator[None]:
    """A match is over only when all have signed the result."""
    mind = Match._mind_the_end

    def bad(match: Match, wake: list[float]) -> None:
        mind(match, wake)
        if Over(False) in match._effects:
            match._effects.remove(Over(False))
            match._over = False

    with patch.object(Match, "_mind_the_end", bad):
        yield


@contextmanager
def one_secret_for_all() -> Iterator[None]:
    """The hand key is the public share."""

    from protocol import match as match_module

    def bad(seed: bytes, context: Context, purpose: str) -> bytes:
        return derive_secret(seed, context, "hand")

    with patch.object(match_module, "derive_secret", bad):
        yield


@contextmanager
def a_base_that_shrinks() -> Iterator[None]:
    """Whoever is voted absent is not counted in the next vote, before any LOCK."""

    def bad(*arguments: Any) -> Any:
        after = advance(*arguments)
        return after._replace(base=tuple(author for author in after.base if author not in after.left))

    with patch.object(record_module, "advance", bad):
        yield


@contextmanager
def a_vote_that_does_not_bind() -> Iterator[None]:
    """Who has voted in a step acts as if they had not: they close it when everything is there, and vote once more."""
    with patch.object(Absence, "has_voted", lambda absence, tip: False):
        yield


@contextmanager
def a_culprits_message_is_taken() -> Iterator[None]:
    """Who is proven to have cheated plays on."""
    settle = Agreement.settle

    def bad(agreement: Agreement) -> None:
        proven, agreement.proven = agreement.proven, {}
        settle(agreement)
        agreement.proven = {**proven, **agreement.proven}

    with patch.object(Agreement, "settle", bad), patch.object(Agreement, "tainted", lambda agreement: iter(())):
        yield


@contextmanager
def silence_is_misconduct() -> Iterator[None]:
    """Whoever is voted absent is thought to have cheated."""
    decide = Agreement._decide

    def bad(agreement: Agreement) -> bool:
        before = len(agreement.record.chain)
        decided = decide(agreement)
        position = agreement.record.position
        if decided and position.certificate and len(agreement.record.chain) > before:
            for author in set(agreement.record.chain[-2].owed) - set(position.entries):
                agreement._prove(MisconductError(author, position.step - 1, "was silent", position.certificate[:1]))
        return decided

    with patch.object(Agreement, "_decide", bad):
        yield


@contextmanager
def nobody_loses_patience() -> Iterator[None]:
    """Nobody ever votes that somebody is absent."""
    with patch("protocol.patience.PatienceClock.due", lambda clock, missing, witnesses: 1e9):
        yield


PLANTED: Final[Mapping[str, tuple[Callable[[], AbstractContextManager[None]], int]]] = {
    "own messages are not stored": (own_messages_are_not_stored, 0),
    "send before store": (send_before_store, 0),
    "stakes are not stored": (stakes_are_not_stored, 17),
    "no LOCK before REVEAL": (no_lock_before_reveal, 0),
    "hash without the step": (hash_without_the_step, 0),
    "fresh secrets on resume": (fresh_secrets_on_resume, 11),
    "signing before anybody answered": (signing_before_anybody_answered, 30),
    "pages are believed": (pages_are_believed, 4),
    "every duplicate is an equivocation": (every_duplicate_is_an_equivocation, 0),
    "the first of two messages counts": (the_first_of_two_messages_counts, 3),
    "shares are not checked": (shares_are_not_checked, 55),
    "hands are not checked": (hands_are_not_checked, 390),
    "LOCKs are not compared": (locks_are_not_compared, 10),
    "stakes are not checked": (stakes_are_not_checked, 207),
    "later steps are kept without end": (later_steps_are_kept_without_end, 12),
    "nobody asks on a new link": (nobody_asks_on_a_new_link, 2),
    "entries in order of arrival": (entries_in_order_of_arrival, 0),
    "the end waits for everybody": (the_end_waits_for_everybody, 0),
    "one secret for all": (one_secret_for_all, 0),
    "a base that shrinks": (a_base_that_shrinks, 6),
    "a vote that does not bind": (a_vote_that_does_not_bind, 3),
    "a culprit's message is taken": (a_culprits_message_is_taken, 44),
    "silence is misconduct": (silence_is_misconduct, 6),
    "nobody loses patience": (nobody_loses_patience, 10),
}
"""Every bug by its name, and a seed from which on the search for it is short."""

WITHIN: Final = 1_000
"""Seeds within which every bug must be caught."""
