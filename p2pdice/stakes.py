"""Stakes: sealed bets on the player's own victory, and their payout.

The formula comes from Motes of Mischief: Pool + Bet * (Bet / Funds), rounded down to whole coins.
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
"""The coins of a player without previous matches."""
NEWCOMER_TICKETS: Final = 0
"""The run tickets of a player without previous matches."""

_NOTHING: Final = Wager(0, 0, 0, 0)


class Settlement(NamedTuple):
    """How one match changes the coins and run tickets of each seat."""

    payout: tuple[int, ...]
    """Coins received."""
    delta: tuple[int, ...]
    """Coins received minus the bet."""
    ticket_delta: tuple[int, ...]
    """Run tickets received and earned, minus those staked."""


def check_wager(wager: Sequence[int]) -> Wager:
    """Return a player's stake and holdings as a :class:`~p2pdice.moves.Wager`.

    >>> check_wager((50, 1000, 0, 2))
    Wager(bet=50, funds=1000, tickets=0, owned=2)

    :raises UnexpectedInput: unless these are four integers from 0 to 10^12, with bet <= funds and tickets <= owned.
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
    """Return the stakes by seat, 0 for None; raise :class:`UnexpectedInput` if one is invalid or its seat is out."""
    if len(stakes) != state.players:
        raise UnexpectedInput(f"{len(stakes)} stakes for {state.players} seats: one for each seat, None for no stake")
    for seat, stake in enumerate(stakes):
        if stake is not None and seat not in state.live:
            raise UnexpectedInput(f"seat {seat} is not in the match any more and stakes nothing")
    return tuple(_NOTHING if stake is None else check_wager(stake) for stake in stakes)


def ticket_seats(state: State) -> tuple[Group, tuple[int, ...]] | None:
    """Return the winning die's group and the seats, out or not, that pledged to it; None without a winning die."""
    if state.motes is None or state.motes.crown is None:
        return None
    group = GROUP_OF[state.motes.crown.mote]
    return group, tuple(seat for seat, pledge in enumerate(state.motes.pledges) if pledge == group)


def paid_seats(state: State) -> tuple[int, ...]:
    """Return the winners of a finished match in the order in which they are paid."""
    return tuple(seat for seat in clockwise(state, state.leader) if seat in state.winners)


def settlement(state: State) -> Settlement:
    """Return how a finished match changed coins and run tickets."""
    assert state.awaits is Expect.OVER
    earned = ticket_seats(state)
    return pay(state.wagers or (_NOTHING,) * state.players, paid_seats(state), earned[1] if earned else ())


def pay(wagers: Sequence[Wager], winners: Sequence[int], earners: Sequence[int]) -> Settlement:
    """Return how stakes are paid out. Players are numbered from 0, for example by seat.

    :param winners: at least one player. The first ones get the remainder of an uneven division.
    :param earners: the players who earn a run ticket.
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
    """Return the coins that a winner with this stake gets in addition to the pool."""
    return wager.bet * wager.bet // wager.funds if wager.funds else 0


def _split(pool: int, winners: Sequence[int]) -> dict[int, int]:
    """Divide a pool equally. The remainder goes to the first winners, one unit each."""
    share, left_over = divmod(pool, len(winners))
    return {player: share + (index < left_over) for index, player in enumerate(winners)}
