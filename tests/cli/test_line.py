"""What a table answers to typed lines: any line gets an answer, and only an unambiguous move is played."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cli.render import wrapped
from cli.table import table as tables
from cli.table.lesson_table import LessonTable
from cli.table.live_table import SpectatorTable
from cli.table.player_table import PlayerTable
from cli.table.replay_table import DemoTable, ReplayTable
from p2pdice import events
from p2pdice.counting import ONES_WILD
from p2pdice.engine import apply, new_match
from p2pdice.errors import IllegalMove
from p2pdice.moves import Bid, Concede, Liar, Move, Play, Rolled
from p2pdice.rulesets import PRESETS
from p2pdice.views import view
from protocol import events as node
from protocol.errors import ErrorCode, NodeError
from protocol.match.waiting import Clock
from tests.cli.paper import on_paper
from tests.cli.samples import FINGERPRINT, node_events
from tests.simulation.world import World

BEN = node.PlayerInfo("Ben", FINGERPRINT)


class Table:
    """A table in line mode with a stub of a node, in which seat 0 must answer the bid 2x3 of seat 1."""

    def __init__(self, rules: str = "spot-on", *, is_interactive: bool = False, is_my_turn: bool = True) -> None:
        self.played: list[Move] = []
        self.conceded = 0
        match = SimpleNamespace(info=(), is_formed=True, unheard=(BEN,), goes_on_without=lambda _: False)
        match.id, match.is_ended = bytes.fromhex("ab" * 32), False
        match.history = SimpleNamespace(walk=lambda _: ())
        owner = SimpleNamespace(
            coins=None,
            pledge="",
            play=self._play,
            concede=self._concede,
            start_match=self._start,
            renew_code=self._start,
            match=match,
            can_claim=False,
            clock=lambda: Clock((BEN,), 30, 120, True),
            asked=(),
        )
        self.line, self.paper = on_paper(owner, home=Path("home"), is_interactive=is_interactive)
        state, _ = apply(new_match(PRESETS[rules], 2, 1), Rolled())
        state, _ = apply(state, Play(1, Bid(2, 3)))
        self._state = state
        players = (node.PlayerInfo("Ada", FINGERPRINT, is_me=True), node.PlayerInfo("Ben", FINGERPRINT))
        events: tuple[node.NodeEvent, ...] = (
            node.MatchStarted("ab" * 32, PRESETS[rules], players, 0, state),
            node.DiceRolled((1, 2, 3, 3, 6)),
            *([node.YourTurn(view(state, 0, (1, 2, 3, 3, 6)), 9)] if is_my_turn else []),
        )
        for event in events:
            self.line.take(event)
        self.paper.said.clear()

    def _play(self, move: Move, token: int) -> None:
        apply(self._state, Play(0, move))
        assert token == 9
        self.played.append(move)

    def _concede(self) -> None:
        self.conceded += 1

    def _start(self) -> None:
        raise NodeError(ErrorCode.FAILED, "a match needs two players", "wait until somebody joins")

    def types(self, *lines: str) -> list[str]:
        self.paper.said.clear()
        for line in lines:
            self.line.obey(line)
        return self.paper.said


def test_after_a_return_the_hand_is_not_told_as_a_new_roll() -> None:
    table = Table()
    players, state = table.line.board.players, table._state
    table.line.take(node.MatchStarted("ab" * 32, state.ruleset, players, 0, state, resumed=True))
    table.paper.said.clear()
    table.line.take(node.DiceRolled((1, 2, 3, 3, 6)))
    assert table.paper.said[0].startswith("You have ")
    table.line.take(node.YourTurn(view(state, 0, (1, 2, 3, 3, 6)), 9))
    assert "You have" not in table.paper.said[1]
    table.line.take(node.Happened(events.LeadPassed(1, 0), state))
    table.line.take(node.DiceRolled((1, 2, 3, 3, 6)))
    assert table.paper.said[-1].startswith("You roll ")


WORDS = [
    "help",
    "dice",
    "odds",
    "players",
    "start",
    "concede",
    "quit",
    "liar",
    "exact",
    "accuser",
    "3x5",
    "1",
    "0",
    "yes",
]
TYPED = st.text(st.characters(exclude_categories=()), max_size=40) | st.lists(
    st.sampled_from([*WORDS, "x", "999x6", "-1x3", "2 x 4", "\x1b[A", "\u202e", "9" * 5000, "½x3", "٣x٥"]), max_size=4
).map(" ".join)


@given(st.lists(TYPED, max_size=6), st.booleans(), st.booleans())
@example(["3x5", "liar"], True, True)
@example(["liar", "3x5"], False, True)
def test_any_line_is_answered_without_an_escape_sequence(
    lines: list[str], is_interactive: bool, is_my_turn: bool
) -> None:
    table = Table(is_interactive=is_interactive, is_my_turn=is_my_turn)
    for line in lines:
        before = len(table.played)
        said = table.types(line)
        assert all(part.isprintable() for text in said for part in text.split("\n"))
        assert said or not line.strip() or len(table.played) > before or table.conceded or table.line.prompt() != "> "
    assert all(isinstance(move, Bid | Liar) or str(move) == "exact" for move in table.played)
    assert len(table.played) <= (1 if is_my_turn else 0)


@pytest.mark.parametrize("typed", ["3x3", " 3 X 3 ", "1 3x3", "3*3", "03x3", "3 3", "three threes", "THREE 3s!"])
def test_a_bid_is_played_in_any_spelling(typed: str) -> None:
    table = Table()
    assert table.types(typed) == []
    assert table.played == [Bid(3, 3)]
    assert table.line.prompt() == "> "


NO_RAISE = "is not a raise: bid more threes, or two of a higher face (lowest 3x3, 2x4)."


def test_an_illegal_move_is_explained_and_can_be_replaced() -> None:
    table = Table("classic")
    with pytest.raises(IllegalMove):
        apply(table._state, Play(0, Bid(1, 3)))
    assert table.types("1x3")[0].startswith(f"1x3 {NO_RAISE}")
    assert (table.played, table.line.prompt()) == ([], "your turn, Ben bid two threes> ")
    table.types("liar")
    assert table.played == [Liar()]


def test_the_first_refused_raise_of_an_evening_explains_the_rule() -> None:
    table = Table("classic")
    rule = "Over three fours that is four fours or three fives, but not four fives."
    assert table.types("1x3")[0].endswith(rule)
    assert table.types("1x2") == [f"1x2 {NO_RAISE}"]


@pytest.mark.parametrize(
    ("rules", "answer"),
    [
        ("classic", "bid more threes, or two of a higher face (lowest 3x3, 2x4)."),
        ("joker", "bid more dice, or two of a higher face, where ones count double (lowest 3x3, 2x4, 2x1)."),
        ("spot-on", "bid more dice, or two of a higher face (lowest 3x3, 2x4)."),
        ("perudo", "bid more dice, two of a higher face, or half as many ones (lowest 3x3, 2x4, 1x1)."),
        ("plain", "bid more dice, or any number of a higher face, but no bid twice (lowest 3x3, 1x4)."),
        ("wildcard", "bid more dice, two of a higher face, or half as many ones (lowest 3x3, 2x4, 1x1)."),
    ],
)
def test_a_refused_raise_is_answered_in_the_words_of_the_rules(rules: str, answer: str) -> None:
    assert Table(rules).types("1x2")[0].startswith(f"1x2 is not a raise: {answer}")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("three foves", "'three foves' is not a move; did you mean 3x5? Legal: 2x4, 2x5 … liar or exact."),
        ("dice", "You have 1, 2, 3, 3, 6. Dice: you five, Ben five; ten in all."),
        ("odds", "Two threes: 100% likely"),
        ("odds 9x3", "Nine threes: 0% likely"),
        ("odds liar", "Type odds and a bid"),
        ("odds nine threes", "Nine threes: 0% likely"),
        ("odds 3", "Type odds and a bid"),
        ("od", "Two threes: 100% likely"),
        ("players", f"Ada: you, five dice, on turn, {FINGERPRINT}"),
        ("start", "The match has already begun."),
        ("rules", "Spot-on\n=======\n\nThe aim. 2 to 10 players have five dice each, in cups that others cannot see"),
        ("rules", "worked round"),
        ("r", "Spot-on\n======="),
        ("quit", "p2pdice resume abababab --home home"),
        ("HELP", "odds     how likely the bid is"),
    ],
)
def test_words_are_answered(typed: str, answer: str) -> None:
    table = Table()
    assert answer in "\n".join(table.types(typed))


@pytest.mark.parametrize("typed", ["odds", "odds 9x3", "od"])
def test_no_word_shows_odds_if_the_table_hides_them(typed: str) -> None:
    table = Table()
    table.line.board.odds = 0
    assert table.types(typed) == ["Odds are hidden at this table."]


@pytest.mark.parametrize("kind", [PlayerTable, SpectatorTable, ReplayTable, DemoTable, LessonTable])
def test_every_word_of_a_table_has_a_method(kind: type[tables.Table]) -> None:
    words = [word.name for word in tables.WORDS if kind.kind in word.tables]
    assert words
    assert [word for word in words if word not in tables._QUESTIONS and not hasattr(kind, f"_do_{word}")] == []


@pytest.mark.parametrize("typed", ["lair", "5,,6", "lose", "1 3", "x" * 99])
def test_answers_in_classic_do_not_mention_motes(typed: str) -> None:
    (answer,) = Table("classic").types(typed)
    assert len(wrapped(answer, 80).splitlines()) == 1
    assert not [word for word in ("mote", "stake", "light@", "crown", "accuse") if word in answer]


def test_a_bid_on_more_dice_than_there_are_needs_confirmation() -> None:
    table = Table("classic")
    assert table.types("40x3") == ["There are only 10 dice. Press Enter again to bid it anyway."]
    assert table.types("41x3") == ["There are only 10 dice. Press Enter again to bid it anyway."]
    assert table.types("dice")
    assert table.played == []
    assert table.types("forty-one threes") == []
    assert table.played == [Bid(41, 3)]


def test_another_move_withdraws_a_bid_that_was_to_be_confirmed() -> None:
    table = Table("classic")
    table.types("40x3", "1x3", "40x3")
    assert table.played == []
    assert table.types("40x6") == [f"40x6 {NO_RAISE}"]


def test_enter_confirms_a_huge_bid_only_directly_after_it() -> None:
    table = Table("classic")
    table.types("40x3", "dice", "")
    assert table.played == []
    table.types("40x3", "")
    assert table.played == [Bid(40, 3)]


def test_help_explains_spellings_and_confirmation_of_bids() -> None:
    told = " ".join(Table("classic").types("help"))
    assert "You can type three fives or 3 5 for 3x5" in told
    assert "A bid on more dice than there are takes another Enter." in told


def test_help_lists_only_moves_of_these_rules() -> None:
    told = " ".join(Table("classic", is_my_turn=False).types("help"))
    assert "On your turn type a bid such as 3x5 or liar." in told
    assert not [word for word in ("exact", "accuse", "stake", "play ") if word in told]


def test_concede_and_quit_cannot_be_abbreviated() -> None:
    for start in ("c", "conced", "q", "qui"):
        table = Table("classic")
        assert "did you mean" in table.types(start)[0]
        assert not table.conceded
        assert not table.line._has_left
    waiting = Table(is_my_turn=False)
    assert waiting.types("conced") == ["I don't know 'conced'. Did you mean concede?"]
    assert "is enough, except for what cannot be undone: concede and quit." in " ".join(waiting.types("help"))


def test_start_is_offered_only_before_the_match() -> None:
    for table in (Table(), Table(is_my_turn=False)):
        assert "start" not in table.line.completions()
        assert not any("start" in line for line in table.types("help") + table.types("star"))
    lobby, paper = on_paper()
    assert "start" in lobby.completions()
    lobby.obey("help")
    lobby.obey("star")
    assert any(line.startswith("    start") for line in paper.said)
    assert paper.said[-1] == "I don't know 'star'. Did you mean start?"


@pytest.mark.parametrize("word", ["seat", "watch", "refuse"])
def test_without_a_name_seat_words_apply_to_the_asking_player(word: str) -> None:
    done = list[node.PlayerInfo]()
    acts = dict.fromkeys(("seat", "let_watch", "refuse", "remove"), done.append)
    asking = [node.SeatAsked(node.PlayerInfo("Zoe", "ZZZZ-2222"), namesake=False)]
    host = SimpleNamespace(asked=asking, kept_out=(), coins=None, pledge="", **acts)
    table, paper = on_paper(host)
    table.take(node.LobbyChanged((node.PlayerInfo("Ada", "DNOZ-2222", is_me=True), BEN), 3))
    table.obey(word)
    assert done == [asking[0].player]
    asking.clear()  # Zoe has left
    table.obey(word)
    assert done == [node.PlayerInfo("Zoe", "ZZZZ-2222")]
    assert paper.said[-1] == f"Nobody is asking for a seat now. Type {word} and a name."
    table.obey(f"{word} ben")
    assert done[1:] == [BEN]
    table.obey("remove")  # it always needs a name
    assert paper.said[-1] == "Type remove and a name: Ben."
    table.obey("remove ben")
    assert done[2:] == [BEN]


def test_house_rules_are_described_by_their_changes() -> None:
    house = PRESETS["joker"].with_options({"dice": "2"})
    guest, paper = on_paper()
    guest.take(node.TableJoined("Friday", BEN, house, 2))
    assert ", playing house rules (joker with dice=2)." in paper.said[0]
    guest.obey("rules")
    assert paper.said[-1].startswith("Joker with dice=2\n=================\n\nThe aim. 2 to 10 players have two")


def test_between_rounds_there_are_no_dice_to_show() -> None:
    table = Table()
    state = table.line.board.state
    assert state is not None
    told(
        table,
        node.Happened(
            events.HandsShown(((1, 2, 3, 3, 6), (1,) * 5), 2, 3, counting=ONES_WILD, count=9, unopened=0), state
        ),
    )
    assert table.types("dice") == ["Your dice wait for the next roll. Dice: you five, Ben five; ten in all."]


def test_namesakes_are_told_apart_by_their_keys_everywhere() -> None:
    ada = node.PlayerInfo("Ada", FINGERPRINT, is_me=True)
    one, other = node.PlayerInfo("Cy", "DNOZ-2222"), node.PlayerInfo("Cy", "VEUV-3333")
    state = new_match(PRESETS["classic"], 3, 1)
    for happened in (
        node.Suspended((other,)),
        node.ConcedeAccepted((other,)),
        node.Overdue((other,), 5),
        node.PeerLost(other),
        node.LobbyChanged((ada, one, other), 3, joined=(other,)),
    ):
        table = Table()
        table.line.take(node.MatchStarted("ab" * 32, PRESETS["classic"], (ada, one, other), 0, state))
        (said,) = told(table, happened)
        assert said.count("Cy") == said.count("Cy [")
    table = Table(is_my_turn=False)
    table.line.take(node.MatchStarted("ab" * 32, PRESETS["classic"], (ada, one, other), 0, state))
    told(table, node.Suspended((other,)))
    assert "waiting for Cy [VEUV]" in table.types("3x3")[0]


def test_help_explains_the_letters_of_motes() -> None:
    letters = "L is light, G is grey, N is neutral, B is blue, R is red and D is dark."
    table = Table(is_my_turn=False)
    assert not any(letters in line for line in table.types("help"))
    motes = new_match(PRESETS["motes"], 2, 1)
    told(table, node.MatchStarted("ab" * 32, motes.ruleset, (table.line.board.players), 0, motes))
    assert any(letters in line for line in table.types("help"))


def test_a_player_who_returns_first_is_told_to_wait() -> None:
    table = Table(is_my_turn=False)
    state = table.line.board.state
    assert state is not None
    players = (node.PlayerInfo("Ada", FINGERPRINT, is_me=True), BEN)
    (said,) = told(table, node.MatchStarted("ab" * 32, PRESETS["spot-on"], players, 0, state, resumed=True))
    assert said.endswith("It is your turn as soon as the others have answered.")
    assert table.types("3x3") == ["One moment: Ben is signing."]


def test_at_a_terminal_conceding_needs_confirmation() -> None:
    table = Table(is_interactive=True)
    means = ["Concede: you lose this match. If you are sure, type concede yes."]
    assert table.types("concede") == table.types("concede no") == means
    assert table.conceded == 0
    table.types("concede Yes")
    assert (table.conceded, table.played) == (1, [])


def test_through_a_pipe_conceding_needs_no_confirmation() -> None:
    table = Table()
    table.types("concede")
    assert table.conceded == 1


WAY_OUT = "You don't have to wait. To drop this match, quit and type:\n    p2pdice matches forget abababab --home home"


def told(table: Table, *events: node.NodeEvent) -> list[str]:
    table.paper.said.clear()
    for event in events:
        table.line.take(event)
    return table.paper.said


def test_conceding_says_when_it_takes_effect() -> None:
    thinking = Table(is_my_turn=False)
    later = "You concede. You'll be out as soon as Ben is back."
    soon = "You concede. You'll be out as soon as Ben has answered."
    assert told(thinking, node.ConcedeAccepted((BEN,))) == [soon]
    assert told(thinking, node.Suspended((BEN,)))[1:] == [WAY_OUT]
    gone = Table(is_my_turn=False)
    told(gone, node.Suspended((BEN,)))
    assert told(gone, node.ConcedeAccepted((BEN,))) == [later, WAY_OUT]
    assert "you are" not in gone.types("3x3")[0]
    at_once = Table()
    assert told(at_once, node.ConcedeAccepted()) == [
        "You concede. You'll be out as soon as the others have heard of it."
    ]
    assert WAY_OUT not in told(at_once, node.Suspended((BEN,)))


def test_leaving_a_stuck_match_says_how_to_save_it() -> None:
    table = Table()
    assert "save" not in table.line.way_back()
    told(table, node.Suspended((BEN,)))
    assert table.line.way_back().endswith("save its transcript so far:\n    p2pdice matches save abababab --home home")


def test_claiming_a_match_says_how_to_continue_it() -> None:
    table = Table()
    way = "p2pdice resume abababab --home home"
    players = tuple(table.line.board.players)
    (_, last) = told(table, node.Claimed("ab" * 32, players, (BEN,), 90, Path("claimed.p2pdice")))
    assert last == f"Go on with it, once they are back, with:\n    {way}"
    assert told(table, node.PeerBack(BEN)) == [
        "Ben is back.",
        f"To go on with the match, quit and type:\n    {way}",
    ]


def test_quitting_after_conceding_says_when_it_takes_effect() -> None:
    later = "You concede as soon as you are back: the others have not heard of it yet."
    table = Table()
    told(table, node.ConcedeAccepted((BEN,)))
    assert f"The match waits for you. {later}" in table.line.way_back()
    state, _ = apply(table.line.board.state or new_match(PRESETS["spot-on"], 2, 1), Play(0, Concede()))
    told(table, node.Happened(events.PlayerOut(0, "conceded"), state))
    assert later not in table.line.way_back()


def test_a_player_who_is_out_cannot_concede() -> None:
    table = Table(is_interactive=True)
    table.types("concede yes")
    state, _ = apply(table.line.board.state or new_match(PRESETS["spot-on"], 2, 1), Play(0, Concede()))
    told(table, node.Happened(events.PlayerOut(0, "conceded"), state))
    out = "You're out. Watch the rest, talk, or leave."
    assert table.types("concede", "3x3") == [out, out]


LEFT_WITH = {0: "You left.", 1: "You left, and your bot with you.", 2: "You left, and your bots with you."}
WAITS = " The match waits for you."
GOES_ON = " If you are away for long, the others can go on without you."


@pytest.mark.parametrize(
    ("players", "bots", "word"),
    [
        *[(2, 0, WAITS), (3, 0, GOES_ON), (4, 0, GOES_ON)],
        *[(2, 1, WAITS), (3, 1, WAITS), (4, 1, WAITS), (5, 1, GOES_ON)],
        *[(3, 2, WAITS), (5, 2, WAITS), (6, 2, WAITS), (7, 2, GOES_ON)],
    ],
)
def test_leaving_names_the_bots_and_says_whether_the_match_waits(players: int, bots: int, word: str) -> None:
    world = World(PRESETS["classic"], players, 1)
    while not world.machines[0].match.is_formed:
        assert world.step()
    match = world.machines[0].match
    mine = frozenset(player.fingerprint for player in match.info[1 : bots + 1])
    table, _ = on_paper(SimpleNamespace(match=match), is_interactive=False, bots=mine)
    table.take(node.MatchFormed("ab" * 32))
    assert table.way_back() == f"{LEFT_WITH[bots]}{word} Come back with:\n    p2pdice resume abababab"


def test_leaving_when_out_says_how_to_see_the_end() -> None:
    table = Table(is_my_turn=False)
    table.line.board.state, _ = apply(table._state, Play(0, Concede()))
    assert table.line.way_back() == (
        "You left, and were out of this match. To see how it ends:\n    p2pdice resume abababab --home home"
    )


def test_in_line_mode_a_question_mark_is_help() -> None:
    table = Table()
    assert table.types("?") == table.types("help")


def test_in_line_mode_help_is_mentioned_once() -> None:
    table = Table(is_interactive=True, is_my_turn=False)
    for _ in range(2):
        table.line.take(node.YourTurn(view(table._state, 0, (1, 2, 3, 3, 6)), 9))
    assert table.paper.said.count("Type help to see what you can type.") == 1


def test_completion_offers_the_legal_moves_and_the_words() -> None:
    mine, waiting = Table(), Table(is_my_turn=False)
    assert {"3x3", "2x4", "liar", "exact", "help", "quit"} <= set(mine.line.completions())
    assert "1x3" not in mine.line.completions()
    assert "liar" not in waiting.line.completions()


def test_before_the_match_words_are_answered_with_that() -> None:
    table, paper = on_paper(SimpleNamespace(start_match=Table._start.__get__(0), match=None))
    for word in ("dice", "odds", "players", "concede", "start", "3x3", "quit"):
        table.obey(word)
    assert paper.said == [
        "There are no dice yet: the match has not begun.",
        "There are no odds yet: the match has not begun.",
        "Nobody is here yet.",
        "There is nothing to concede: no match is running.",
        "A match needs two players. Wait until somebody joins.",
        "Not yet: the match has not begun.",
        "You left the table.",
    ]


def test_only_a_host_can_show_a_qr_code() -> None:
    table, paper = on_paper()
    table.obey("qr")
    assert paper.said == ["There is no long line to draw: only the host of an open table has one."]
    line = f"192.0.2.7:7000/{FINGERPRINT}"
    table.take(node.TableOpened("Friday", line, (), False, seats=2, ruleset=PRESETS["classic"]))
    paper.said.clear()
    table.obey("qr")
    code = paper.said.pop().split("\n")
    paper.page_size = len(code[0]), len(code)
    table.obey("qr")
    assert paper.said == ["\n".join(code)]
    for lacking in ((len(code[0]) - 1, len(code)), (len(code[0]), len(code) - 1)):
        paper.page_size = lacking
        table.obey("qr")
        assert "give your friend the long line instead." in paper.said[-1]


def test_link_says_what_code_and_join_line_are_for() -> None:
    table, paper = on_paper()
    table.obey("link")
    assert paper.said == ["Only the host of an open table has a long line."]
    line = f"192.0.2.7:7000/{FINGERPRINT}"
    table.take(node.TableOpened("Friday", line, (), False, code="4-a-b", seats=2, ruleset=PRESETS["classic"]))
    opened = paper.said[-1]
    table.obey("link")
    assert paper.said[-1] == (
        "Tell your friends. They type:\n"
        "    p2pdice join 4-a-b\n"
        "Not found? This long line always works:\n"
        f"    p2pdice join {line}"
    )
    assert opened.startswith(paper.said[-1])
    paper.page_size = (38, 20)
    table.obey("link")
    assert paper.said[-1] == "To copy the long line in one piece, make the window 54 columns wide."
    table.take(node.CodeTried(0))
    table.obey("link")
    assert paper.said[-2] == f"Tell your friends. They type:\n    p2pdice join {line}"


def test_the_table_of_a_proposal_names_the_awaited_players() -> None:
    """Regression test: the table said only that nobody is here."""
    match = SimpleNamespace(info=(), is_formed=False, unheard=())
    table, paper = on_paper(SimpleNamespace(match=match, can_claim=False), home=Path("home"))
    me = node.PlayerInfo("Ada", "DNOZ-2222", is_me=True)
    table.take(node.AwaitingPlayers("ab" * 32, "Friday", (me, BEN), (BEN,)))
    assert paper.said == [
        "Match abababab was proposed, and this program has not seen it begin. It waits for Ben.",
    ]
    paper.said.clear()
    for word in ("table", "3x3", "quit"):
        table.obey(word)
    assert paper.said == [
        f"    Ada: you, DNOZ-2222\n    Ben: {FINGERPRINT}\n"
        "The match was proposed, and has not begun. It waits for Ben.",
        "Not yet: waiting for Ben.",
        "You left. If the match is played after all, come back with:\n    p2pdice resume abababab --home home",
    ]


@pytest.mark.parametrize(
    ("is_formed", "is_host", "left"),
    [
        (True, False, "You left. The match waits for you. Come back with:"),
        (True, True, "You left. The match waits for you. Come back with:"),
        (False, False, "You left. If the match is played after all, come back with:"),
        (False, True, "You left the table."),
    ],
)
def test_a_player_who_leaves_while_the_match_forms_is_told_the_way_back(
    is_formed: bool, is_host: bool, left: str
) -> None:
    """Regression test: the node knows of the match before the board shows it."""
    match = SimpleNamespace(
        id=bytes([0xAB] * 32), info=(), is_formed=is_formed, is_bound=not is_formed, goes_on_without=lambda _: False
    )
    table, paper = on_paper(SimpleNamespace(match=match), home=Path("home"))
    table.board.hosts = is_host
    table.obey("quit")
    way = "" if left.endswith("table.") else "\n    p2pdice resume abababab --home home"
    assert paper.said == [left + way]


def test_every_event_is_told_except_silent_ones() -> None:
    started = next(event for event in node_events() if isinstance(event, node.MatchStarted))
    for event in node_events():
        table = Table()
        table.line.take(started)
        table.paper.said.clear()
        table.line.take(event)
        is_quiet = isinstance(event, node.Happened) and isinstance(
            event.event, events.LeadPassed
        )  # the next round tells
        assert bool(table.paper.said) != (
            is_quiet or isinstance(event, node.TableClosed | node.Stopped | node.Recognised)
        )


@given(st.text("ab \n", max_size=200), st.integers(10, 100))
def test_wrapping_keeps_all_words(text: str, columns: int) -> None:
    assert wrapped(text, columns).split() == text.split() or any(len(word) > columns - 4 for word in text.split())


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_clock_is_shown_while_time_is_left(goes_on: bool) -> None:
    table = Table()
    for seconds in (5, 0):
        clock = Clock((BEN,), seconds, 120, goes_on)
        table.line._node = cast("Any", SimpleNamespace(clock=lambda clock=clock: clock, match=None))
        assert table.line.clock() == (clock if seconds else None)


async def test_a_guest_who_waits_for_the_host_can_host_instead() -> None:
    table = Table()
    wishes: list[str] = []

    async def go_again(wish: str) -> None:
        wishes.append(wish)
        if not wish:
            try:
                await asyncio.Event().wait()
            finally:
                wishes.append("waits no longer")

    over = node.MatchResult("ab" * 32, ((0,), (1,)), table.line.board.players, Path("transcript"), True)
    table.line._again = go_again
    table.line.take(over)
    table.types("again")
    await asyncio.sleep(0)
    assert table.types("again") == ["You are already waiting for the next match."]
    table.types("again host")
    assert table.line._returning is not None
    await asyncio.wait_for(table.line._returning, 5)
    assert wishes == ["", "waits no longer", "host"]


def test_a_player_can_be_muted_and_unmuted() -> None:
    table = Table()
    evelyn, eve = node.PlayerInfo("Evelyn", "1111-2222"), node.PlayerInfo("Eve", "3333-4444")
    me = node.PlayerInfo("Zoe", FINGERPRINT, is_me=True)
    told(table, node.LobbyChanged((me, evelyn, eve), 3))
    assert table.types("mute eve") == ["Messages from Eve are hidden from now on. Type the same again to see them."]
    assert told(table, node.Said(eve, "hello"), node.Said(evelyn, "good day")) == ["Evelyn says: good day"]
    assert table.types("mute eve") == ["Messages from Eve are shown again."]
    assert told(table, node.Said(eve, "hello")) == ["Eve says: hello"]
    assert table.types("mute zoe", "mute e") == ["Type mute and a name: Evelyn or Eve."] * 2


async def test_again_waits_until_the_end_was_shown() -> None:
    table = Table(is_interactive=True)
    wishes: list[str] = []

    async def go_again(wish: str) -> None:
        wishes.append(wish)

    table.line._again = go_again
    match = cast("Any", table.line._node).match
    match.id, match.is_ended = bytes.fromhex("ab" * 32), True
    assert table.types("again host") == ["The match is over. You join the next one once its end has been shown."]
    await asyncio.sleep(0)
    assert not wishes
    told(table, node.MatchResult("ab" * 32, ((0,), (1,)), table.line.board.players, Path("x"), True))
    await asyncio.sleep(0)
    assert wishes == ["host"]


def test_again_is_refused_while_a_match_is_running() -> None:
    table = Table()
    wishes: list[str] = []

    async def go_again(wish: str) -> None:
        wishes.append(wish)

    table.line._again = go_again
    assert table.types("again") == ["You can play again when the match is over."]
    assert wishes == []


def test_each_match_scores_once_for_its_winners() -> None:
    table = Table(is_interactive=True)
    players = (node.PlayerInfo("Ada", "1111-2222"), node.PlayerInfo("Ben", "3333-4444"))
    table.line._again = cast("Any", object())
    for match, winners, score in (
        ("ab", ((0, 1),), ""),
        ("ab", ((1,), (0,)), ""),  # the first end was taken back, and this one was agreed on
        ("cd", ((1,), (0,)), "Ben 2 and Ada 0"),
        ("ef", ((0, 1),), "Ben 3 and Ada 1"),
    ):
        said = told(table, node.MatchResult(match * 32, winners, players, Path("transcript"), True))
        assert [line for line in said if "score" in line] == ([f"This evening's score: {score}."] if score else [])
