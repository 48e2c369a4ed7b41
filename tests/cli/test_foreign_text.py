"""All text from outside is read in the encodings that editors write, and in time that is bounded by its length."""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cli.exits import ExitCode
from cli.foreign_text import LARGEST_FILE, Decoder, ForeignTextError, LineBuffer, parse_toml, read_object, read_text
from tests.cli.conftest import Run
from tests.cli.test_referee import fed_in_pieces
from tests.programs import MODULE, PATIENCE, environment

ENCODINGS = {
    "UTF-8": ("utf-8", b""),
    "UTF-8 with a mark": ("utf-8", codecs.BOM_UTF8),
    "UTF-16, as Notepad writes it": ("utf-16-le", codecs.BOM_UTF16_LE),
    "UTF-16, the other way round": ("utf-16-be", codecs.BOM_UTF16_BE),
}


def written(text: str, encoding: str) -> bytes:
    codec, mark = ENCODINGS[encoding]
    return mark + text.encode(codec)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", ["house.toml", "HOUSE.TOML"])
def test_a_rules_file_may_have_any_common_encoding(here: Run, tmp_path: Path, encoding: str, name: str) -> None:
    (tmp_path / name).write_bytes(written('# für Ünsere Runde\r\nbase = "perudo"\r\ndice = 3\r\n', encoding))
    done = here("rules", str(tmp_path / name), "--json")
    assert (done.returncode, done.stderr) == (ExitCode.DONE, "")
    assert done.stdout == here("rules", "perudo", "--set", "dice=3", "--json").stdout


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_settings_file_may_have_any_common_encoding_and_can_be_changed(
    here: Run, tmp_path: Path, encoding: str
) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(written('# Ünsere\r\nname = "Zoë"\r\n', encoding))
    variables = {"P2PDICE_CONFIG": str(path)}
    assert json.loads(here("settings", "--json", **variables).stdout)["settings"]["name"]["value"] == "Zoë"
    assert here("settings", "set", "pace", "2", **variables).returncode == ExitCode.DONE
    assert tomllib.loads(path.read_text(encoding="utf-8")) == {"name": "Zoë", "pace": 2}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_referee_accepts_any_common_encoding(tmp_path: Path, encoding: str) -> None:
    lines = '{"deal": [[1, 2, 3, 4, 5], [2, 2, 3, 6, 6]]}\r\n{"seat": 0, "do": "3x5"}'
    done = subprocess.run(
        [sys.executable, *MODULE, "referee", "--players", "2"],
        env=environment(tmp_path),
        input=written(lines, encoding),
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    assert [json.loads(line)["ok"] for line in done.stdout.splitlines()] == [True, True]


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\ufeff")), min_size=1, max_size=5
    ),
    st.sampled_from(sorted(ENCODINGS)),
    st.data(),
)
def test_lines_are_decoded_whatever_their_encoding_and_pieces(
    lines: list[str], encoding: str, data: st.DataObject
) -> None:
    stream = written("\n".join(lines), encoding)
    buffer = LineBuffer()
    taken = fed_in_pieces(buffer, stream, data)
    last = buffer.rest()
    taken += [] if last is None else [last]
    assert [line.decode() for line in taken] == (lines if lines[-1] else lines[:-1])


@pytest.mark.parametrize(
    "bad", [b"\xff\xfe{\x00}", b"\xff\xfe\x00\xd8{\x00}\x00", b"\xff", b"\xef\xbb", b"\xff\xfe\x00\xdc"]
)
def test_bytes_that_are_not_text_are_refused_line_by_line(bad: bytes) -> None:
    buffer = LineBuffer()
    buffer.feed(bad)
    line = buffer.rest()
    assert line is not None
    with pytest.raises(ValueError, match="the line is not UTF-8"):
        read_object(line)


@given(st.sampled_from(sorted(ENCODINGS)), st.binary())
def test_any_bytes_are_decoded_to_utf_8_or_refused(encoding: str, data: bytes) -> None:
    codec, mark = ENCODINGS[encoding]
    if not mark:
        assume(not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF8)))
    decoder = Decoder()
    whole = decoder.feed(mark + data) + decoder.feed(b"", is_last=True)
    if codec == "utf-8":
        assert whole == data
        return
    try:
        assert whole == data.decode(codec).encode()
    except UnicodeDecodeError:
        with pytest.raises(UnicodeDecodeError):
            whole.decode()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"dice = 3\nname = '\xff'", "line 2: this is neither UTF-8 nor UTF-16 text"),
        (b"name = '\xff'", "line 1: this is neither UTF-8 nor UTF-16 text"),
        (b"\xff\xfed", "this is neither UTF-8 nor UTF-16 text"),
        (b"#" * (LARGEST_FILE + 1), f"it is longer than {LARGEST_FILE} bytes"),
        (".".join("a" * 31_000).encode() + b" = 1", "line 1: it is nested too deeply"),
        (b"pace = " + b"[" * 10_000, "nested too deeply"),
        (b"dice = " + b"9" * 10_000, "too many digits"),
    ],
)
def test_unusable_files_of_rules_and_settings_are_refused_in_the_same_words(
    here: Run, tmp_path: Path, content: bytes, complaint: str
) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    for done in (here("rules", str(path)), here("settings", P2PDICE_CONFIG=str(path))):
        assert done.returncode == ExitCode.USAGE
        said = " ".join(done.stderr.replace("│", " ").split()).replace("- ", "-")
        assert complaint in said
        assert "sys." not in said, "no advice for programmers"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
def test_reading_a_pipe_does_not_block(here: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.toml")
    done = here("rules", str(tmp_path / "x.toml"))
    assert done.returncode == ExitCode.USAGE
    assert "this is a pipe, not a file" in done.stderr
    with pytest.raises(OSError, match="this is a pipe, not a file"):
        read_text(tmp_path / "x.toml")


DEEP = {
    "a key": ".".join("a" * 31_000) + " = 1",
    "spaces": " . ".join("a" * 15_000) + " = 1",
    "quotes": ".".join(['"\\""'] * 12_000) + " = 1",
    "literal quotes": ".".join(["''"] * 20_000) + " = 1",
    "a table": "[" + ".".join("a" * 31_000) + "]",
    "tables in a list": "[[" + ".".join("a" * 31_000) + "]]",
    "an inline table": "x = {" + ".".join("a" * 31_000) + " = 1}",
    "after a text of several lines": 'x = {a = """\n""", ' + ".".join("a" * 31_000) + " = 1}",
    "after five quotes": 'x = {a = """y""""", ' + ".".join("a" * 31_000) + " = 1}",
    "after a literal text": "x = {a = '''\n'''', " + ".".join("a" * 31_000) + " = 1}",
    "after a comment": '# "\n' + ".".join("a" * 31_000) + " = 1",
}


def refused_before_it_is_parsed(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tomllib, "loads", lambda _: pytest.fail("it was parsed"))
        with pytest.raises(ForeignTextError, match="nested too deeply"):
            parse_toml(text)


@pytest.mark.parametrize("where", DEEP)
def test_no_deep_key_reaches_the_parser(where: str) -> None:
    """The parser's time and memory grow with the square of the number of parts of a key."""
    refused_before_it_is_parsed(DEEP[where])


QUOTES = ('"', "'", '"""', "'''")


@given(st.sampled_from(QUOTES), st.text(st.sampled_from("a.\"'\\#=\n{},[]"), max_size=30))
def test_no_text_before_a_deep_key_hides_it(quote: str, content: str) -> None:
    value = f"{quote}{content}{quote}"
    try:
        tomllib.loads(f"x = {{a = {value}, b = 1}}")
    except tomllib.TOMLDecodeError:
        return
    refused_before_it_is_parsed(f"x = {{a = {value}, {'.'.join('a' * 30)} = 1}}")


@pytest.mark.parametrize(
    "text",
    [
        "# ...........................\nx = 1",
        "x = '....................'",
        'x = """\n...................\n"""',
        "x = 1.5",
    ],
)
def test_dots_outside_of_keys_are_accepted(text: str) -> None:
    assert parse_toml(text) == tomllib.loads(text)
