"""A page that explains a ruleset to newcomers. Its sentences depend on the options, never on the ruleset's name."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from types import NoneType
from typing import Final

from cli.render import Paragraphs, dice_count, listing, wrapped
from cli.text.narrate_game import ANSWERS, narrate_game
from cli.text.seating import Seating
from p2pdice.bidding import RAISES_IN_WORDS
from p2pdice.counting import COUNTINGS
from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.events import Event, LeadPassed, RoundStarted
from p2pdice.motes import GROUP_OF, MOTES, NOTATION, TWIN_SOULS, Die, Group
from p2pdice.moves import (
    EXACT,
    LIAR,
    PASS,
    Bid,
    Hand,
    Hands,
    Input,
    Lose,
    Move,
    Play,
    Pledges,
    Power,
    Roll,
    Rolled,
    Side,
    Stakes,
    Wager,
    parse_move,
)
from p2pdice.powers import POWERS, MotePower, leave_game
from p2pdice.rulesets import Ruleset
from p2pdice.stakes import NEWCOMER_COINS
from p2pdice.state import Expect, State

WIDTH: Final = 78
"""Maximum columns of a page: two less than the usual 80 columns of a terminal."""

RAISES: Final = {
    "standard": (
        "A raise names more dice of any face, or as many dice of a higher face. Over three fours that is four twos or"
        " three fives, but not three threes."
    ),
    "strict": (
        "A raise names more dice of the same face, or as many dice of a higher face. Over three fours that is four"
        " fours or three fives, but not four fives."
    ),
    "reset-quantity": (
        "A raise names more dice of the same face, or any number of dice of a higher face. Over three fours that is"
        " four fours or even one five, but not four threes."
    ),
    "either": (
        "A raise names more dice of any face, or any number of dice of a higher face. No bid may be made twice in one"
        " round. Over three fours that is four twos or one five, but not three threes."
    ),
    "half-ones": (
        "Among twos to sixes a raise names more dice of any face, or as many dice of a higher face: over three fours"
        " that is four twos or three fives. From another face to ones half as many dice are enough, rounded up: two"
        " ones raise three fours. From ones to another face it takes twice as many and one more: five twos raise two"
        " ones. From ones to ones it takes one more."
    ),
    "double-ones": (
        "A bid weighs as much as its number of dice, and one on ones twice as much. A raise weighs more, or it weighs"
        " the same and names a higher face. Over three fours that is four twos, three fives or two ones; over two"
        " ones, which weigh four, it is four twos."
    ),
}
ONES_BIDS: Final = {
    "free": "",
    "opening-only": "Ones may be bid only in a round whose first bid is on ones.",
    "not-opening": "The first bid of a round may not be on ones.",
}
VERDICTS: Final = {
    "loser-loses-die": "A player who is wrong loses a die.",
    "right-side-discards": (
        "Losing dice is good here: a player who is right puts a die away, one who is wrong keeps theirs."
    ),
}
EXACTS: Final = {
    "none": "",
    "gain": (
        "Instead of liar, the next player may say exact: the bid is exactly true. If so, the caller gains a die{cap};"
        " if not, the caller loses one. From round 1,000 on nobody may say exact, so that every match ends."
    ),
    "others-lose": (
        "Instead of liar, the next player may say exact: the bid is exactly true. If so, everybody else loses a die;"
        " if not, the caller loses one."
    ),
}
GOALS: Final = {
    "last-standing": "A player without dice is out. The last player with dice wins.",
    "first-out": (
        "A player without dice is out, and that is the aim: the first one out wins, the next one is second, and the"
        " player who has dice at the end comes last."
    ),
}
LEADERS: Final = {
    "loser": "The player who was wrong starts the next round",
    "caller": "The caller starts the next round, right or wrong",
    "affected": (
        "The one player whose number of dice changed starts the next round, or the caller if there is no such player"
    ),
}
SIDING: Final = (
    "After liar, before the cups go up, every other player takes a side, clockwise from the caller: with the caller or"
    " with the bidder. Type side with and their name. All on the side that turns out to be right share its fate."
)
NO_PALIFICO: Final = (
    "The rules have a special round for a player who drops to one die. It never comes: everybody starts with one."
)
SHARED: Final = "Players who go out on the same call share a place{tie}."
PALIFICO: Final = (
    "When a player drops to one die for the first time, they start the next round, and it is special: ones aren't"
    " wild, a raise names more dice of any face or as many of a higher face, and only a player with one die may change"
    " the face."
)


def explain(ruleset: Ruleset, title: str, columns: int | None = WIDTH) -> str:
    """Return the page: a headline, paragraphs, and one or two worked rounds.

    :param columns: the width of the paragraphs; None to keep each on one line.
    """

    def fitted(text: str) -> str:
        return text if columns is None else wrapped(text, columns + 1)

    title = title[:1].upper() + title[1:]
    parts = [title, "=" * len(title)]
    for heading, sentences in _sections(ruleset):
        text = " ".join(filter(None, sentences))
        parts += ["", fitted(f"{heading} {text}")]
    options = " ".join(f"{name}={value}" for name, value in ruleset.options())
    parts += ["", fitted(f"Options: {options}")]
    parts += ["", "A worked round." if worked_rounds(ruleset) == 1 else "Two worked rounds."]
    parts += map(fitted, worked(ruleset))
    return "\n".join(parts)


def _sections(rules: Ruleset) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield (
        "The aim.",
        (
            f"2 to 10 players have {dice_count(rules.dice)} each, in cups that others cannot see into.",
            GOALS[rules.goal],
            _shared(rules),
            "Every die bears a mote besides, and has a power once it is lost." if rules.motes else "",
        ),
    )
    yield (
        "A round.",
        (
            "Everybody rolls. One player starts with a bid on the dice of all cups together: three fives says that at"
            " least three dice show a five. Then it goes clockwise: the next player raises the bid or calls it a lie."
            " Seats are drawn by lot before the first round, and the player who gets the first one starts.",
        ),
    )
    yield "Raising.", (RAISES[rules.raise_], "There is no upper limit.")
    palifico = "A special round (see below) may be opened on ones."
    yield (
        "Ones.",
        (
            COUNTINGS[rules.wild].rule,
            ONES_BIDS[rules.ones_bid],
            palifico if rules.palifico and rules.dice > 1 and rules.ones_bid == "not-opening" else "",
        ),
    )
    yield (
        "Calling.",
        (
            "When a player says liar, all cups go up and the dice are counted. If there are at least as many as the"
            " bid says, the bidder is right, else the caller.",
            VERDICTS[rules.verdict],
        ),
    )
    if rules.siding:
        yield "Taking sides.", (SIDING,)
    if rules.exact != "none":
        cap = f", but never has more than {dice_count(rules.dice_cap)}" if rules.dice_cap else ""
        yield "Exact.", (EXACTS[rules.exact].format(cap=cap),)
    yield "The next round.", (f"{LEADERS[rules.next_leader]}; if they are out, the next player clockwise.",)
    if rules.palifico:
        yield "A special round.", (PALIFICO if rules.dice > 1 else NO_PALIFICO,)
    if rules.motes:
        yield from motes_sections()
    if rules.stakes:
        tie = _TIE if _can_share(rules) and rules.goal == "first-out" else ""
        yield "Stakes.", (_STAKES.format(funds=f"{NEWCOMER_COINS:,}"), tie, _TICKETS)
    yield (
        "At the table.",
        (
            f"Type {typed_moves(rules)}. You can type three fives or 3 5 for 3x5, and the beginning of a word is"
            " enough. Type help to see more. You can concede at any time: you are out at once, in the lowest place"
            " still open.",
        ),
    )


def _can_share(rules: Ruleset) -> bool:
    """Return whether one call can put several players out."""
    return rules.siding or rules.exact == "others-lose"


def _shared(rules: Ruleset) -> str:
    tie = "; if it is the first, all of them win" if rules.goal == "first-out" else ""
    return SHARED.format(tie=tie) if _can_share(rules) else ""


def typed_moves(rules: Ruleset) -> str:
    """Return the moves that can be typed, as a list for a sentence."""
    words = ["a bid such as 3x5", "liar"]
    words += ["exact"] if rules.exact != "none" else []
    words += ["side with and a name"] if rules.siding else []
    words += typed(motes=rules.motes, stakes=rules.stakes)
    return ", ".join(words[:-1]) + f" or {words[-1]}"


SHORT: Final = {
    "raise": {name: each.format(faces="of the same face", as_many="as many") for name, each in RAISES_IN_WORDS.items()},
    "wild": {name: counting.brief for name, counting in COUNTINGS.items()},
    "exact": {"none": "", "gain": "exact gains a die", "others-lose": "exact costs the others a die"},
    "verdict": {"loser-loses-die": "", "right-side-discards": "players who are right put a die away"},
    "goal": {"last-standing": "last with dice wins", "first-out": "first without dice wins"},
}


def summary(ruleset: Ruleset) -> str:
    """Return a summary of a ruleset in one line."""
    options = dict(ruleset.options())
    parts = [words[str(options[name])] for name, words in SHORT.items()]
    if ruleset.palifico:
        parts.append("special round at one die")
    if ruleset.motes:
        parts.append("lost dice have powers")
    if ruleset.stakes:
        parts.append("coins at stake")
    return "; ".join(filter(None, parts))


Section = tuple[str, tuple[str, ...]]

_MOTES: Final = (
    "There are six motes: {redeemed} are Redeemed, {cursed} are Cursed. One of them is rolled at the start and is"
    " the prize; everybody's five dice are the five others. A die is named after the player it was dealt to, for the"
    " whole match, in every cup: Ben's {One} is the {One} that was dealt to Ben. The name does not depend on the"
    " face."
)
_PLEDGE: Final = (
    "Everybody is pledged to one of the two groups before the match begins (--pledge redeemed or cursed, when you host"
    " or join)."
)
_TURN: Final = (
    "A round is the turn of the player who starts it, and has three phases. At sunset Redeemed dice can be"
    " played. At night everybody rolls, then Cursed dice can be played, then the bidding goes on until a call is"
    " settled. At sunrise Redeemed dice can be played once more, before players without dice are out and the lead"
    " passes on."
)
_GRAVEYARD: Final = (
    f"A player who loses a die chooses which one (type lose {MOTES[4].capitalize()}). It goes to the graveyard,"
    " and only that player may play it: while they have dice, or at the sunrise in which they would be out. A"
    " power can be used on any die of the graveyard. Once played, a die is out of the game{stays}."
)
_WINDOWS: Final = (
    "In each phase players are asked clockwise from the one who started: play a die, or pass. After each die that"
    " is played, the asking starts anew with the next player, until all have passed in a row. A player with"
    " nothing to play is not asked. Cursed dice can also be played on your own turn in the bidding, before you bid"
    " or call; you stay on turn."
)
_WHEN: Final = {"redeemed": "sunset, sunrise", "cursed": "night"}
_STACK: Final = (
    "A Cursed die does not take effect at once. It goes on a stack, and the others, clockwise from its player, may"
    f" answer what is on top with {ANSWERS}. When all have passed, the top takes effect, and they are asked about the"
    " next one. A die that was answered is spent all the same; one whose target is gone by then does nothing."
)
_END: Final = (
    f"The last player with dice crowns one of them (type crown {MOTES[5].capitalize()}). It joins the prize in a Twin"
    " Soul. Everybody who is pledged to the group of this winning die, in the match or out of it, earns a run ticket."
)
_STAKES: Final = (
    "Before the first round everybody stakes coins on their own victory, from none to all they have (type stake 50, or"
    " stake 0). Stakes are sealed, and all are opened at once. Players who do not open theirs are out, and share a"
    " place. A newcomer has {funds} coins and no run tickets; what is won and lost stays in the purse (see p2pdice"
    " purse). The winner gets all stakes, and a bonus: their own bet"
    " times itself, divided by the coins they had, rounded down. If two players with 1,000 coins bet 100 and 50, the"
    " first gets 150 and 10 by winning: 60 more than their stake. Everybody else loses their stake."
)
_TICKETS: Final = (
    "Run tickets can be staked, too (stake 50 tickets 1), and the winner gets them all. They are earned by motes."
)
_TIE: Final = "Winners who tie share the pool equally, and each adds their own bonus."


def motes_sections() -> Iterator[Section]:
    """Yield the sections on dice with powers."""
    names = {group: listing([mote.capitalize() for mote in MOTES if GROUP_OF[mote] == group]) for group in _WHEN}
    one = MOTES[1]
    yield "Motes.", (_MOTES.format(**names, One=one.capitalize()), _PLEDGE)
    yield "A turn.", (_TURN,)
    kept = [power.mote.capitalize() for power in POWERS.values() if power.play is not leave_game]
    stays = f"; only {listing(kept)} {'stays' if len(kept) == 1 else 'stay'} in it" if kept else ""
    yield "The graveyard.", (_GRAVEYARD.format(stays=stays),)
    yield "Playing dice.", (_WINDOWS,)
    for power in POWERS.values():
        yield f"{power.mote.capitalize()} ({_WHEN[GROUP_OF[power.mote]]}).", (power.rule, f"Type {_typed(power)}.")
    yield "The stack.", (_STACK,)
    souls = [f"{name} ({one.capitalize()} and {other.capitalize()})" for (one, other), name in TWIN_SOULS.items()]
    yield "The end.", (_END, f"The Twin Souls are {listing(souls)}.")
    if warnings := tuple(power.warning for power in POWERS.values() if power.warning):
        yield "Beware.", warnings


def typed(*, motes: bool, stakes: bool) -> list[str]:
    """Return the moves that motes and stakes add, as they are typed."""
    deeds = f"the power of a die in the graveyard ({', '.join(map(_typed, POWERS.values()))})"
    examples = [deeds, "pass", f"lose {MOTES[4].capitalize()}", f"crown {MOTES[5].capitalize()}"]
    return [*(["stake 50"] if stakes else []), *(examples if motes else [])]


def _typed(power: MotePower) -> str:
    """Return an example of a power as it is typed: ``take back Ben's Dark``."""
    move = parse_move(NOTATION[power.mote].example)
    assert isinstance(move, Power)
    aim = " Ben" if isinstance(move.target, int) else ""
    if isinstance(move.target, Die):
        whose = "my" if move.target.seat == move.die.seat else "Ben's"
        aim = f" {whose} {move.target.mote.capitalize()}"
    return f"{power.deed}{aim}"


EXAMPLE_NAMES: Final = ("Ada", "Ben", "Cleo")
_PLEDGES: Final[tuple[Group, ...]] = ("redeemed", "cursed", "redeemed")
_WAGERS: Final = (Wager(100, 1000, 0, 0), Wager(50, 1000, 0, 0), Wager(0, 1000, 0, 0))
_PRIZE: Final = Roll(1 + max(range(len(MOTES)), key=lambda index: POWERS[MOTES[index]].is_answer))
"""The mote that answers others. As the prize it is in no cup, so nothing is answered, and the round stays simple."""
_LOST: Final = sorted(MOTES, key=lambda mote: (NoneType, int, Die).index(NOTATION[mote].target))
"""The motes in the order in which they are lost: those without a target, then those for a player, then for a die."""
_HANDS: Final = 10_000
"""The number of hands that are tried for a cup.

With wild ones, only one in sixty hands of ten dice has no die that counts.
"""


def worked_rounds(ruleset: Ruleset) -> int:
    """Return the number of example rounds: two for rules with the call exact or with motes, otherwise one."""
    return 2 if ruleset.exact != "none" or ruleset.motes else 1


def worked(ruleset: Ruleset) -> Iterator[str]:
    """Yield the worked rounds as a table would report them: paragraphs, opened cups, and empty lines between rounds."""
    seating = Seating(EXAMPLE_NAMES)
    told = Paragraphs()
    for event, state in _played(ruleset):
        if isinstance(event, LeadPassed):  # the sentence on the next round names its leader
            continue
        text = narrate_game(event, state, seating)
        yield from told.begin(text) if isinstance(event, RoundStarted) else told.take(text)
    yield from told.end()


def _played(ruleset: Ruleset) -> Iterator[tuple[Event, State]]:
    state = new_match(ruleset, len(EXAMPLE_NAMES))
    for_rounds = worked_rounds(ruleset)
    while state.awaits is not Expect.OVER and not (state.awaits is Expect.ROLLED and state.round > for_rounds):
        state, events = apply(state, _input(state, is_last=state.round == for_rounds))
        yield from ((event, state) for event in events)


def _input(state: State, *, is_last: bool) -> Input:
    match state.awaits:
        case Expect.PLEDGES:
            return Pledges(_PLEDGES)
        case Expect.STAKES:
            return Stakes(_WAGERS)
        case Expect.ROLL:
            return _PRIZE
        case Expect.ROLLED:
            return Rolled()
        case Expect.HANDS:
            return _hands(state)
    return Play(state.turn, _move(state, is_last=is_last))


def _hands(state: State) -> Hands:
    """Return hands that make the call right: the bid is one die short after liar, and exactly true after exact."""
    assert state.challenge is not None
    assert state.bid is not None
    face, missing = state.bid.face, state.bid.quantity - (state.challenge.call == "liar")
    hands: list[Hand] = []
    for seat, dice in enumerate(state.dice):
        share = dice and missing * dice // sum(state.dice[seat:])
        numbered = (_hand(number, seat, dice) for number in range(_HANDS))
        found = next((each for each in numbered if state.counting.tally(each, face) == share), None)
        assert found is not None, f"none of {_HANDS} hands has {share} dice that count"
        hands.append(found)
        missing -= share
    return Hands(tuple(hands))


def _hand(number: int, seat: int, dice: int) -> Hand:
    """Return one of a player's numbered hands. They look random, but are always the same."""
    thrown = sha256(f"deal {number}, seat {seat}".encode()).digest()
    return tuple(sorted(1 + byte % 6 for byte in thrown[:dice]))


def _move(state: State, *, is_last: bool) -> Move:
    legal = legal_moves(state)
    bids = [move for move in legal if isinstance(move, Bid)]
    if lost := [move for name in _LOST for move in legal if isinstance(move, Lose) and move.die.mote == name]:
        return lost[state.round > 1]
    if PASS in legal:
        return next((move for move in legal if isinstance(move, Power)), PASS)
    if any(isinstance(move, Side) for move in legal):
        return legal[0]
    if LIAR not in legal:
        return _opening(bids, state.round == 1) if state.bid is None else bids[0]
    assert state.bid is not None
    immune = state.motes is not None and state.bid.seat in state.motes.immune
    call = EXACT if is_last and EXACT in legal else LIAR
    raises = [] if immune else _raises(state, bids, call)
    return raises[0] if raises else call


def _opening(bids: list[Bid], is_first: bool) -> Bid:
    wanted = Bid(2, 3) if is_first else Bid(3, 2)
    return wanted if wanted in bids else bids[0]


def _raises(state: State, bids: list[Bid], call: Move) -> list[Bid]:
    """Return raises of the next kind, so that a round shows each kind once; an empty list when it is time to call.

    A round that ends with exact has three bids. So the call is made by its leader, who can regain a lost die.
    """
    assert state.bid is not None
    quantity, face, _ = state.bid
    match len(state.bids):
        case 1:
            return sorted((bid for bid in bids if bid.face > face), key=lambda bid: bid.quantity)
        case 2:
            more = [bid for bid in bids if bid.quantity > quantity and bid.face != 1]
            return sorted(more, key=lambda bid: bid.quantity)
        case 3 if call is LIAR:
            return [bid for bid in bids if bid.face == 1 and bid.quantity < quantity]
    return []
