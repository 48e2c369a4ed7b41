"""The answers to moves that the rules refuse: what would be possible instead, in the words of this table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.render import number, sentence
from cli.text.explain import RAISES
from cli.text.move_forms import in_words
from p2pdice.bidding import faces, order, raises
from p2pdice.moves import FACE_NAMES, Bid, Exact, Liar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from p2pdice.errors import RulesError
    from p2pdice.moves import Move
    from p2pdice.rulesets import Ruleset
    from p2pdice.state import State
    from p2pdice.views import View

_RAISES: Final = {
    "standard": "bid more dice, or {as_many} of a higher face",
    "strict": "bid more {faces}, or {as_many} of a higher face",
    "reset-quantity": "bid more {faces}, or any number of a higher face",
    "either": "bid more dice, or any number of a higher face",
    "half-ones": "bid more dice, {as_many} of a higher face, or half as many ones",
    "double-ones": "bid more dice, or {as_many} of a higher face, where ones count double",
}


def refusal(move: Move, view: View, names: Sequence[str], error: RulesError) -> str:
    """Return the answer to a move of the player on turn that the engine has refused.

    :param names: by seat.
    :param error: the engine's own reason.
    """
    state = view.state
    if isinstance(move, Bid) and is_no_raise(move, state):
        return _no_raise(view)
    if isinstance(move, Liar | Exact) and state.bid is None:
        return "Nothing to call yet. Start with a bid such as 2x3."
    if isinstance(move, Exact) and state.ruleset.exact == "none":
        return f"{_rules(state.ruleset)} no exact: raise, or call liar."
    return sentence(in_words(str(error), view, names))


def is_no_raise(move: Bid, state: State) -> bool:
    """Tell whether a bid is refused because it is not above the standing one."""
    if state.bid is None or move.face not in faces(state):
        return False
    allowed = raises(order(state), state.bid.quantity, state.bid.face)
    return move.quantity not in allowed[move.face - 1]


def rule_of_raises(state: State) -> str:
    """Return the rule that a refused raise has broken, with an example."""
    return RAISES[order(state)]


def _no_raise(view: View) -> str:
    state = view.state
    assert state.bid is not None
    lowest: dict[int, int] = {}
    for move in view.legal:
        if isinstance(move, Bid):
            lowest[move.face] = min(move.quantity, lowest.get(move.face, move.quantity))
    if not lowest:
        return "Not a raise: no bid is left, so call liar."
    name = FACE_NAMES[state.bid.face - 1]
    rule = _RAISES[order(state)].format(faces=name, as_many=number(state.bid.quantity))
    if list(lowest) == [state.bid.face]:
        rule = f"bid more {name}"
    named = [state.bid.face, *range(state.bid.face + 1, 7), *range(1, state.bid.face)]
    shown = [f"{lowest[face]}x{face}" for face in named if face in lowest][:2]
    if "ones" in order(state) and 1 in lowest and state.bid.face != 1:
        shown.append(f"{lowest[1]}x1")
    return f"Not a raise: {rule}. Lowest: {', '.join(dict.fromkeys(shown))}."


def _rules(ruleset: Ruleset) -> str:
    return f"{ruleset.name.capitalize()} has" if ruleset.name else "These rules have"
