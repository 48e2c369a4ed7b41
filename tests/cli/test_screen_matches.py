"""Whole matches on a real terminal: at each size, in each mode, resized on the way, and with every power of a die."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import pytest

from cli.exits import ExitCode
from p2pdice import MOTES
from tests.programs import PATIENCE
from tests.tiers import thoroughly

if sys.platform == "win32":
    pytest.skip("pseudo-terminals of this kind are POSIX", allow_module_level=True)

from tests.cli.keys import COLOR, ENTER, UP, KeyPlayer
from tests.cli.screen import Terminal

pytestmark = pytest.mark.multicast

MODES: Final[dict[str, dict[str, Any]]] = {
    "colour": {},
    "monochrome": {"TERM": "vt100"},
    "ascii": {"P2PDICE_ASCII": "1"},
    "no-color": {"NO_COLOR": "1"},
}
SIZES: Final = ((80, 24), (60, 20), (120, 40))
LIE: Final = "99"
"""More dice than there ever are."""


def check_mode(player: KeyPlayer, mode: str) -> None:
    """Check all that a terminal was given so far."""
    assert bool(COLOR.search(player.raw)) == (mode in ("colour", "ascii"))
    assert player.raw.isascii() == (mode == "ascii")


class MatchOfMotes:
    """A match between Ada at the full screen and Ben in line mode. Either can lose at will, by bidding more dice than
    there are. So they lose the dice that let Ada play each of her powers, one after the other.

    :param sizes: which Ada's window is given, another one at each bid.
    """

    def __init__(self, ada: KeyPlayer, ben: Terminal, sizes: Iterator[tuple[int, int]]) -> None:
        self.ada = ada
        self.ben = ben
        self.sizes = sizes
        self.prize = ""
        self.seats: dict[Terminal, int] = {}
        self.swapped = ""
        """The mote that Neutral is swapped with; empty if Neutral is the prize."""
        self.attack = ""
        """The mote that Ben plays for Ada to answer with her Blue."""
        self.played: set[str] = set()
        """Motes that Ada has played in this match."""
        self.losses: list[tuple[Terminal, str]] | None = None
        """The next to lose a die, and which; None before the prize is known. After the last of them only Ben loses."""
        self.losing = ""
        """The mote that whoever has just lost is to send to the graveyard."""
        self.buried: set[str] = set()
        self.bid = ""

    def play(self) -> None:
        """Play to the end."""
        while (player := self._next()) is not None:
            if player is self.ada:
                self._ada_moves()
            else:
                self._ben_moves(self.ben.asked())

    def _next(self) -> Terminal | None:
        """Wait until one of the two is asked, and return who it is; None if the match is over."""
        deadline = time.monotonic() + PATIENCE
        while not self.ada.is_over():
            if self.ada.is_asked():
                return self.ada
            if self.ben.is_on_turn():
                return self.ben
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.ada.failure('nobody is asked')}\n{self.ben.failure('nor here')}")
            time.sleep(0.01)  # two processes are watched
        return None

    def _plan(self) -> list[tuple[Terminal, str]]:
        found = self.ada.wait_for(lambda: re.search(r"prize (\w+)", self.ada.said()), "a prize")
        assert found is not None
        self.prize = found[1]
        rows = self.ada.left()[1:3]  # a row for each seat
        self.seats = {self.ada: int("Ada (you)" in rows[1]), self.ben: int("Ben" in rows[1])}
        motes = [mote for mote in MOTES if mote != self.prize]
        bait = "blue" if "blue" in motes else "light"
        # What Neutral is swapped with is in the graveyard then.
        self.swapped = "" if "neutral" not in motes else "blue" if "blue" in motes else "grey"
        self.attack = "red" if "red" in motes else "dark"
        first = "neutral" if "neutral" in motes else "blue"
        rest = [mote for mote in ("red", "dark", "grey") if mote in motes and mote != self.swapped]
        return [
            (self.ben, bait),
            (self.ada, first),
            (self.ben, self.attack),
            *((self.ada, mote) for mote in rest),
            (self.ben, "any"),
            *((self.ada, mote) for mote in ("light",) if mote in motes),
        ]

    def _loser(self) -> Terminal:
        if self.losses is None:
            self.losses = self._plan()
        return self.losses[0][0] if self.losses else self.ben

    def _settle(self) -> None:
        """Note that a lie was called, and so who loses which die."""
        assert self.losses is not None
        self.bid = ""
        self.losing = self.losses.pop(0)[1] if self.losses else "any"

    def _lie(self) -> None:
        self.bid = f"{LIE}x{self.bid[-1:] or 6}"

    def _is_lie(self) -> bool:
        return self.bid.startswith(LIE)

    def _die(self, player: Terminal, mote: str) -> str:
        """Return the full name of a die that was dealt to a player."""
        return f"{mote}@{self.seats[player]}"

    # Ada

    def _ada_moves(self) -> None:
        ada, status = self.ada, self.ada.status()
        if "Stake on" in status:
            ada.type(UP)
            ada.until_last_line("your turn> stake 50")
            ada.enter()
        elif "Send a die" in status:
            ada.choose(f"lose {self.losing}")
            self.buried.add(self._die(ada, self.losing))
        elif "Which die do you crown" in status:
            ada.choose("crown ")
        elif "Your turn" in status:
            self._ada_bids()
        else:
            self._ada_plays()

    def _ada_bids(self) -> None:
        ada = self.ada
        loser = self._loser()
        ada.pull(*next(self.sizes))
        ada.check_bidding(self.bid, dice=len(re.findall(r"\b[LGNBRD]\d?\b", ada.mine().partition("(you)")[2])))
        self._until_buried()
        if self._is_lie():
            ada.call()
            self._settle()
        elif loser is ada and "shielded" not in ada.mine():
            self._lie()
            ada.bid_beyond_the_dice(self.bid)
        else:
            self.bid = ada.make_first()

    def _until_buried(self) -> None:
        """Watch until the graveyard on the screen is what it must be, below the windows and the prize."""
        ada = self.ada

        def is_listed() -> bool:
            table = " ".join(ada.left()[:-3]).partition(f"{ada.glyphs.rule * 2} ")[0]
            windows, _, rest = table.partition(f" prize {self.prize}")
            listed = set(re.findall(r"\w+@\d", rest.partition("Graveyard: ")[2]))
            is_empty = "The graveyard is empty." in rest
            has_window = re.search(r"\[(sunset|night|bidding|sunrise)\]", windows) is not None
            return has_window and listed == self.buried and is_empty == (not listed)

        ada.wait_for(is_listed, f"a graveyard with {sorted(self.buried)}")

    def _ada_plays(self) -> None:
        ada = self.ada
        can = [mote for mote in MOTES if re.search(rf"play {mote}@\d \(now\)", ada.said())]
        mote = next((mote for mote in can if mote not in self.played), None)
        if mote is None:
            ada.choose("pass")
            return
        move = ada.choose(f"play {mote}" + (f" swap {self.swapped}" if mote == "neutral" else ""))
        die, target = self._die(ada, mote), move.rpartition(" ")[2]
        if mote == "neutral":
            target = self._die(ada, self.swapped)
        elif mote in ("light", "dark"):
            target = next(other for other in self.buried - {die} if other.startswith(target))
        self.played.add(mote)
        self.buried.discard(die)
        ada.until_told(f"You play {die}")
        getattr(self, f"_see_{mote}")(die, target)

    def _see_light(self, _die: str, target: str) -> None:
        self.buried.remove(target)
        mote, _, seat = target.partition("@")
        letter = mote[0].upper()
        self.ada.wait_for(lambda: re.search(rf"\b{letter}({seat})?\b", self.ada.mine()), f"{target} in the cup")

    def _see_grey(self, _die: str, _target: str) -> None:
        self.ada.wait_for(lambda: "shielded" in self.ada.mine(), "a sign of immunity")

    def _see_neutral(self, _die: str, target: str) -> None:
        self.buried.add(target)
        self.ada.wait_for(lambda: re.search(r"\bN\b", self.ada.mine()), "Neutral in the cup")
        self.ada.wait_for(lambda: re.search(rf"Graveyard: .*you {target}", self.ada.said()), f"{target} buried")

    def _see_blue(self, die: str, _target: str) -> None:
        stack = rf"Stack, top first: {die} by you on (\w+@\d); \1 by Ben on "
        self.ada.wait_for(lambda: re.search(stack, self.ada.said()), "a stack of two")
        self._let_ben_pass()
        self.ada.until_told(f"Your Blue stops {self._die(self.ben, self.attack)}: it is spent and does nothing.")

    def _see_red(self, die: str, _target: str) -> None:
        if self.prize != "blue":
            self.ada.until_said(f"Stack, top first: {die} by you on Ben")
            self._let_ben_pass()
        self.ada.wait_for(lambda: re.search("no (redeemed|cursed)", self.ada.theirs("Ben")), "what Ben may not play")

    def _see_dark(self, die: str, target: str) -> None:
        if self.prize != "blue":
            self.ada.until_said(f"Stack, top first: {die} by you on {target}")
            self._let_ben_pass()
        self.buried.remove(target)
        self.ada.until_told(f"Your Dark removes {target} from the game.")

    def _let_ben_pass(self) -> None:
        self.ben.wait_for(self.ben.is_on_turn, "a question to Ben")
        assert self.ben.asked().startswith("answer ")
        self.ben.answer("pass")

    # Ben

    def _ben_moves(self, question: str) -> None:
        ada, ben = self.ada, self.ben
        if question.startswith("stake"):
            ben.answer("stake 0")
        elif question.startswith("send a die"):
            self._ben_sends(question)
        elif "graveyard, or pass" in question and self.attack in question and "blue" in self._buried_motes():
            found = re.search(rf"play {self.attack}\S* \w+ [\w@]+", question)
            assert found is not None, question
            ben.answer(found[0])
            die = self._die(ben, self.attack)
            self.buried.remove(die)
            ada.until_said(f"Stack, top first: {die} by Ben on")
        elif "pass" in question:
            ben.answer("pass")
        elif "it cannot be called" in question or (self._loser() is ben and not self._is_in_vain()):
            self._lie()
            ben.answer(self.bid, self.bid)
        elif question.startswith("open the round"):
            ben.answer("1x2")
            self.bid = "1x2"
        else:
            ben.answer("liar")
            if self._is_lie():
                self._settle()
            else:
                ada.until_said("Your shield holds")

    def _buried_motes(self) -> set[str]:
        return {die.partition("@")[0] for die in self.buried}

    def _is_in_vain(self) -> bool:
        return bool(self.bid) and "shielded" in self.ada.mine()

    def _ben_sends(self, question: str) -> None:
        mote = self.losing if self.losing != "any" else re.findall(r"lose (\w+)", question)[0]
        self.ben.answer(f"lose {mote}")
        self.buried.add(self._die(self.ben, mote))
        self._until_buried()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("rules", ["classic", "joker"])
@pytest.mark.parametrize("mode", thoroughly(MODES))
def test_a_match_at_each_size_is_played_with_keys_while_the_window_changes(
    stack: ExitStack, tmp_path: Path, rules: str, mode: str
) -> None:
    options = ("--rules", rules, "--set", "dice=2", "--bots", "2")
    player = stack.enter_context(KeyPlayer(tmp_path / "a", "host", *options, **MODES[mode]))

    def look() -> None:
        player.pull(*next(sizes))
        if player.status().startswith(" Your turn: "):
            player.check_bidding(standing_bid(player))

    for first in range(len(SIZES)):
        sizes = cycle([*SIZES[first:], *SIZES[:first]])
        player.play_with_keys(look)
        check_mode(player, mode)
        player.resize(*next(sizes))
        player.until_said(
            "The match is over.", "1. ", "The transcript is", 'Type "again" for another match, or "quit".'
        )
        player.type(f"again{ENTER}")
    player.wait_for(lambda: not player.is_over(), "another match")
    player.type(f"quit{ENTER}")
    assert player.end() == ExitCode.DONE
    assert player.is_sane()


def standing_bid(player: KeyPlayer) -> str:
    """Return the bid that is to be raised, as the question in the log has it; empty if the round is opened."""
    if player.status().startswith(" Your turn: open"):
        return ""
    asked: list[str] = re.findall(r"Your turn: raise \D+ (\d+x\d)", player.said())
    return asked[-1]


@pytest.mark.parametrize("mode", thoroughly(MODES))
def test_every_power_is_played_with_keys_and_seen(stack: ExitStack, tmp_path: Path, mode: str) -> None:
    sizes = cycle(SIZES)
    ada = stack.enter_context(
        KeyPlayer(tmp_path / "a", "host", "--rules", "motes", "--pledge", "redeemed", **MODES[mode])
    )
    rows = ada.until_display("On another laptop, type:", "p2pdice join ")
    line = next(row for row in rows if row.lstrip().startswith("p2pdice join ")).split()[2]
    ben = stack.enter_context(Terminal(tmp_path / "b", "join", line, "--name", "Ben", size=(300, 24)))
    played: set[str] = set()
    while True:
        match = MatchOfMotes(ada, ben, sizes)
        match.play()
        assert match.played == set(MOTES) - {match.prize}
        played |= match.played
        if played == set(MOTES):
            break
        for player in (ben, ada):
            player.type(f"again{ENTER}")
        ada.wait_for(lambda: not ada.is_over(), "another match")
    ada.resize(80, 24)
    ada.until_display("The match is over.", "1. ", "The transcript is")
    check_mode(ada, mode)
    ada.type(f"quit{ENTER}")
    assert ada.end() == ExitCode.DONE
