"""The game: pure rules, no I/O, no clock, no randomness.

The names below are loaded when they are first used, so that importing the package costs nothing. So are the events
that only one mote causes: :data:`p2pdice.powers.EVENTS`.
"""

from typing import TYPE_CHECKING

from p2pdice.facade import load, names

if TYPE_CHECKING:
    from p2pdice.engine import apply as apply
    from p2pdice.engine import legal_moves as legal_moves
    from p2pdice.engine import new_match as new_match
    from p2pdice.errors import IllegalMove as IllegalMove
    from p2pdice.errors import MalformedMove as MalformedMove
    from p2pdice.errors import RulesError as RulesError
    from p2pdice.errors import RulesetError as RulesetError
    from p2pdice.errors import UnexpectedInput as UnexpectedInput
    from p2pdice.events import AccusationVoid as AccusationVoid
    from p2pdice.events import BidMade as BidMade
    from p2pdice.events import ChallengeCalled as ChallengeCalled
    from p2pdice.events import DieGained as DieGained
    from p2pdice.events import DieLost as DieLost
    from p2pdice.events import Event as Event
    from p2pdice.events import HandsShown as HandsShown
    from p2pdice.events import Judged as Judged
    from p2pdice.events import LeadPassed as LeadPassed
    from p2pdice.events import MatchOver as MatchOver
    from p2pdice.events import PalificoBegins as PalificoBegins
    from p2pdice.events import Passed as Passed
    from p2pdice.events import PhaseBegun as PhaseBegun
    from p2pdice.events import PlayerOut as PlayerOut
    from p2pdice.events import Pledged as Pledged
    from p2pdice.events import PowerEvent as PowerEvent
    from p2pdice.events import PowerFailed as PowerFailed
    from p2pdice.events import PowerPlayed as PowerPlayed
    from p2pdice.events import PrizeDrawn as PrizeDrawn
    from p2pdice.events import RoundStarted as RoundStarted
    from p2pdice.events import RoundVoid as RoundVoid
    from p2pdice.events import Sided as Sided
    from p2pdice.events import StakesOpened as StakesOpened
    from p2pdice.events import StakesPaid as StakesPaid
    from p2pdice.events import TicketsEarned as TicketsEarned
    from p2pdice.events import TwinSoulJoined as TwinSoulJoined
    from p2pdice.inputs import Evict as Evict
    from p2pdice.inputs import Hand as Hand
    from p2pdice.inputs import Hands as Hands
    from p2pdice.inputs import Input as Input
    from p2pdice.inputs import Play as Play
    from p2pdice.inputs import Pledges as Pledges
    from p2pdice.inputs import Roll as Roll
    from p2pdice.inputs import Rolled as Rolled
    from p2pdice.inputs import Stakes as Stakes
    from p2pdice.inputs import Wager as Wager
    from p2pdice.mischief import Mischief as Mischief
    from p2pdice.motes import GROUPS as GROUPS
    from p2pdice.motes import Die as Die
    from p2pdice.motes import Group as Group
    from p2pdice.motes import Mote as Mote
    from p2pdice.moves import Bid as Bid
    from p2pdice.moves import Concede as Concede
    from p2pdice.moves import Crown as Crown
    from p2pdice.moves import Exact as Exact
    from p2pdice.moves import Liar as Liar
    from p2pdice.moves import Lose as Lose
    from p2pdice.moves import Move as Move
    from p2pdice.moves import Pass as Pass
    from p2pdice.moves import Power as Power
    from p2pdice.moves import Side as Side
    from p2pdice.moves import Stake as Stake
    from p2pdice.moves import parse_move as parse_move
    from p2pdice.powers import MOTES as MOTES
    from p2pdice.powers import POWERS as POWERS
    from p2pdice.rulesets import OPTIONS as OPTIONS
    from p2pdice.rulesets import PRESETS as PRESETS
    from p2pdice.rulesets import Option as Option
    from p2pdice.rulesets import Ruleset as Ruleset
    from p2pdice.souls import TWIN_SOULS as TWIN_SOULS
    from p2pdice.souls import TwinSoul as TwinSoul
    from p2pdice.souls import twin_soul as twin_soul
    from p2pdice.stakes import NEWCOMER_COINS as NEWCOMER_COINS
    from p2pdice.stakes import NEWCOMER_TICKETS as NEWCOMER_TICKETS
    from p2pdice.stakes import Settlement as Settlement
    from p2pdice.stakes import check_wager as check_wager
    from p2pdice.stakes import settlement as settlement
    from p2pdice.state import Challenge as Challenge
    from p2pdice.state import Exit as Exit
    from p2pdice.state import Expect as Expect
    from p2pdice.state import Expectation as Expectation
    from p2pdice.state import StandingBid as StandingBid
    from p2pdice.state import State as State
    from p2pdice.state import plain as plain
    from p2pdice.views import View as View
    from p2pdice.views import state_json as state_json
    from p2pdice.views import view as view


def __getattr__(name: str) -> object:
    try:
        return load(__name__, name)
    except AttributeError:
        from p2pdice.powers import EVENTS

        if name in EVENTS:
            return EVENTS[name]
        raise


def __dir__() -> list[str]:
    return names(__name__)
