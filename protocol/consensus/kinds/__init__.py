"""The kinds of messages: one module each, with everything that the protocol knows about that kind.

A new kind takes a number in :class:`~protocol.wire.messages.Kind`, a module here with its :class:`Rule`, and a line in
:data:`RULES`. If it is part of the history, :data:`protocol.consensus.steps.SCRIPTS` says in which steps.
"""

from __future__ import annotations

from typing import Any, Final

from protocol.consensus.kinds.absent import Absent
from protocol.consensus.kinds.close import Close
from protocol.consensus.kinds.commit import Commit
from protocol.consensus.kinds.lock import Lock
from protocol.consensus.kinds.move import Move
from protocol.consensus.kinds.open import Open
from protocol.consensus.kinds.resign import Resign
from protocol.consensus.kinds.result import Result
from protocol.consensus.kinds.reveal import Reveal
from protocol.consensus.kinds.rule import Rule, is_hash
from protocol.consensus.kinds.stake import Stake
from protocol.consensus.kinds.witness import Witness
from protocol.crypto.keys import SIGNATURE_BYTES
from protocol.limits import MESSAGE, STEPS
from protocol.wire.canonical import NotCanonicalError, decode
from protocol.wire.messages import MESSAGE_TAG, MalformedMessageError, Message, Signed, message_id

RULES: Final[dict[int, Rule[Any]]] = {
    int(rule.kind): rule
    for rule in (
        Commit(),
        Lock(),
        Reveal(),
        Move(),
        Open(),
        Resign(),
        Result(),
        Stake(),
        Absent(),
        Close(),
        Witness(),
    )
}
"""The rule of each kind, by its number on the wire."""


def statement(message: Message) -> str:
    """Return what the author of a message did by signing it, as a sentence that begins with their name goes on.

    What is quoted is the author's own text: whoever shows it escapes it.
    """
    return RULES[message.kind].statement(message.body)


def parse_signed(data: bytes, signature: bytes) -> Signed:
    """Return the message that ``data`` spells. The signature's length is checked, the signature itself is not.

    :raises MalformedMessageError: if the bytes are not canonical or have another shape.
    """
    if len(data) > MESSAGE:
        raise MalformedMessageError(f"no message has more than {MESSAGE} bytes")
    try:
        value = decode(data)
    except NotCanonicalError as error:
        raise MalformedMessageError(str(error)) from None
    if len(signature) != SIGNATURE_BYTES:
        raise MalformedMessageError(f"a signature has {SIGNATURE_BYTES} bytes")
    if type(value) is not tuple or len(value) != 7 or value[0] != MESSAGE_TAG:
        raise MalformedMessageError("not a message of this protocol version")
    _, match, step, tip, author, kind, body = value
    if not (is_hash(match) and is_hash(tip) and type(step) is int and type(author) is int and type(kind) is int):
        raise MalformedMessageError("a field of the message has the wrong type")
    if not 0 <= step < STEPS or not 0 <= author < 256:
        raise MalformedMessageError("a number of the message is out of range")
    rule = RULES.get(kind)
    if rule is None:
        raise MalformedMessageError(f"there is no kind {kind}")
    if not rule.fits(body):
        raise MalformedMessageError(f"the body of {rule.kind.name} must be: {rule.shape}")
    message = Message(match, step, tip, author, rule.kind, body)
    return Signed(data, signature, message, message_id(data))
