"""A ruleset explained, as a page to learn the game from. Every sentence comes from an option, none from a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.render import dice_count, wrapped
from cli.text.explain_motes import motes_sections, stakes_sections, typed
from cli.text.worked import worked, worked_rounds
from p2pdice.bidding import RAISES_IN_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from p2pdice.rulesets import Ruleset

WIDTH: Final = 78
"""Columns of a page: two fewer than the narrowest usual terminal has."""

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
WILDS: Final = {
    "ones": "Ones are wild: they count for every face. Only a bid on ones counts the ones alone.",
    "never": "Nothing is wild: a one is a one.",
    "unless-opened": (
        "Ones are wild: they count for every face. But if the first bid of a round is on ones, they are a face like"
        " any other until the round is over."
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
    """Return the page: a headline, paragraphs, and a worked round.

    :param columns: the width of the paragraphs; None if each is one line.
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
            WILDS[rules.wild],
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
        yield from stakes_sections(can_tie=_can_share(rules) and rules.goal == "first-out")
    yield (
        "At the table.",
        (
            f"Type {typed_moves(rules)}. You can type three fives or 3 5 for 3x5, and the beginning of a word is"
            " enough. Type help to see more. You can concede at any time: you are out at once, in the lowest place"
            " still open.",
        ),
    )


def _can_share(rules: Ruleset) -> bool:
    """Tell whether one call can put several players out."""
    return rules.siding or rules.exact == "others-lose"


def _shared(rules: Ruleset) -> str:
    tie = "; if it is the first, all of them win" if rules.goal == "first-out" else ""
    return SHARED.format(tie=tie) if _can_share(rules) else ""


def typed_moves(rules: Ruleset) -> str:
    """Return a list of the moves that can be typed, for a sentence."""
    words = ["a bid such as 3x5", "liar"]
    words += ["exact"] if rules.exact != "none" else []
    words += ["side with and a name"] if rules.siding else []
    words += typed(motes=rules.motes, stakes=rules.stakes)
    return ", ".join(words[:-1]) + f" or {words[-1]}"


SHORT: Final = {
    "raise": RAISES_IN_WORDS,
    "wild": {"ones": "ones wild", "never": "nothing wild", "unless-opened": "ones wild unless opened"},
    "exact": {"none": "", "gain": "exact gains a die", "others-lose": "exact costs the others a die"},
    "verdict": {"loser-loses-die": "", "right-side-discards": "players who are right put a die away"},
    "goal": {"last-standing": "last with dice wins", "first-out": "first without dice wins"},
}


def summary(ruleset: Ruleset) -> str:
    """Return a ruleset in one line."""
    options = dict(ruleset.options())
    parts = [words[str(options[name])] for name, words in SHORT.items()]
    if ruleset.palifico:
        parts.append("special round at one die")
    if ruleset.motes:
        parts.append("lost dice have powers")
    if ruleset.stakes:
        parts.append("coins at stake")
    return "; ".join(filter(None, parts))
