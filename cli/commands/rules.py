"""``p2pdice rules``: the rulesets, and each of them explained."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.front import application
from cli.render import escape
from cli.rulesets import SetOption, chosen_ruleset, is_file_name
from cli.text.explain import WIDTH, explain, summary

EPILOG: Final = """\b
Examples:
  p2pdice rules
  p2pdice rules classic
  p2pdice rules perudo --set dice=3 --set dice-cap=none
  p2pdice rules friday.toml           your own: see docs/house-rules.md
  p2pdice rules --json
"""

app = application()


@app.command(epilog=EPILOG)
def rules(
    name: Annotated[str | None, typer.Argument(metavar="[NAME|FILE.toml]", show_default=False)] = None,
    changes: SetOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object: options as data.")] = False,
) -> None:
    """List the rulesets, or explain one.

    With --set you get house rules: the named ruleset (classic if none is named) with some options changed. Each
    explanation lists the options of the rules, and ends with a worked round.
    """
    if name is None and not changes:
        _list(as_json)
        return
    base = name or "classic"
    ruleset = chosen_ruleset(base, changes)
    if as_json:
        print(json.dumps(_data(ruleset)))
        return
    called = Path(base).stem if is_file_name(base) else base
    title = ruleset.name or escape(" with ".join((called, ", ".join(changes))) if changes else called)
    print(explain(ruleset, title))


def _list(as_json: bool) -> None:
    from p2pdice.rulesets import PRESETS

    if as_json:
        print(json.dumps({"rulesets": [_data(ruleset) for ruleset in PRESETS.values()]}))
        return
    for name, ruleset in PRESETS.items():
        print(textwrap.fill(f"{name}: {summary(ruleset)}.", WIDTH, subsequent_indent="    "))
    print("\nLearn one with: p2pdice rules NAME")


def _data(ruleset: Any) -> dict[str, Any]:
    from protocol.wire.names import ruleset_hash

    return {
        "name": ruleset.name,
        "hash": ruleset_hash(ruleset).hex(),
        "options": dict(ruleset.options()),
        "summary": summary(ruleset),
    }
