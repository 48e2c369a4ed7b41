"""The section of stakes: sealed bets on one's own victory, and their payment.

The formula is that of Motes of Mischief: Pool + Bet * (Bet / Funds), here in whole coins, rounded down.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from p2pdice.errors import UnexpectedInput
from p2pdice.motes import GROUP_OF, Group
from p2pdice.moves import MAX_COINS, Wager
from p2pdice.plurals import plural
from p2pdice.state import Expect, State, clockwise

NEWCOMER_COINS: Final = 1_000
"""Coins of a player who has not played before."""
NEWCOMER_TICKETS: Final = 0
"""Run tickets of such a player."""

_NOTHING: Final = Wager(0, 0, 0, 0)


class Settlement(NamedTuple):
    """How a match changed coins and run tickets, by seat."""

    payout: tuple[int, ...]
    """Coins received."""
    delta: tuple[int, ...]
    """Coins received less the bet."""
    ticket_delta: tuple[int, ...]
    """Run tickets received and earned less those staked."""


def check_wager(wager: Sequence[int]) -> Wager:
    """Return a player's stake and holdings as a value.

    >>> check_wager((50, 1000, 0, 2))
    Wager(bet=50, funds=1000, tickets=0, owned=2)

    :raises UnexpectedInput: unless these are four numbers, the bet within the funds and the tickets among those owned.
    """
    if len(wager) != 4 or any(type(number) is not int or not 0 <= number <= MAX_COINS for number in wager):
        raise UnexpectedInput(
            f"a stake is four whole numbers from 0 to {MAX_COINS}: bet, funds, tickets staked, tickets owned"
        )
    checked = Wager(*wager)
    if checked.bet > checked.funds:
        coins = plural(checked.bet, "coin")
        raise UnexpectedInput(f"a stake of {checked.bet:,} {coins} is more than the {checked.funds:,} owned")
    if checked.tickets > checked.owned:
        tickets = plural(checked.tickets, "run ticket")
        raise UnexpectedInput(f"a stake of {checked.tickets:,} {tickets} is more than the {checked.owned:,} owned")
    return checked


def check_stakes(state: State, stakes: Sequence[Sequence[int] | None]) -> tuple[Wager, ...]:
    """Return the stakes by seat. A player who never opened one, or has left, stakes nothing."""
    if len(stakes) != state.players:
        raise UnexpectedInput(f"{len(stakes)} stakes for {state.players} seats: one for each seat, None for no stake")
    for seat, stake in enumerate(stakes):
        if stake is not None and seat not in state.live:
            raise UnexpectedInput(f"seat {seat} is not in the match any more and stakes nothing")
    return tuple(_NOTHING if stake is None else check_wager(stake) for stake in stakes)


def ticket_seats(state: State) -> tuple[Group, tuple[int, ...]] | None:
    """Return the group of the winning die and the seats, out or not, that pledged to it; None without a winning die."""
    if state.motes is None or state.motes.crown is None:
        return None
    group = GROUP_OF[state.motes.crown.mote]
    return group, tuple(seat for seat, pledge in enumerate(state.motes.pledges) if pledge == group)


def paid_seats(state: State) -> tuple[int, ...]:
    """Return the winners of a match that is over, in the order in which they are paid."""
    return tuple(seat for seat in clockwise(state, state.leader) if seat in state.winners)


def settlement(state: State) -> Settlement:
    """Return how a match that is over changed coins and run tickets."""
    assert state.awaits is Expect.OVER
    earned = ticket_seats(state)
    return pay(state.wagers or (_NOTHING,) * state.players, paid_seats(state), earned[1] if earned else ())


def pay(wagers: Sequence[Wager], winners: Sequence[int], earners: Sequence[int]) -> Settlement:
    """Return how stakes are paid out. Players are numbers from 0, such as seats.

    :param winners: at least one, in the order in which they are paid the remainder.
    :param earners: who earns a run ticket.
    """
    coins = _split(sum(wager.bet for wager in wagers), winners)
    tickets = _split(sum(wager.tickets for wager in wagers), winners)
    for player in winners:
        coins[player] += bonus(wagers[player])
    for player in earners:
        tickets[player] = tickets.get(player, 0) + 1
    players = range(len(wagers))
    return Settlement(
        tuple(coins.get(player, 0) for player in players),
        tuple(coins.get(player, 0) - wagers[player].bet for player in players),
        tuple(tickets.get(player, 0) - wagers[player].tickets for player in players),
    )


def bonus(wager: Wager) -> int:
    """Return the coins that a winner with this stake gets besides the pool."""
    return wager.bet * wager.bet // wager.funds if wager.funds else 0


def _split(pool: int, winners: Sequence[int]) -> dict[int, int]:
    """Share a pool equally; the remainder goes one by one to the first of ``winners``."""
    share, left_over = divmod(pool, len(winners))
    return {player: share + (index < left_over) for index, player in enumerate(winners)}
