"""The index of all commands. A command's module is imported only when the command runs.

A module in :mod:`cli.commands` defines a Typer application for each of its commands, or for a family such as
``identity show``.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from cli.exits import Failure
from cli.render import command_line, shown_path
from cli.settings import Settings, home_words
from p2pdice.version import VERSION


class Entry(NamedTuple):
    """A command's line in ``p2pdice --help``, and where to import the command from."""

    section: str
    summary: str
    """The first line of the command's own help; a test keeps the two equal."""
    module: str
    """The module's name within :mod:`cli.commands`."""
    app: str = "app"
    """The name of the Typer application in that module."""
    hidden: bool = False


COMMANDS: Final = {
    "demo": Entry("Play", "Watch a whole match between house bots on this machine.", "demo"),
    "learn": Entry("Play", "Learn the game in 60 seconds: one round against Coach.", "demo", "learn_app"),
    "host": Entry("Play", "Open a table and play at it.", "host"),
    "join": Entry("Play", "Sit down at somebody's table.", "join"),
    "resume": Entry("Play", "Return to a match after a crash, a nap or a quit.", "resume"),
    "settings": Entry(
        "Play", "Show or change your settings: name, screen, pace, bell, motion, colours, tables.", "settings"
    ),
    "watch": Entry("Look around", "Watch a match, and verify it as it is played.", "watch"),
    "replay": Entry("Look around", "Look back at a match: step, play and jump through its transcript.", "replay"),
    "report": Entry(
        "Look around", "Make a page that shows a match and verifies it in the browser.", "replay", "report_app"
    ),
    "history": Entry("Look around", "Look back at the matches that you finished or watched.", "history"),
    "tables": Entry("Look around", "List the tables on this network.", "tables"),
    "rules": Entry("Look around", "List the rulesets, or explain one.", "rules"),
    "odds": Entry("Look around", "Show how likely a bid is, and each raise over it.", "rules", "odds_app"),
    "bot": Entry("Programs", "Let your own program play at a table.", "bot"),
    "league": Entry("Programs", "Play a night of matches between bots and guests, unattended.", "league"),
    "arena": Entry("Programs", "Let bots play each other in memory, and find out which is better.", "arena"),
    "referee": Entry(
        "Programs", "Referee a match: one JSON object per line in, one new state out.", "rules", "referee_app"
    ),
    "verify": Entry("Trust", "Judge transcripts and proofs of misconduct, without any network.", "verify"),
    "matches": Entry("Trust", "List, save or forget the matches that are kept here.", "matches"),
    "purse": Entry("Trust", "Show your coins, run tickets and Twin Souls, and the matches they came from.", "purse"),
    "people": Entry("Trust", "List the people whom you have met, and mark those whom you trust.", "people"),
    "identity": Entry("Trust", "Show, back up, restore, protect or replace your key.", "identity"),
    "doctor": Entry(
        "Trust", "Find out what keeps you from playing on this network, and what to do about it.", "doctor"
    ),
    "house-bot": Entry(
        "Play", "Seat a bot, and print the events that it sees as NDJSON.", "bot", "house_bot_app", True
    ),
}
HELP_OPTIONS: Final = {"help_option_names": ["-h", "--help"]}
_SHARED: Final = {"home", "no_color"}
_WHOLE: Final = 1000
"""More characters than any sentence has."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector inside a block that imports many modules.

    Imports create no garbage, yet each collection would traverse all their objects again: that took a fifth of the time
    needed to open a table. On leaving the block, all existing objects are frozen, so that later collections ignore
    them as well, and the collector is enabled.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
NewFileOption = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="FILE", dir_okay=False, show_default=False, help="Write to FILE, a new file."),
]


def check_new(path: Path) -> None:
    """Check that a file with this path can be created.

    :raises Failure: if the path is taken, or its folder is missing.
    """
    if path.exists():
        raise Failure(f"{shown_path(path)} exists already.", hint="Give a file that does not exist yet: -o FILE")
    if not path.absolute().parent.is_dir():
        raise Failure(f"There is no folder {shown_path(path.parent)}.", hint="Create it first, or give another file.")


def stands_alone(ctx: typer.Context, as_json: bool, *words: str) -> bool:
    """Return whether a command family such as ``p2pdice matches`` is run without a subcommand.

    :param words: the command that the error recommends for JSON output.
    :raises typer.BadParameter: if ``--json`` precedes a subcommand.
    """
    if ctx.invoked_subcommand is not None and as_json:
        instead = command_line(*words, *home_words(ctx.ensure_object(Settings).home_if_any))
        raise typer.BadParameter(f"it does not go with a subcommand. Perhaps: {instead}", param_hint="--json")
    return ctx.invoked_subcommand is None


class Family(TyperGroup):
    """A command with subcommands, whose help shows the whole summary of each."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the first sentence of each subcommand's help. Click would cut it after one line."""
        members = [(name, member) for name, member in self.commands.items() if not member.hidden]
        with formatter.section("Commands"):
            formatter.write_dl([(name, member.get_short_help_str(_WHOLE)) for name, member in members])


class PlayGroup(Family):
    """A family of commands whose default subcommand is ``play``: ``arena odds mind`` means ``arena play odds mind``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args:
            args = ["--help"]
        elif args[0] not in {*self.commands, "-h", "--help"}:
            args = ["play", *args]
        return list(super().parse_args(ctx, args))


class PanelCommand(TyperCommand):
    """A command with many options, whose help groups them under the headings of their panels."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options by panel, with panels in the order of their first appearance."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                usual = "Arguments" if param.param_type_name == "argument" else "Options"
                panels.setdefault(getattr(param, "rich_help_panel", None) or usual, []).append(record)
        for panel, records in panels.items():
            with formatter.section(panel):
                formatter.write_dl(records)


class LazyGroup(TyperGroup):
    """The commands of :data:`COMMANDS`. Options in ``_SHARED`` are accepted before and after a command's name."""

    def list_commands(self, ctx: Any) -> list[str]:  # the class of contexts is private to Typer
        """Return the names of all commands in the order of :data:`COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command. An unknown name is a usage error that suggests the closest match."""
        if cmd_name in COMMANDS:
            with gc_paused():
                entry = COMMANDS[cmd_name]
                app: typer.Typer = getattr(import_module(f"cli.commands.{entry.module}"), entry.app)
            command: Any = get_command(app)
            command.name = cmd_name
            command.hidden = entry.hidden
            self._share_options(command)
            return command
        if not (ctx.resilient_parsing or cmd_name.startswith("-")):
            from difflib import get_close_matches

            near = get_close_matches(cmd_name, [name for name, entry in COMMANDS.items() if not entry.hidden], 1)
            ctx.fail(f"There is no command {cmd_name!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        return None

    def _share_options(self, command: Any) -> None:
        command.params.extend(option for option in self.params if option.name in _SHARED)
        for member in getattr(command, "commands", {}).values():
            self._share_options(member)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the summaries in :data:`COMMANDS` by section, without importing any command."""
        width = max(len(name) for name, entry in COMMANDS.items() if not entry.hidden)
        for section in dict.fromkeys(entry.section for entry in COMMANDS.values()):
            with formatter.section(section):
                formatter.write_dl(
                    [
                        (name.ljust(width), entry.summary)
                        for name, entry in COMMANDS.items()
                        if entry.section == section and not entry.hidden
                    ]
                )


def _version(wanted: bool) -> None:
    if wanted:
        print(f"p2pdice {VERSION}")
        raise typer.Exit


def _home(ctx: typer.Context, home: str | None) -> str | None:
    if home == "":  # Path("") would be the current folder
        raise typer.BadParameter("it is empty. Name a folder, or leave the option out for your usual home.")
    if home is not None:
        ctx.ensure_object(Settings).home_option = Path(home)
    return home


def _no_color(ctx: typer.Context, wanted: bool) -> bool:
    if wanted:
        ctx.ensure_object(Settings).forbid_color()
    return wanted


def _front(
    home: Annotated[
        str | None,
        typer.Option(
            "--home",
            metavar="DIR",
            callback=_home,
            expose_value=False,
            help="Keep identity, matches and log in DIR (also: P2PDICE_HOME); one DIR per player.",
        ),
    ] = None,
    no_color: Annotated[
        bool,
        typer.Option("--no-color", callback=_no_color, expose_value=False, help="No colours (also: NO_COLOR=1)."),
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Liar's Dice for people on one network: no server, no trust, every die provable."""


EPILOG: Final = """\b
Start here:
  p2pdice demo            four bots play a whole match, then it is verified
  p2pdice host            open a table; it prints what your friend types
  p2pdice join            your friend, on another laptop
  p2pdice COMMAND --help  what a command can do, with examples
"""


def build() -> Any:
    """Return the command line, to be run as ``build().main(prog_name=…, obj=Settings())``."""
    app = typer.Typer(
        cls=LazyGroup,
        context_settings=HELP_OPTIONS,
        rich_markup_mode=None,
        no_args_is_help=True,
        epilog=EPILOG,
    )
    app.callback()(_front)
    return get_command(app)


def application(**options: Any) -> typer.Typer:
    """Return an empty application for a command module, with plain help and without completion."""
    shared = {"cls": Family, "rich_markup_mode": None, "context_settings": HELP_OPTIONS}
    return typer.Typer(add_completion=False, **{**shared, **options})
