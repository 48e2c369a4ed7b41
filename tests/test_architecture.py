"""The rules for imports between packages and modules, and whether docs/architecture.md shows them correctly."""

import ast
import asyncio
import builtins
import re
import sys
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from graphlib import TopologicalSorter
from pathlib import Path
from pkgutil import resolve_name
from types import CodeType, FrameType, FunctionType

import grimp
import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from cli.table.player_table import PlayerTable
from cli.table.screen import Screen
from protocol.events import Happened
from tests.cli.paper import Paper
from tests.network.company import Company, Player, in_mid_match
from tests.waiting import until

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"\b(?:cli|protocol|p2pdice)(?:\.\w+)+", PAGE)))
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]


def answers(section: str) -> dict[str, str]:
    """Return the answers in a section of the page by question."""
    return dict(re.findall(r"^(?:- )?\*\*… (.*?)\*\*(.*?)(?=^(?:- )?\*\*…|\Z)", section, re.MULTILINE | re.DOTALL))


PLACES = answers(PAGE.partition("## Where do I find …")[2].partition("\n## ")[0])
CHANGES = answers(PAGE.partition("## What do I touch for …")[2])


def test_every_import_contract_is_kept(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("importlinter.cli.logging_config.dictConfig", lambda _: None)  # it disables all loggers
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), cache_dir=None, no_cache=True, no_logo=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_imports_have_no_cycles() -> None:
    """Imports for type checking and imports inside functions count as well."""
    graph = grimp.build_graph("p2pdice", "protocol", "cli", cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    imports["p2pdice.__main__"] = set()  # starts the command line
    TopologicalSorter(imports).prepare()  # raises CycleError, which names one cycle


def test_the_cores_do_not_use_builtins_for_files_terminals_or_imports() -> None:
    """Import contracts cannot see the use of builtins."""
    (cores,) = (each["source_modules"] for each in CONTRACTS if "of their own" in each["name"])
    forbidden = {"__import__", "breakpoint", "eval", "exec", "input", "open", "print"}
    assert forbidden <= {*dir(builtins)}
    for name in cores:
        path = ROOT / name.replace(".", "/")
        files = {*path.rglob("*.py")} or {path.with_suffix(".py")}
        files.discard(ROOT / "p2pdice" / "solved" / "__main__.py")  # a tool that prints the quality of its tables
        for file in files:
            code = ast.parse(file.read_text(encoding="utf-8"))
            used = {node.id for node in ast.walk(code) if isinstance(node, ast.Name)}
            assert not used & forbidden, file


def test_the_game_makes_no_generator_of_random_numbers() -> None:
    """House players use the generator that they are given, so the contract lets them import its class."""
    for file in (ROOT / "p2pdice").rglob("*.py"):
        nodes = [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
        imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        of_random = [
            node for node in imports if "random" in (getattr(node, "module", ""), *(each.name for each in node.names))
        ]
        assert {each.name for node in of_random for each in node.names} <= {"Random"}, file
        called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        assert "Random" not in called, file


def test_the_game_needs_nothing_but_the_standard_library() -> None:
    graph = grimp.build_graph("p2pdice", include_external_packages=True, cache_dir=None)
    import sys

    outside = {module for module in graph.modules if module.partition(".")[0] != "p2pdice"}
    learning = {"gymnasium", "numba", "numpy", "pettingzoo"}  # a contract says which modules may use them
    assert outside - set(sys.stdlib_module_names) - learning == {"cli"}, "only p2pdice.__main__ may import cli"


def test_every_name_on_the_page_is_in_the_code() -> None:
    for name in NAMES:
        resolve_name(name)


def test_every_file_on_the_page_is_there() -> None:
    paths = set(re.findall(r"`((?:cli|protocol|p2pdice|tests|docs)/[\w/.]*)`", PAGE))
    assert paths
    assert not [path for path in paths if not (ROOT / path).exists()]


@pytest.mark.parametrize("package", ["protocol", "cli"])
def test_the_drawing_of_a_package_has_the_layers_of_its_contract(package: str) -> None:
    (layers,) = (each["layers"] for each in CONTRACTS if each.get("containers") == [package])
    drawing = PAGE.partition(f"of `{package}/`\n")[2].partition("```text\n")[2].partition("```")[0]
    rows = [row.strip().partition(" " * 5)[0] for row in re.split(r"\n +│\n", drawing)]
    drawn = [re.findall(r"\w+", row) for row in rows]
    assert [sorted(re.findall(r"\w+", layer)) for layer in layers] == [sorted(row) for row in drawn]


def code_of(name: str) -> CodeType:
    """Return the code that runs when a function is called, or a named tuple is created."""
    named = resolve_name(name)
    return named.__code__ if isinstance(named, FunctionType) else named.__new__.__code__


def walk(title: str) -> dict[CodeType, str]:
    """Return the functions listed in a walk of the page, by their code."""
    text = PAGE.partition(f"## {title}\n")[2].partition("```text\n")[2].partition("```")[0]
    return {code_of(name): name for name in re.findall(r"^[A-Z]* +((?:protocol|cli)\.[\w.]+)", text, re.MULTILINE)}


@asynccontextmanager
async def screen_of(player: Player, home: Path) -> AsyncIterator[tuple[PlayerTable, PipeInput]]:
    """Give a player a full screen without a terminal, which shows all events so far, and an input for keys."""
    table = PlayerTable(player.node, face=Paper(is_interactive=True))
    for event in player.events:
        table.take(event)
    with create_pipe_input() as keys, create_app_session(keys, DummyOutput()):
        async with Screen(table, None, bell="off", color="none") as screen:
            table.face = screen
            yield table, keys


async def test_a_bid_walks_from_key_to_screen_as_the_page_says(
    people: Company, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two nodes share this process: first Ada's does everything up to the socket, then Ben's does the rest."""
    monkeypatch.setattr("cli.table.screen.output_of", lambda _: DummyOutput())
    (ada, ben), _ = await people.table(2)
    await in_mid_match(ada)
    await until(lambda: len(ben.told(Happened)) == len(ada.told(Happened)))  # otherwise his table begins there
    ben.hold()
    ben._listening.cancel()  # his table listens instead
    bid, frame, called = walk("The walk of a bid"), walk("The walk of a frame"), list[str]()
    names = {**bid, **frame}

    def note(of: FrameType, what: str, _: object) -> None:
        if what == "call" and of.f_code in names:
            called.append(names[of.f_code])

    async with screen_of(ada, tmp_path) as (hers, keys), screen_of(ben, tmp_path) as (his, _):
        tasks = [asyncio.create_task(hers.listen()), asyncio.create_task(his.follow())]
        await asyncio.sleep(0)
        state = his.board.state
        sys.setprofile(note)
        try:
            keys.send_text("\x1b[A\r")
            last = [*frame.values()][-2:]
            await until(lambda: his.board.state is not state and called[-1:] == last[-1:])
        finally:
            sys.setprofile(None)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    left = iter(called)  # a timer may make a node send at any time, so other calls may come between
    missed = [name for way in (bid, frame) for name in way.values() if name not in left]
    assert not missed, "\n".join(called)
    assert len(bid) + len(frame) > 46
    told = [re.findall("store|send|tell", line) for line in re.findall(r"Outbox\.steps +(.*)", PAGE)]
    assert told == [["store", "send"], ["store", "send", "tell"]]


def files_and_functions(calls: list[CodeType]) -> tuple[int, int]:
    """Return the number of files and functions in these calls, without lambdas, comprehensions and generated code."""
    named = {code for code in calls if "<" not in code.co_name + code.co_filename}
    return len({code.co_filename for code in named}), len(named)


async def test_both_walks_pass_few_files_and_functions(people: Company, tmp_path: Path) -> None:
    """The walks are a typed bid until it is signed, and its frame until the event; other calls do not count."""
    (ada, ben), _ = await people.table(2)
    await in_mid_match(ada)
    await until(lambda: len(ben.told(Happened)) == len(ada.told(Happened)))
    table = PlayerTable(ada.node, face=Paper(is_interactive=False))
    for event in ada.events:
        table.take(event)
    state = table.board.state
    assert state is not None
    bid = f"{state.bids[-1].quantity + 1}x{state.bids[-1].face}" if state.bids else "1x2"
    calls = list[CodeType]()

    def note(of: FrameType, what: str, _: object) -> None:
        floor, _, _ = of.f_globals.get("__name__", "").partition(".")
        if what == "call" and floor in ("cli", "protocol", "p2pdice"):
            calls.append(of.f_code)

    sys.setprofile(note)
    try:
        table.obey(bid)
        told = len(ben.told(Happened))
        await until(lambda: len(ben.told(Happened)) > told)
    finally:
        sys.setprofile(None)
    signed = calls.index(code_of("protocol.wire.messages.sign"))
    came = calls.index(code_of("protocol.net.channel.Channel.buffer_updated"))
    is_told = calls.index(code_of("protocol.node.runtime.Runtime.tell"), came)
    typed, received = files_and_functions(calls[: signed + 1]), files_and_functions(calls[came : is_told + 1])
    assert typed[0] <= 22
    assert typed[1] <= 54
    assert received[0] <= 34
    assert received[1] <= 132


def files_of(answer: str) -> set[str]:
    return set(re.findall(r"`([\w/]+\.py)`", answer))


def test_a_newcomer_finds_things_in_three_files_at_most() -> None:
    assert len(PLACES) == 15
    for question, answer in PLACES.items():
        assert 1 <= len(files_of(answer)) <= 3, question


def test_only_the_modules_of_motes_name_single_motes() -> None:
    """This concerns code without docstrings. Dark and light are also terminal backgrounds, and themes have colours."""
    mote = re.compile(r"\b(grey|neutral|blue|red)\b", re.IGNORECASE)
    for file in (path for folder in ("cli", "p2pdice", "protocol") for path in (ROOT / folder).rglob("*.py")):
        nodes = [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
        docstrings = [node.value for node in nodes if isinstance(node, ast.Expr)]
        words = [node.value for node in nodes if isinstance(node, ast.Constant) and node not in docstrings]
        path = file.relative_to(ROOT)
        if path.name not in ("motes.py", "powers.py", "tactics.py", "theme.py"):
            assert not [word for word in words if mote.search(str(word))], path


def test_the_page_lists_all_files_of_a_power() -> None:
    code, specification = CHANGES["a new power?"].partition("\n\n")[2].partition("\n\n")[0].split("\n3. ")
    assert "SPEC.md" in specification
    assert files_of(code) == {
        "p2pdice/motes.py",
        "p2pdice/powers.py",
        "p2pdice/players/tactics.py",
        "tests/amber.py",
        "tests/test_new_power.py",
    }


def test_code_specific_to_a_kind_of_message_is_in_one_module() -> None:
    """Other modules may name votes, the LOCK that makes a history final, and messages that end a match."""
    own = {"COMMIT", "REVEAL", "MOVE", "OPEN", "STAKE"}
    found = {
        (file.relative_to(ROOT).as_posix(), name)
        for file in (ROOT / "protocol").rglob("*.py")
        for name in re.findall(r"\bKind\.([A-Z]+)", file.read_text(encoding="utf-8"))
        if name in own and file.name != "kinds.py"
    }
    assert found == {
        ("protocol/match/match.py", "COMMIT"),  # the COMMIT of the first roll forms the match
        ("protocol/consensus/ends.py", "STAKE"),  # a purse shows it to people other than the players
        ("protocol/node/purse.py", "STAKE"),
    }
