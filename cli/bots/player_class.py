"""The texts that name a bot in all commands: a level of the house bots, ``module:Class``, or a command line.

A class comes from the current folder, or from an installed package. The folder is the last entry of ``sys.path``, so
that no file in it replaces a module of p2pdice or of a library. If the bot imports a file in the folder, but a module
elsewhere has the same name, an error names the file, and the bot does not run.
"""

from __future__ import annotations

import ast
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Final, Literal, NamedTuple

from cli.bots.bot import is_interpreter, program_name
from cli.bots.faults import error_text
from cli.bots.programs import ProgramError, spelled_out, split_command
from p2pdice.players import LEVELS, Player, house_player
from protocol.files import read_outside

BotKind = Literal["house", "class", "program"]
_CLASS: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_SOURCE_BYTES: Final = 16 * 1024 * 1024
"""Maximum bytes of a file that are read. A larger file is data, and is identified by its size and beginning."""
_MOST_MODULES: Final = 500


class EntrantError(ValueError):
    """The typed text does not name a usable player."""


class UnmadeError(EntrantError):
    """The class exists, but its code fails to make a player."""


def kind_of(text: str) -> BotKind:
    """Return the kind of bot that a text names."""
    if text in LEVELS:
        return "house"
    return "class" if _CLASS.fullmatch(text) else "program"


def label_of(words: Sequence[str]) -> str:
    """Return a short name for a bot: its level, its class, or the name of its program's file. It is unescaped.

    :param words: a command, or a single word that names a bot.

    >>> [label_of(words) for words in (["my_bots:Careful"], ["./my-bot --fast"], ["./my-bot", "--fast"], ["odds"])]
    ['Careful', 'my-bot', 'my-bot', 'odds']
    """
    if len(words) == 1 and kind_of(words[0]) != "program":
        return words[0].rpartition(":")[2]
    try:
        return program_name(spelled_out(words)).strip("'\"") or "bot"
    except ProgramError:
        return words[0]


def make_player(text: str, rng: Random) -> Player:
    """Make the player that a level or ``module:Class`` names.

    :param rng: the only source of randomness of a house bot, and of a class that uses it.
    :raises EntrantError: if the class does not exist, does not make a player, or a module of its author is hidden.
    :raises UnmadeError: if the code of the class fails.
    """
    if text in LEVELS:
        return house_player(text, rng)
    module, name = text.split(":")
    if module.endswith(".py") and Path(module).is_file():
        raise EntrantError(f"{text} cannot be made: name the module without .py, as in {module[:-3]}:{name}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # after everything else, so that no file here hides a library
    loaded = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    # An arena makes a player for each game, and reading its modules each time would take longer than the game.
    if not loaded.is_relative_to(here) and (hidden := own_modules(Path(here), module).hidden):
        raise EntrantError(f"{text} cannot be made: {hidden}")
    kind: type[EntrantError] = EntrantError
    try:
        maker = getattr(import_module(module), name)
        kind = UnmadeError
        made = maker(rng)
    except (Exception, SystemExit) as error:  # the author's code may raise anything
        raise kind(f"{text} cannot be made: {error_text(error)}") from error
    if not isinstance(made, Player):
        raise EntrantError(f"{text} is not a p2pdice.players.Player")
    return made


class OwnModules(NamedTuple):
    """A module of a bot's author, with the author's other modules that it imports."""

    files: tuple[Path, ...]
    hidden: str
    """A clause about an imported file that a module elsewhere with the same name hides; empty if no file is hidden."""


def own_modules(folder: Path, module: str) -> OwnModules:
    """Find the modules in a folder that a module imports by name, directly or indirectly, without running them."""
    files: dict[Path, None] = {}
    hidden = ""
    ahead = [module]
    seen = {module}
    while ahead and len(files) < _MOST_MODULES:
        name = ahead.pop()
        found = list(_files(folder, name))
        if not found or found[-1] in files:
            continue
        other = _elsewhere(folder, name.partition(".")[0])
        if other:
            shown = found[0].relative_to(folder)
            hidden = hidden or f"{shown} has the name of a module {other}, which Python takes instead: rename it"
            continue
        files.update(dict.fromkeys(found))
        imported = set(_imports(found[-1], name)) - seen
        seen |= imported
        ahead += sorted(imported)
    return OwnModules(tuple(files), hidden)


def _files(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files in a folder that Python runs to import a module: those of its packages, then the module's own."""
    path = folder
    for part in name.split("."):
        path /= part
        for file in (path / "__init__.py", path.with_suffix(".py")):
            if file.is_file():
                yield file
                break


def _elsewhere(folder: Path, top: str) -> str:
    """Return in words where Python finds another module of this name; empty if it finds the one in the folder.

    Names of the standard library are ignored: a bot that imports one of them wants the standard module.
    """
    if top in sys.stdlib_module_names:
        return ""
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return ""
    places = [] if spec is None else [*(spec.submodule_search_locations or ()), *([spec.origin] if spec.origin else [])]
    own = {folder / top, folder / top / "__init__.py", folder / f"{top}.py"}
    if not places or not {each.resolve() for each in own}.isdisjoint(Path(place).resolve() for place in places):
        return ""
    return "of p2pdice" if top in ("cli", "protocol", "p2pdice") else f"at {places[-1]}"


def _imports(file: Path, name: str) -> Iterator[str]:
    """Yield the names of the modules that a file imports. Some may be names of functions or classes instead."""
    try:
        tree = ast.parse(read_outside(file, _SOURCE_BYTES))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # the import will fail, and its error says why
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from [base] if base else []
            yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names)


def version_of(text: str) -> str:
    """Return a hash of the code of a bot; empty for a house bot, whose version is that of p2pdice.

    For a class, it covers all modules of its author that it imports by name. For a command, it covers all files that
    the command names, and the modules beside a Python script that it imports. It does not cover data that code reads.
    """
    kind = kind_of(text)
    if kind == "house":
        return ""
    files = _class_files(text) if kind == "class" else _command_files(text)
    sums = sorted((str(file), _content(file)) for file in files)
    return sha256(
        "\n".join([text, *(f"{name} {digest}" for name, digest in sums)]).encode(errors="replace")
    ).hexdigest()


def _class_files(text: str) -> Sequence[Path]:
    module = text.partition(":")[0]
    if files := own_modules(Path.cwd(), module).files:
        return files
    top = module.partition(".")[0]
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return ()
    if spec is None or spec.origin is None:
        return ()
    file = Path(spec.origin)
    folder = file.parent.parent if spec.submodule_search_locations else file.parent
    # Of an installed package, only its own modules count: its parent folder also holds all other packages.
    return [
        each for each in own_modules(folder, module).files if each.relative_to(folder).parts[0].split(".")[0] == top
    ]


def _command_files(text: str) -> Iterator[Path]:
    try:
        first, *others = split_command(text)
    except ProgramError:
        return
    program = shutil.which(first)
    if program is not None and not is_interpreter(first):
        yield Path(program)
    for word in others:
        file = Path(word)
        if not file.is_file():
            continue
        yield file
        if file.suffix == ".py":
            yield from (each for each in own_modules(file.parent, file.stem).files if each != file)


def _content(file: Path) -> str:
    try:
        return f"{file.stat().st_size} {sha256(read_outside(file, _SOURCE_BYTES)).hexdigest()}"
    except OSError:
        return "unreadable"
