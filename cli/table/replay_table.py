"""The table of a replay. Its reader can step through the replay, play it, and jump to any place.

A tape holds the board at one place of the replay, and advances step by step. At the start of each round it saves a copy
of the board. To go back, it takes such a copy and replays events from there.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol

from cli.render import counted, initial
from cli.table.board import Board, Told
from cli.table.moment import tell
from cli.table.pace import beats
from cli.table.scene import ReplayStrip, Talk, WatchStrip
from cli.table.table import Face, Table
from cli.text.rounds import chances, hindsight, weigh
from cli.text.seating import UnknownPlayerError, display_names, find_seat
from cli.text.speech import hear_bid
from p2pdice.events import DieLost, MatchOver, RoundStarted, StakesPaid, TicketsEarned, TwinSoulJoined
from p2pdice.plurals import number as in_words
from protocol.events import CupsSeen, Happened, MatchResult, Notice

if TYPE_CHECKING:
    from pathlib import Path

    from cli.table.terminal import Showing
    from protocol.consensus.verifier import Verdict
    from protocol.events import NodeEvent, PlayerInfo
    from protocol.match.replay import ClosedStep, Moment

_SPELLED: Final = {" ": "Space", "pageup": "PageUp", "pagedown": "PageDown"}
"""Displayed names of keys, where capitalizing the identifier is not enough."""
UNSIGNED: Final = "unsigned"
"""The verdict on a game without signatures."""
EVERYBODY: Final = "all"
"""Typed after *as* for a view of all dice."""
NOBODY: Final = "spectator"
"""Typed after *as* for the view of a spectator."""
_UNHURRIED: Final = 2
"""Number of rounds of a demo at a person's pace. Later rounds share the remaining time."""
_LONGEST: Final = 105.0
"""Maximum seconds of a demo without interruptions. Playing and verifying its match takes up to 15 more beforehand."""
_FASTEST: Final = 0.02
"""Minimum pace of a demo, so that each round can be seen even in a very long match."""


class Retelling(Protocol):
    """The common interface of a signed match (:class:`protocol.match.replay.Replay`) and of an unsigned game
    (:class:`cli.arena.retold_game.RetoldGame`)."""

    @property
    def path(self) -> Path:
        """The file of the match."""

    @property
    def rules(self) -> str:
        """The name of the match's rules."""

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the file; None for an unsigned game."""

    @property
    def players(self) -> Sequence[PlayerInfo]:
        """The players by seat."""

    @property
    def rounds(self) -> Sequence[int]:
        """The steps in which the dice of rounds 1, 2, … were rolled."""

    @property
    def last_step(self) -> int:
        """The number of the last step."""

    @property
    def last_dice(self) -> tuple[int, ...]:
        """The number of dice left at the end, by seat."""

    def tell(self, seat: int | None = None, since: int = 0) -> Iterator[Moment]:
        """Yield the events of the step ``since`` and of all later steps.

        :param seat: the player whose dice are shown; None to show all dice.
        """

    def steps(self) -> Iterator[ClosedStep]:
        """Yield each step with the messages that closed it; nothing for an unsigned game."""


# The tape


class Place(NamedTuple):
    """The place of a scene in a replay."""

    round: int
    """0 before the first roll."""
    number: int
    """The number of the scene in this round, from 1."""


START: Final = Place(0, 1)
WATCHER: Final = -1
"""Used instead of a seat for a spectator's view, in which dice are visible only in opened cups."""


class Taped(NamedTuple):
    """One scene: the events of one step of the history, or the end of the match."""

    place: Place
    step: int
    events: tuple[NodeEvent, ...]
    is_last: bool


class Tape:
    """One replay from start to end, in one view.

    :param eyes: the seat whose dice are visible; None for all dice, :data:`WATCHER` for none.
    :param name: shown as the table's name; if empty, the name of the file is.
    """

    def __init__(self, replay: Retelling, eyes: int | None, name: str = "") -> None:
        self.replay = replay
        self.eyes = eyes
        self.board = Board()
        """The board after the scene at :attr:`place`."""
        self.board.name = name or replay.path.stem  # a transcript does not contain the name of the table
        self.place = Place(0, 0)
        """The place of the current scene, which :meth:`forward` returned last."""
        self.step = 0
        """The number of the current scene's step in the history."""
        self._starts = (0, *replay.rounds)
        self._boards = [self.board.copy()]
        """For each round reached so far, the board before it."""
        self._lengths: list[int] = []
        """The number of scenes of each completed round."""
        self._ahead = self._scenes(0)
        self._next = next(self._ahead, None)

    def _scenes(self, round_: int) -> Iterator[Taped]:
        number = 0
        sees_none = self.eyes == WATCHER
        told = self.replay.tell(None if sees_none else self.eyes, self._starts[round_])
        if sees_none:
            told = (moment for moment in told if not isinstance(moment.event, CupsSeen))
        is_over = False

        def scene_of(moment: Moment) -> tuple[int, bool]:
            # The end of the match is a separate scene, so that the last verdict can be seen.
            nonlocal is_over
            is_over = is_over or _is_end(moment.event)
            return moment.step, is_over

        groups = ((step, tuple(moment.event for moment in group)) for (step, _), group in groupby(told, key=scene_of))
        following = next(groups, None)
        while following is not None:
            step, events = following
            following = next(groups, None)
            if round_ + 1 < len(self._starts) and step >= self._starts[round_ + 1]:
                round_, number = round_ + 1, 0
            number += 1
            yield Taped(Place(round_, number), step, events, following is None)

    @property
    def rounds(self) -> int:
        """The number of rounds in the match."""
        return len(self._starts) - 1

    def forward(self) -> tuple[NodeEvent, ...]:
        """Advance by one scene. The caller must put the returned events on :attr:`board`.

        :returns: an empty tuple at the end.
        """
        scene = self._next
        if scene is None:
            return ()
        if scene.place.round == len(self._boards):
            self._boards.append(self.board.copy())
            self._lengths.append(self.place.number)
        self.place, self.step = scene.place, scene.step
        self._next = next(self._ahead, None)
        return scene.events

    def seek(self, place: Place) -> None:
        """Move so that the scene at ``place`` comes next. If the place is past the end, the last scene comes next."""
        known = min(place.round, len(self._boards) - 1)
        if self._next is None or self._next.place > place or self._next.place.round < known:
            self.board = self._boards[known].copy()
            self._ahead = self._scenes(known)
            self._next = next(self._ahead, None)
        while self._next is not None and self._next.place < place and not self._next.is_last:
            for event in self.forward():
                self.board.take(event)

    def seek_back(self) -> bool:
        """Move so that the scene before the current one comes next; return whether there is one."""
        round_, number = self.place
        if number > 1:
            self.seek(Place(round_, number - 1))
        elif round_:
            self.seek(Place(round_ - 1, self._lengths[round_ - 1]))
        else:
            return False
        return True


def _is_end(event: NodeEvent) -> bool:
    """Return whether an event belongs to the end of the whole match."""
    if isinstance(event, Happened):
        return isinstance(event.event, TwinSoulJoined | TicketsEarned | StakesPaid | MatchOver)
    return isinstance(event, MatchResult)


# The table


def look_back(event: Told, board: Board) -> Iterator[str]:
    """Yield the sentences for an event that the board has just taken. If dice are visible, add how likely a bid or a
    call was.
    """
    if isinstance(event, MatchResult):
        return  # its sentences are about who has confirmed a live match
    sentences = [*tell(event, board)]
    game = event if isinstance(event, Happened) and board.hands else None
    if game is not None and (weighed := weigh(game.event, game.state, board.hands, board.me)):
        sentences[-1] += f" {hindsight(weighed, board.seating)}"
    yield from sentences


class ReplayTable(Table):
    """A table that shows a replay.

    :param verdict: the sentences on the verdict on the file.
    """

    has_lobby = False
    key_lines: Mapping[str, str] = {
        "right": "next",
        "left": "back",
        "pagedown": "next round",
        "pageup": "back round",
        "home": "start",
        "end": "end",
        " ": "play",
    }
    """The line that each key types if the input line is empty."""

    kind = "r"
    title: ClassVar = ""
    """The displayed name of the table; if empty, the name of the file is used."""

    def __init__(
        self,
        replay: Retelling,
        showing: Showing,
        eyes: int | None,
        verdict: str,
        face: Face | None = None,
    ) -> None:
        super().__init__(showing, face)
        self._replay = replay
        self.verdict = UNSIGNED if replay.verdict is None else replay.verdict.verdict.value
        self._told_verdict = verdict
        self._tape = Tape(replay, eyes, self.title)
        self._is_playing = asyncio.Event()
        self._steps, self._lost = _measured(replay)
        self._pending: deque[Told] = deque()
        """Beats of the current scene that are not shown yet, during play."""
        self.board = self._tape.board

    def begin(self) -> None:
        self._introduce()
        self._do_start("")

    def _introduce(self) -> None:
        if self.face.shows_board:
            name = self._name(0)
            self._say(f"Type as {name} to see what {name} saw.")  # the band says whose dice are visible
        else:
            self._say(self._told_verdict)
            self._say(f"{self._whose_eyes()} Enter goes on; help says what else can be typed.")

    def _whose_eyes(self) -> str:
        if self._tape.eyes is None:
            return "You see all dice."
        if self._tape.eyes == WATCHER:
            return "You see what spectators saw: no dice before the cups go up."
        return f'You see what {self._name(self._tape.eyes)} saw; "you" is {self._name(self._tape.eyes)}.'

    def _name(self, seat: int) -> str:
        return display_names(self._replay.players)[seat]

    def take(self, event: Told) -> None:
        super().take(event)
        self.last_words.clear()  # texts about a past match need not be kept

    def told(self, event: Told) -> Iterable[str]:
        if isinstance(event, CupsSeen) and self.face.shows_board:
            return ()
        texts = [*look_back(event, self.board)]
        self.latest = texts[-1] if texts else self.latest
        return texts

    def _talk_of(self, event: Told, told: Sequence[str]) -> Iterable[Talk]:
        return ()  # the band shows the sentences, and notes replaces the talk, because the reader can go back

    def prompt(self) -> str:
        if self._is_playing.is_set():
            return "playing; Enter stops> "
        round_ = self._tape.place.round
        return f"round {round_} of {self._tape.rounds}> " if round_ else "start> "

    @property
    def is_behind(self) -> bool:
        return False  # each event is shown when the reader asks for it

    @property
    def moves_by_itself(self) -> bool:
        return self._is_playing.is_set()

    def key_bar(self) -> Sequence[tuple[str, str]]:
        if self._is_playing.is_set():
            return [("any key", "stops")]
        others = ("PgUp PgDn", "round"), ("as", "eyes"), ("Home End", ""), ("?", "help")
        return [("←→", "step"), ("Space", "play"), ("quit", ""), *others]  # all of these fit into 80 columns

    def strip(self) -> ReplayStrip | WatchStrip:
        place, eyes = self._tape.place, self._tape.eyes
        steps = self._steps[place.round] if place.round < len(self._steps) else 0
        dice = "all dice" if eyes is None else "no dice" if eyes == WATCHER else f"{self._name(eyes)}'s dice"
        return ReplayStrip(place.round, self._lost, place.number, steps, dice)

    def completions(self) -> Iterable[str]:
        return (*self.words, *(f"as {name}" for name in (EVERYBODY, NOBODY, *display_names(self._replay.players))))

    def obey(self, line: str) -> None:
        was_playing = self._is_playing.is_set()
        self._stop()
        if not was_playing or line.strip() not in ("", "play"):
            super().obey(self._spelled_out(line.strip()))

    def _spelled_out(self, line: str) -> str:
        """Return a line in full, given an empty line, a number, or an abbreviated word."""
        word, _, rest = line.partition(" ")
        if not line or line.isdecimal():
            return f"round {line}" if line else "next"
        begun = [each for each in self.words if each.startswith(word.lower())]
        return f"{begun[0]} {rest}" if len(begun) == 1 else line

    def _no_turn(self) -> str:
        return "This match is over. ? shows what you can type."

    def _keys_told(self) -> Mapping[str, str]:
        return {_SPELLED.get(key, key.capitalize()): line for key, line in self.key_lines.items()}

    def _help(self) -> Iterable[str]:
        yield "This is a replay. You can type:"

    # Moving forward

    def _forward(self) -> tuple[NodeEvent, ...]:
        """Take the next scene from the tape; return its events, which are not shown yet."""
        events = self._tape.forward()
        told = (text for event in events if isinstance(event, Notice) for text in tell(event, self.board))
        self.notes = [Talk(None, "", text) for text in told] if events else self.notes
        return events

    def _show_next(self) -> bool:
        """Show the next scene; return whether there was one."""
        events = self._forward()
        for event in events:
            for beat in beats(event, self.board):
                self.take(beat)
        return bool(events)

    def _do_next(self, rest: str) -> None:
        if _means_round(rest):
            self._go_to_round(self._tape.place.round + 1)
        elif not self._show_next():
            self._say_end()

    def _say_end(self) -> None:
        what = "game" if self._replay.verdict is None else "transcript"
        self._say(f"The {what} ends here.\n{self._told_verdict}\nType start, back, round 1 or quit.")

    def _do_play(self, _rest: str) -> None:
        self._is_playing.set()

    async def follow(self) -> None:
        """While the replay plays, show one scene after the other."""
        while not self._has_left and await self._is_playing.wait():
            events = self._forward()
            if not events:
                self._is_playing.clear()
                self._say_end()
                self.face.refresh()
            pending = self._pending = deque(beat for event in events for beat in beats(event, self.board))
            async with aclosing(self.pace.follow(_each(events), self.board)) as shown:
                async for _ in shown:
                    if not pending:  # the reader has stopped playing, which showed the rest at once
                        break
                    self.take(pending.popleft())
            await asyncio.sleep(0)  # gives the reader a chance to stop, even at a pace of 0

    def _stop(self) -> None:
        """Stop playing, and show the rest of the scene at once."""
        self._is_playing.clear()
        while self._pending:
            self.take(self._pending.popleft())
        self.pace.skip()

    # Going elsewhere

    def _jump(self, place: Place) -> None:
        """Go to a place and show its scene."""
        self._tape.seek(place)
        self.board = self._tape.board
        self._show_next()

    def _do_back(self, rest: str) -> None:
        if _means_round(rest):
            round_, number = self._tape.place
            self._go_to_round(round_ - (number == 1))
        elif self._tape.seek_back():
            self.board = self._tape.board
            self._show_next()
        else:
            self._say("This is the start.")

    def _do_round(self, rest: str) -> None:
        if _means_round(rest.partition(" ")[0]):
            rest = rest.partition(" ")[2]
        if rest.isascii() and rest.isdigit():
            self._go_to_round(int(rest))
        else:
            self._say(f"Type round and a number from 1 to {self._tape.rounds}, as in round 1.")

    def _go_to_round(self, number: int) -> None:
        if 1 <= number <= self._tape.rounds:
            self._jump(Place(number, 1))
        elif number < 1:
            self._do_start("")
        else:
            self._say(f"There is no round {number}: the match has {counted(self._tape.rounds, 'round')}.")

    def _do_start(self, _rest: str) -> None:
        self._jump(START)
        while not self.board.seating.names and self._show_next():
            pass

    def _do_end(self, _rest: str) -> None:
        self._jump(Place(self._tape.rounds + 1, 0))

    def _do_as(self, rest: str) -> None:
        try:
            views = {EVERYBODY: None, NOBODY: WATCHER}
            typed = rest.lower()
            eyes = views[typed] if typed in views else find_seat(self._replay.players, rest)
        except UnknownPlayerError as error:
            self._say(str(error))
            return
        place = self._tape.place
        self._tape = Tape(self._replay, eyes, self.title)
        self._say(self._whose_eyes())
        self._jump(place)

    # Asking

    def _do_odds(self, rest: str) -> None:
        state = self.board.state
        asked = hear_bid(rest) if rest else None
        if self.board.me is not None or state is None or (rest and asked is None) or not (asked or state.bid):
            super()._do_odds(rest)
            return
        standing = asked or state.bid
        assert standing is not None
        for line in chances(standing.quantity, standing.face, state, self.board.hands, self.board.seating):
            self._say(line)


def facts(players: int) -> tuple[str, ...]:
    """Return the facts that a demo shows, one in each of its first rounds."""
    many = in_words(players)
    together = "both" if players == 2 else f"all {many}"
    return (
        f"{initial(many)} programs found each other on your network. No server deals the dice: each roll is made by"
        f" {together} together, and every step is signed by all.",
        "Nobody can see a die early, and nobody can change one: each cup was sealed before anyone rolled.",
        "Pull the plug on one of them and the match waits; it comes back with the same dice.",
        "At the end every program holds the same transcript, to the last byte. p2pdice verify checks it without any"
        " network.",
    )


class DemoTable(ReplayTable):
    """A replay that plays until a key stops it, in a spectator's view. For parameters, see :class:`ReplayTable`."""

    title = "Demo"

    def __init__(self, replay: Retelling, showing: Showing, verdict: str) -> None:
        super().__init__(replay, showing, WATCHER, verdict)
        self._facts = facts(len(replay.players))
        self._signatures = [0, *accumulate(len(step.messages) + len(step.votes) for step in replay.steps())]
        """The number of signatures up to each step."""
        self._seconds: list[float] = []
        """The duration of each finished round in seconds, at a pace of 1."""
        self._began = self._round_began = 0.0

    def begin(self) -> None:
        self._began = asyncio.get_running_loop().time()
        self._is_playing.set()
        super().begin()

    def _introduce(self) -> None:
        if self.face.shows_board:  # later, the strip shows each fact
            self._say("Bots play. Space skips a round, End all.")
        else:
            self._say("Four facts about what you see, then the rest at a faster pace. Space skips a round, End all.")

    def _before_telling(self, event: Told) -> None:
        if isinstance(event, Happened) and isinstance(event.event, RoundStarted):
            self._set_pace()

    def _set_pace(self) -> None:
        """Measure the finished round, then set the pace so that the remaining rounds fit into the remaining time."""
        now = asyncio.get_running_loop().time()
        if self._round_began and self.pace.factor:
            self._seconds.append((now - self._round_began) / self.pace.factor)
        self._round_began = now
        if len(self._seconds) >= _UNHURRIED and self.pace.factor:
            left = self._tape.rounds - self._tape.place.round + 1
            wanted = left * sum(self._seconds) / len(self._seconds)
            share = (self._began + _LONGEST - now) / wanted if wanted else 1.0
            self.pace.factor = min(max(share, _FASTEST), self.showing.pace)

    def told(self, event: Told) -> Sequence[str]:
        told = [*super().told(event)]
        is_new = isinstance(event, Happened) and isinstance(event.event, RoundStarted)
        return [f"({fact})", *told] if is_new and not self.face.shows_board and (fact := self._fact()) else told

    def _fact(self) -> str:
        round_ = self.board.round
        return self._facts[round_ - 1] if 1 <= round_ <= len(self._facts) else ""

    def strip(self) -> ReplayStrip | WatchStrip:
        if not self._is_playing.is_set():
            return super().strip()
        step = self._tape.step
        return WatchStrip(step, self._signatures[min(step + 1, len(self._signatures) - 1)], self._fact())

    def key_bar(self) -> Sequence[tuple[str, str]]:
        if self.board.over is not None:
            return [("Enter", "leave"), ("Home", "from the start"), ("?", "help")]
        if self._is_playing.is_set():
            return [("Space", "next round"), ("End", "skip to the end"), ("→", "step"), ("Ctrl-C", "leave")]
        return super().key_bar()

    def obey(self, line: str) -> None:
        word = line.strip().lower()
        if self.board.over is not None and word in ("", "next", "play"):
            self._do_quit("")
        elif self._is_playing.is_set() and word == "play":
            self._skip_round()
        else:
            super().obey(line)

    def _say_end(self) -> None:
        if self.face.shows_board:
            self._say("That was the demo. Enter leaves; start shows it again.")
        else:
            self._do_quit("")

    def _skip_round(self) -> None:
        self._stop()
        if self._tape.place.round < self._tape.rounds:
            self._go_to_round(self._tape.place.round + 1)
            self._is_playing.set()
        else:
            self._do_end("")


def _means_round(rest: str) -> bool:
    """Return whether a text is ``round`` or an abbreviation of it."""
    return bool(rest) and "round".startswith(rest.lower())


async def _each(events: Iterable[NodeEvent]) -> AsyncGenerator[NodeEvent]:
    for event in events:
        yield event


def _measured(replay: Retelling) -> tuple[list[int], list[int | None]]:
    """Measure each round of a replay.

    :returns: the number of scenes of each round, starting with round 0; and the seat that lost dice in each round,
        starting with round 1, or None if no seat or several did.
    """
    tape = Tape(replay, None)
    steps = [0] * (tape.rounds + 1)
    losers: list[set[int]] = [set() for _ in steps]
    while events := tape.forward():
        round_ = tape.place.round
        steps[round_] += 1
        lost = (each.event for each in events if isinstance(each, Happened))
        losers[round_] |= {each.seat for each in lost if isinstance(each, DieLost)}
    return steps, [seats.pop() if len(seats) == 1 else None for seats in losers[1:]]
