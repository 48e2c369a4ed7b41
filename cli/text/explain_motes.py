"""The sections of a rules page on dice with powers and on stakes. The record of each mote has the text of its power."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cli.render import listing
from cli.text.narrate_motes import ANSWERS
from p2pdice.motes import GROUP_OF, MOTES, NOTATION, TWIN_SOULS, Die
from p2pdice.moves import Power, parse_move
from p2pdice.powers import POWERS, MotePower, leave_game
from p2pdice.stakes import NEWCOMER_COINS

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


def stakes_sections(*, can_tie: bool) -> Iterator[Section]:
    """Yield the section on stakes."""
    yield "Stakes.", (_STAKES.format(funds=f"{NEWCOMER_COINS:,}"), _TIE if can_tie else "", _TICKETS)


def typed(*, motes: bool, stakes: bool) -> list[str]:
    """Return the moves that these options add."""
    deeds = f"what a die of the graveyard does ({', '.join(map(_typed, POWERS.values()))})"
    examples = [deeds, "pass", f"lose {MOTES[4].capitalize()}", f"crown {MOTES[5].capitalize()}"]
    return [*(["stake 50"] if stakes else []), *(examples if motes else [])]


def _typed(power: MotePower) -> str:
    """Return a power as it is typed: ``take back Ben's Dark``."""
    move = parse_move(NOTATION[power.mote].example)
    assert isinstance(move, Power)
    aim = " Ben" if isinstance(move.target, int) else ""
    if isinstance(move.target, Die):
        whose = "my" if move.target.seat == move.die.seat else "Ben's"
        aim = f" {whose} {move.target.mote.capitalize()}"
    return f"{power.deed}{aim}"
