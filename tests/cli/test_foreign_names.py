"""Every command escapes hostile names of files, homes, tables, players, bots, rulesets and settings.

No byte of a name controls the terminal, is invisible, changes the direction of text, or begins a line.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

import pytest
import typer

from cli.front import COMMANDS, build
from cli.table.terminal import output_of
from cli.table.writer import Writer
from p2pdice.rulesets import PRESETS
from protocol.crypto.keys import Identity, MatchKey, fingerprint
from protocol.storage.store import Store
from protocol.wire.genesis import match_id
from protocol.wire.names import is_shown
from tests.cli.screen import Terminal
from tests.programs import MODULE, PATIENCE, ROOT, environment, run_here
from tests.simulation.world import genesis
from tests.tiers import thoroughly

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not allow such file names")

TEXT: Final = "\x1b[31m\x1b]0;t\x07\x9b2J\r\b\u202e\u2066\u200b\u200f\u2028\u3164\u1161\ufe0f\nFORGED"
"""Control sequences, marks that change the direction of text, invisible characters, and a line break."""
FILE: Final = f"{TEXT}\udcff"
"""The same as a file name, with a byte that is not UTF-8."""
VECTORS: Final = ROOT / "tests" / "vectors"


class World(NamedTuple):
    """A folder whose files all have hostile names."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / f"home{FILE}"

    @property
    def config(self) -> Path:
        return self.folder / f"config{FILE}.toml"

    @property
    def rules(self) -> Path:
        return self.folder / f"rules{FILE}.toml"

    @property
    def bot(self) -> Path:
        return self.folder / f"bot{FILE}"

    @property
    def fair(self) -> Path:
        return self.folder / f"fair{FILE}.p2pdice"

    @property
    def proof(self) -> Path:
        return self.folder / f"proof{FILE}.p2pdice"


@pytest.fixture(scope="session")
def _made(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("foreign"))
    world.home.mkdir(mode=0o700)
    shutil.copy(VECTORS / "resign.p2pdice", world.fair)
    shutil.copy(VECTORS / "proof.p2pdice", world.proof)
    for name, of in (("matches", world.fair), ("proofs", world.proof)):
        (world.home / name).mkdir()
        shutil.copy(of, world.home / name / of.name)
    for file in (world.config, world.rules):
        file.write_text(f"{json.dumps(TEXT)} = {json.dumps(TEXT)}\n", encoding="utf-8")
    world.bot.write_text("#!/bin/sh\nprintf '\\033[31m\\033]0;t\\007\\nFORGED\\342\\200\\256' >&2; exit 3\n")
    world.bot.chmod(0o755)
    me = Identity.generate()
    me.save(world.home / "identity.key")
    table, seeds = genesis(PRESETS["classic"], 2, b"foreign")
    with closing(Store(world.home / "store.sqlite3")) as store:
        own = MatchKey(seeds[0]).public
        store.add_seed(own, seeds[0])
        data = table.encoded()
        store.add_match(match_id(data), data, own, 1_700_000_000, 7000)
        store.mark_formed(match_id(data))
        store.people.trust(fingerprint(me.public), TEXT, 1_700_000_000)
        store.database.write("UPDATE matches SET table_name = ?, name = ?", (TEXT, TEXT))
        store.database.write("UPDATE meetings SET name = ?", (TEXT,))
    return world


@pytest.fixture
def world(_made: World, tmp_path: Path) -> World:
    """A copy of the folder for one test."""
    shutil.copytree(_made.folder, tmp_path / "world")
    return World(tmp_path / "world")


class ForeignTerminal(Terminal):
    """A terminal whose output has escaped names. :func:`check` checks them."""

    shows_foreign_text = True


def leaves() -> Iterator[str]:
    """Yield every command, including groups and their subcommands."""
    front = build()
    context = typer.Context(front)
    for name in COMMANDS:
        yield name
        yield from (f"{name} {member}" for member in getattr(front.get_command(context, name), "commands", {}))


def check(raw: str) -> None:
    """Check the output to a terminal or a file."""
    for line in raw.replace("\r\n", "\n").split("\n"):
        assert not line.startswith("FORGED"), raw
        unseen = [each for each in line if not each.isprintable() or not is_shown(each)]
        assert not unseen, (line, unseen)


LOCAL: Final = ("--interface", "127.0.0.1")
QUIET: Final = ("--ui", "line", "--pace", "0")
TYPED: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "demo": (
        ("--rules", "{rules}"),
        ("--rules", "classic", "--players", "2", "--set", "dice=1", "--out", "{folder}/o"),
    ),
    "host": (
        ("{text}", *LOCAL, *QUIET),
        ("--name", "{text}", *LOCAL),
        ("--rules", "{rules}"),
        ("--seats", "2", "--interface", "{text}", *QUIET),
        ("--bots", "1", "--set", "dice=1", "--name", "Ada", *LOCAL, *QUIET),
    ),
    "league": (
        ("--bot", "'{bot}'", "--seats", "2", "--name", "Ada", "--give-up", "5", "--wait", "1", *LOCAL),
        ("{text}", "--give-up", "1", "--out", "{folder}/o", *LOCAL),
    ),
    "join": (
        ("{text}", "--no-wait", *LOCAL, *QUIET),
        ("{text}:1", "--no-wait", *QUIET),
        ("127.0.0.1:1/{text}", "--no-wait", *QUIET),
        ("--name", "{text}", "x"),
    ),
    "learn": (("--name", "{text}", *QUIET), ("--name", "Ada", *QUIET)),
    "resume": (("{text}", *LOCAL, *QUIET), ("--list",), LOCAL),
    "settings": ((),),
    "settings set": (("{text}", "x"), ("name", "{text}"), ("pace", "1")),
    "settings unset": (("{text}",), ("name",)),
    "settings path": ((),),
    "watch": (("{text}", *LOCAL, *QUIET), ("127.0.0.1:1", *QUIET)),
    "replay": (("{fair}", *QUIET), ("{proof}",), ("{text}",), ("{fair}", "--as", "{text}"), ("{folder}/no{text}",)),
    "report": (("{fair}", "--out", "{folder}/page{text}"), ("{fair}", "--out", "{folder}/no{text}/x"), ("{text}",)),
    "history": ((), ("--player", "{text}")),
    "history stats": ((), ("--player", "{text}"), ("--since", "{text}")),
    "tables": ((LOCAL), ("--interface", "{text}")),
    "rules": (("{text}",), ("{rules}",), ("classic", "--set", "{text}=1"), ("classic", "--set", "{text}")),
    "odds": (("{text}",), ("3x5", "--hand", "{text}"), ("3x5", "--rules", "{rules}")),
    "bot": (("{text}", "--", "{bot}"), ("127.0.0.1:1", "--", "{folder}/no{text}"), ("127.0.0.1:1", "--", "{bot}")),
    "bot play": (("127.0.0.1:1", "--name", "{text}", "--", "{bot}"),),
    "bot check": (("--", "{bot}"), ("--", "{folder}/no{text}"), ("--level", "{text}", "--", "true")),
    "arena": (
        ("{bot}", "random", "--games", "2"),
        ("{text}", "random", "--games", "2"),
        ("random", "odds", "--games", "2", "--players", "2", "--set", "dice=1", "--out", "{folder}/arena{text}"),
        ("random", "odds", "--games", "2", "--out", "{folder}/no{text}/x"),
    ),
    "arena play": (("{text}", "random", "--games", "2"),),
    "arena list": (("{text}",), ("{folder}",), ("{fair}",), ("--rules", "{text}")),
    "referee": (("--players", "2", "--rules", "{rules}"), ("--players", "{text}")),
    "verify": (
        ("{proof}",),
        ("{fair}",),
        ("{fair}", "{proof}", "{folder}/no"),
        ("{text}",),
        ("--trust", "{text}", "x"),
    ),
    "matches": ((),),
    "matches list": ((),),
    "matches save": (("last",), ("{text}",), ("last", "--out", "{folder}/out{text}"), ("last", "--out", "{fair}")),
    "matches forget": (("last",), ("last", "--yes"), ("{text}",)),
    "purse": ((),),
    "purse forfeit": ((), ("--yes",)),
    "purse void": (("{text}",), ("last", "{text}")),
    "purse forget": (("{text}",), ("{text}", "--yes")),
    "people": ((),),
    "people trust": (("{text}",),),
    "people untrust": (("{text}",),),
    "identity": ((),),
    "identity show": ((), ("--name", "{text}")),
    "identity new": ((), ("--yes",)),
    "identity backup": (("{folder}/backup{text}",), ("{fair}",), ("{folder}/no{text}/x",)),
    "identity restore": (("{fair}",), ("{text}",), ("{home}/identity.key",)),
    "identity passphrase": ((), ("--remove",)),
    "doctor": (("{text}", "--wait", "0", *LOCAL), ("{text}:1", "--wait", "0", *LOCAL), ("--wait", "0", *LOCAL)),
    "house-bot": (("{text}", "--name", "{text}"), ("{text}", "--rules", "{rules}")),
}
"""What is typed after each command. ``{text}`` is the hostile text; the other fields are paths with such names."""
PLAIN: Final = frozenset(
    ("history", "matches", "odds", "people", "purse", "report", "rules", "settings", "tables", "verify")
)
"""Commands that only print. They run in the process of the test."""
LATER: Final = {
    "arena", "arena list", "bot check", "demo", "doctor", "house-bot", "identity backup", "identity passphrase",
    "identity restore", "league", "resume", "watch",
}  # fmt: skip
"""Commands that only a thorough run starts. They print like the others, which the last test in this file checks."""


def test_every_command_has_hostile_arguments() -> None:
    assert {*leaves()} == {*TYPED}


@pytest.mark.parametrize("command", [*sorted({*TYPED} - LATER), *thoroughly(sorted(LATER))])
def test_no_foreign_name_reaches_a_terminal_unescaped(command: str, world: World) -> None:
    """Regression test: a proof with escape sequences in its name was shown as fair."""
    names = {each: str(getattr(world, each)) for each in ("home", "rules", "bot", "fair", "proof", "folder")}
    config = str(world.config if command.startswith("settings") else world.folder / f"none{FILE}.toml")
    variables = {"P2PDICE_CONFIG": config, "USER": TEXT, "LOGNAME": TEXT, "TERM": "dumb", "COLUMNS": "500"}
    for words in TYPED[command]:
        typed = [word.format_map(names | {"text": TEXT}) for word in words]
        if command.split()[0] in PLAIN:
            done = run_here(*command.split(), *typed, home=world.home, variables=variables, as_terminal=True)
            check(done.stdout + done.stderr)
            continue
        with ForeignTerminal(world.home, *command.split(), *typed, size=(500, 50), **variables) as terminal:
            while terminal.process.poll() is None:
                terminal.type("\x04")
                with suppress(subprocess.TimeoutExpired):
                    terminal.process.wait(0.2)
            terminal.end()
            shown = terminal.raw.decode(errors="surrogateescape").replace("^D\b\b", "")
        assert "Traceback" not in shown
        check(shown)
    log = world.home / "p2pdice.log"
    if log.exists():
        check(log.read_text(encoding="utf-8", errors="surrogateescape"))


@pytest.mark.parametrize("command", [*sorted({*TYPED} - {"demo"}), *thoroughly(["demo"])])
def test_no_unknown_word_reaches_a_terminal_unescaped(command: str, world: World) -> None:
    short = ("--players", "2", "--set", "dice=1") if command == "demo" else ()
    for words in ((f"--{TEXT}",), (TEXT, TEXT, TEXT), ("--home", str(world.fair), *short)):
        done = run_here(*command.split(), *words, home=world.home, given="")
        assert done.returncode != 0 or words[0] in (TEXT, "--home"), "some commands need no home"
        is_path_for_a_pipe = command == "settings path" and done.returncode == 0
        check(done.stderr if is_path_for_a_pipe else done.stdout + done.stderr)


def test_a_pipe_gets_the_path_of_the_settings_unescaped(world: World) -> None:
    """Scripts need the path unescaped."""
    variables = environment(world.home) | {"P2PDICE_CONFIG": str(world.config)}
    done = subprocess.run([sys.executable, *MODULE, "settings", "path"], env=variables, capture_output=True, check=True)
    assert done.stdout == os.fsencode(f"{world.config}\n")


async def test_the_full_screen_paints_no_foreign_text_unescaped() -> None:
    terminal, child = os.openpty()
    with os.fdopen(child, "w", encoding="utf-8") as stream:
        writer = Writer(stream)
        output = output_of(writer)
        output.write(FILE.replace("\n", ""))
        output.flush()
        assert await writer.drain(PATIENCE)
        check(os.read(terminal, 4096).decode())
    os.close(terminal)


def test_only_the_listed_modules_bypass_the_outlet() -> None:
    """The listed modules write directly to the terminal, and pass their text through ``harmless``."""
    around = {"input", "getpass", "Console", "unguarded"}
    found = {
        (path.relative_to(ROOT).as_posix(), node.func.id)
        for path in (ROOT / "cli").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in around
    }
    assert found == {
        ("cli/output.py", "input"),
        ("cli/home.py", "getpass"),
        ("cli/commands/judging.py", "Console"),
        ("cli/commands/judging.py", "unguarded"),
        ("cli/commands/rules.py", "unguarded"),
        ("cli/commands/settings.py", "unguarded"),
        ("cli/table/play.py", "unguarded"),
        ("cli/table/screen.py", "unguarded"),
        ("cli/table/terminal.py", "unguarded"),
        ("cli/table/writer.py", "unguarded"),
    }
