"""Chat messages: with a wrong signature, and signed by players."""

from __future__ import annotations

from functools import cache

from protocol.limits import WORD, WORD_CHARACTERS
from protocol.match.words import (
    Hearing,
    MalformedWordError,
    SignedWord,
    UnheardWordError,
    parse_word,
    sign_word,
    speakable,
)
from tests.fuzz.samples import IDENTITIES
from tests.fuzz.target import Target


def check(data: bytes) -> None:
    """Treat ``data`` as the signed bytes of a chat message."""
    try:
        word = parse_word(data, bytes(64))
    except MalformedWordError as error:
        assert str(error)
        return
    assert len(data) <= WORD
    assert not is_heard(word), "a chat message with a wrong signature was accepted"
    for identity in IDENTITIES:
        signed = word._replace(signature=identity.private_key.sign(data))
        if is_heard(signed):
            assert word.author == identity.public
            assert speakable(word.text) == word.text
            assert 0 < len(word.text) <= WORD_CHARACTERS


def is_heard(word: SignedWord) -> bool:
    hearing = Hearing()
    try:
        hearing.take(word, 0.0)
    except UnheardWordError as error:
        assert str(error)
        return False
    try:
        hearing.take(word, 1.0)
    except UnheardWordError:
        return True
    raise AssertionError("a chat message was accepted twice")


@cache
def examples() -> tuple[bytes, ...]:
    one, other = IDENTITIES[:2]
    return (
        sign_word(bytes(16), one, 1, "hello").data,
        sign_word(bytes(32), other, 2**63 - 1, "é שלום 五 ⚄" * 10).data,
    )


TARGETS = (Target("word", check, examples),)
