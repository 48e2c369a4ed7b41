"""The copy deck: the words that are shown in each situation.

A row of the deck consists of the words and a function that brings about the situation, by events or typed lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

from cli.table import answers, moment
from cli.table.board import Board
from cli.table.lesson_table import LESSONS
from cli.table.moment import tell
from cli.table.pace import beats
from cli.table.picture import picture
from cli.table.player_table import PlayerTable
from cli.table.replay_table import facts
from cli.table.scene import Dialog, Scene
from cli.table.theme import Theme
from cli.text.narrate import question
from cli.text.narrate_game import narrate_game, verdict
from cli.text.rounds import Round
from cli.text.seating import Seating
from p2pdice import events
from p2pdice.counting import ONES_WILD
from p2pdice.engine import apply, new_match
from p2pdice.motes import Die
from p2pdice.moves import Bid, Concede, Hands, Liar, Play, Rolled, Side
from p2pdice.powers import DieDestroyed, PowerStopped
from p2pdice.rulesets import PRESETS
from p2pdice.state import State
from p2pdice.views import view
from protocol import events as node
from protocol.match.waiting import Clock
from tests.cli.paper import on_paper
from tests.cli.samples import FINGERPRINT
from tests.cli.test_line import Table
from tests.p2pdice.scripted import play, reach, rolled, rules, table

ROOT: Final = Path(__file__).parents[2]
NAMES: Final = ("Ada", "Ben", "Cleo", "Dan")
ADA, BEN, CLEO, DAN = PEOPLE = tuple(
    node.PlayerInfo(name, f"KEY{seat}-2222", is_me=not seat) for seat, name in enumerate(NAMES)
)
US: Final = Seating(NAMES, 0)
CLASSIC: Final = PRESETS["classic"]
STATE: Final = apply(new_match(CLASSIC, 4), Rolled())[0]
GUS: Final = node.PlayerInfo("Gus", FINGERPRINT)


def told(event: node.NodeEvent, board: Board | None = None) -> str:
    """Return what Ada is told of an event, at a table with Ben, Cleo and Dan."""
    if board is None:
        board = Board()
        board.take(node.MatchStarted("ab" * 32, CLASSIC, PEOPLE, 0, STATE))
    board.take(event)
    return " ".join(tell(event, board))


def game(event: events.Event, state: State = STATE) -> str:
    return narrate_game(event, state, US)


def asked(preset: str, *moves: str, players: int = 4) -> str:
    """Return the question to the player on turn, after these moves."""
    state = play(rolled(rules(preset), (5,) * players), *moves)
    return question(view(state, state.turn), Seating(NAMES[:players], state.turn))


def asked_of_motes(state: State) -> str:
    return question(view(state, state.turn), Seating(NAMES, state.turn))


def judged(call: str, count: int, quantity: int, face: int, caller: int = 0, bidder: int = 3) -> tuple[Any, Any]:
    """Return the verdict on a call, and the showdown with the count."""
    is_true, is_right = count >= quantity, count == quantity if call == "exact" else count < quantity
    sides = ((caller,), (bidder,)) if is_right else ((bidder,), (caller,))
    verdict_ = events.Judged(caller, cast("Any", call), bidder, is_true, is_right, *sides)
    return verdict_, events.HandsShown(((), (), (), ()), quantity, face, counting=ONES_WILD, count=count, unopened=0)


def said(call: str, count: int, quantity: int, face: int) -> str:
    event, shown = judged(call, count, quantity, face)
    return verdict(event, shown, US)


def typed(line: str, preset: str = "classic", **options: bool) -> str:
    return "\n".join(Table(preset, **options).types(line))


def lobby() -> PlayerTable:
    """Return the table of a host with three free seats and a short code."""
    line, _ = on_paper(SimpleNamespace(match=None))
    where = f"192.0.2.1:7000/{FINGERPRINT}"
    line.take(node.TableOpened("Friday", where, (), True, code="4-a-b", seats=4, ruleset=CLASSIC))
    return line


def opened(event: node.NodeEvent) -> str:
    return told(event, lobby().board)


def sided() -> tuple[State, State]:
    """Return a match of joker before and after the last player sides with Ben."""
    before = play(rolled(rules("joker"), (5, 5, 5)), "2x3", "liar")
    return before, apply(before, Play(2, Side("accuser")))[0]


def overdue(seconds: int, *who: node.PlayerInfo) -> str:
    return told(node.Overdue(who, seconds))


def ended(confirmed: bool) -> str:
    places = ((0,), (2,), (1,), (3,))
    return told(node.MatchResult("ab" * 32, places, PEOPLE, Path("x.p2pdice"), confirmed))


SAID: Final[dict[str, Callable[[], str]]] = {
    # Lobby
    "Tell your friends to type: p2pdice join 4-a-b": lambda: screen(lobby().board),
    "Not found? link shows a long line that always works": lambda: screen(lobby().board),
    "On most networks p2pdice join alone finds it too.": lambda: opened(
        node.TableOpened("F", "1", (), True, seats=2, ruleset=CLASSIC)
    ),
    "You have a seat. Two are free.": lambda: told(node.LobbyChanged((ADA,), 3)),
    "Gus sits down. One seat is free.": lambda: told(node.LobbyChanged((ADA, GUS), 3, joined=(GUS,))),
    "You are at Cleo's table, playing classic.": lambda: told(node.TableJoined("Cleo's table", CLEO, CLASSIC, 3)),
    "Somebody typed a wrong code. Two more wrong tries close it.": lambda: told(node.CodeTried(2)),
    "Too many wrong tries: the code is closed. Type code for a new one.": lambda: opened(node.CodeTried(0)),
    "This laptop has a new address. The code still works.": lambda: opened(node.TableMoved("Friday", "1")),
    "Starts when all four seats are taken, or when you start it.": lambda: screen(hosted()),
    "You are in. Waiting for one more player, or for Ada to start.": lambda: screen(guest()),
    "Mallory wants to sit down / Let them sit / Refuse / Let them watch": lambda: spelled(
        answers.newcomer_box("Mallory", GUS, "code", namesake=False)
    ),
    # Start
    "Everybody has signed in. Seats are drawn.": lambda: told(node.MatchFormed("ab" * 32)),
    "Playing classic. In order: you, Ben, Cleo, Dan.": lambda: told(
        node.MatchStarted("ab" * 32, CLASSIC, PEOPLE, 0, STATE)
    ),
    "Round 4. You start. 17 dice.": lambda: game(events.RoundStarted(4, 0, (5, 5, 4, 3), palifico=False)),
    # Turn
    "Your turn: make the first bid.": lambda: asked("classic"),
    "Your turn: raise Ben's four sixes, or call it.": lambda: asked("classic", "4x5", "4x6"),
    "Dan bids seven fives.": lambda: game(events.BidMade(3, 7, 5)),
    "Cleo is choosing": lambda: answers.whose_turn(board_of(play(STATE, "1x2", "1x3"))),
    "waiting for Ben": lambda: answers.whose_turn(board_of(STATE, node.Suspended((BEN,)))),
    "One moment: Ben is signing.": lambda: typed("3x3", is_my_turn=False),
    "Nothing to call yet. Start with a bid such as 2x3.": lambda: opening("liar"),
    "Classic has no exact: raise, or call liar.": lambda: typed("exact"),
    "1x2 is not a raise: bid more threes, or two of a higher face (lowest 3x3, 2x4).": lambda: typed("1x2"),
    "There are only 10 dice. Press Enter again to bid it anyway.": lambda: typed("40x3"),
    "I don't know 'zz'. ? shows what you can type.": lambda: typed("zz", is_my_turn=False),
    "No more pauses.": lambda: typed("skip"),
    "✓ 16 steps signed": lambda: screen(board_of(STATE), steps=16),
    "Space catches up": lambda: screen(board_of(play(STATE, "1x2")), is_behind=True),
    "Call liar? ! or Enter calls it, Esc takes it back.": lambda: screen(my_turn(), "liar"),
    "Call exact? = or Enter calls it, Esc takes it back.": lambda: screen(my_turn(), "exact"),
    # Showdown
    "You call liar on Ben's four sixes.": lambda: game(events.ChallengeCalled(0, "liar", 1, 4, 6)),
    "Cleo: 1, 2, 4, 6, 6. Three count.": lambda: shown_cups().splitlines()[2],
    "Ben's cup stayed down.": lambda: shown_cups().splitlines()[1],
    "7 of 4": lambda: screen(showdown(7, 4, 5), size=(40, 12)),
    "fives and wild ones": lambda: screen(showdown(6, 7, 5), size=(150, 46)),
    "A lie: six fives, one short.": lambda: said("liar", 6, 7, 5),
    "True: nine fives, two to spare.": lambda: said("liar", 9, 7, 5),
    "True: seven fives, just enough.": lambda: said("liar", 7, 7, 5),
    "A LIE: six fives, not seven": lambda: screen(showdown(6, 7, 5), size=(40, 12)),
    "You caught Dan.": lambda: screen(showdown(6, 7, 5)),
    "Dan was right; you were wrong.": lambda: screen(showdown(7, 7, 5)),
    "You were right.": lambda: screen(showdown(7, 7, 5, "exact")),
    "A lie: you were right; Dan was wrong.": lambda: game(judged("liar", 6, 7, 5)[0]),
    "Exact: five sixes on the nose.": lambda: said("exact", 5, 5, 6),
    "Not exact: six, not five.": lambda: said("exact", 6, 5, 6),
    "You lose a die: four left.": lambda: game(events.DieLost(0, 4)),
    "Ben conceded and is out.": lambda: game(events.PlayerOut(1, "conceded")),
    "Round 4 doesn't count: Ben's cup stayed down. Nobody loses a die.": lambda: game(events.RoundVoid(4, (1,))),
    "Special round: ones aren't wild.": lambda: game(events.RoundStarted(4, 0, (1, 5, 4, 3), palifico=True)),
    "Who's right: Ben, who called, or Ada, who bid?": lambda: asked("joker", "2x3", "liar", players=3),
    "Cleo sides with Ben. The cups go up.": lambda: narrate_game(events.Sided(2, "accuser"), sided()[1], US),
    "Cleo was right and puts a die away: four left.": lambda: game(events.DieLost(2, 4), sided()[0]),
    "Round 3: Cleo called Ben's six fours, there were seven; Cleo lost a die.": lambda: summed_up(),
    # Away
    "Ben isn't answering.": lambda: told(node.PeerLost(BEN)),
    "Waiting for Ben. You can go on without Ben in 1:58.": lambda: overdue(118, BEN),
    "One minute left. Then the others can go on without you.": lambda: overdue(60, ADA),
    "The match waits for Ben. Wait, or leave and resume another day.": lambda: told(node.Suspended((BEN,))),
    "Cleo ran out of time and is out (signed by you and Ben).": lambda: told(
        node.Happened(events.PlayerOut(2, "evicted"), STATE, node.Eviction(9, True, (1, 0)))
    ),
    "Ben is back. The match goes on.": lambda: f"{told(node.PeerBack(BEN))} {told(node.Continued())}",
    "Ben left, and can still come back.": lambda: told(node.PeerLost(BEN, left_on_purpose=True)),
    "The last moves are taken back: the others had already gone on.": lambda: told(node.TakenBack(STATE)),
    "Wait two more minutes / Go on without Cleo in 1:18 (needs Ben too) / Leave, and come back to this match later": (
        lambda: spelled(silent(CLEO, Clock((CLEO,), 78.0, 120.0, True)))
    ),
    "Wait for Ben / Leave; resume another day / Leave it as claimed": lambda: spelled(silent(BEN, None)),
    # Leave
    "Concede: you lose this match; it takes effect after Ben's move.": lambda: conceding(),
    "Leave the table? / Stay / Come back later / Concede": lambda: spelled(
        answers.leaving_box(three(), None, is_conceding=False, goes_on=True)
    ),
    "You'll be out as soon as Ben is back.": lambda: told(
        node.ConcedeAccepted((BEN,)), board_of(STATE, node.PeerLost(BEN))
    ),
    "You'll be out as soon as Ben has moved.": lambda: told(node.ConcedeAccepted((BEN,)), board_of(play(STATE, "1x2"))),
    "You left. The match waits for you. Come back with:": lambda: Table().line.way_back(),
    "You're out. Watch the rest, talk, or leave.": lambda: out(),
    # Trust
    "Ann used to be called Bob (same key).": lambda: told(node.Unfamiliar(node.PlayerInfo("Ann", "K"), ("Bob",), ())),
    "Not the Ann you trust: compare keys before you play.": lambda: told(
        node.Unfamiliar(node.PlayerInfo("Ann", "K"), (), (node.PlayerInfo("Ann", "L"),), ("L",))
    ),
    "Ben's program broke the rules, and its own signature proves it: X.": lambda: told(node.Misbehaved(BEN, 7, "X")),
    "The programs disagree. That's a bug, nobody's fault. The log says more.": lambda: told(node.Diverged(7, "")),
    # End
    "Ada wins. Then Cleo, Ben and Dan.": lambda: narrate_game(
        events.MatchOver(((0,), (2,), (1,), (3,)), (0,)), STATE, Seating(NAMES)
    ),
    "Everybody signed the result.": lambda: ended(confirmed=True),
    "Not everybody has signed yet.": lambda: ended(confirmed=False),
    "Again?": lambda: over(),
    "Cleo wants another match.": lambda: told(node.SeatWanted(CLEO)),
    "Cleo wants a seat.": lambda: told(node.SeatWanted(CLEO, watched=True)),
    # Motes
    "Ben plays Dark to destroy your Light.": lambda: game(events.PowerPlayed(1, Die("dark", 1), Die("light", 0))),
    "Stop Ben's Dark with your Blue, or let it be.": lambda: asked_of_motes(answering()),
    "Play a die from the graveyard, or pass.": lambda: asked_of_motes(reach(table(2, "red@0"), "night")),
    "You lose a die. Which one?": lambda: asked_of_motes(reach(table(2), "discard")),
    "You win. Which die do you crown?": lambda: asked_of_motes(reach(table(2), "crown")),
    "The prize is Neutral; your dice are the other five.": lambda: game(events.PrizeDrawn("neutral")),
    "What do you stake on your own victory? Nobody sees it yet.": lambda: question(
        view(new_match(rules("classic", stakes="yes"), 2), 0)._replace(funds=9), US
    ),
    "Night: Cursed dice can be played; Blue stops them.": lambda: game(events.PhaseBegun("night", 0)),
    "Your shield holds: the call doesn't count. Ben must raise.": lambda: game(events.AccusationVoid(1, 0)),
    "Ben stops Dark with a Blue. Both are spent.": lambda: game(PowerStopped(1, Die("dark", 1))),
    "Ben destroys Cleo's Blue with a Dark.": lambda: game(DieDestroyed(1, Die("blue", 2))),
    # First minutes
    "These three dice are yours. Only you can see them.": lambda: LESSONS[0].words,
    "No server deals the dice: each roll is made by all four together": lambda: facts(4)[0],
}
"""The words that must be shown, and the situation that shows them."""


def spelled(asked: Dialog) -> str:
    return " / ".join([asked.title, *(choice.text for choice in asked.choices)])


def three() -> Board:
    """Return the board of Ada, Ben and Cleo."""
    board = Board()
    board.take(node.MatchStarted("ab" * 32, CLASSIC, PEOPLE[:3], 0, apply(new_match(CLASSIC, 3), Rolled())[0]))
    return board


def silent(who: node.PlayerInfo, clock: Clock | None) -> Dialog:
    return answers.absence_box(three(), clock, who, 42, can_wait=True, can_claim=True)


def board_of(state: State, *more: node.NodeEvent) -> Board:
    board = Board()
    for event in (node.MatchStarted("ab" * 32, CLASSIC, PEOPLE, 0, state), *more):
        board.take(event)
    return board


def screen(
    board: Board, typed: str = "", *, size: tuple[int, int] = (80, 24), steps: int = 0, is_behind: bool = False
) -> str:
    """Return the text of the full screen, with whitespace collapsed."""
    now = moment.band(board, typed, with_odds=True, is_behind=is_behind)
    return " ".join(picture(board, Scene(band=now, steps=steps), *size, Theme()).text().split())


def hosted() -> Board:
    board = lobby().board
    board.take(node.LobbyChanged((ADA, BEN), 4))
    return board


def guest() -> Board:
    """Return the lobby at Ada's table as a guest sees it, with one free seat."""
    board, (ada, ben) = Board(), (replace(ADA, is_me=False), replace(BEN, is_me=True))
    board.take(node.TableJoined("Friday", ada, CLASSIC, 3))
    board.take(node.LobbyChanged((ada, ben), 3))
    return board


def my_turn() -> Board:
    return board_of(STATE, node.YourTurn(view(STATE, 0, (1, 2, 3, 4, 5)), 1))


def showdown(count: int, quantity: int, face: int, call: str = "liar") -> Board:
    """Return the board after Ada's call on Dan's bid, with all cups open and the verdict."""
    board = board_of(STATE)
    verdict_, _ = judged(call, count, quantity, face)
    dice = sorted([face] * count + [face - 1] * (20 - count))
    hands = tuple(tuple(sorted(dice[seat::4])) for seat in range(4))
    for event in (
        events.ChallengeCalled(0, cast("Any", call), 3, quantity, face),
        events.HandsShown(hands, quantity, face, counting=ONES_WILD, count=count, unopened=0),
        verdict_,
    ):
        board.take(node.Happened(event, STATE))
    return board


def opening(line: str) -> str:
    table_ = Table("classic")
    state, _ = apply(new_match(CLASSIC, 2), Rolled())
    table_._state = state
    table_.line.take(node.YourTurn(view(state, 0, (1, 2, 3, 4, 5)), 9))
    return "\n".join(table_.types(line))


def shown_cups() -> str:
    hands = ((1, 3, 4, 5, 6), None, (1, 2, 4, 6, 6), ())
    return game(events.HandsShown(hands, 4, 6, counting=ONES_WILD, count=5, unopened=5))


def summed_up() -> str:
    call = events.ChallengeCalled(2, "liar", 1, 6, 4)
    shown = events.HandsShown(((4,) * 5, (4, 4), (2,), (3,)), 6, 4, counting=ONES_WILD, count=7, unopened=0)
    played = Round(3, call=call, shown=shown, changes=(events.DieLost(2, 4),))
    return played.line(Seating(NAMES), keeps_wrong=False)


def conceding() -> str:
    table_ = Table(is_interactive=True, is_my_turn=False)
    assert table_.line.board.state is not None
    table_.line.board.state = table_.line.board.state._replace(turn=1)
    return "\n".join(table_.types("concede"))


def out() -> str:
    table_ = Table(is_my_turn=False)
    table_.line.board.state = apply(table_._state, Play(0, Concede()))[0]
    return "\n".join(table_.types("3x3"))


def over() -> str:
    async def again(_wish: str) -> None:
        """Do nothing."""

    table_ = Table(is_interactive=True, is_my_turn=False)
    table_.line._again = again
    table_.line.take(node.MatchResult("ab" * 32, ((0,), (1,)), table_.line.board.players, Path("x"), True))
    return "\n".join(table_.paper.said)


def answering() -> State:
    """Return a night in which Ada may stop Ben's Dark with her Blue."""
    night = reach(table(2, "dark@1", "light@0", "blue@0", prize=3), "night")
    return play(night, "play dark@1 destroy light@0")


def test_every_situation_shows_the_words_of_the_deck() -> None:
    for words, told in SAID.items():
        assert words in told()


def test_no_text_names_a_die_by_its_seat() -> None:
    sources = [path for path in (ROOT / "cli" / "text").glob("*.py") if "@" in path.read_text(encoding="utf-8")]
    assert [
        path.name for path in sources if re.search(r"[\"'][^\"'\n]*[a-z]+@\d", path.read_text(encoding="utf-8"))
    ] == []


NORM: Final = """\
Round 1. You start. 15 dice.
You roll 1, 3, 4, 5, 6.
You bid two sixes.
Ben bids three sixes.
Cleo bids four sixes.
Your turn: raise Cleo's four sixes, or call it.
You call liar on Cleo's four sixes. The cups go up.
You: 1, 3, 4, 5, 6. Two count.
Ben: 1, 2, 4, 4, 4. One counts.
Cleo: 1, 2, 4, 6, 6. Three count.
True: six sixes, two to spare. Cleo was right; you were wrong.
You lose a die: four left."""


def test_a_round_in_line_mode_is_told_in_these_lines() -> None:
    hands = ((1, 3, 4, 5, 6), (1, 2, 4, 4, 4), (1, 2, 4, 6, 6))
    state = new_match(CLASSIC, 3)
    board = Board()
    board.take(node.MatchStarted("ab" * 32, CLASSIC, PEOPLE[:3], 0, state))
    lines: list[str] = []

    def take(event: node.NodeEvent) -> None:
        for beat in beats(event, board):
            board.take(beat)
            lines.extend(tell(beat, board))

    bids = [Play(seat, Bid(2 + seat, 6)) for seat in range(3)]
    items: list[Rolled | Play | Hands] = [Rolled(), *bids, Play(0, Liar()), Hands(hands)]
    for item in items:
        if isinstance(item, Play) and isinstance(item.move, Liar):
            take(node.YourTurn(view(state, 0, hands[0]), 1))
        state, happened = apply(state, item)
        for event in happened:
            take(node.Happened(event, state, is_last=event is happened[-1]))
        if isinstance(item, Rolled):
            take(node.DiceRolled(hands[0]))
    assert lines == NORM.splitlines()
