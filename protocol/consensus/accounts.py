"""The account of a match that is over: what it changes in the purses of its players.

The last state of a match names seats, and no seat says whose it is. So the RESULTs of a match with purses stand for an
account beside it, by roster index.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from p2pdice.inputs import Wager
from p2pdice.moves import MAX_COINS
from p2pdice.souls import TWIN_SOULS
from p2pdice.stakes import paid_seats, pay, ticket_seats
from p2pdice.state import State
from protocol.crypto.hashing import tagged_hash
from protocol.wire.canonical import NotCanonicalError, decode, encode
from protocol.wire.genesis import Genesis
from protocol.wire.purses import MATCH_BYTES, MalformedPurseError, Record, is_amount, parts

SOUL_NAMES: Final = ("", *TWIN_SOULS.values())
"""Names of the Twin Souls by their numbers in purses; 0 is none."""


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

    def record(self, genesis: Genesis, match: bytes, author: int, stake: tuple[int, int]) -> Record:
        """Return the record that the match leaves in a player's purse. What is won above
        :data:`~p2pdice.moves.MAX_COINS` is lost.

        :param stake: coins and run tickets in the STAKE of the player, who may have opened it too late.
        """
        wagers = []
        for each, (bet, tickets) in enumerate(self.bets):
            funds, owned = genesis.funds(each)
            wagers.append(Wager(bet, funds, tickets, owned))
        paid = pay(wagers, self.winners, self.earners)
        changes = (paid.delta[author], paid.ticket_delta[author])
        kept = (min(change, MAX_COINS - held) for change, held in zip(changes, genesis.funds(author), strict=True))
        soul = SOUL_NAMES.index(self.soul) if author == self.winners[0] else 0
        coins, runs = kept
        return Record(match[:MATCH_BYTES], *stake, coins, runs, soul)


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
    try:
        value = decode(data)
    except NotCanonicalError as error:
        raise MalformedPurseError(f"the account of a match cannot be read: {error}") from None

    def are_bets(part: object) -> bool:
        return type(part) is tuple and len(part) == players and all(map(_is_stake, part))

    def are_authors(part: object) -> bool:
        return type(part) is tuple and len(set(part)) == len(part) and set(part) <= set(range(players))

    account = Account(
        *parts(value, "the account of a match", are_bets, are_authors, are_authors, SOUL_NAMES.__contains__)
    )
    if not account.winners:
        raise MalformedPurseError("the account of a match has the wrong form")
    return account


def _is_stake(value: object) -> bool:
    return type(value) is tuple and len(value) == 2 and all(map(is_amount, value))
