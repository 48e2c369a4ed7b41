"""Signed messages of each kind, at a step that awaits them, with invalid and valid signatures.

The history takes each, or refuses it and is unchanged. A live match survives it, whoever sent it.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Final, NamedTuple

from protocol.consensus.branches import Outcome
from protocol.consensus.history import History
from protocol.consensus.kinds import parse_signed
from protocol.consensus.position import Purpose
from protocol.consensus.rule import MisconductError, RejectedMessageError
from protocol.consensus.verifier import Judgement, verify
from protocol.crypto.keys import PublicKey
from protocol.match.effects import Accuse, Broadcast, FrameReceived, Linked, Received, Send, Ticked
from protocol.match.match import Match
from protocol.wire.canonical import encode
from protocol.wire.frames import Cut, Need, Page, encode_frame
from protocol.wire.messages import VOTES, Kind, MalformedMessageError, Message, Signed
from tests.fuzz.samples import SHORT, messages_of, sign_message, world
from tests.fuzz.target import Target
from tests.protocol.histories import add, fork


class Opening(NamedTuple):
    """The beginning of a match that awaits messages of some kind."""

    data: bytes
    """The genesis."""
    seed: bytes
    """The match seed of player 0."""
    past: tuple[Signed, ...]
    history: History
    due: tuple[Signed, ...]
    """The messages that the players really signed next."""


ANYWHERE: Final = {Kind.RESIGN: Kind.MOVE, Kind.ABSENT: Kind.REVEAL, Kind.CLOSE: Kind.REVEAL}
"""Kinds that never occur in a match without faults, each with a kind in whose place it may be signed."""


@cache
def opening(kind: Kind) -> Opening:
    """Return the last step of a match that accepts messages of ``kind``; for RESULT, the end."""
    ruleset = SHORT[-1] if kind is Kind.STAKE else SHORT[0]
    messages = messages_of(ruleset)
    step = max((each.message.step for each in messages if each.message.kind is ANYWHERE.get(kind, kind)), default=None)
    past = tuple(each for each in messages if step is None or each.message.step < step)
    history = History(world(ruleset).data)
    for signed in past:
        assert add(history, signed) is Outcome.ADDED
    due = tuple(each for each in messages if each.message.step == step)
    if step is None:
        assert history.position.purpose is Purpose.END
    return Opening(world(ruleset).data, world(ruleset).seeds[0], past, history, due)


def check(kind: Kind, data: bytes) -> None:
    """Treat ``data`` as the signed bytes of a message."""
    at = opening(kind)
    try:
        unsigned = parse_signed(data, bytes(64))
    except MalformedMessageError as error:
        assert str(error)
        return
    assert unsigned.message.encoded() == data
    assert not _add(at.history, unsigned), "a message with a wrong signature was accepted"
    signed = sign_message(data, at.history)
    _add(at.history, signed)
    match = Match(at.data, 0, at.seed, at.past)
    match.handle(Ticked(), 0.0)
    match.handle(Linked(1), 0.0)
    page = Page(at.history.match, 0, (signed.wire,))
    severed = FrameReceived(1, Cut(signed.message.match, (0, 1, signed.message.author)))
    for item in (Received(1, unsigned), severed, Received(1, signed), FrameReceived(1, page), Ticked()):
        for effect in match.handle(item, 100.0):
            if isinstance(effect, Send | Broadcast):
                assert encode_frame(effect.frame)
            if isinstance(effect, Send) and isinstance(effect.frame, Need):
                assert effect.author == 1
            if isinstance(effect, Accuse):
                verdict = verify(effect.proof)
                assert verdict.verdict is Judgement.MISCONDUCT, verdict
                assert verdict.culprit == match.info[signed.message.author].name


def _add(history: History, signed: Signed) -> bool:
    """Add a message to a copy of the history. Return whether it was accepted."""
    twin = fork(history)
    try:
        outcome = add(twin, signed)
    except RejectedMessageError:
        outcome = None
    except MisconductError as error:
        outcome = None
        assert signed.signature != bytes(64), "an author was blamed for an unsigned message"
        assert error.author == signed.message.author
        assert error.step == signed.message.step
        for evidence in error.evidence:
            assert PublicKey(history.keys[error.author].raw).verifies(*reversed(evidence.wire))
    if outcome is not Outcome.ADDED:
        assert (twin.position, twin.held, twin.results) == (history.position, history.held, history.results)
    return outcome is Outcome.ADDED


def examples(kind: Kind) -> tuple[bytes, ...]:
    at = opening(kind)
    position = at.history.position
    given = [signed.data for signed in at.due]
    if kind is Kind.RESIGN:
        given = [signed.message._replace(kind=kind, body=()).encoded() for signed in at.due]
    elif kind in VOTES:
        ids = tuple(signed.id for signed in at.due)
        newest: tuple[int, ...] = (1,) if kind is Kind.ABSENT else ()
        lists = (ids, (ids[0], b""), (b"", ids[1]))
        given = [
            signed.message._replace(
                step=position.root_step,
                tip=position.root_tip,
                kind=kind,
                body=(2, (position.step, position.tip, entries), *newest),
            ).encoded()
            for signed in at.due
            for entries in lists
        ]
    elif kind is Kind.MOVE:
        texts = ("play grey@1", "lose red@1", "stake 5", "pass")
        given += [signed.message._replace(body=text).encoded() for signed in at.due for text in texts]
    elif kind is Kind.RESULT:
        given = [Message(at.history.match, position.step, position.tip, 1, kind, position.signed_hash).encoded()]
    elif kind is Kind.WITNESS:
        given = [Message(at.history.match, position.step, position.tip, 1, kind, bytes(32)).encoded()]
    assert given, "every kind has an example"
    return (*given, at.past[-1].data, encode(()))


TARGETS = tuple(Target(f"message-{kind.name.lower()}", partial(check, kind), partial(examples, kind)) for kind in Kind)
