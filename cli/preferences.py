"""A player's settings for all matches on this machine, in ``config.toml`` in the platform's settings folder.

Command-line options take precedence over the environment, the environment over the file, and the file over defaults.
"""

from __future__ import annotations

import getpass
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args

import typer

from cli.exits import ExitCode, Failure
from cli.foreign_text import ForeignTextError, parse_toml, read_text
from cli.output import COLOR_VARIABLE
from cli.render import command_line, escape, listing, shown_path
from cli.settings import Settings
from protocol.files import write_whole
from protocol.storage.home import NoHomeError, default_settings
from protocol.wire.names import NicknameError, check_nickname

FILE_VARIABLE: Final = "P2PDICE_CONFIG"
"""The environment variable that names another settings file."""
SLOWEST: Final = 10.0
"""The maximum pace: a slower table would seem to have stopped."""
Ui = Literal["screen", "line"]
Odds = Literal["off", "on", "each"]
Chat = Literal["players", "all"]
UIS: Final[tuple[Ui, ...]] = get_args(Ui)
COLORS: Final = ("auto", "dark", "light", "none")
BELLS: Final = ("turn", "all", "off")
MOTIONS: Final = ("full", "calm", "none")
ODDS: Final[tuple[Odds, ...]] = get_args(Odds)
"""Whether a table shows the odds of bids; a value's index is its number in the protocol."""
CHAT: Final[tuple[Chat, ...]] = get_args(Chat)
"""The people who may chat at a table; a value's index is its number in the protocol."""

FALLBACK: Final = "Player"

NameOption = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        show_default=False,
        help="Your nickname (default: from your settings, else your login name).",
    ),
]
"""The ``--name`` option of every command that seats a player."""
WatcherNameOption = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        show_default=False,
        help="Your nickname once you sit down. It is not shown while you watch: players who know your key see the"
        ' name they know you by, and everybody else sees only "a spectator".',
    ),
]

Value = str | float


@dataclass(frozen=True, slots=True)
class Preferences:
    """All settings, each with its default."""

    name: str | None = None
    """The nickname; None for the login name."""
    ui: Ui = UIS[0]
    """How a table is shown if the terminal supports both: on the full ``screen``, or ``line`` by line."""
    pace: float = 1.0
    """How slowly moves are shown: 1 is a person's pace, 2 is twice as slow, 0 shows moves at once."""
    bell: str = BELLS[0]
    """When the terminal rings: ``turn``, when the player has to move; ``all``, also when time runs out, a player asks
    for a seat, or chat mentions the player's name; ``off``, never."""
    motion: str = MOTIONS[0]
    """The animation of the full screen: ``full``; ``calm``, whole pictures at the same pace; ``none``."""
    color: str = COLORS[0]
    """The background on which colours must be readable: ``dark``, ``light``, or ``auto`` for either; ``none`` for no
    colours."""
    odds: Odds = ODDS[2]
    """Whether the player's own tables show the odds of bids: to nobody (``off``), to everybody (``on``), or to ``each``
    player who wants them."""
    chat: Chat = CHAT[0]
    """The people who may chat at the player's own tables: ``players``, or ``all``, which includes spectators."""


class Setting(NamedTuple):
    """The definition of a setting: its meaning, its accepted values, and how they are parsed and checked."""

    meaning: str
    accepted: str
    """The accepted values, as a noun phrase for error messages."""
    example: str
    check: Callable[[object], Value]
    """Return a value of the file in its final type; raise :class:`ValueError` if it is not accepted."""
    read: Callable[[str], object]
    """Convert typed text to a value for ``check``."""


class Settled(NamedTuple):
    """A setting's effective value, and where it comes from."""

    key: str
    value: Value | None
    source: str
    """``default``, ``file``, ``environment`` or ``option``."""


def _nickname(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("it is not a text")
    return check_nickname(value)


def _pace(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= SLOWEST:
        raise ValueError("it is not a number in this range")
    return float(value)


def _read_number(text: str) -> object:
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _choice(meaning: str, words: tuple[str, ...], example: str) -> Setting:
    def check(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError("it is not one of these words")
        return value

    return Setting(meaning, listing([f'"{word}"' for word in words], "or"), example, check, str)


SETTINGS: Final = {
    "name": Setting("your nickname", "a nickname of 1 to 20 characters", "Ada", _nickname, str),
    "ui": _choice("how a table is shown", UIS, "line"),
    "pace": Setting(
        "how slowly moves are shown; 0 for at once",
        f"a number from 0 to {SLOWEST:g}",
        "0.5",
        _pace,
        _read_number,
    ),
    "bell": _choice("when the terminal rings", BELLS, "off"),
    "motion": _choice("what moves on the full screen", MOTIONS, "calm"),
    "color": _choice("the background of your terminal", COLORS, "light"),
    "odds": _choice("show odds at tables that you open", ODDS, "off"),
    "chat": _choice("let these talk at tables that you open", CHAT, "all"),
}
"""The settings by key, in display order."""


def preferences(settings: Settings) -> Preferences:
    """Return the settings from the file and the environment. A command's own options take precedence over them.

    :raises Failure: if the file cannot be read or has anything but valid settings; it names the line and the remedy.
    """
    found = {each.key: each.value for each in settled(settings) if each.source != "default"}
    return Preferences(**found)  # type: ignore[arg-type]  # each was checked by its setting


def nickname(wanted: str | None) -> str:
    """Return the nickname to play under: the wanted one, else the one in the settings, else :func:`login_name`.

    :raises typer.BadParameter: if the wanted name breaks the rules for nicknames; the message has the reason.
    :raises Failure: if no name is wanted, and the settings cannot be read.
    """
    if wanted is not None:
        try:
            return check_nickname(wanted)
        except NicknameError as error:
            raise typer.BadParameter(f"{error}.", param_hint="--name") from None
    if (settled := preferences(Settings()).name) is not None:
        return settled
    return login_name()


def login_name() -> str:
    """Return the user's login name; :data:`FALLBACK` if there is none or it is no valid nickname."""
    try:
        return check_nickname(getpass.getuser())
    except (NicknameError, OSError, KeyError, ImportError):
        # Containers have users without names, and login names may break the rules.
        return FALLBACK


def settled(settings: Settings) -> list[Settled]:
    """Return every setting with its effective value and the source of that value.

    :raises Failure: as :func:`preferences` does.
    """
    try:
        values = File.read().checked()
    except NoHomeError:
        values = {}
    default = Preferences()
    found = [
        Settled(key, values[key], "file") if key in values else Settled(key, getattr(default, key), "default")
        for key in SETTINGS
    ]
    if os.environ.get(COLOR_VARIABLE):
        source = "option" if settings.is_color_forbidden else "environment"
        found = [Settled(each.key, COLORS[3], source) if each.key == "color" else each for each in found]
    return found


def file_path() -> Path:
    """Return the path of the settings file: ``P2PDICE_CONFIG``, else in the platform's settings folder.

    :raises NoHomeError: if the variable is not set, and the account has no such folder.
    """
    if variable := os.environ.get(FILE_VARIABLE):
        return Path(variable)
    return default_settings()


class File:
    """The settings file, whose changes keep all other lines."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._text = text
        self._table = self._parsed(text)

    @classmethod
    def read(cls) -> File:
        """Read the file. A missing file counts as empty.

        :raises Failure: if the file cannot be read, or is not TOML.
        :raises NoHomeError: as :func:`file_path` does.
        """
        path = file_path()
        try:
            # The null device means no settings, as it does for many programs.
            return cls(path, "" if str(path) == os.devnull else read_text(path))
        except FileNotFoundError:
            return cls(path, "")
        except OSError as error:
            raise _unusable(path, f"it cannot be read: {error.strerror or error}") from None
        except ForeignTextError as error:
            raise _failure(path, str(error), error.line) from None

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            return parse_toml(text)
        except ForeignTextError as error:
            raise _failure(self.path, str(error), error.line) from None

    def checked(self) -> dict[str, Value]:
        """Return the settings in the file.

        :raises Failure: if a key is not a setting, or its value is not accepted.
        """
        values = {}
        for key, value in self._table.items():
            if key not in SETTINGS:
                raise self._unknown(key)
            try:
                values[key] = SETTINGS[key].check(value)
            except ValueError as error:
                raise _wrong(key, error, self.path, self._line(key)) from None
        return values

    def _unknown(self, key: str) -> Failure:
        choices = [(command_line("settings", "unset", key), "Remove it")] if _BARE.fullmatch(key) else []
        return _failure(self.path, unknown_setting(key), self._line(key), choices)

    def _line(self, key: str) -> int | None:
        lines = (number for number, line in enumerate(self._text.splitlines(), 1) if _is_line_of(key, line))
        return next(lines, None)

    @property
    def keys(self) -> frozenset[str]:
        """All keys in the file, including those that are not settings."""
        return frozenset(self._table)

    def put(self, key: str, value: Value | None) -> None:
        """Set or remove a setting in the file, and keep all other lines.

        :param value: the checked value; None removes the setting.
        :raises Failure: if the setting is not on a line of its own, or the file cannot be written.
        """
        lines = self._text.splitlines(keepends=True)
        new = [] if value is None else [f"{key} = {_written(value)}\n"]
        places = [place for place, line in enumerate(lines) if _is_line_of(key, line)]
        if places:
            lines[places[0] : places[0] + 1] = new
        else:
            # A line after a table header would belong to that table.
            end = next((place for place, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
            if new and end and not lines[end - 1].endswith("\n"):
                lines[end - 1] += "\n"
            lines[end:end] = new
        text = "".join(lines)
        wanted = {each: old for each, old in self._table.items() if each != key}
        if value is not None:
            wanted[key] = value
        try:
            is_right = self._parsed(text) == wanted
        except Failure:
            is_right = False
        if not is_right:
            raise _failure(self.path, f'"{escape(key)}" is not on a line of its own', self._line(key))
        self._write(text)
        self._text, self._table = text, wanted

    def _write(self, text: str) -> None:
        try:
            write_whole(self.path.resolve(), text.encode())  # resolved, so that a symbolic link is kept
        except OSError as error:
            raise _unusable(self.path, f"it cannot be written: {error.strerror or error}") from None


_BARE: Final = re.compile("[A-Za-z0-9_-]+")


def _is_line_of(key: str, line: str) -> bool:
    quoted = re.escape(key)
    return re.match(rf"""\s*\[*\s*(?:{quoted}|"{quoted}"|'{quoted}')\s*[=.\]]""", line) is not None


def _written(value: Value) -> str:
    """Return a value in TOML. Nicknames are written as in JSON, whose notation is the same for them."""
    import json

    return repr(value).removesuffix(".0") if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def unknown_setting(key: str) -> str:
    """Return the error for an unknown setting: a clause, and a question if a setting has a similar name."""
    from difflib import get_close_matches

    near = get_close_matches(key, SETTINGS, 1)
    meant = f". Did you mean {near[0]}?" if near else ""
    return f'there is no setting "{escape(key)}": there are {listing(list(SETTINGS))}{meant}'


def typed(key: str, text: str) -> Value:
    """Return the checked value of a setting from typed text.

    :raises Failure: if the setting does not accept that value.
    """
    setting = SETTINGS[key]
    try:
        return setting.check(setting.read(text))
    except ValueError as error:
        raise _wrong(key, error) from None


def _wrong(key: str, error: ValueError, path: Path | None = None, line: int | None = None) -> Failure:
    setting = SETTINGS[key]
    why = f" ({escape(str(error))})" if isinstance(error, NicknameError) else ""
    choices = [(command_line("settings", "set", key, setting.example), "Set it, for example, with")]
    what = f"{key} takes {setting.accepted}{why}"
    if path is None:
        return Failure(f"{what}.", code=ExitCode.USAGE, choices=choices)
    choices.append((command_line("settings", "unset", key), "Go back to the default with"))
    return _failure(path, what, line, choices)


def _unusable(path: Path, what: str) -> Failure:
    return Failure(f"{shown_path(path)}: {what}.", hint=f"Another file can be named with {FILE_VARIABLE}.")


def _failure(path: Path, what: str, line: int | None = None, choices: list[tuple[str, str]] | None = None) -> Failure:
    where = shown_path(path) + (f", line {line}" if line is not None else "")
    what = what if what.endswith("?") else f"{what}."
    hint = "" if choices else "Correct the file, or remove it: then every setting has its default."
    return Failure(f"{where}: {what}", hint=hint, code=ExitCode.USAGE, choices=choices or ())
