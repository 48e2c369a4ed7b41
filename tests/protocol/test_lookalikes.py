"""A name that passes for that of somebody trusted is reported, in all scripts; one that does not is not."""

from __future__ import annotations

import sys
import unicodedata
from contextlib import closing
from itertools import combinations
from pathlib import Path

import pytest

from cli.bots.bot import BOT_NAMES
from protocol.crypto.keys import fingerprint
from protocol.storage.store import Store
from protocol.wire.names import outline, which_are_alike
from tests.protocol.confusables import table

ADA, EVE = fingerprint(b"a" * 32), fingerprint(b"e" * 32)
PAIRS = """
    Ada/ADA Ada/Аdа Ada/Adaꞌ Ada/Adá Bill/Bi11 Bill/BiIl Marnie/Mamie modern/rnodern Wanda/VVanda Dave/Clave
    日/曰 力/カ 口/ロ 一/ー 二/ニ 八/ハ 夕/タ 卜/ト 工/エ 千/チ へ/ヘ り/リ つ/っ シン/ツソ 土方/士方 未来/末来
    HANNA/ΗΑΝΝΑ ΗΑΝΝΑ/ηαννα НАТАША/наташа Сhris/Chris Ѕаsha/Sasha Ꭺda/Ada ԁan/dan ᴀda/ada Łukasz/Lukasz
    חנה/הנה דן/רן ถาม/ภาม भारत/मारत Oскар/Oсkap O0l1/0OI|
"""


@pytest.mark.parametrize("pair", PAIRS.split())
def test_a_name_that_passes_for_a_trusted_one_is_reported(pair: str, tmp_path: Path) -> None:
    """Fifteen such pairs were not: a player with such a name came without a warning."""
    for known, new in (pair.split("/"), reversed(pair.split("/"))):
        with closing(Store(tmp_path / f"{outline(new)}-{len(new)}-{new.encode().hex()}.sqlite3")) as store:
            store.people.trust(ADA, known, 1_700_000_000)
            assert store.people.mismatch(EVE, new).trusted == (ADA,)


def test_ordinary_names_do_not_pass_for_each_other() -> None:
    names = [*BOT_NAMES, "Zoe", "Nina", "Anna", "Hanna", "Dana", "Dora", "Martin", "Marvin", "Анна", "Иван", "Ιωάννα"]
    names += ["山田", "川口", "田中", "はな", "サクラ", "한국", "민수", "משה", "דוד", "محمد", "علی", "राम", "สมชาย"]
    assert not any(any(which_are_alike(pair)) for pair in combinations(names, 2))


def test_names_in_ascii_have_the_outlines_that_the_whole_table_gives_them() -> None:
    for code in range(0x80):
        assert outline(f"山{chr(code)}a").removeprefix("山") == outline(f"{chr(code)}a")


def test_what_passes_for_an_outline_has_the_same_outline() -> None:
    """Else a character that passes for a second one, and this for a third, would have two outlines."""
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code))[0] not in "CZ":
            for name in (chr(code), f"x{chr(code)}"):
                assert outline(outline(name)) == outline(name), hex(code)


def test_unicodes_table_is_read_as_it_is_published() -> None:
    """What no name holds is left out: what decomposes, marks, and signs that pass for signs."""
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
