"""The players and names that a genesis may have, and the faults for which a genesis is refused."""

from __future__ import annotations

import sys
import unicodedata
from itertools import pairwise

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from p2pdice.rulesets import PRESETS
from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import SMALL_ORDER, Identity, MatchKey
from protocol.limits import JOIN_ADDRESSES, NICKNAME_CHARACTERS, PATIENCE_BOUNDS
from protocol.wire.canonical import Value, decode, encode
from protocol.wire.genesis import (
    PLEDGES,
    Genesis,
    Join,
    JoinRecord,
    MalformedGenesisError,
    Patience,
    make_join_record,
    match_id,
    parse_genesis,
    parse_join_record,
    parse_patience,
    parse_ruleset,
)
from protocol.wire.names import (
    UNSEEN,
    NicknameError,
    check_nickname,
    check_written,
    flaw,
    is_marked_as_bot,
    is_unseen,
)
from tests.simulation.world import TABLE, genesis, join_record, match_seed

IDENTITY = Identity.generate()
KEY = MatchKey(bytes(32))
JOIN = Join(TABLE, IDENTITY.public, KEY.public, "ann", (("192.0.2.1", 7000),), bytes(32), "redeemed")


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "Ann B. 7",
        "x" * NICKNAME_CHARACTERS,
        "Žofie",
        "Анна",
        "山田 ひろ",
        "한국",
        "ann 🎲",
        "O'Neil-2",
        "Gal·la!",
        "7up",
        "Ada (bot)",
        "Ada (mind bot)",
        "Ada (Zoe's bot)",
        "Шанс (⚙)",
        "Hal (Yousef's bot)",
    ],
)
def test_real_names_of_people_are_accepted(name: str) -> None:
    assert check_nickname(name) == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "1 to 20"),
        ("x" * (NICKNAME_CHARACTERS + 1), "1 to 20"),
        ("e\u0301", "NFC"),
        (" ann", "spaces"),
        ("ann ", "spaces"),
        ("a  b", "spaces"),
        ("a\nb", "invisible"),
        ("a\tb", "invisible"),
        ("a\x1b[2Jb", "invisible"),
        ("a\u202eb", "invisible"),
        ("a\u2066b", "invisible"),
        ("a\u200bb", "invisible"),
        ("a\u200db", "invisible"),
        ("a\u00adb", "invisible"),
        ("a\u00a0b", "invisible"),
        ("a\ufeffb", "invisible"),
        ("a\ue000b", "invisible"),
        ("\u3164", "invisible"),
        ("\u115f\u1160", "invisible"),
        ("\u2800", "invisible"),
        ("a\ufe0fb", "invisible"),
        ("a\u034fb", "invisible"),
        ("\u1161", "invisible"),
        ("\ud55c\u11ff", "invisible"),
        ("\ud7b0\ud7fb", "invisible"),
        ("\U0001d159", "invisible"),
        ("\u0331a", "begin"),
        ("a\u0331\u0332\u0333", "2 combining"),
        ("аnn", "one script"),
        ("αnn", "one script"),
        ("Zoe (you)", "brackets"),
        ("Zoe（you）", "brackets"),
        ("Zoe [K7QF]", "brackets"),
        ("Zoe (trusted)", "brackets"),
        ("Zoe (you) (bot)", "brackets"),
        ("(bot)", "begin"),
        ("Zoe (you bot)", "looks like 'you'"),
        ("Zoe (Y0u's bot)", "looks like 'you'"),
        ("Zoe (you, a's bot)", "looks like 'you'"),
        ("Zoe ⎛you⎞", "looks like 'you'"),
        ("Zoe <y0u>", "looks like 'you'"),
        ("you", "looks like 'you'"),
        ("✓ Zoe", "begin"),
        ("○ Zoe", "begin"),
        ("· Zoe", "begin"),
        ("! Zoe", "begin"),
        ("ǃ Zoe", "begin"),
        ("ꞏZoe", "begin"),
        ("〇 ひろ", "begin"),
    ],
)
def test_a_name_that_misleads_the_eye_is_refused(name: str, reason: str) -> None:
    with pytest.raises(NicknameError, match=reason):
        check_nickname(name)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("Ada (bot)", True),
        ("Ada (mind bot)", True),
        ("Ada (Zoe's mind bot)", True),
        ("Шанс (⚙)", True),
        ("Talbot)", False),
        ("Zoe (Talbot)", False),
        ("Zoe (a robot)", False),
        ("Ada(bot)", False),
        ("Ada (bot) 2", False),
        ("Ada (bot)\n", False),
    ],
)
def test_a_bot_is_recognized_by_the_exact_mark_in_its_nickname(name: str, is_one: bool) -> None:
    assert is_marked_as_bot(name) == is_one


def test_every_visible_character_has_a_width_on_a_terminal() -> None:
    hidden = [code for code in range(sys.maxunicode + 1) if get_cwidth(chr(code)) < 1 and not flaw(chr(code))]
    assert [hex(code) for code in hidden] == []


def test_every_syllable_of_korean_can_stand_in_a_name() -> None:
    for code in range(0xAC00, 0xD7A4):
        assert check_nickname(unicodedata.normalize("NFC", unicodedata.normalize("NFD", chr(code)))) == chr(code)


@given(st.text(max_size=NICKNAME_CHARACTERS + 2))
def test_any_text_is_a_printable_name_or_refused(name: str) -> None:
    try:
        check_nickname(name)
    except NicknameError:
        return
    assert name.isprintable()
    assert name.strip() == name != ""
    assert check_written(name) == name


def test_every_invisible_character_is_on_the_closed_list() -> None:
    """The list has no visible character, so it excludes no letter of a script in use."""
    never = {"Cc", "Co", "Cs", "Zs", "Zl", "Zp"}
    for code in range(sys.maxunicode + 1):
        category = unicodedata.category(chr(code))
        if category in never and code != ord(" "):
            assert is_unseen(chr(code)), hex(code)
        elif category[0] in "LNPS" and is_unseen(chr(code)):
            name = unicodedata.name(chr(code))
            assert "FILLER" in name or "BLANK" in name, name
    assert all(last < first for (_, last), (first, _) in pairwise(UNSEEN))


@pytest.mark.parametrize(
    "name", ["a\x1b[2J", "a\u202eb", "Ada\u3164", "Ada\u034f", "\U000e0041a", "a\ufe0f", " a", "a  b"]
)
def test_a_genesis_has_no_invisible_name(name: str) -> None:
    with pytest.raises(MalformedGenesisError, match="nickname"):
        parse_join_record(make_join_record(JOIN._replace(nickname=name), IDENTITY, KEY).wire)


@pytest.mark.parametrize("name", ["e\u0301", "аnn", "a\u0331\u0332\u0333", "\u0331a", "\U0001fae8", "\u0378"])
def test_a_genesis_is_judged_independently_of_the_unicode_version(name: str) -> None:
    """Guests refuse the first four names at the table: see test_lobby."""
    assert parse_join_record(make_join_record(JOIN._replace(nickname=name), IDENTITY, KEY).wire).join.nickname == name


def test_a_join_record_survives_encoding_and_decoding() -> None:
    record = make_join_record(JOIN, IDENTITY, KEY)
    assert parse_join_record(record.wire) == record


BAD_JOINS: dict[str, Join] = {
    "a short table id": JOIN._replace(table=bytes(15)),
    "a table id of a third kind": JOIN._replace(table=b"\2" + bytes(15)),
    "the identity as match key": JOIN._replace(match_key=IDENTITY.public),
    "another's match key": JOIN._replace(match_key=MatchKey(b"x" * 32).public),
    "another's identity": JOIN._replace(identity=Identity.generate().public),
    "a small-order identity": JOIN._replace(identity=max(SMALL_ORDER)),
    "a small-order match key": JOIN._replace(match_key=max(SMALL_ORDER)),
    "a short nonce": JOIN._replace(nonce=bytes(31)),
    "an unknown pledge": JOIN._replace(pledge="both"),
    "no name": JOIN._replace(nickname=""),
    "too long a name": JOIN._replace(nickname="a" * 21),
    "too many addresses": JOIN._replace(addresses=(("192.0.2.1", 7),) * (JOIN_ADDRESSES + 1)),
    "a host name": JOIN._replace(addresses=(("cafe.de", 7),)),
    "a zone": JOIN._replace(addresses=(("fe80::1%1", 7),)),
    "a port of 0": JOIN._replace(addresses=(("192.0.2.1", 0),)),
    "a port too high": JOIN._replace(addresses=(("192.0.2.1", 65536),)),
}


@pytest.mark.parametrize("join", BAD_JOINS.values(), ids=BAD_JOINS.keys())
def test_a_validly_signed_join_that_breaks_a_rule_is_refused(join: Join) -> None:
    with pytest.raises(MalformedGenesisError):
        parse_join_record(make_join_record(join, IDENTITY, KEY).wire)


@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_join_record_with_any_changed_part_is_refused(part: int) -> None:
    wire = list(make_join_record(JOIN, IDENTITY, KEY).wire)
    for index in range(len(wire[part])):
        flipped = bytearray(wire[part])
        flipped[index] ^= 1
        with pytest.raises(MalformedGenesisError):
            parse_join_record((*wire[:part], bytes(flipped), *wire[part + 1 :]))


@pytest.mark.parametrize("pledge", PLEDGES)
def test_both_pledges_are_accepted(pledge: str) -> None:
    assert parse_join_record(make_join_record(JOIN._replace(pledge=pledge), IDENTITY, KEY).wire).join.pledge == pledge


@pytest.mark.parametrize("players", [2, 10])
def test_a_genesis_survives_encoding_and_decoding_and_its_hash_is_the_match_id(players: int) -> None:
    made, _ = genesis(PRESETS["classic"], players, b"seed")
    assert parse_genesis(made.encoded()) == made
    assert match_id(made.encoded()) != match_id(made._replace(patience=Patience(60, 15)).encoded())


def altered(**changes: object) -> bytes:
    made, _ = genesis(PRESETS["classic"], 3, b"seed")
    return made._replace(**changes).encoded()  # type: ignore[arg-type]


def sitting(*numbers: int) -> tuple[JoinRecord, ...]:
    records = [join_record(b"seed", number) for number in numbers]
    return tuple(sorted(records, key=lambda record: record.join.identity))


def with_match_key_of(number: int, other: int) -> JoinRecord:
    own = join_record(b"seed", number).join
    key = MatchKey(match_seed(b"seed", other))
    identity = Identity(Ed25519PrivateKey.from_private_bytes(tagged_hash("test-identity", b"seed", number)))
    return make_join_record(own._replace(match_key=key.public), identity, key)


def twins() -> tuple[JoinRecord, ...]:
    records = [join_record(b"seed", 0), with_match_key_of(1, 0)]
    return tuple(sorted(records, key=lambda record: record.join.identity))


def crossed() -> tuple[JoinRecord, ...]:
    """Return a roster in which one player's match key is another's identity key."""
    key = MatchKey(match_seed(b"seed", 0))
    other = Identity(Ed25519PrivateKey.from_private_bytes(tagged_hash("match-key", match_seed(b"seed", 0))))
    assert other.public == key.public
    join = join_record(b"seed", 1).join._replace(identity=other.public)
    records = [join_record(b"seed", 0), make_join_record(join, other, MatchKey(match_seed(b"seed", 1)))]
    return tuple(sorted(records, key=lambda record: record.join.identity))


BAD_ROSTERS: dict[str, object] = {
    "one player": sitting(0),
    "eleven players": sitting(*range(11)),
    "unsorted": sitting(0, 1, 2)[::-1],
    "an identity twice": (*sitting(0), *sitting(0)),
    "a match key twice": twins(),
    "a match key that is another's identity": crossed(),
    "another table": (*sitting(0, 1), join_record(b"seed", 2, table=b"\0" + b"x" * 15)),
}


@pytest.mark.parametrize("roster", BAD_ROSTERS.values(), ids=BAD_ROSTERS.keys())
def test_a_roster_that_breaks_a_rule_is_refused(roster: object) -> None:
    with pytest.raises(MalformedGenesisError):
        parse_genesis(altered(roster=roster))


@pytest.mark.parametrize("value", [PATIENCE_BOUNDS[0] - 1, PATIENCE_BOUNDS[1] + 1, -1])
def test_patience_stays_within_bounds(value: int) -> None:
    assert parse_patience(PATIENCE_BOUNDS) == Patience(*PATIENCE_BOUNDS)
    for patience in ((value, 15), (120, value), (120,), (120, 15, 15), ("120", 15), 120):
        with pytest.raises(MalformedGenesisError):
            parse_patience(patience)


OPTIONS = dict(PRESETS["classic"].options())
BAD_RULES: dict[str, Value] = {
    "an unknown option": tuple(sorted((*OPTIONS.items(), ("colour", "red")))),
    "an unknown value": tuple(sorted({**OPTIONS, "wild": "sixes"}.items())),
    "a number out of range": tuple(sorted({**OPTIONS, "dice": 0}.items())),
    "a refused combination": tuple(sorted({**OPTIONS, "motes": "yes", "dice": 4}.items())),
    "a missing option": tuple(sorted(OPTIONS.items()))[1:],
    "an option twice": (*sorted(OPTIONS.items()), sorted(OPTIONS.items())[-1]),
    "another order": tuple(sorted(OPTIONS.items()))[::-1],
    "no pairs": ("wild",),
    "no array": 7,
}


@pytest.mark.parametrize("options", BAD_RULES.values(), ids=BAD_RULES.keys())
def test_unknown_rules_are_refused(options: Value) -> None:
    with pytest.raises(MalformedGenesisError):
        parse_ruleset(options)


@given(st.data())
def test_no_single_change_to_a_genesis_is_accepted_as_the_same_match(data: st.DataObject) -> None:
    made, _ = genesis(PRESETS["classic"], 2, b"seed")
    raw = bytearray(made.encoded())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        parsed: Genesis = parse_genesis(bytes(raw))
    except MalformedGenesisError:
        return
    assert parsed.roster == made.roster  # only parts outside the join records can have changed
    assert match_id(bytes(raw)) != match_id(made.encoded())


@given(st.recursive(st.integers(0, 9) | st.binary(max_size=9) | st.text(max_size=9), lambda x: st.lists(x, max_size=6)))
def test_random_values_are_a_genesis_or_are_refused_with_one_error(value: object) -> None:
    def frozen(item: object) -> Value:
        return tuple(map(frozen, item)) if isinstance(item, list) else item  # type: ignore[return-value]

    try:
        data = encode(frozen(value))
    except ValueError:
        return  # nested too deeply for any frame
    with pytest.raises(MalformedGenesisError):
        parse_genesis(data)
    with pytest.raises(MalformedGenesisError):
        parse_join_record(decode(data))


def test_the_longest_genesis_fits_a_frame() -> None:
    with pytest.raises(MalformedGenesisError, match="65536 bytes"):
        parse_genesis(bytes(65537))
