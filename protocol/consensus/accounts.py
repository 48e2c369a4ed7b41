"""The account of a match that is over: what it changes in the purses of its players.

The last state of a match names seats, and no seat says whose it is. So the RESULTs of a match with purses stand for an
account beside it, by roster index.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from p2pdice import State, Wager
from p2pdice.moves import MAX_COINS
from p2pdice.stakes import paid_seats, pay, ticket_seats
from protocol.crypto.hashing import tagged_hash
from protocol.limits import PLAYERS
from protocol.wire.canonical import Value, encode
from protocol.wire.genesis import Genesis
from protocol.wire.purses import MalformedPurseError, decode_shown, is_number, is_soul


class Account(NamedTuple):
    """What a match that is over has to settle. Players are roster indices."""

    bets: tuple[tuple[int, int], ...]
    """Coins and run tickets that each has staked."""
    winners: tuple[int, ...]
    """In the order in which they are paid."""
    earners: tuple[int, ...]
    """Those who earn a run ticket, ascending."""
    soul: str
    """Name of the Twin Soul of the first winner; empty for none."""

    def encoded(self) -> bytes:
        """Return the bytes that RESULTs stand for."""
        return encode(tuple(self))

    def changes(self, genesis: Genesis, author: int) -> tuple[int, int, str]:
        """Return the coins and tickets that a SETTLEMENT adds to a player's purse, and the Twin Soul that it brings.

        What is won above :data:`~p2pdice.moves.MAX_COINS` is lost.
        """
        wagers = []
        for each, (bet, tickets) in enumerate(self.bets):
            funds, owned = genesis.holdings(each)
            wagers.append(Wager(bet, funds, tickets, owned))
        paid = pay(wagers, self.winners, self.earners)
        coins, runs = (min(each[author], MAX_COINS) for each in (paid.delta, paid.ticket_delta))
        return coins, runs, self.soul if author == self.winners[0] else ""


def account_of(seats: tuple[int, ...], state: State) -> Account:
    """Return the account of a match that is over.

    :param seats: author by seat.
    """
    wagers = state.wagers or ((0, 0, 0, 0),) * len(seats)
    bets = {author: (wagers[seat][0], wagers[seat][2]) for seat, author in enumerate(seats)}
    earned = ticket_seats(state)
    soul = state.motes.soul if state.motes is not None else None
    return Account(
        tuple(bets[author] for author in range(len(seats))),
        tuple(seats[seat] for seat in paid_seats(state)),
        tuple(sorted(seats[seat] for seat in earned[1])) if earned else (),
        soul.name if soul is not None else "",
    )


def result_hash(last: bytes, account: bytes) -> bytes:
    """Return the body of the RESULTs of a match with purses: for its last state and its account."""
    return tagged_hash("result", last, account)


def parse_account(data: bytes, players: int) -> Account:
    """Return the account that these bytes spell, its form checked.

    :raises MalformedPurseError: if it has another.
    """
    match decode_shown(data, "the account of a settlement"):
        case (tuple() as bets, tuple() as winners, tuple() as earners, str() as soul) if (
            len(bets) == players <= PLAYERS
            and all(map(_is_stake, bets))
            and _are_authors(winners, players)
            and winners
            and _are_authors(earners, players)
            and is_soul(soul)
        ):
            stakes = cast("tuple[tuple[int, int], ...]", bets)
            return Account(stakes, cast("tuple[int, ...]", winners), cast("tuple[int, ...]", earners), soul)
    raise MalformedPurseError("the account of a settlement has the wrong form")


def _is_stake(value: Value) -> bool:
    return type(value) is tuple and len(value) == 2 and all(map(is_number, value))


def _are_authors(value: tuple[Value, ...], players: int) -> bool:
    return len(set(value)) == len(value) and all(type(each) is int and 0 <= each < players for each in value)
