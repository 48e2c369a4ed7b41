"""Whole matches on the full screen: at each size, in each colour mode, with resizing, and with every power of a die."""

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
from p2pdice.motes import MOTES
from p2pdice.powers import POWERS
from p2pdice.rulesets import PRESETS
from tests.programs import PATIENCE
from tests.tiers import slowly, thoroughly

if sys.platform == "win32":
    pytest.skip("needs a POSIX pseudo-terminal", allow_module_level=True)

from tests.cli.keys import COLOR, ENTER, UP, KeyPlayer
from tests.cli.screen import Terminal
from tests.cli.seat import QUESTIONS

pytestmark = pytest.mark.multicast

MODES: Final[dict[str, dict[str, Any]]] = {
    "24 bits": {"COLORTERM": "truecolor"},
    "256 colours": {"TERM": "xterm-256color"},
    "16 colours": {},
    "monochrome": {"TERM": "vt100"},
    "ascii": {"P2PDICE_ASCII": "1"},
    "no-color": {"NO_COLOR": "1"},
}
SIZES: Final = ((80, 24), (40, 12), (120, 40), (60, 20))
_SGR: Final = re.compile(rb"\x1b\[([0-9;]*)m")
_PLAIN: Final = r"0?|1|4|7|22|24|27"
_NAMED: Final = rf"{_PLAIN}|[34]9|[349][0-7]|10[0-7]"
"""The 16 basic colours. All modes except the last two use them."""
LOOKS: Final = {
    "24 bits": rf"{_NAMED}|[34]8;2;\d+;\d+;\d+",
    "256 colours": rf"{_NAMED}|[34]8;5;\d+",
    "16 colours": _NAMED,
    "ascii": _NAMED,
    "monochrome": _PLAIN,
    "no-color": _PLAIN,
}
"""The control sequences for colours and attributes that each mode may use."""
LIE: Final = "99"
"""A quantity greater than the number of dice in any match."""


def check_mode(player: KeyPlayer, mode: str) -> None:
    """Check the colours in all output so far."""
    allowed = re.compile(rf"(?:{LOOKS[mode]})(?:;(?:{LOOKS[mode]}))*")
    looks = {found.decode() for found in _SGR.findall(player.raw)}
    assert [look for look in looks if not allowed.fullmatch(look)] == []
    assert bool(COLOR.search(player.raw)) == (mode not in ("monochrome", "no-color"))
    assert any("8;2;" in look for look in looks) == (mode == "24 bits")
    assert any("8;5;" in look for look in looks) == (mode == "256 colours")
    assert player.raw.isascii() == (mode == "ascii")


class MatchOfMotes:
    """A match between Ada at the full screen and Ben in line mode, in which Ada plays each of her powers.

    Either player can lose a round on purpose, by bidding more dice than exist, and so loses the dice that Ada needs.

    :param sizes: the sizes that Ada's window gets, a new one at each bid.
    :param answered: the number of questions that Ben has answered in earlier matches.
    """

    def __init__(self, ada: KeyPlayer, ben: Terminal, sizes: Iterator[tuple[int, int]], answered: int) -> None:
        self.ada = ada
        self.ben = ben
        self.sizes = sizes
        self.prize = ""
        self.swapped = ""
        """The mote that Ada swaps Neutral with; empty if Neutral is the prize."""
        self.attack = ""
        """The mote that Ben plays so that Ada can stop it with her Blue."""
        self.played: set[str] = set()
        """The motes that Ada has played in this match."""
        self.losses: list[tuple[Terminal, str]] | None = None
        """The planned losses, as (loser, mote); None before the prize is known. Once it is empty, Ben always loses."""
        self.losing = ""
        """The mote that the loser will send to the graveyard."""
        self.cup = len(MOTES) - 1
        """The number of Ada's dice."""
        self.buried: dict[str, Terminal] = {}
        """The sender of each die in the graveyard. The keys are names such as ``your Light``."""
        self.bid = ""
        self.answered = answered

    def play(self) -> None:
        """Play to the end."""
        while (player := self._next()) is not None:
            if player is self.ada:
                self._ada_moves()
            else:
                self._ben_moves(self._questions()[-1])

    def _questions(self) -> list[str]:
        """Return the lines of all questions to Ben so far."""
        lines = self.ben.written().translate({7: None, 13: None}).split("\n")  # a bell may stand before a question
        return [line for line in lines if line.startswith(QUESTIONS)]

    def _is_ben_asked(self) -> bool:
        return self.ben.asks_for_move() and len(self._questions()) > self.answered

    def _ben_answers(self, *lines: str) -> None:
        self.answered = len(self._questions())
        self.ben.type("".join(f"{line}\r" for line in lines))

    def _next(self) -> Terminal | None:
        """Wait until a player is asked, and return that player; None if the match is over."""
        deadline = time.monotonic() + PATIENCE
        while not self.ada.is_over():
            if self.ada.is_asked():
                return self.ada
            if self._is_ben_asked():
                return self.ben
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.ada.failure('nobody is asked')}\n{self.ben.failure('nor here')}")
            time.sleep(0.01)  # two processes are watched
        return None

    def _plan(self) -> list[tuple[Terminal, str]]:
        found = self.ada.wait_for(lambda: re.search(r"prize (\w+)", self.ada.said()), "a prize")
        assert found is not None
        self.prize = found[1].lower()
        motes = [mote for mote in MOTES if mote != self.prize]
        bait = "blue" if "blue" in motes else "light"
        # By then, the mote to be swapped with Neutral is in the graveyard.
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
        """Record the call of a lie: take the next planned loss."""
        assert self.losses is not None
        self.bid = ""
        loser, self.losing = self.losses.pop(0) if self.losses else (self.ben, "any")
        if loser is self.ada:
            self.cup -= 1
            if not self.cup:  # there is no question about the last die; Light brings her back at sunrise
                self.buried[self._die(self.ada, self.losing)] = self.ada

    def _lie(self) -> None:
        self.bid = f"{LIE}x{self.bid[-1:] or 6}"

    def _is_lie(self) -> bool:
        return self.bid.startswith(LIE)

    def _die(self, player: Terminal, mote: str) -> str:
        """Return the name of a die that was dealt to a player."""
        owner = "your" if player is self.ada else "Ben's"
        return f"{owner} {mote.capitalize()}"

    # Ada

    def _ada_moves(self) -> None:
        ada, status = self.ada, self.ada.status()
        if "stake" in status:
            ada.type(UP)
            ada.until_last_line("your turn> stake 50")
            ada.enter()
        elif "You lose a die" in status:
            lost = self.losing.capitalize()
            ada.choose((f"lose {lost}", f"lose my {lost}"))
            self.buried[self._die(ada, self.losing)] = ada
        elif "crown" in status:
            ada.choose("crown ")
        elif any(word in status.lower() for word in ("first bid", "raise", "call ")):
            self._ada_bids()
        else:
            self._ada_plays()

    def _ada_bids(self) -> None:
        ada = self.ada
        loser = self._loser()
        ada.pull(*next(self.sizes))
        ada.check_bidding()
        self._until_buried()
        if self._is_lie():
            ada.call()
            self._settle()
        elif loser is ada and not self._is_shielded():
            self._lie()
            ada.bid_beyond_the_dice(self.bid)
        else:
            self.bid = ada.make_first()

    def _is_shielded(self) -> bool:
        self.ada.resize(80, 24)
        self.ada.wait_for(self._mine, "the row of Ada")
        return re.search("immune|shielded", self._mine()) is not None

    def _mine(self) -> str:
        """Return the row with Ada's name."""
        return next((row for row in self.ada.left() if "Ada (you)" in row), "")

    def _until_buried(self) -> None:
        """Wait until the graveyard on a screen of 80 x 24 shows the expected dice."""
        self.ada.resize(80, 24)
        wanted = sorted(die.rpartition(" ")[2] for die in self.buried)

        def is_listed() -> bool:
            _, yard, told = " ".join(self.ada.left()[5:12]).lower().partition("graveyard")
            return bool(yard) and sorted(found.capitalize() for found in re.findall("|".join(MOTES), told)) == wanted

        self.ada.wait_for(is_listed, f"a graveyard with {wanted}")

    def _ada_plays(self) -> None:
        ada = self.ada
        mine = [die for die, sender in self.buried.items() if sender is ada and die.startswith("your ")]
        can = {
            POWERS[mote].deed + (f" my {self.swapped.capitalize()}" if mote == "neutral" else ""): mote
            for mote in MOTES
            if f"your {mote.capitalize()}" in mine and mote not in self.played
        }
        move = ada.choose_if(list(can))
        if not move:
            return
        mote = next(mote for deed, mote in can.items() if move.startswith(deed))
        die, target = self._die(ada, mote), move.partition(" with ")[0].rpartition(" ")[2].lower()
        self.played.add(mote)
        del self.buried[die]
        self.cup += mote == "light"
        if mote in ("light", "dark"):
            if mote == "dark" and self.prize != "blue":
                self._let_ben_pass()
            del self.buried[next(other for other in self.buried if other.lower().endswith(f" {target}"))]
        elif mote == "neutral":
            self.buried[self._die(ada, self.swapped)] = ada
        elif mote == "grey":
            ada.wait_for(self._is_shielded, "a sign of immunity")
        elif mote == "blue" or self.prize != "blue":
            self._let_ben_pass()
        if mote == "red":
            ada.resize(80, 24)
            ada.wait_for(lambda: re.search("no (redeemed|cursed)", ada.said(), re.IGNORECASE), "what Ben may not play")
        self._until_buried()

    def _let_ben_pass(self) -> None:
        self.ben.wait_for(self._is_ben_asked, "a question to Ben")
        assert self._questions()[-1].startswith("Stop ")
        self._ben_answers("pass")

    # Ben

    def _ben_moves(self, question: str) -> None:
        if "stake" in question:
            self._ben_answers("stake 0")
        elif "Which one?" in question:
            self._ben_sends(question)
        elif "graveyard, or pass" in question and self._can_attack(question):
            deed = POWERS[self.attack].deed
            offered = re.split(", | or ", question.partition(" Type ")[2].rstrip("."))
            self._ben_answers(next(each for each in offered if each.startswith(deed)))
            del self.buried[self._die(self.ben, self.attack)]
        elif "pass" in question:
            self._ben_answers("pass")
        elif "can't be called" in question or (self._loser() is self.ben and not self._is_in_vain()):
            self._lie()
            self._ben_answers(self.bid, self.bid)
        elif "make the first bid" in question:
            self._ben_answers("1x2")
            self.bid = "1x2"
        else:
            self._ben_answers("liar")
            if self._is_lie():
                self._settle()

    def _can_attack(self, question: str) -> bool:
        return POWERS[self.attack].deed in question and "blue" in self._buried_motes()

    def _buried_motes(self) -> set[str]:
        return {die.rpartition(" ")[2].lower() for die in self.buried}

    def _is_in_vain(self) -> bool:
        return bool(self.bid) and self._is_shielded()

    def _ben_sends(self, question: str) -> None:
        mote = self.losing if self.losing != "any" else re.findall(r"lose (?:my )?([A-Z]\w+)", question)[0].lower()
        self._ben_answers(f"lose {mote}")
        self.buried[self._die(self.ben, mote)] = self.ben
        self._until_buried()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


MATCHES = [(rules, mode) for rules in PRESETS for mode in MODES]
SAMPLE = [each for number, each in enumerate(MATCHES) if number % len(MODES) == number // len(MODES) % len(MODES)]
"""Each ruleset in one mode, and each mode with at least one ruleset."""


@pytest.mark.parametrize(
    "match", [*thoroughly(SAMPLE), *slowly(each for each in MATCHES if each not in SAMPLE)], ids=str
)
def test_matches_are_played_with_keys_while_the_window_is_resized(
    stack: ExitStack, tmp_path: Path, match: tuple[str, str]
) -> None:
    rules, mode = match
    fewer = ("--pledge", "redeemed") if rules == "motes" else ("--set", "dice=2")  # motes need five dice
    options = ("--rules", rules, *fewer, "--bots", "2")
    player = stack.enter_context(KeyPlayer(tmp_path / "a", "host", *options, **MODES[mode]))

    def look() -> None:
        player.pull(*next(sizes))
        if player.status().strip().startswith(("Your turn", "Raise", "Make", "You must")):
            player.check_bidding()

    for first in (0, 2):
        sizes = cycle([*SIZES[first:], *SIZES[:first]])
        player.play_with_keys(look)
        check_mode(player, mode)
        player.resize(*next(sizes))
        player.wait_for(player.is_over, "the end card")
        player.until_said("again", "quit")
        player.type(f"again{ENTER}")
    player.wait_for(lambda: not player.is_over(), "another match")
    player.type(f"quit{ENTER}")
    assert player.end() == ExitCode.DONE
    assert player.is_sane()


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_power_can_be_played_with_keys(stack: ExitStack, tmp_path: Path, mode: str) -> None:
    sizes = cycle(SIZES)
    ada = stack.enter_context(
        KeyPlayer(tmp_path / "a", "host", "--rules", "motes", "--pledge", "redeemed", **MODES[mode])
    )
    line = ada.join_line()
    ben = stack.enter_context(
        Terminal(tmp_path / "b", "join", line, "--name", "Ben", "--pledge", "cursed", size=(300, 24))
    )
    played: set[str] = set()
    answered = 0
    while True:
        match = MatchOfMotes(ada, ben, sizes, answered)
        match.play()
        answered = match.answered
        assert match.played == set(MOTES) - {match.prize}
        played |= match.played
        if played == set(MOTES):
            break
        for player in (ben, ada):
            player.type(f"again{ENTER}")
        ada.wait_for(lambda: not ada.is_over(), "another match")
    ada.resize(80, 24)
    ada.until_display("match over", "Twin Soul")
    check_mode(ada, mode)
    ada.type(f"quit{ENTER}")
    assert ada.end() == ExitCode.DONE
