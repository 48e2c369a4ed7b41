"""The options ``--rules`` and ``--set``, which choose the ruleset of a command, and the names of rulesets."""

from __future__ import annotations

import unicodedata
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.foreign_text import ForeignTextError, parse_toml, read_text
from cli.render import escape, listing, shown_path
from p2pdice.errors import RulesetError
from p2pdice.rulesets import PRESETS
from protocol.wire.names import is_rules_name, ruleset_label

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
"""Integers are below this bound, as in TOML. Python parses larger ones, but cannot convert the largest to text."""


def chosen_ruleset(name: str, changes: list[str] | None) -> Ruleset:
    """Return the ruleset of a preset or a TOML file, with some options changed.

    Each line of the file changes an option of the preset named by its ``base`` (``classic`` if absent), as in
    ``dice = 3`` or ``palifico = true``.

    :param changes: the arguments of ``--set``, each ``K=V``.
    :raises typer.BadParameter: if the name is unknown, the file cannot be used, or an option is unknown or refused.
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
    """Return whether the argument of ``--rules`` is a file name: it ends with ``.toml`` in any case."""
    return name.lower().endswith(FILE_SUFFIX)


def rules_name(name: str, changes: list[str] | None) -> str:
    """Return the name of the house rules that :func:`chosen_ruleset` returns for the same arguments.

    It is the file's name without its suffix, followed by the changes. It is empty for a preset, and for a name that
    a table cannot announce, because it is too long or is a preset's name.
    """
    if not is_file_name(name):
        return ""
    called = " with ".join(filter(None, (Path(name).stem, ", ".join(changes or ()))))
    called = unicodedata.normalize("NFC", called)
    return called if is_rules_name(called) else ""


def described(ruleset: Ruleset, name: str) -> str:
    """Describe a ruleset completely: ``classic``, ``perudo with palifico=no``, ``friday (perudo with dice=3)``.

    :param name: the name of the house rules, which may be any text; empty if they have none.
    """
    if ruleset.name:
        return ruleset.name
    base, changes = nearest_preset(ruleset)
    options = f"{base} with {listing(changes)}"
    return f"{escape(name)} ({options})" if name else options


def nearest_preset(ruleset: Ruleset) -> tuple[str, tuple[str, ...]]:
    """Return the preset with the fewest different options, and the changes to it in the form that ``--set`` accepts."""
    options = set(ruleset.options())
    base = min(PRESETS, key=lambda name: len(options.difference(PRESETS[name].options())))
    changed = sorted(options.difference(PRESETS[base].options()))
    return base, tuple(f"{option}={value}" for option, value in changed)


def rules_shown(label: str) -> str:
    """Return the name of rules, given the label in a table's advertisement: ``classic with stakes``."""
    return _with_stakes().get(label, label)


def called(ruleset: Ruleset) -> str:
    """Return a short name for unnamed rules: ``classic with stakes`` or ``house rules``."""
    return _with_stakes().get(ruleset_label(ruleset), "house rules")


@cache
def _with_stakes() -> dict[str, str]:
    """Return the names of presets with stakes, by the labels under which tables announce them as house rules."""
    added = {name: each.with_options({"stakes": "yes"}) for name, each in PRESETS.items() if not each.stakes}
    return {ruleset_label(ruleset): f"{name} with stakes" for name, ruleset in added.items()}


def _preset(name: str) -> Ruleset:
    if name not in PRESETS:
        near = get_close_matches(name, PRESETS, 1)
        meant = f" Did you mean {near[0]}?" if near else f" Your own rules go into a file, such as house{FILE_SUFFIX}."
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
