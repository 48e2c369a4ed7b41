"""Names that look like a trusted player's are reported, in all scripts. Each ruleset has its own hash."""

from __future__ import annotations

import sys
import unicodedata
from contextlib import closing
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cli.bots.bot import BOT_NAMES
from p2pdice.rulesets import PRESETS, Ruleset
from protocol.crypto.keys import fingerprint
from protocol.net.discovery import LOBBY, Advertisement
from protocol.storage.store import Store
from protocol.wire.genesis import parse_ruleset
from protocol.wire.names import is_rules_name, is_table_name, outline, ruleset_hash, ruleset_label, which_are_alike
from tests.p2pdice.rulesets import rulesets
from tests.protocol.confusables import table

ADA, EVE = fingerprint(b"a" * 32), fingerprint(b"e" * 32)
PAIRS = """
    Ada/ADA Ada/Аdа Ada/Adaꞌ Ada/Adá Bill/Bi11 Bill/BiIl Marnie/Mamie modern/rnodern Wanda/VVanda Dave/Clave
    日/曰 力/カ 口/ロ 一/ー 二/ニ 八/ハ 夕/タ 卜/ト 工/エ 千/チ へ/ヘ り/リ つ/っ シン/ツソ 土方/士方 未来/末来
    HANNA/ΗΑΝΝΑ ΗΑΝΝΑ/ηαννα НАТАША/наташа Сhris/Chris Ѕаsha/Sasha Ꭺda/Ada ԁan/dan ᴀda/ada Łukasz/Lukasz
    חנה/הנה דן/רן ถาม/ภาม भारत/मारत Oскар/Oсkap O0l1/0OI|
"""


@pytest.mark.parametrize("pair", PAIRS.split())
def test_a_name_that_looks_like_a_trusted_one_is_reported(pair: str, tmp_path: Path) -> None:
    """Once, fifteen of these pairs raised no warning."""
    for known, new in (pair.split("/"), reversed(pair.split("/"))):
        with closing(Store(tmp_path / f"{outline(new)}-{len(new)}-{new.encode().hex()}.sqlite3")) as store:
            store.people.trust(ADA, known, 1_700_000_000)
            assert store.people.mismatch(EVE, new).trusted == (ADA,)


def test_ordinary_names_do_not_look_alike() -> None:
    names = [*BOT_NAMES, "Zoe", "Nina", "Anna", "Hanna", "Dana", "Dora", "Martin", "Marvin", "Анна", "Иван", "Ιωάννα"]
    names += ["山田", "川口", "田中", "はな", "サクラ", "한국", "민수", "משה", "דוד", "محمد", "علی", "राम", "สมชาย"]
    assert not any(any(which_are_alike(pair)) for pair in combinations(names, 2))


def test_the_shortcut_for_ascii_gives_the_same_outlines_as_the_whole_table() -> None:
    for code in range(0x80):
        assert outline(f"山{chr(code)}a").removeprefix("山") == outline(f"{chr(code)}a")


def test_the_outline_of_an_outline_is_itself() -> None:
    """Otherwise, if A looks like B and B looks like C, A would have two outlines."""
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code))[0] not in "CZ":
            for name in (chr(code), f"x{chr(code)}"):
                assert outline(outline(name)) == outline(name), hex(code)


def test_the_published_unicode_table_is_parsed() -> None:
    """Entries for decomposable characters, marks and symbols are left out, because no name contains them."""
    published = """# Version: 17.0.0
0410 ;\t0041 ;\tMA\t# ( А → A ) CYRILLIC CAPITAL LETTER A → LATIN CAPITAL LETTER A\t#
13AA ;\t0041 ;\tMA\t# ( Ꭺ → A ) CHEROKEE LETTER GO → LATIN CAPITAL LETTER A\t#
006D ;\t0072 006E ;\tMA\t# ( m → rn ) LATIN SMALL LETTER M → LATIN SMALL LETTER R, LATIN SMALL LETTER N\t#
0142 ;\t006C 0338 ;\tMA\t# ( ł → l̸ ) LATIN SMALL LETTER L WITH STROKE → LATIN SMALL LETTER L, ...\t#
A78C ;\t0027 ;\tMA\t# ( ꞌ → ' ) LATIN SMALL LETTER SALTILLO → APOSTROPHE\t#
FF21 ;\t0041 ;\tMA\t# ( Ａ → A ) FULLWIDTH LATIN CAPITAL LETTER A → LATIN CAPITAL LETTER A\t#
0345 ;\t0328 ;\tMA\t# ( ͅ → ̨ ) COMBINING GREEK YPOGEGRAMMENI → COMBINING OGONEK\t#
2010 ;\t002D ;\tMA\t#* ( ‐ → - ) HYPHEN → HYPHEN-MINUS\t#
"""
    assert table(published) == "-: a78c\n41: 410 13aa\n6c: 142\n72 6e: 6d\n"


HOUSE = PRESETS["classic"].with_options({"dice": "3"})


def test_presets_have_different_hashes_and_their_names_as_labels() -> None:
    for one, other in combinations(PRESETS.values(), 2):
        assert ruleset_hash(one) != ruleset_hash(other)
    assert [ruleset_label(ruleset) for ruleset in PRESETS.values()] == list(PRESETS)


@given(rulesets(), rulesets())
def test_two_rulesets_have_equal_hashes_exactly_if_they_are_equal(one: Ruleset, other: Ruleset) -> None:
    assert (ruleset_hash(one) == ruleset_hash(other)) == (one == other)


@given(rulesets())
def test_a_ruleset_survives_the_wire(ruleset: Ruleset) -> None:
    assert parse_ruleset(ruleset.options()) == ruleset
    assert len(ruleset_label(ruleset)) <= 40


HARD = "ab \u1019\u103c\u102d\u102f\u0301\u1161\u3164\U0001f3b2"
NAMES = st.text(st.sampled_from(HARD) | st.characters(), max_size=35)


@given(rulesets().filter(lambda ruleset: ruleset.name is None), NAMES, NAMES)
@example(HOUSE, "Friday", "\u1019\u103c\u102d\u102f\u1037")
@example(HOUSE, "Friday", "a\u1161")
@example(HOUSE, "Friday", "\u0301a")
def test_every_valid_name_of_a_table_and_its_rules_can_be_advertised(ruleset: Ruleset, table: str, name: str) -> None:
    if is_table_name(table) and is_rules_name(name):
        told = Advertisement("00c0ffee" * 4, table, ruleset_label(ruleset, name), 1, 4, LOBBY, 2)
        assert told.to_txt()["rules"].startswith(f"{name} ")


@pytest.mark.parametrize(
    "name",
    [
        "perudo",
        "PERUDO",
        "house rules",
        "",
        " ",
        " a",
        "a\tb",
        "\x1b[2J",
        "\u202eyadirf",
        "cafe\u0301",
        "x" * 32,
        "a  b",
        "\u3164",
        "a\u1161",
    ],
)
def test_house_rules_cannot_have_a_presets_name_or_an_unprintable_one(name: str) -> None:
    assert not is_rules_name(name)
    assert is_rules_name("Café am Freitag mit dice=3")
    assert len(ruleset_label(HOUSE, "x" * 31)) == 40
