"""Steps: the position that follows when a step closes.

Every step has a :class:`~protocol.consensus.position.Purpose`. Each purpose has a fixed script of message kinds in
:data:`~protocol.consensus.kinds.SCRIPTS`. The state of the engine decides which purpose comes next: :data:`FOR` maps
what the engine expects to the purpose that supplies it, and the last step of the script feeds the result to the engine.
So this module contains no rules of the game, and the engine knows nothing about peers::

    FORMING (lock) → SEATING (commit, lock, reveal) → STAKES? → DEAL ⇄ TURN … ⇄ PUBLIC_DIE → SHOWDOWN → DEAL …
    … → ENDING (lock) → END

One rule determines the scripts: no secret leaves a node before every live player has signed the same history. So every
REVEAL, STAKE and OPEN directly follows a LOCK. The OPEN of a showdown carries the commitments to the next deal, which
therefore starts at its LOCK.

An author who owes a message but sends none leaves the match. If a player leaves between the commitments and the end of
a roll or deal, the roll is discarded and repeated: that player may have known the outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from p2pdice.engine import new_match
from p2pdice.events import Transition
from p2pdice.moves import MAX_COINS, Concede, Evict, Play, Pledges, Wager
from p2pdice.stakes import paid_seats, pay, ticket_seats
from p2pdice.state import Expect, State
from protocol.consensus.kinds import RULES, SCRIPTS, state_hash
from protocol.consensus.position import ROLLS, Commitments, Position, Purpose
from protocol.consensus.rule import Closing, feed
from protocol.crypto.hashing import tagged_hash
from protocol.wire.canonical import NotCanonicalError, decode, encode
from protocol.wire.genesis import Genesis
from protocol.wire.messages import Kind, Signed
from protocol.wire.purses import MATCH_BYTES, SOUL_NAMES, MalformedPurseError, Record, is_amount, parts

FOR: Final[Mapping[Expect, Purpose]] = {
    Expect.ROLLED: Purpose.DEAL,
    Expect.MOVE: Purpose.TURN,
    Expect.HANDS: Purpose.SHOWDOWN,
    Expect.ROLL: Purpose.PUBLIC_DIE,
    Expect.STAKES: Purpose.STAKES,
    Expect.OVER: Purpose.ENDING,
}
"""The purpose that supplies what the engine expects."""


def advance(
    genesis: Genesis,
    match: bytes,
    before: Position,
    entries: Mapping[int, Signed],
    certificate: tuple[Signed, ...],
    transition: Transition | None,
) -> Position:
    """Return the position after ``before`` closes with these messages.

    :param certificate: the votes that close the step, if a message is missing.
    :param transition: the transition that the step's move causes; None if the move was not judged just before.
    """
    kind = before.kind
    assert kind is not None
    bodies: dict[int, Any] = {
        author: signed.message.body for author, signed in entries.items() if signed.message.kind == kind
    }
    position, is_spoilt = before, False
    if kind is not Kind.LOCK and len(bodies) < len(before.owed):
        leavers = tuple(author for author in before.owed if author not in bodies)
        position = _without(position, leavers, entries)
        is_spoilt = before.purpose in ROLLS and before.committed is not None
    closing: Closing[Any] = Closing(genesis, match, before, bodies, is_spoilt, transition)
    position = RULES[kind].fold(closing, position)
    if position.state is None:
        position = _begin_game(genesis, position)
    state, ahead = position.state, position.committed_ahead
    purpose, place = next_step(before, state, ahead, is_spoilt)
    committed = position.committed if place else None
    if ahead is not None and purpose is Purpose.DEAL:
        committed, ahead = ahead, None
    script = SCRIPTS[purpose]
    due = script[place] if script else None
    step, tip = before.step + 1, tip_after(before, entries, len(genesis.roster))
    is_final = before.is_boundary or bool(certificate)
    return position._replace(
        step=step,
        tip=tip,
        purpose=purpose,
        place_in_script=place,
        kind=due,
        owed=RULES[due].owed(state, position.seats, position.players) if due is not None else (),
        root_step=step if is_final else before.root_step,
        root_tip=tip if is_final else before.root_tip,
        committed=committed,
        committed_ahead=ahead,
        signed_hash=_end(genesis, position) if due is None else state_hash(state) if due is Kind.LOCK else b"",
        entries=entries,
        certificate=certificate,
        happened=position.happened[len(before.happened) :],  # only the events of this step
    )


def _without(position: Position, leavers: tuple[int, ...], entries: Mapping[int, Signed]) -> Position:
    """Remove the leavers from the match: authors who owed a message of the step's kind and sent none."""
    position = position._replace(
        left=tuple(sorted((*position.left, *leavers))),
        players=tuple(author for author in position.players if author not in leavers),
        resigned=tuple(sorted((*position.resigned, *(author for author in leavers if author in entries)))),
    )
    return _take_out(position, leavers)


def _take_out(position: Position, leavers: tuple[int, ...]) -> Position:
    """Remove authors who resigned or were voted absent from the game, in the order of seats, until the game ends."""
    for seat, author in enumerate(position.seats):
        state = position.state
        if author not in leavers or state is None or state.expects.kind is Expect.OVER:
            continue
        if seat in state.live:  # the others are already out
            position = feed(position, Play(seat, Concede()) if author in position.resigned else Evict(seat))
    return position


def tip_after(position: Position, entries: Mapping[int, Signed], players: int) -> bytes:
    """Return the tip after a step that closes with these messages. It does not depend on who signed a LOCK."""
    named = {} if position.kind is Kind.LOCK else entries
    ids = [named[author].id if author in named else b"" for author in range(players)]
    return tagged_hash("step", position.tip, position.step, *ids)


def _end(genesis: Genesis, position: Position) -> bytes:
    """Return the hash that RESULTs sign."""
    assert position.state is not None
    signed = state_hash(position.state)
    return result_hash(signed, account_of(position.seats, position.state).encoded()) if genesis.has_purses else signed


def _begin_game(genesis: Genesis, position: Position) -> Position:
    """Begin the game once the seats are drawn, or once fewer than two players are left: then the last one has won."""
    roster = genesis.roster
    if not position.seats and len(roster) - len(position.left) >= 2:
        return position
    seats = position.seats or tuple(range(len(roster)))
    position = position._replace(seats=seats, state=new_match(genesis.ruleset, len(roster)))
    assert position.state is not None
    if position.state.expects.kind is Expect.PLEDGES:
        position = feed(position, Pledges(tuple(roster[author].join.pledge for author in seats)))
    return _take_out(position, position.left)


def next_step(
    position: Position, state: State | None, ahead: Commitments | None, is_spoilt: bool
) -> tuple[Purpose, int]:
    """Return the purpose of the next step, and the index of that step in the purpose's script."""
    purpose = Purpose.SEATING if state is None else FOR[state.awaits]
    if purpose is position.purpose is Purpose.ENDING:
        return Purpose.END, 0
    if purpose is position.purpose and position.place_in_script + 1 < len(SCRIPTS[purpose]) and not is_spoilt:
        return purpose, position.place_in_script + 1  # the script continues
    if ahead is not None and purpose is Purpose.DEAL:
        return purpose, SCRIPTS[purpose].index(Kind.LOCK)  # the commitments came with the last showdown
    return purpose, 0


# The account at the end


class Account(NamedTuple):
    """What a finished match changes in the purses of its players, who are given by roster index.

    The last state of a match names only seats, and does not say whose they are. So in a match with purses, RESULTs sign
    an account in addition to the state.
    """

    bets: tuple[tuple[int, int], ...]
    """The coins and run tickets that each player staked."""
    winners: tuple[int, ...]
    """The winners, in the order in which they are paid."""
    earners: tuple[int, ...]
    """The players who earn a run ticket, ascending."""
    soul: str
    """The name of the first winner's Twin Soul; empty for none."""

    def encoded(self) -> bytes:
        """Return the bytes that RESULTs hash."""
        return encode(tuple(self))

    def record(self, genesis: Genesis, match: bytes, author: int, stake: tuple[int, int]) -> Record:
        """Return the record that the match leaves in a player's purse. Winnings that would lift the purse above
        :data:`~p2pdice.moves.MAX_COINS` are lost.

        :param stake: coins and run tickets in the player's STAKE, even if that came too late to count.
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
    """Return the account of a finished match.

    :param seats: the author in each seat.
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
    """Return the body of the RESULTs of a match with purses: the hash of its last state and its account."""
    return tagged_hash("result", last, account)


def parse_account(data: bytes, players: int) -> Account:
    """Return the account encoded in these bytes, after checking its form.

    :raises MalformedPurseError: if the bytes have another form.
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
