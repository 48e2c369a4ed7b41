"""``p2pdice settings``: the settings for every match on this machine."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Final

import typer

from cli.exits import ExitCode, Failure
from cli.front import JsonOption, application, stands_alone
from cli.output import COLOR_VARIABLE, say, unguarded
from cli.preferences import SETTINGS, File, Settled, file_path, login_name, settled, typed, unknown_setting
from cli.render import command_line, escape, sentence, shown_path
from cli.settings import Settings
from protocol.storage.home import NoHomeError

EXAMPLES: Final = """\b
Examples:
  p2pdice settings                 your settings, and where each comes from
  p2pdice settings set name Ada    your nickname, unless --name says another
  p2pdice settings set ui line     a table line by line, for a screen reader
  p2pdice settings set pace 0.5    bots play twice as fast; 0: at once
  p2pdice settings set odds off    no odds at tables that you open
  p2pdice settings unset name      back to the default
"""
VALUES: Final = """\b
name    your nickname (default: your login name)
ui      screen, or line: how a table is shown (default: screen if possible)
pace    a number from 0 to 10: how slowly moves are shown (default: 1)
bell    turn, all or off: ring on your turn, for other news as well, or never
        (default: turn)
motion  full, calm or none: what moves on the full screen (default: full)
color   auto, dark, light or none: your terminal's background (default: auto)
odds    on, off or each: at tables that you open, show odds to everybody, to
        nobody, or to those who want them (default: each; against bots: on)
chat    players or all: who may chat at tables that you open
        (default: players)
"""
EPILOG: Final = f"{EXAMPLES}\n{VALUES}"

app = application()

KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="The name of a setting.", show_default=False)]


@app.callback(invoke_without_command=True, epilog=EPILOG)
def show(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """Show or change your settings: name, screen, pace, bell, motion, colours, tables.

    They are kept in a text file, config.toml, that you can also edit. A command's own options and NO_COLOR take
    precedence over it. P2PDICE_CONFIG names another file.
    """
    if not stands_alone(ctx, as_json, "settings", "--json"):
        return
    found = settled(ctx.ensure_object(Settings))
    try:
        path = file_path()
    except NoHomeError:
        path = None
    if as_json:
        values = {each.key: {"value": each.value, "source": each.source} for each in found}
        file = None if path is None else str(path)
        print(json.dumps({"file": file, "exists": path is not None and path.exists(), "settings": values}))
        return
    for each in found:
        say(f"{each.key:6}  {_shown(each):8}  {_source(each)}; {SETTINGS[each.key].meaning}")
    if path is None:
        say("There is no place for a file: this account has no home folder. Name one with P2PDICE_CONFIG.")
        return
    say(f"The file: {shown_path(path)}" + ("" if path.exists() else " (not created yet)"))
    print(f"Change one with:\n    {command_line('settings', 'set', 'pace', '0.5')}")


def _shown(each: Settled) -> str:
    if each.value is None:
        return login_name()
    return f"{each.value:g}" if isinstance(each.value, float) else escape(each.value)


def _source(each: Settled) -> str:
    if each.source in ("environment", "option"):
        return {"environment": f"by {COLOR_VARIABLE}", "option": "by --no-color"}[each.source]
    return "from the file" if each.source == "file" else "default"


@app.command("set", epilog=EPILOG)
def put(
    key: KeyArgument,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Its new value.", show_default=False)],
) -> None:
    """Change a setting. The file is created if there is none."""
    if key not in SETTINGS:
        raise _unknown(key)
    checked = typed(key, value)
    file = File.read()
    file.put(key, checked)
    print(f"{key} is {_shown(Settled(key, checked, 'file'))} from now on.")


@app.command(epilog=EXAMPLES)
def unset(key: KeyArgument) -> None:
    """Remove a setting from the file: its default applies again."""
    file = File.read()
    if key not in SETTINGS and key not in file.keys:
        raise _unknown(key)
    if key in file.keys:
        file.put(key, None)
    print(f"{escape(key)} is no longer in your settings." if key not in SETTINGS else f"{key} has its default again.")


@app.command()
def path() -> None:
    """Print where the settings file is, or will be."""
    # A script gets the exact bytes of the path; a terminal gets a readable form.
    if sys.stdout.isatty():
        say(shown_path(file_path()))
    else:
        output = unguarded(sys.stdout)
        if sys.platform == "win32":  # file names are text on Windows: a pipe gets the system's code page
            output.write(f"{file_path()}\n")
        else:
            output.buffer.write(os.fsencode(f"{file_path()}\n"))
        output.flush()


def _unknown(key: str) -> Failure:
    return Failure(sentence(unknown_setting(key)), code=ExitCode.USAGE)
