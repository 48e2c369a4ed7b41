"""``--rules`` and ``--set``: the ruleset that a command is asked to play by."""

from __future__ import annotations

import unicodedata
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.foreign_text import ForeignTextError, parse_toml, read_text
from cli.render import escape, listing, shown_path
from p2pdice.errors import RulesetError
from p2pdice.rulesets import PRESETS
from protocol.wire.names import is_rules_name

if TYPE_CHECKING:
    from p2pdice.rulesets import Ruleset

RulesOption = Annotated[
    str,
    typer.Option("--rules", metavar="R", help="Ruleset: a name (see them with: p2pdice rules) or a FILE.toml."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="K=V", help="Change one option of the ruleset; can be repeated."),
]

FILE_SUFFIX: Final = ".toml"
_LARGEST_NUMBER: Final = 2**63
"""As in TOML; Python reads longer ones, but does not write them in any length."""


def chosen_ruleset(name: str, changes: list[str] | None) -> Ruleset:
    """Return a preset, or the one of a TOML file, with some options changed.

    Such a file has a line for every option that differs from its ``base`` (``classic`` if it names none), as in
    ``dice = 3`` or ``palifico = true``.

    :raises typer.BadParameter: for an unknown name, an unreadable file, or an unknown or refused option.
    """
    values = {}
    for change in changes or ():
        option, equals, value = change.partition("=")
        if not equals:
            raise typer.BadParameter(f"{escape(change)!r} is not of the form K=V, such as dice=3.", param_hint="--set")
        values[option.strip()] = value.strip()
    named = _from_file(Path(name)) if is_file_name(name) else _preset(name)
    try:
        return named.with_options(values)
    except RulesetError as error:
        raise typer.BadParameter(f"{escape(str(error))}.", param_hint="--set") from None


def is_file_name(name: str) -> bool:
    """Tell whether a name of rules is that of a file: its ending says so, in large letters or small ones."""
    return name.lower().endswith(FILE_SUFFIX)


def rules_name(name: str, changes: list[str] | None) -> str:
    """Return the name of the rules that :func:`chosen_ruleset` gives for the same: a file's name without its end.

    It is empty for a preset, and if a table cannot tell it, as it is too long, or a preset's name.
    """
    if not is_file_name(name):
        return ""
    called = " with ".join(filter(None, (Path(name).stem, ", ".join(changes or ()))))
    called = unicodedata.normalize("NFC", called)
    return called if is_rules_name(called) else ""


def described(ruleset: Ruleset, name: str) -> str:
    """Return what rules are, exactly: ``classic``, ``perudo with palifico=no``, ``friday (perudo with dice=3)``.

    :param name: of house rules, any text; empty if they have none.
    """
    if ruleset.name:
        return ruleset.name
    base, changes = nearest_preset(ruleset)
    options = f"{base} with {listing(changes)}"
    return f"{escape(name)} ({options})" if name else options


def nearest_preset(ruleset: Ruleset) -> tuple[str, tuple[str, ...]]:
    """Return the preset that a ruleset differs from least, and the options that differ, as ``--set`` takes them."""
    options = set(ruleset.options())
    base = min(PRESETS, key=lambda name: len(options.difference(PRESETS[name].options())))
    changed = sorted(options.difference(PRESETS[base].options()))
    return base, tuple(f"{option}={value}" for option, value in changed)


def _preset(name: str) -> Ruleset:
    if name not in PRESETS:
        near = get_close_matches(name, PRESETS, 1)
        meant = (
            f" Did you mean {near[0]}?" if near else f" Rules of your own go into a file, named as house{FILE_SUFFIX}."
        )
        raise typer.BadParameter(f"there is no ruleset {escape(name)!r}: there are {', '.join(PRESETS)}.{meant}")
    return PRESETS[name]


def _from_file(path: Path) -> Ruleset:
    shown = shown_path(path)
    try:
        table = parse_toml(read_text(path))
    except OSError as error:
        raise typer.BadParameter(f"{shown} cannot be read: {error.strerror or error}.") from None
    except ForeignTextError as error:
        where = "" if error.line is None else f", line {error.line}"
        raise typer.BadParameter(f"{shown}{where}: {escape(str(error))}. See docs/house-rules.md.") from None
    base = table.pop("base", "classic")
    if not isinstance(base, str):
        raise typer.BadParameter(f"{shown}: base names a ruleset, as in base = 'classic'.")
    values = {}
    for option, value in table.items():
        if isinstance(value, bool):
            values[option] = "yes" if value else "no"
        elif isinstance(value, str) or (isinstance(value, int) and abs(value) < _LARGEST_NUMBER):
            values[option] = str(value)
        else:
            raise typer.BadParameter(f"{shown}: {escape(option)} takes a word or a number, as in dice = 3.")
    try:
        return _preset(base).with_options(values)
    except RulesetError as error:
        raise typer.BadParameter(f"{shown}: {escape(str(error))}.") from None
