"""A host's bots: their names and levels, their homes, and their return with the host."""

from __future__ import annotations

import asyncio
import json
import stat
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cli.bots import bot_seat
from cli.bots import crew as crew_of
from cli.bots.bot import Level, bot_nickname, house_names, program_name
from cli.bots.crew import Order
from cli.commands.bot import house_bot
from cli.commands.bot_options import dealt
from cli.commands.host import names_met, recruits
from cli.exits import ExitCode
from cli.settings import Settings
from p2pdice.players import LEVELS, Player
from p2pdice.rulesets import PRESETS
from protocol.crypto.keys import Identity, fingerprint
from protocol.errors import NodeError
from protocol.events import MatchFormed
from protocol.match.lobby import TableSettings
from protocol.match.waiting import Party
from protocol.node.node import Node
from protocol.storage import archive
from protocol.storage.home import Home
from protocol.storage.store import Store, StoredMatch
from protocol.wire.names import check_nickname, is_marked_as_bot
from tests.cli.conftest import Run
from tests.cli.seat import TURN, SeatedPlayer, seated
from tests.cli.test_bots import GOOD, PRELUDE
from tests.cli.test_play import assert_one_fair_match, join_line, transcript
from tests.programs import ROOT, wait_until_gone
from tests.protocol.test_archive import stored
from tests.simulation.world import TABLE, World

Sit = Callable[..., SeatedPlayer]
ODDS15 = ROOT / "examples" / "odds15.py"


@pytest.fixture
def sit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sit]:
    """A function that starts a command of the player Zoe, in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(seated(tmp_path / "zoe", *arguments))


def crew(player: SeatedPlayer) -> list[int]:
    """Return the process ids of all descendants of a player's process."""
    return [each.pid for each in psutil.Process(player.process.pid).children(recursive=True)]


def homes(folder: Path) -> list[Path]:
    return sorted((folder / "zoe" / "bots").glob("*/*"))


def keys(folder: Path) -> dict[str, bytes]:
    return {home.name: (home / "identity.key").read_bytes() for home in homes(folder)}


# Their return


@pytest.mark.parametrize(
    "how",
    [
        pytest.param("leaves", marks=pytest.mark.thorough),
        pytest.param(
            "is killed", marks=pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
        ),
    ],
)
def test_a_host_who_resumes_has_the_same_bots(
    sit: Sit, here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The program has a relative path, and the host resumes from another folder."""
    (tmp_path / "odd.py").write_text(f"{PRELUDE}\n{GOOD}", encoding="utf-8")
    host = sit("host", "--name", "Zoe", "--set", "dice=1", "--bots", "1", "--bot", f"'{sys.executable}' odd.py")
    host.until("You roll")
    before, bots = keys(tmp_path), crew(host)
    assert len(bots) >= 3  # two bots, a program, and the process that forks them
    assert len(before) == 2
    for folder in (tmp_path / "zoe" / "bots", *(tmp_path / "zoe" / "bots").glob("**/")):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700 or sys.platform == "win32"
    if how == "leaves":
        host.type("quit")
        left = "You left, and your bots with you. The match waits for you. Come back with:"
        assert left in host.finish()[1].splitlines()
    else:
        host.kill_9()
    monkeypatch.chdir("/")
    back = sit("resume")  # at once, while the former bots may still be ending
    back.until("You are back in match")
    assert keys(tmp_path) == before
    back.play_to_the_end()
    assert_one_fair_match(here, back)
    assert homes(tmp_path) == []
    wait_until_gone(*bots)


def test_bots_keep_their_keys_for_an_evening(tmp_path: Path) -> None:
    """The score of an evening identifies players by their keys."""
    (recruit,) = asyncio.run(recruits([Level.ODDS], [], "Zoe", PRESETS["classic"], has_guests=False))
    seats = [crew_of.settle(tmp_path / match, 0, recruit) for match in ("first", "second")]
    assert seats[0].identity == seats[1].identity == Identity.load_or_create(seats[1].home)[0].public


def test_a_player_whose_bots_are_lost_is_told_how_to_drop_the_match(
    sit: Sit, p2pdice: Run, tmp_path: Path, unfinished: str
) -> None:
    """Their bots cannot come back, so a concession alone never takes effect."""
    for home in homes(tmp_path):
        (home / "bot.json").unlink()
    back = sit("resume")
    back.until("A bot cannot come back: ")
    back.until("The match waits for ")
    back.type("liar")
    refusal = back.until("One moment: ", "Not yet: ")
    assert "waiting for " in refusal
    assert "you are" not in refusal
    back.type("concede")
    assert "You'll be out as soon as " in back.until("You concede")
    command = back.until("p2pdice matches forget ").split()
    assert command[3] == unfinished[:8]
    back.type("quit")
    assert back.finish()[0] == 0
    here = ("--home", str(tmp_path / "zoe"))
    assert p2pdice(*command[1:], "--yes", *here).returncode == 0
    assert homes(tmp_path) == []
    assert p2pdice("resume", *here).returncode == ExitCode.FAILURE


def test_a_table_without_a_match_leaves_no_homes_of_bots(sit: Sit, tmp_path: Path) -> None:
    killed = sit("host", "--name", "Zoe", "--bots", "2", "--seats", "4")
    killed.until("One seat is free.")
    bots, left = crew(killed), homes(tmp_path)
    assert len(bots) >= len(left) == 2
    killed.kill_9()
    wait_until_gone(*bots)
    again = sit("host", "--name", "Zoe", "--bots", "1", "--seats", "3")
    again.until("One seat is free.")
    assert not any(home.exists() for home in left)
    again.type("quit")
    again.finish()
    assert not (tmp_path / "zoe" / "bots").exists()


async def test_a_bot_waits_until_its_home_is_free(tmp_path: Path) -> None:
    busy = Store(Home(tmp_path).store)
    with pytest.raises(NodeError, match="in use"):
        await bot_seat._opened(tmp_path, "Ben", None, grace=0)
    asyncio.get_running_loop().call_later(3 * bot_seat.BUSY, busy.close)
    node = await bot_seat._opened(tmp_path, "Ben", None, grace=20)
    await node.close()


# Their homes


@pytest.fixture
def match(tmp_path: Path) -> Iterator[tuple[Home, Store, StoredMatch]]:
    """A home with an unfinished match against two bots."""
    world = World(PRESETS["classic"], 3, 1)
    while not any(machine.turn for machine in world.machines):
        assert world.step()
    with stored(tmp_path / "zoe", world, 0) as (store, match):
        home = Home(tmp_path / "zoe")
        for number in range(2):
            crew_of.settle(
                home.bots / TABLE.hex(), number, crew_of.Recruit(f"Bot {number}", Identity.generate(), ("odd", "-v"))
            )
        yield home, store, match


@pytest.fixture
def unfinished(match: tuple[Home, Store, StoredMatch]) -> str:
    """The id of the same match. The home is not in use."""
    _, store, unfinished = match
    store.close()
    return unfinished.match.hex()


@pytest.mark.parametrize(
    "card",
    ["", "[]", "{", '{"name": "Ben"}', "\0", '{"name": 1}', "[" * 100_000, "1" * 300_000],
    ids=["empty", "array", "cut", "incomplete", "no text", "no name", "nested", "long"],
)
def test_a_bot_with_a_damaged_file_stays_away_and_others_return(
    match: tuple[Home, Store, StoredMatch], tmp_path: Path, card: str, capsys: pytest.CaptureFixture[str]
) -> None:
    home, _, unfinished = match
    first, second = homes(tmp_path)
    (first / "bot.json").write_text(card, encoding="utf-8")
    (bot,) = crew_of.at_home(home, unfinished).bots
    assert (bot.home, bot.name, bot.command, bot.folder) == (second, "Bot 1", ("odd", "-v"), str(Path.cwd()))
    assert f"A bot cannot come back: {first / 'bot.json'} is unreadable" in capsys.readouterr().err


def test_a_returning_bot_keeps_its_level(match: tuple[Home, Store, StoredMatch], tmp_path: Path) -> None:
    home, _, unfinished = match
    for number, level in enumerate((Level.MIND, Level.ODDS)):
        crew_of.settle(home.bots / TABLE.hex(), number, crew_of.Recruit("Ben", Identity.generate(), level=level))
    assert [bot.level for bot in crew_of.at_home(home, unfinished).bots] == [Level.MIND, Level.ODDS]


def test_homes_of_bots_are_kept_while_their_match_can_be_resumed(
    match: tuple[Home, Store, StoredMatch], tmp_path: Path
) -> None:
    home, store, unfinished = match
    (home.bots / "notes").mkdir()
    crew_of.settle(home.bots / ("ab" * 16), 0, crew_of.Recruit("of a table that was none", Identity.generate()))
    crew_of.tidy(home, archive.unfinished(store.matches()))
    assert len(homes(tmp_path)) == 2
    store.forget(unfinished.match)
    crew_of.tidy(home, archive.unfinished(store.matches()))
    assert [path.name for path in home.bots.iterdir()] == ["notes"]


def test_bots_of_a_damaged_match_keep_their_homes(match: tuple[Home, Store, StoredMatch], tmp_path: Path) -> None:
    home, _, unfinished = match
    crew_of.tidy(home, [unfinished._replace(genesis=b"damaged")])
    assert len(homes(tmp_path)) == 2
    assert crew_of.at_home(home, unfinished._replace(genesis=b"damaged")).bots == ()


# Against bots alone there is no clock


async def test_house_bots_get_their_table_level_and_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders: list[Order] = []
    levels: list[str] = []

    async def note(order: Order, arguments: list[str], *_: object, **__: object) -> None:
        orders.append(order)
        levels.append(arguments[arguments.index("--level") + 1])
        raise OSError(2, "not today")

    monkeypatch.setattr("cli.bots.crew.start_house_bot", note)
    node = await Node.open(tmp_path / "zoe", "Zoe", interface="127.0.0.1", discovery=False)
    try:
        await node.host(TableSettings("Friday", PRESETS["classic"], 3))
        async with crew_of.hired(
            node,
            [
                crew_of.Recruit("Ben", Identity.generate()),
                crew_of.Recruit("Cleo", Identity.generate(), level=Level.MIND),
            ],
        ) as hired:
            assert levels == ["odds", "mind"]
            identities = {Identity.load_or_create(home)[0].public for home in homes(tmp_path)}
            party = Party(node.identity.public, frozenset(identities))
            assert node.party == party
            assert [Order.read(order.line()).party() for order in orders] == [party, party]
            assert {order.table for order in orders} == {node.join_line}
            assert hired.fingerprints == set(map(fingerprint, identities))
    finally:
        await node.close()


class OneLine:
    """The standard input of a house bot: one line, and then it stays open."""

    def __init__(self, line: str) -> None:
        self._lines = [line]

    async def read(self) -> str | None:
        if not self._lines:
            await asyncio.Event().wait()
        return self._lines.pop()


async def test_nobody_hurries_the_host_of_bots_even_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def opened(home: Path, name: str, **_: object) -> Node:
        nodes.append(await Node.open(home, name, interface="127.0.0.1", discovery=False))
        return nodes[-1]

    async def is_formed(node: Node) -> None:
        async for event in node.events():
            if isinstance(event, MatchFormed):
                return

    def waited_for(node: Node) -> list[bytes]:
        assert node.match is not None
        return [node.match.history.genesis.roster[each].join.identity for each in node.match.waiting.timeouts.unhurried]

    nodes: list[Node] = []
    bot = crew_of.settle(tmp_path / "bots", 0, crew_of.Recruit("Ben", Identity.generate()))
    zoe = await opened(tmp_path / "zoe", "Zoe")
    person = zoe.identity.public
    zoe.party = Party(person, frozenset({bot.identity}))
    await zoe.host(TableSettings("Friday", PRESETS["classic"], 2))

    started: list[Coroutine[None, None, None]] = []
    order = Order.to_join(zoe.join_line, zoe.party)
    monkeypatch.setattr("cli.bots.bot_seat.Node", SimpleNamespace(open=opened))
    monkeypatch.setattr("cli.commands.bot.PipedInput", lambda: OneLine(order.line()))
    monkeypatch.setattr("cli.commands.bot.run", started.append)
    levels: list[str] = []

    def house_player(level: str, rng: Random) -> Player:
        levels.append(level)
        return LEVELS[level](rng)

    monkeypatch.setattr("cli.commands.bot.house_player", house_player)
    context = cast("Any", SimpleNamespace(ensure_object=lambda _: Settings(bot.home)))
    house_bot(context, None, "Ben", level=Level.PRESS, seed="1")
    playing = asyncio.create_task(started[0])
    await asyncio.wait_for(is_formed(zoe), 20)
    assert [waited_for(node) for node in nodes] == [[person], [person]]
    assert levels == ["press"]

    playing.cancel()
    await asyncio.gather(playing, zoe.close(), return_exceptions=True)
    again = await opened(tmp_path / "zoe", "Zoe")
    again.party = zoe.party
    await again.resume("last")
    assert waited_for(again) == [person]
    await again.close()


@pytest.mark.thorough
def test_a_host_of_bots_may_think_longer_than_the_patience(sit: Sit, here: Run) -> None:
    host = sit("host", "--name", "Zoe", "--bots", "2", "--patience", "5", "--set", "dice=1")
    host.until(TURN)
    time.sleep(20)
    host.play_to_the_end()
    assert not any("seconds left" in line for line in host.seen)
    assert_one_fair_match(here, host)


# Their names


def test_bots_have_different_names_at_the_table(sit: Sit, here: Run) -> None:
    program = f"'{sys.executable}' '{ODDS15}'"
    host = sit("host", "--name", "Ada", "--bots", "1", "--bot", program, "--bot", program, "--set", "dice=1")
    host.until("All seats are taken.")
    everyone = "\n".join(host.seen)
    assert all(name in everyone for name in ("You have a seat.", "Ben (bot)", "odds15 (bot)", "odds15 2 (bot)"))
    host.play_to_the_end()
    code, told = host.finish()
    assert code == 0
    assert "odds15 2 (bot) was asked for " in told
    verdict = json.loads(here("verify", "--json", str(transcript(told))).stdout)
    assert set(verdict["players"]) == {"Ada", "Ben (bot)", "odds15 (bot)", "odds15 2 (bot)"}


def test_a_guest_sees_which_players_are_the_hosts_bots(sit: Sit, tmp_path: Path) -> None:
    host = sit("host", "--name", "Zoe", "--bots", "1", "--seats", "3")
    host.until("One seat is free.")
    line = next(line for line in host.seen if "p2pdice join" in line).split()[-1]
    with seated(tmp_path / "eve", "join", line, "--name", "Eve") as guest:
        assert "Ada (Zoe's bot)" in guest.until("All seats are taken.")


def test_a_program_that_joins_has_the_name_in_its_hello(sit: Sit, tmp_path: Path) -> None:
    host = sit("host", "--name", "Ada", "--seats", "3")
    line = join_line(host)
    with seated(tmp_path / "bot", "bot", line, "--", sys.executable, str(ODDS15)):
        assert host.until("sits down").startswith("odds15 (bot) sits down")


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        ("no-such-program", "Error: The bot's program no-such-program cannot be started: "),
        (
            f"'{sys.executable}' no-such-file.py",
            "no-such-file.py does not say hello: it has ended (exit code 2), and wrote: ",
        ),
        (f"'{sys.executable}' -c 'print(1)'", "does not say hello: it said something that is not a message"),
        (f"'{sys.executable}' -c 'print(chr(123) + chr(125))'", "does not say hello: it did not begin with a hello"),
    ],
    ids=["nothing there", "ends", "says something else", "says no hello"],
)
def test_a_faulty_program_is_reported_before_the_table_opens(
    here: Run, tmp_path: Path, program: str, complaint: str
) -> None:
    """Regression test: the host waited forever for the program."""
    done = here("host", "--bots", "1", "--bot", f"'{sys.executable}' '{ODDS15}'", "--bot", program)
    assert done.returncode == ExitCode.FAILURE
    told = done.stderr.splitlines()
    assert complaint in told[0]
    assert ("Name the program, or its interpreter" in done.stderr) == ("cannot be started" in told[0])
    assert told[-1].startswith("    p2pdice bot check -- ")
    assert done.stdout == ""
    assert not (tmp_path / "home" / "bots").exists()


# Their levels


def test_the_levels_equal_those_of_the_players() -> None:
    assert list(Level) == list(LEVELS)


def test_a_bots_name_contains_a_level_that_is_not_the_default() -> None:
    def names(has_guests: bool) -> list[str]:
        crew = recruits([Level.MIND, Level.ODDS], [], "Zoe", PRESETS["classic"], has_guests=has_guests)
        return [recruit.name for recruit in asyncio.run(crew)]

    assert names(has_guests=False) == ["Ada (mind bot)", "Ben (bot)"]
    assert names(has_guests=True) == ["Ada (Zoe's mind bot)", "Ben (Zoe's bot)"]


def test_levels_are_assigned_to_bots_in_turn() -> None:
    assert dealt([Level.MIND, Level.PRESS], 3) == (Level.MIND, Level.PRESS, Level.MIND)
    assert dealt(None, 2) == (Level.ODDS, Level.ODDS)


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (("host", "--bots", "1", "--level", "mnd"), "'random', 'cautious', 'press', 'odds', 'mind'"),
        (("demo", "--level", "mnd"), "'random', 'cautious', 'press', 'odds', 'mind'"),
        (("host", "--level", "mind"), "There is no house bot to play like that"),
        (("host", "--bots", "1", "--level", "mind", "--level", "odds"), "2 levels are too many for 1"),
    ],
)  # fmt: skip
def test_an_unusable_level_is_reported(here: Run, command: tuple[str, ...], complaint: str) -> None:
    done = here(*command)
    assert done.returncode == ExitCode.USAGE
    assert complaint in " ".join(done.stderr.split())


@given(st.text(max_size=60), st.text(max_size=20), st.lists(st.text(max_size=20), max_size=9))
@example("Шанс", "Zoe", [])
@example("odd \x1b[31m one", "", [])
@example("\u202eeve", "x" * 20, ["Bot 1"])
@example("a" * 60, "Zoe", ["a" * 14 + " (bot)"])
def test_any_bot_gets_a_valid_and_unique_nickname(name: str, owner: str, taken: list[str]) -> None:
    given_name = bot_nickname(name, owner, taken)
    assert check_nickname(given_name) == given_name
    assert is_marked_as_bot(given_name)
    assert given_name not in taken


@pytest.mark.parametrize("name", ["★ Star", "· Star", "ǃStar", "%Star", "@ star", "(Star)", "[!] Star", "~*Star"])
def test_a_bot_whose_name_begins_with_a_sign_keeps_the_rest(name: str) -> None:
    assert bot_nickname(name).casefold() == "star (bot)"


def test_house_bots_are_not_named_like_people_whom_the_host_has_met(tmp_path: Path) -> None:
    home = Home(tmp_path / "ada")
    assert names_met(home) == []
    with closing(archive.open_store(home)) as store:
        store.people.trust("QZYM-KVHF-TQFB-G7RM-MHXD", "Ben", 1)
    met = names_met(home)
    seated = asyncio.run(recruits([Level.ODDS], [], "Ada", PRESETS["classic"], has_guests=True, met=met))
    assert [each.name for each in seated] == ["Cleo (Ada's bot)"]


def test_house_bots_are_not_named_like_other_players() -> None:
    assert house_names(2, ["ada", "Dan"]) == ["Ben", "Cleo"]
    assert len(house_names(9, ["Ada", "Ben"])) == 9


def test_a_program_without_a_name_gets_that_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "odd.py").touch()
    assert program_name(["python3", "-u", str(tmp_path / "odd.py"), "--fast"]) == "odd"
    assert program_name(["/opt/odd"]) == "odd"


@pytest.mark.parametrize(
    "interpreter", ["python3.12", "/usr/bin/node", "C:/Python/py.exe", "java -jar", "sh", "env perl"]
)
def test_a_program_is_not_named_after_its_data_file(tmp_path: Path, interpreter: str) -> None:
    program, weights = tmp_path / "mybot.sh", tmp_path / "weights.bin"
    for path in (program, weights):
        path.touch()
    assert program_name([str(program), str(weights)]) == "mybot"
    assert program_name([*interpreter.split(), str(program), str(weights)]) == "mybot"
