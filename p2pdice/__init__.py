"""The game: pure rules, no I/O, no clock, no randomness.

The names below are loaded when they are first used, so that importing the package costs nothing. So are the events
that only one mote causes: :data:`p2pdice.powers.EVENTS`.
"""

from typing import TYPE_CHECKING

from p2pdice.facade import homes, load

if TYPE_CHECKING:
    from p2pdice.engine import apply, legal_moves, new_match
    from p2pdice.errors import IllegalMove, MalformedMove, RulesError, RulesetError, UnexpectedInput
    from p2pdice.events import (
        AccusationVoid,
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
        Passed,
        PhaseBegun,
        PlayerOut,
        Pledged,
        PowerEvent,
        PowerFailed,
        PowerPlayed,
        PrizeDrawn,
        RoundStarted,
        RoundVoid,
        Sided,
        StakesOpened,
        StakesPaid,
        TicketsEarned,
        TwinSoulJoined,
    )
    from p2pdice.inputs import Evict, Hand, Hands, Input, Play, Pledges, Roll, Rolled, Stakes, Wager
    from p2pdice.mischief import Mischief
    from p2pdice.motes import GROUPS, Die, Group, Mote
    from p2pdice.moves import (
        Bid,
        Concede,
        Crown,
        Exact,
        Liar,
        Lose,
        Move,
        Pass,
        Power,
        Side,
        Stake,
        parse_move,
    )
    from p2pdice.powers import MOTES, POWERS
    from p2pdice.rulesets import OPTIONS, PRESETS, Option, Ruleset
    from p2pdice.souls import TWIN_SOULS, TwinSoul, twin_soul
    from p2pdice.stakes import NEWCOMER_COINS, NEWCOMER_TICKETS, Settlement, check_wager, newcomer_wager, settlement
    from p2pdice.state import Challenge, Exit, Expect, Expectation, StandingBid, State, plain
    from p2pdice.views import View, state_json, view

_HOME = homes(
    {
        "engine": "apply legal_moves new_match",
        "errors": "IllegalMove MalformedMove RulesError RulesetError UnexpectedInput",
        "events": "AccusationVoid BidMade ChallengeCalled DieGained DieLost Event"
        " HandsShown Judged LeadPassed MatchOver PalificoBegins Passed PhaseBegun"
        " PlayerOut Pledged PowerEvent PowerFailed PowerPlayed PrizeDrawn"
        " RoundStarted RoundVoid Sided StakesOpened StakesPaid TicketsEarned TwinSoulJoined",
        "inputs": "Evict Hand Hands Input Play Pledges Roll Rolled Stakes Wager",
        "mischief": "Mischief",
        "motes": "GROUPS Die Group Mote",
        "moves": "Bid Concede Crown Exact Liar Lose Move Pass Power Side Stake parse_move",
        "powers": "MOTES POWERS",
        "rulesets": "OPTIONS PRESETS Option Ruleset",
        "souls": "TWIN_SOULS TwinSoul twin_soul",
        "stakes": "NEWCOMER_COINS NEWCOMER_TICKETS Settlement check_wager newcomer_wager settlement",
        "state": "Challenge Exit Expect Expectation StandingBid State plain",
        "views": "View state_json view",
    }
)

__all__ = [
    "GROUPS",
    "MOTES",
    "NEWCOMER_COINS",
    "NEWCOMER_TICKETS",
    "OPTIONS",
    "POWERS",
    "PRESETS",
    "TWIN_SOULS",
    "AccusationVoid",
    "Bid",
    "BidMade",
    "Challenge",
    "ChallengeCalled",
    "Concede",
    "Crown",
    "Die",
    "DieGained",
    "DieLost",
    "Event",
    "Evict",
    "Exact",
    "Exit",
    "Expect",
    "Expectation",
    "Group",
    "Hand",
    "Hands",
    "HandsShown",
    "IllegalMove",
    "Input",
    "Judged",
    "LeadPassed",
    "Liar",
    "Lose",
    "MalformedMove",
    "MatchOver",
    "Mischief",
    "Mote",
    "Move",
    "Option",
    "PalificoBegins",
    "Pass",
    "Passed",
    "PhaseBegun",
    "Play",
    "PlayerOut",
    "Pledged",
    "Pledges",
    "Power",
    "PowerEvent",
    "PowerFailed",
    "PowerPlayed",
    "PrizeDrawn",
    "Roll",
    "Rolled",
    "RoundStarted",
    "RoundVoid",
    "RulesError",
    "Ruleset",
    "RulesetError",
    "Settlement",
    "Side",
    "Sided",
    "Stake",
    "Stakes",
    "StakesOpened",
    "StakesPaid",
    "StandingBid",
    "State",
    "TicketsEarned",
    "TwinSoul",
    "TwinSoulJoined",
    "UnexpectedInput",
    "View",
    "Wager",
    "apply",
    "check_wager",
    "legal_moves",
    "new_match",
    "newcomer_wager",
    "parse_move",
    "plain",
    "settlement",
    "state_json",
    "twin_soul",
    "view",
]


def __getattr__(name: str) -> object:
    if name not in _HOME and name[:1].isupper():
        from p2pdice.powers import EVENTS

        if name in EVENTS:
            return EVENTS[name]
    return load(__name__, _HOME, name)
