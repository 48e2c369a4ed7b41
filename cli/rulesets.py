"""``--rules`` and ``--set``: the ruleset that a command is asked to play by."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

import typer

from cli.render import escape

if TYPE_CHECKING:
    from p2pdice import Ruleset

RulesOption = Annotated[str, typer.Option("--rules", metavar="R", help="Ruleset by name; see them with: p2pdice rules")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="K=V", help="Change one option of the ruleset; can be repeated."),
]


def chosen_ruleset(name: str, changes: list[str] | None) -> Ruleset:
    """Return a preset with some options changed.

    :raises typer.BadParameter: for an unknown name, or an unknown or refused option.
    """
    from p2pdice import PRESETS, RulesetError

    if name not in PRESETS:
        near = get_close_matches(name, PRESETS, 1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise typer.BadParameter(f"there is no ruleset {escape(name)!r}: there are {', '.join(PRESETS)}.{meant}")
    values = {}
    for change in changes or ():
        option, equals, value = change.partition("=")
        if not equals:
            raise typer.BadParameter(f"{escape(change)!r} is not of the form K=V, such as dice=3.", param_hint="--set")
        values[option.strip()] = value.strip()
    try:
        return PRESETS[name].with_options(values)
    except RulesetError as error:
        raise typer.BadParameter(f"{error}.", param_hint="--set") from None
