"""Text from a peer cannot move the cursor, hide a word, or look like another line."""

import io
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from cli import render
from cli.render import can_show, command_line, escape, hand, harmless, listing, shown_path, wrapped
from protocol.wire.names import is_unseen

BASH = shutil.which("bash") if sys.platform != "win32" else None
ANYTHING = st.text(alphabet=st.characters(exclude_categories=()))
HOSTILE = st.text(
    alphabet=st.sampled_from("a\\\x1b[\x07\r\n\t\x00\x7f\x9b\u202e\u2066\u200b\ufeff\u0301\ud800\U000e0041é漢")
)


@pytest.mark.skipif(sys.platform == "win32", reason="the shells of Windows do not expand ~")
def test_a_path_in_the_users_home_folder_is_shown_with_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert shown_path(Path("/home/ada/match.p2pdice")) == "~/match.p2pdice"
    assert shown_path(Path("/home/adam/match.p2pdice")) == "/home/adam/match.p2pdice"


@pytest.mark.skipif(sys.platform == "win32", reason="the shells of Windows quote differently")
def test_a_path_with_spaces_is_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression test: the path was wrapped at its spaces."""
    monkeypatch.setenv("HOME", "/home/Ada  Lovelace")
    path = Path("/home/Ada  Lovelace/all my matches/of this year/Friday.p2pdice")
    for columns in range(20, 100):
        told = wrapped(f"The transcript is {shown_path(path)}. Verify it:\n    p2pdice verify '{path}'", columns)
        assert f"'{path}'" in told.split("\n    p2pdice")[0]
        assert told.split("\n")[-1] == f"    p2pdice verify '{path}'"


@given(ANYTHING | HOSTILE)
def test_escaped_text_is_printable_and_has_no_direction_marks(text: str) -> None:
    shown = escape(text)
    assert shown.isprintable()
    assert not any(map(is_unseen, shown))
    assert not any(unicodedata.category(each) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for each in shown)
    shown.encode()


@pytest.mark.parametrize("unseen", "\u3164\u034f\u115f\u1160\u17b4\u180b\u2800\ufe0f\uffa0\U000e0101\U00016fe4")
def test_invisible_characters_are_made_visible(unseen: str) -> None:
    assert escape(f"Ada{unseen}").startswith("Ada\\")


@pytest.mark.skipif(sys.platform == "win32", reason="the shells of Windows have no such escapes")
@pytest.mark.parametrize("unseen", "\u3164\u1160\u1161\u034f\u2800\u202e")
def test_a_path_with_invisible_characters_is_spelled_for_the_shell(unseen: str) -> None:
    shown = shown_path(Path(f"/tmp/a{unseen}b"))
    spelled = "".join(f"\\{byte:03o}" for byte in unseen.encode())
    assert shown == harmless(shown) == f"$'/tmp/a{spelled}b'"


@given(ANYTHING | HOSTILE, ANYTHING | HOSTILE)
def test_different_texts_look_different(one: str, other: str) -> None:
    assert (escape(one) == escape(other)) == (one == other)


@given(st.text(alphabet="abcXYZ äöü漢字 .,!?'()[]-_0189"))
def test_ordinary_text_is_not_escaped(text: str) -> None:
    assert escape(text) == text


@given(st.text(alphabet="\u0301\u0300\u0489", min_size=3, max_size=40))
def test_at_most_two_combining_marks_stay_on_a_letter(tower: str) -> None:
    assert sum(unicodedata.category(each).startswith("M") for each in escape("a" + tower)) <= 2


def test_lines_and_screens_agree_on_the_width_of_characters() -> None:
    """Characters that are newer than Python's tables may differ."""
    known = (chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] in "LM")
    different = [each for each in known if render.columns(each) != get_cwidth(each) and harmless(each) == each]
    assert [f"{ord(each):x}" for each in different] == []


def test_a_hand_is_written_die_by_die() -> None:
    assert (hand((1, 3, 3)), hand(())) == ("1, 3, 3", "no dice")


def test_pictures_of_dice_need_an_encoding_that_has_them() -> None:
    assert not can_show("⚂", io.TextIOWrapper(io.BytesIO(), encoding="cp1252"))
    assert can_show("⚂", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))


def test_names_are_joined_with_commas_and_and() -> None:
    assert [listing(["Ada", "Ben", "Cleo"][:n]) for n in range(4)] == ["", "Ada", "Ada and Ben", "Ada, Ben and Cleo"]


@pytest.mark.skipif(not BASH, reason="bash is not installed")
@given(st.lists((ANYTHING | HOSTILE).map(lambda text: text.replace("\0", "")), min_size=1, max_size=20))
@example(["it's", "\\", "$HOME `x`", "\x1b[2J\u202e\n", "a\u0301\u0301\u0301", "\udcff\udcfe", "", "~", "\u1161"])
def test_a_printed_command_is_printable_and_a_shell_reads_it_unchanged(words: list[str]) -> None:
    """Regression test: a name with escape sequences was printed unescaped."""
    line = command_line(*words)
    assert harmless(line) == line
    assert "\n" not in line
    define = "p2pdice() { printf '%s\\0' \"$@\"; }"
    done = subprocess.run([BASH or "", "-c", f"{define}\n{line}"], capture_output=True, check=True)
    is_byte = {chr(0xDC00 + byte) for byte in range(0x80, 0x100)}
    typed = [each.encode(errors="surrogateescape" if each in is_byte else "surrogatepass") for each in "\0".join(words)]
    assert done.stdout == b"".join(typed) + b"\0"


def test_on_windows_a_command_that_cannot_be_typed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert command_line("verify", "a b") == 'p2pdice verify "a b"'
    assert command_line("verify", "a\u202eb").startswith(r"p2pdice verify a\u202eb  (cannot be typed here")


@given(ANYTHING | HOSTILE)
def test_output_contains_no_control_characters_except_line_breaks(text: str) -> None:
    shown = harmless(text)
    assert all(each == "\n" or each.isprintable() for each in shown)
    assert not any(map(is_unseen, shown.replace("\n", "")))
    assert harmless(escape(text)) == escape(text)


@given(st.lists(st.text("abc/-", min_size=1, max_size=120), min_size=1, max_size=9), st.sampled_from(["", "  "]))
@example(["/a-path" * 20], "")
def test_wrapping_breaks_no_word(words: list[str], indent: str) -> None:
    broken = wrapped(indent + " ".join(words), 80)
    assert broken.split() == words
    assert all(len(line) < 80 for line in broken.split("\n") if max(map(len, words)) < 70)
