"""The kinds of messages: one module each, with everything that the protocol knows about that kind.

``docs/architecture.md`` says what to touch for a new kind.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final

from protocol.consensus.kinds.rule import Rule, is_hash
from protocol.consensus.position import Position, Purpose, Stage
from protocol.crypto.keys import SIGNATURE_BYTES
from protocol.limits import MESSAGE, STEPS
from protocol.wire.canonical import NotCanonicalError, decode
from protocol.wire.messages import MESSAGE_TAG, MalformedMessageError, Message, Signed, message_id

RULES: Final[dict[int, Rule[Any]]] = {}
"""The rule of each kind, by its number on the wire."""
SCRIPTS: Final[dict[Purpose, tuple[int, ...]]] = dict.fromkeys(Purpose, ())
"""The kinds of message that each purpose takes, in order."""


def register(rule: Rule[Any]) -> None:
    """Make a kind part of the protocol."""
    assert rule.kind not in RULES, f"{rule.name} has the number of {RULES[rule.kind].name}"
    RULES[rule.kind] = rule
    for purpose in rule.purposes:
        SCRIPTS[purpose] = tuple(sorted((*SCRIPTS[purpose], rule.kind), key=_order))


def _order(kind: int) -> tuple[int, int]:
    """Return the sort key of a kind in a script."""
    return _STAGES.index(RULES[kind].stage), kind


_STAGES: Final = tuple(Stage)

# Every module of this folder is a kind, so that a new one is taken up by being there.
for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
for _rule in Rule.__subclasses__():
    register(_rule())


def stage_of(position: Position) -> Stage:
    """Return the stage of the open step: the duty of each player who owes it a message."""
    if position.kind is None:
        return Stage.CONFIRM
    rule = RULES[position.kind]
    return Stage.CHOOSE if position.purpose in rule.choices else rule.stage


def statement(message: Message) -> str:
    """Return what the author of a message did by signing it, to follow the author's name in a sentence.

    It may quote text by the author: escape it before it is shown.
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
        raise MalformedMessageError(f"the body of {rule.name} must be: {rule.shape}")
    message = Message(match, step, tip, author, rule.kind, body)
    return Signed(data, signature, message, message_id(data))
