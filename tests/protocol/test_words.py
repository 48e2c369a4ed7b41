"""Words at the table (chat): which texts can be sent, which are accepted, and how forgery fails."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import limits
from protocol.crypto.keys import SMALL_ORDER, Identity
from protocol.match.words import (
    SAY_TAG,
    Hearing,
    MalformedWordError,
    SignedWord,
    UnheardWordError,
    WordError,
    parse_word,
    sign_word,
    speakable,
)
from protocol.wire.canonical import Value, encode
from protocol.wire.names import UNSEEN

ADA, BEN = Identity.generate(), Identity.generate()
TABLE, MATCH = b"t" * 16, b"m" * 32
TEXT = st.text(st.characters(codec="utf-8"), max_size=limits.WORD_CHARACTERS + 5)


def said(text: str = "well played", number: int = 1, context: bytes = TABLE, by: Identity = ADA) -> SignedWord:
    return sign_word(context, by, number, text)


def heard(hearing: Hearing, word: SignedWord, now: float = 0.0) -> str:
    """Return the reason why a word is not accepted, or an empty string."""
    try:
        hearing.take(word, now)
    except UnheardWordError as error:
        return str(error)
    return ""


# Sending


@given(TEXT)
def test_words_arrive_as_they_were_sent(text: str) -> None:
    try:
        spoken = speakable(text)
    except WordError:
        return
    word = said(spoken)
    assert len(word.data) <= limits.WORD
    assert parse_word(word.data, word.signature) == word
    assert heard(Hearing(), word) == ""
    assert speakable(spoken) == spoken == unicodedata.normalize("NFC", spoken)


def test_the_longest_word_fits() -> None:
    word = said("\U0001f3b2" * limits.WORD_CHARACTERS, 2**63 - 1, MATCH)
    assert len(word.data) <= limits.WORD
    assert parse_word(word.data, word.signature) == word


@pytest.mark.parametrize(
    ("typed", "spoken"),
    [
        ("  well\tplayed \n", "well played"),
        ("e\u0301", "é"),
        ("\u2764\ufe0f", "\u2764"),
        ("a\u00a0\u2003b", "a b"),
        ("שלום", "שלום"),
        ("x" * 300 + " " * 9, ""),
        ("", ""),
        ("\ufe0f \n", ""),
        ("\x1b[2J", ""),
        ("a\u202eb", ""),
        ("a\u2066b", ""),
        ("a\u200db", ""),
        ("a\u0316\u0317\u0318", ""),
        ("\u0316a", ""),
        ("\u3164", ""),
        ("\ue000", ""),
        ("\U000e0041", ""),
    ],
)
def test_typed_words_are_normalized_or_refused(typed: str, spoken: str) -> None:
    try:
        assert speakable(typed) == spoken
    except WordError:
        assert spoken == ""


# Malformed words


@pytest.mark.parametrize("code", sorted({code for pair in UNSEEN for code in pair if not 0xD800 <= code <= 0xDFFF}))
def test_a_word_with_an_invisible_character_is_malformed(code: int) -> None:
    word = said(f"a{chr(code)}b")
    with pytest.raises(MalformedWordError):
        parse_word(word.data, word.signature)


KEY = bytes(range(32))


@pytest.mark.parametrize(
    "value",
    [
        (),
        "say",
        ("p2pdice/3/message", TABLE, KEY, 1, "hello"),
        ("p2pdice/3/join", TABLE, KEY, 1, "hello"),
        (SAY_TAG, TABLE, KEY, 1),
        (SAY_TAG, TABLE, KEY, 1, "hello", 0),
        (SAY_TAG, b"", KEY, 1, "hello"),
        (SAY_TAG, TABLE + b"x", KEY, 1, "hello"),
        (SAY_TAG, TABLE, KEY[:31], 1, "hello"),
        (SAY_TAG, TABLE, KEY, -1, "hello"),
        (SAY_TAG, TABLE, KEY, 2**63, "hello"),
        (SAY_TAG, TABLE, KEY, "1", "hello"),
        (SAY_TAG, TABLE, KEY, 1, b"hello"),
        (SAY_TAG, TABLE, KEY, 1, ""),
        (SAY_TAG, TABLE, KEY, 1, "x" * 201),
        (SAY_TAG, TABLE, KEY, 1, " hello"),
        (SAY_TAG, TABLE, KEY, 1, "hello "),
        (SAY_TAG, TABLE, KEY, 1, "hel  lo"),
    ],
)
def test_a_malformed_word_is_refused_even_if_signed(value: Value) -> None:
    data = encode(value)
    with pytest.raises(MalformedWordError):
        parse_word(data, ADA.private_key.sign(data))


def test_lengths_are_checked_first() -> None:
    for data, signature in ((bytes(limits.WORD + 1), bytes(64)), (said().data, bytes(63))):
        with pytest.raises(MalformedWordError, match="length"):
            parse_word(data, signature)


# Receiving


@given(st.data())
def test_a_word_with_any_changed_byte_is_refused(data: st.DataObject) -> None:
    word = said()
    which = data.draw(st.sampled_from(["data", "signature"]))
    raw = bytearray(getattr(word, which))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    parts = {"data": word.data, "signature": word.signature, which: bytes(raw)}
    try:
        changed = parse_word(parts["data"], parts["signature"])
    except MalformedWordError:
        return
    assert heard(Hearing(), changed) == "has a wrong signature"


def test_a_small_order_key_has_no_valid_signature() -> None:
    for key in SMALL_ORDER:
        data = encode((SAY_TAG, TABLE, key, 1, "hello"))
        word = parse_word(data, (1).to_bytes(32, "little") + bytes(32))
        assert heard(Hearing(), word) == "has a wrong signature"


def test_a_word_is_accepted_once_and_no_older_one_after_it() -> None:
    hearing = Hearing()
    first, second, third = (said(number=number) for number in (3, 4, 9))
    assert heard(hearing, second) == ""
    assert heard(hearing, first) == heard(hearing, second) == "was said before"
    assert heard(hearing, third) == ""
    assert heard(hearing, said(number=1, by=BEN)) == ""


def test_words_above_the_rate_are_dropped_and_later_ones_are_accepted() -> None:
    hearing = Hearing()
    at_once = [heard(hearing, said(number=number)) for number in range(100)]
    assert at_once.count("") == limits.WORD_BURST_HEARD
    assert set(at_once) == {"", "came too fast after others"}
    assert heard(hearing, said(number=100, by=BEN)) == ""  # one player's flood does not affect another
    in_the_long_run = [heard(hearing, said(number=200 + number), number / 10) for number in range(1000)]
    assert 95 <= in_the_long_run.count("") <= 101


def test_a_speaker_who_keeps_changing_keys_blocks_one_table_only_for_a_while() -> None:
    hearing = Hearing()
    at_once = [heard(hearing, said(by=Identity.generate())) for _ in range(50)]
    assert at_once.count("") == limits.FLOOR_BURST
    assert set(at_once) == {"", "came while others were talking too much"}
    assert heard(hearing, said(context=MATCH)) == ""
    in_the_long_run = [heard(hearing, said(by=Identity.generate()), number / 50) for number in range(500)]
    assert 38 <= in_the_long_run.count("") <= 41
    assert heard(hearing, said(number=2, by=ADA), 11.0) == ""


def test_only_the_last_tables_are_remembered() -> None:
    hearing = Hearing()
    for number in range(limits.FLOORS + 5):
        assert heard(hearing, said(number=number, context=bytes([number]) * 16), 2.0 * number) == ""
    assert len(hearing._floors) == limits.FLOORS


def test_forged_words_do_not_use_up_a_players_allowance() -> None:
    hearing = Hearing()
    for number in range(100):
        forged = said(number=1000 + number)._replace(signature=said(number=number, by=BEN).signature)
        assert heard(hearing, forged) == "has a wrong signature"
    assert heard(hearing, said(number=1)) == ""


@pytest.mark.parametrize("text", ["\u1161" * 195, "\U0001d159", "e\u0301", "a\u0316\u0317\u0318", "\u0316a"])
def test_unprintable_words_are_ignored(text: str) -> None:
    """Programs may know different Unicode versions, so an unprintable word is no breach of the protocol."""
    word = said(text)
    assert parse_word(word.data, word.signature) == word
    assert heard(Hearing(), word)


def test_the_most_recent_authors_are_remembered() -> None:
    hearing = Hearing()
    crowd = [Identity.generate() for _ in range(limits.SPEAKERS + 5)]
    for number, author in enumerate(crowd):
        assert heard(hearing, said(by=author), float(number)) == ""
    assert len(hearing._authors) == limits.SPEAKERS
    assert heard(hearing, said(by=crowd[-1]), 100.0) == "was said before"
