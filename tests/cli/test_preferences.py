"""The settings file: how it is read and changed. An error names the wrong line and the command that corrects it."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import re
import sys
from collections.abc import Callable
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.boundary import report
from cli.commands import settings as settings_command
from cli.commands.host import customs
from cli.exits import ExitCode, Failure
from cli.front import build
from cli.output import Outlet
from cli.preferences import CHAT, ODDS, SETTINGS, Chat, File, Odds, Preferences, nickname, preferences, settled, typed
from cli.settings import Settings
from cli.text.narrate import narrate
from cli.text.seating import Seating
from p2pdice.rulesets import PRESETS
from protocol.events import PlayerInfo, TableJoined
from tests.cli.conftest import Run
from tests.cli.seat import seated
from tests.programs import environment

Change = Callable[..., tuple[object, str]]
ALL = """# Mine.
name = "Zoë"   # as my friends say

ui = "line"
pace = 0.5
'bell' = "off"
color = "light"
"""
MINE = Preferences("Zoë", "line", 0.5, bell="off", color="light")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the settings file of this process. Its folder does not exist yet."""
    path = tmp_path / "folder" / "config.toml"
    monkeypatch.setenv("P2PDICE_CONFIG", str(path))
    monkeypatch.delenv("NO_COLOR", raising=False)
    return path


@pytest.fixture
def config(path: Path) -> Path:
    """The path of the settings file, in an empty folder."""
    path.parent.mkdir()
    return path


@pytest.fixture
def command(path: Path, capsys: pytest.CaptureFixture[str]) -> Change:
    """Run ``p2pdice settings`` in this process; return the exit code and the output."""

    def run(*arguments: str) -> tuple[object, str]:
        code: object = 0
        try:
            build().main(["settings", *arguments], prog_name="p2pdice", obj=Settings())
        except SystemExit as end:
            code = end.code
        except Failure as failure:
            told = StringIO()
            report(failure, told)
            return failure.code, told.getvalue()
        return code, capsys.readouterr().out

    return run


def complaint(code: ExitCode = ExitCode.USAGE) -> str:
    """Return the error message about the settings file."""
    with pytest.raises(Failure) as caught:
        preferences(Settings())
    assert caught.value.code is code
    told = StringIO()
    report(caught.value, told)
    return told.getvalue()


# The file


def test_without_a_file_every_setting_has_its_default(path: Path) -> None:
    assert preferences(Settings()) == Preferences(None, "screen", 1.0, bell="turn", motion="full", color="auto")
    assert {each.source for each in settled(Settings())} == {"default"}


def test_the_file_sets_only_the_settings_it_names(config: Path) -> None:
    config.write_text(ALL, encoding="utf-8")
    assert preferences(Settings()) == MINE
    config.write_text("pace = 0\n", encoding="utf-8")
    assert preferences(Settings()) == Preferences(pace=0)


def test_a_settings_file_may_have_a_byte_order_mark_and_crlf(config: Path) -> None:
    config.write_bytes(b"\xef\xbb\xbf" + ALL.replace("\n", "\r\n").encode())
    assert preferences(Settings()) == MINE


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'# one\n\nnmae = "Ada"', ['line 3: there is no setting "nmae"', "Did you mean name?", "unset nmae"]),
        (b"[table]\nx = 1", ['line 1: there is no setting "table"', "unset table"]),
        (b'pace = 1\n"a b" = 1', ['line 2: there is no setting "a b"', "Correct the file"]),
        (b'"\\u001b[2J" = 1', ['there is no setting "\\x1b[2J"']),
        (
            b'pace = "fast"',
            ["line 1: pace takes a number from 0 to 10", "settings set pace 0.5", "settings unset pace"],
        ),
        (b"pace = -1", ["line 1: pace takes a number"]),
        (b"pace = nan", ["line 1: pace takes a number"]),
        (b"pace = inf", ["line 1: pace takes a number"]),
        (b"pace = true", ["line 1: pace takes a number"]),
        (b"bell = 1", ['line 1: bell takes "turn", "all" or "off"', "settings set bell off"]),
        (b'\nbell = "loud"', ['line 2: bell takes "turn", "all" or "off"']),
        (b'motion = "fast"', ['motion takes "full", "calm" or "none"', "settings set motion calm"]),
        (b'ui = "full"', ['line 1: ui takes "screen" or "line"', "settings set ui line"]),
        (b"color = []", ['color takes "auto", "dark", "light" or "none"']),
        (b"name = 7", ["line 1: name takes a nickname"]),
        (b'name = "' + b"x" * 21 + b'"', ["name takes a nickname of 1 to 20 characters"]),
        (b'name = "\\u202eAda"', ["line 1: name takes a nickname", "U+202E"]),
        (b"pace =", ["line 1: this is not TOML"]),
        (b"pace = 1\npace = 2\n", ["line 2: this is not TOML"]),
        (b'pace = 1\nname = """Ada\n', ["line 2: this is not TOML"]),
        (b"\n\nname = '\xff'", ["line 3: this is neither UTF-8 nor UTF-16 text"]),
    ],
)
def test_a_wrong_settings_file_is_refused_with_line_values_and_remedy(
    config: Path, content: bytes, told: list[str]
) -> None:
    config.write_bytes(content)
    said = complaint()
    assert said.startswith(f"Error: {config}")
    for each in told:
        assert each in said
    assert said.isascii()
    assert "\x1b" not in said


@given(st.binary(max_size=40) | st.text(alphabet="namepcoluib=\"' \n[].1#truefals", max_size=60).map(str.encode))
def test_any_settings_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "whatever.toml"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("P2PDICE_CONFIG", str(path))
        with contextlib.suppress(Failure):
            assert isinstance(preferences(Settings()), Preferences)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
def test_a_pipe_as_the_settings_file_does_not_block(config: Path) -> None:
    """If reading blocked, the test would time out."""
    os.mkfifo(config)
    assert f"{config}: it cannot be read: this is a pipe, not a file." in complaint(ExitCode.FAILURE)


def test_a_folder_as_the_settings_file_is_reported(config: Path) -> None:
    config.mkdir()
    assert f"{config}: it cannot be read" in complaint(ExitCode.FAILURE)


# Precedence


def test_the_nickname_comes_from_option_file_or_login_name(config: Path) -> None:
    assert nickname(None) in (getpass.getuser(), "Player")
    config.write_text('name = "Zoë"', encoding="utf-8")
    assert (nickname(None), nickname("Ada")) == ("Zoë", "Ada")


def test_no_color_takes_precedence_over_the_file(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.write_text('color = "dark"', encoding="utf-8")
    monkeypatch.setenv("NO_COLOR", "")
    assert preferences(Settings()).color == "dark"
    monkeypatch.setenv("NO_COLOR", "1")
    assert preferences(Settings()).color == "none"
    assert [each.source for each in settled(Settings()) if each.key == "color"] == ["environment"]
    settings = Settings()
    settings.forbid_color()
    assert [each.source for each in settled(settings) if each.key == "color"] == ["option"]


def test_only_commands_that_use_settings_fail_on_a_wrong_file(here: Run, p2pdice: Run, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("pace = = 1", encoding="utf-8")
    variables = {"P2PDICE_CONFIG": str(wrong)}
    (tmp_path / "file").write_bytes(b"garbage")
    for words, code in (
        (("--help",), ExitCode.DONE),
        (("--version",), ExitCode.DONE),
        (("verify", str(tmp_path / "file")), ExitCode.ALTERED),
        (("matches",), ExitCode.DONE),
        (("settings", "path"), ExitCode.DONE),
        (("identity", "show", "--name", "Ada"), ExitCode.DONE),
    ):
        done = here(*words, **variables)
        assert (done.returncode, done.stderr) == (code, ""), words
    done = p2pdice("host", **variables)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    assert f"{wrong}, line 1: this is not TOML" in done.stderr


def test_a_pipe_on_windows_gets_the_path_in_its_code_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("P2PDICE_CONFIG", "Zoë.toml")
    pipe = BytesIO()
    monkeypatch.setattr(sys, "stdout", Outlet(TextIOWrapper(pipe, encoding="cp1252", newline="\r\n")))
    settings_command.path()
    assert pipe.getvalue() == "Zoë.toml\r\n".encode("cp1252")


def test_no_test_reads_the_users_settings(tmp_path: Path) -> None:
    assert os.environ["P2PDICE_CONFIG"] == os.devnull
    assert not Path(environment(tmp_path)["P2PDICE_CONFIG"]).exists()


def test_the_platform_decides_where_the_file_is(monkeypatch: pytest.MonkeyPatch, command: Change) -> None:
    monkeypatch.delenv("P2PDICE_CONFIG")
    from platformdirs import user_config_path

    assert command("path") == (0, f"{user_config_path('p2pdice', appauthor=False) / 'config.toml'}\n")


# The command


def test_every_setting_is_shown_with_its_value_and_source(config: Path, command: Change) -> None:
    config.write_text('name = "Zoë"\nbell = "off"\n', encoding="utf-8")
    code, shown = command()
    lines = str(shown).splitlines()
    assert code == 0
    assert [line.split()[:3] for line in lines[:8]] == [
        ["name", "Zoë", "from"],
        ["ui", "screen", "default;"],
        ["pace", "1", "default;"],
        ["bell", "off", "from"],
        ["motion", "full", "default;"],
        ["color", "auto", "default;"],
        ["odds", "each", "default;"],
        ["chat", "players", "default;"],
    ]
    assert lines[8:] == [f"The file: {config}", "Change one with:", "    p2pdice settings set pace 0.5"]
    assert max(map(len, lines[:8])) < 80
    data = json.loads(command("--json")[1])
    assert (data["file"], data["exists"]) == (str(config), True)
    assert data["settings"]["name"] == {"value": "Zoë", "source": "file"}
    assert data["settings"]["pace"] == {"value": 1.0, "source": "default"}
    assert list(data["settings"]) == list(SETTINGS)


def test_changing_a_setting_keeps_the_rest_of_the_file(config: Path, command: Change) -> None:
    config.write_text(ALL, encoding="utf-8")
    for key, value, line in (
        ("name", "Ada", 'name = "Ada"'),
        ("pace", "2", "pace = 2"),
        ("bell", "all", 'bell = "all"'),
        ("color", "none", 'color = "none"'),
    ):
        before = config.read_text(encoding="utf-8").splitlines()
        assert command("set", key, value)[0] == 0
        after = config.read_text(encoding="utf-8").splitlines()
        assert [(old, new) for old, new in zip(before, after, strict=True) if old != new] == [
            (next(old for old in before if old.strip("'").startswith(key)), line)
        ]
    assert preferences(Settings()) == Preferences("Ada", "line", 2, bell="all", color="none")
    assert command("unset", "ui") == (0, "ui has its default again.\n")
    assert command("unset", "ui") == (0, "ui has its default again.\n")
    assert config.read_text(encoding="utf-8").startswith("# Mine.\nname")
    assert preferences(Settings()).ui == "screen"


def test_the_first_setting_creates_a_private_file(path: Path, command: Change) -> None:
    assert command("set", "name", "Ada") == (0, "name is Ada from now on.\n")
    assert path.read_text(encoding="utf-8") == 'name = "Ada"\n'
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o077 == 0
    assert nickname(None) == "Ada"


VALUES = {
    "name": st.sampled_from(["Ada", "Zoë", "O'Neil", 'a "b"', "back\\slash", "a # hash"]),
    "ui": st.sampled_from(["screen", "line"]),
    "pace": st.floats(0, 10).map(str),
    "bell": st.sampled_from(["turn", "off", "all"]),
    "motion": st.sampled_from(["calm", "none"]),
    "color": st.sampled_from(["auto", "none"]),
}
LINES = st.sampled_from(
    ["# a comment", "", "  # name = 1", "x-y = 1", "'pace' = 3", 'bell = "all"  # loud', 'ui="line"']
)


@given(lines=st.lists(LINES, unique=True), key=st.sampled_from(list(VALUES)), data=st.data(), has_end=st.booleans())
def test_in_any_file_a_changed_setting_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], key: str, data: st.DataObject, has_end: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "changed.toml"
    path.write_text("\n".join(lines) + "\n" * has_end, encoding="utf-8")
    value = typed(key, data.draw(VALUES[key]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("P2PDICE_CONFIG", str(path))
        before = File.read()
        others = {each: kept for each, kept in before._table.items() if each != key}
        before.put(key, value)
        assert File.read()._table == others | {key: value}
        now = path.read_text(encoding="utf-8").splitlines()
        gone = [line for line in lines if line and line not in now]
        assert gone in ([], [line for line in lines if line.strip("'").startswith(key)])
        before.put(key, None)
        assert File.read()._table == others


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("set", "pace", "fast"), ["pace takes a number from 0 to 10.", "p2pdice settings set pace 0.5"]),
        (("set", "pace", "nan"), ["pace takes a number"]),
        (("set", "pace", "--", "-1"), ["pace takes a number"]),
        (("set", "name", "a\nb"), ["name takes a nickname", "U+000A"]),
        (("set", "ui", "SCREEN"), ['ui takes "screen" or "line"']),
        (("set", "colour", "dark"), ['There is no setting "colour"', "Did you mean color?"]),
        (("unset", "x\x1b"), ['There is no setting "x\\x1b"']),
    ],
)
def test_an_invalid_setting_is_refused_and_not_written(
    path: Path, command: Change, words: tuple[str, ...], told: list[str]
) -> None:
    code, said = command(*words)
    assert code == ExitCode.USAGE
    for each in told:
        assert each in said
    assert not path.exists()


def test_the_suggested_command_repairs_the_file(config: Path, command: Change) -> None:
    config.write_text('# Mine.\nnmae = "Ada"\npace = "fast"\n', encoding="utf-8")
    assert "p2pdice settings unset nmae" in complaint()
    assert command("unset", "nmae")[0] == 0
    assert "p2pdice settings set pace 0.5" in complaint()
    assert command("set", "pace", "0.5")[0] == 0
    assert config.read_text(encoding="utf-8") == "# Mine.\npace = 0.5\n"
    assert preferences(Settings()) == Preferences(pace=0.5)


def test_a_setting_is_never_put_into_a_table(config: Path, command: Change) -> None:
    config.write_text("# Mine.\nbell = 'all'\n[other]\nx = 1\n", encoding="utf-8")
    assert command("set", "pace", "1")[0] == 0
    assert config.read_text(encoding="utf-8") == "# Mine.\nbell = 'all'\npace = 1\n[other]\nx = 1\n"


@pytest.mark.parametrize("content", ['name = """\nAda"""\n', "[pace]\nx = 1\n", "pace.x = 1\npace.y = 2\n"])
def test_a_setting_that_is_not_on_its_own_line_is_not_changed(config: Path, command: Change, content: str) -> None:
    config.write_text(content, encoding="utf-8")
    code, said = command("set", content.strip("[").split()[0].partition(".")[0].rstrip("]"), "1")
    assert code == ExitCode.USAGE
    assert "is not on a line of its own" in said
    assert config.read_text(encoding="utf-8") == content


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows, creating links needs a special right")
def test_a_linked_settings_file_stays_a_link(config: Path, tmp_path: Path, command: Change) -> None:
    (tmp_path / "dotfiles").write_text("pace = 1\n", encoding="utf-8")
    config.symlink_to(tmp_path / "dotfiles")
    assert command("set", "pace", "0")[0] == 0
    assert config.is_symlink()
    assert (tmp_path / "dotfiles").read_text(encoding="utf-8") == "pace = 0\n"


def test_a_settings_file_that_cannot_be_created_is_reported(tmp_path: Path, path: Path, command: Change) -> None:
    (tmp_path / "folder").write_text("in the way", encoding="utf-8")
    code, said = command("set", "pace", "0")
    assert code == ExitCode.FAILURE
    assert f"{path}: it cannot be read" in said


# Customs of tables


def test_options_decide_the_customs_of_a_table_and_guests_are_told(tmp_path: Path) -> None:
    told = "Nobody is shown odds here. Spectators may talk."
    home = tmp_path / "Ada"
    home.mkdir()
    (home / "config.toml").write_text('odds = "on"\nchat = "all"\n')
    with seated(home, "host", "Parlour", "--seats", "3", "--odds", "off", "--name", "Ada") as host:
        host.until("p2pdice join ")
        with (
            seated(tmp_path / "Ben", "join", "Parlour", "--wait", "--name", "Ben") as guest,
            seated(tmp_path / "Eve", "watch", "Parlour", "--name", "Eve") as watcher,
        ):
            for player in (host, guest):
                player.wait_for(lambda player=player: told in player.shown(), told)  # type: ignore[misc]
            watcher.until("Parlour")
            watcher.type("say good luck")
            host.until("good luck")


@pytest.mark.parametrize(
    ("settled", "options", "is_alone", "agreed", "told"),
    [
        ("", (None, None), True, ("on", "players"), "Everybody is shown odds here."),
        ("", ("off", None), True, ("off", "players"), "Nobody is shown odds here."),
        ("", (None, None), False, ("each", "players"), ""),
        (
            'odds = "on"\nchat = "all"\n',
            (None, None),
            False,
            ("on", "all"),
            "Everybody is shown odds here. Spectators may",
        ),
        ('odds = "on"\nchat = "all"\n', ("each", "players"), False, ("each", "players"), ""),
    ],
)
def test_customs_come_from_options_settings_or_defaults(
    config: Path, settled: str, options: tuple[Odds | None, Chat | None], is_alone: bool, agreed: object, told: str
) -> None:
    config.write_text(settled)
    found = customs(*options, is_alone=is_alone)
    assert (ODDS[found.odds], CHAT[found.talk]) == agreed
    joined = TableJoined("Parlour", PlayerInfo("Ada", "1111"), PRESETS["classic"], 2, odds=found.odds, talk=found.talk)
    said = narrate(joined, Seating())
    assert told in said
    assert told or not re.search("shown odds|may talk", said)


# Who finds a table, and who sits there


@pytest.mark.parametrize(
    ("options", "is_found"), [((), False), pytest.param(("--advertise",), True, marks=pytest.mark.thorough)]
)
def test_a_table_with_bots_alone_is_advertised_only_on_request(
    here: Run, tmp_path: Path, options: tuple[str, ...], is_found: bool
) -> None:
    with seated(tmp_path / "Ada", "host", "Solitude", "--bots", "1", *options, "--name", "Ada") as host:
        host.until("bot)")
        assert ("Solitude" in here("tables").stdout) == is_found


def test_a_host_with_ask_is_asked_about_every_guest(tmp_path: Path) -> None:
    with seated(tmp_path / "Ada", "host", "Gate", "--ask", "--seats", "3", "--name", "Ada") as host:
        host.until("p2pdice join ")
        with seated(tmp_path / "Ben", "join", "Gate", "--wait", "--name", "Ben") as guest:
            host.until("Ben")
            host.type("seat Ben")
            guest.until("Ada and you have seats.")
            assert "sit down" in host.shown()
