"""The game: pure rules, no I/O, no clock, no randomness.

The names below are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from p2pdice.engine import apply, legal_moves, new_match
    from p2pdice.errors import IllegalMove, MalformedMove, RulesError, RulesetError, UnexpectedInput
    from p2pdice.events import (
        BidMade,
        ChallengeCalled,
        DieGained,
        DieLost,
        Event,
        HandsShown,
        Judged,
        LeadPassed,
        MatchOver,
        PalificoBegins,
        PlayerOut,
        RoundStarted,
        RoundVoid,
        Sided,
    )
    from p2pdice.inputs import Evict, Hand, Hands, Input, Play, Rolled
    from p2pdice.moves import Bid, Concede, Exact, Liar, Move, Side, parse_move
    from p2pdice.rulesets import OPTIONS, PRESETS, Option, Ruleset
    from p2pdice.state import Challenge, Exit, Expect, Expectation, StandingBid, State, plain
    from p2pdice.views import View, state_json, view

_HOME = {
    name: module
    for module, names in {
        "engine": "apply legal_moves new_match",
        "errors": "IllegalMove MalformedMove RulesError RulesetError UnexpectedInput",
        "events": "BidMade ChallengeCalled DieGained DieLost Event HandsShown Judged LeadPassed MatchOver"
        " PalificoBegins PlayerOut RoundStarted RoundVoid Sided",
        "inputs": "Evict Hand Hands Input Play Rolled",
        "moves": "Bid Concede Exact Liar Move Side parse_move",
        "rulesets": "OPTIONS PRESETS Option Ruleset",
        "state": "Challenge Exit Expect Expectation StandingBid State plain",
        "views": "View state_json view",
    }.items()
    for name in names.split()
}

__all__ = [
    "OPTIONS",
    "PRESETS",
    "Bid",
    "BidMade",
    "Challenge",
    "ChallengeCalled",
    "Concede",
    "DieGained",
    "DieLost",
    "Event",
    "Evict",
    "Exact",
    "Exit",
    "Expect",
    "Expectation",
    "Hand",
    "Hands",
    "HandsShown",
    "IllegalMove",
    "Input",
    "Judged",
    "LeadPassed",
    "Liar",
    "MalformedMove",
    "MatchOver",
    "Move",
    "Option",
    "PalificoBegins",
    "Play",
    "PlayerOut",
    "Rolled",
    "RoundStarted",
    "RoundVoid",
    "RulesError",
    "Ruleset",
    "RulesetError",
    "Side",
    "Sided",
    "StandingBid",
    "State",
    "UnexpectedInput",
    "View",
    "apply",
    "legal_moves",
    "new_match",
    "parse_move",
    "plain",
    "state_json",
    "view",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        value: object = getattr(import_module(f"p2pdice.{_HOME[name]}"), name)
        globals()[name] = value  # so that the next use does not come here
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
