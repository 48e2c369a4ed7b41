"""Misconduct that two signed messages alone prove: their author contradicts themselves.

A *slot* holds one message of an honest player. For a message of the history it is (match, step, T, author), whatever
its kind; for a vote (match, step, T, author, kind, round). Two ids in one slot are equivocation. Beside that, who sent
a CLOSE never votes ABSENT in a later round for something else, unless a newer majority is named.

No history is needed to judge it: who knows the match keys of the roster can.
"""

from __future__ import annotations

from p2pdice import Bid, RulesError, parse_move
from protocol.consensus.absence import conflict
from protocol.consensus.votes import read_vote
from protocol.wire.messages import ASIDE, VOTES, Kind, Message, Signed


def contradiction(first: Signed, second: Signed) -> str:
    """Return what is wrong with one author having signed both messages, in words; empty if nothing is.

    Signatures are the caller's to check.
    """
    one, other = first.message, second.message
    if first.id == second.id or one[:4] != other[:4]:
        return ""
    if one.kind in VOTES and other.kind in VOTES:
        reason = conflict(read_vote(first), read_vote(second))
    else:
        # Two receipts of one end say that a program has a bug, not that somebody plays two games.
        is_history = not {one.kind, other.kind}.intersection(ASIDE)
        reason = "signed two messages for one slot" if is_history else ""
    if not reason:
        return ""
    said, also = statement(one), statement(other)
    if said == also:  # they differ in what nobody would read
        said, also = f"{said} (message {short(first.id)})", f"{also} (message {short(second.id)})"
    return f"{reason}: {said}, and in the same place {also}"


def statement(message: Message) -> str:
    """Return what the author of a message did by signing it, as a sentence goes on behind their name.

    What is quoted is the author's own text: whoever shows it escapes it.
    """
    match message.kind, message.body:
        case Kind.MOVE, str() as text:
            return f"bid {text}" if _is_bid(text) else f'said "{text}"'
        case Kind.COMMIT, tuple() as commitments:
            return f"committed to {_listed(commitments)}"
        case Kind.OPEN, (hand_key, *commitments):
            return f"opened the hand key {short(hand_key)} and committed to {_listed(tuple(commitments))}"
        case Kind.STAKE, (int() as bet, int() as tickets, _):
            return f"staked {bet} coins and {tickets} tickets"
        case (Kind.ABSENT | Kind.CLOSE) as kind, (int() as number, tuple() as entries, *_):
            what = "that a step holds" if kind is Kind.ABSENT else "to close a step with"
            return f"voted in round {number} {what} {_listed(entries)}"
        case Kind.LOCK, state:
            return f"locked the state {short(state)}"
        case Kind.REVEAL, share:
            return f"revealed the share {short(share)}"
        case Kind.RESULT, state:
            return f"confirmed the end {short(state)}"
        case Kind.WITNESS, state:
            return f"witnessed the state {short(state)}"
    return "gave up"


def short(value: object) -> str:
    """Return the start of a hash, key or share, enough to tell two of them apart."""
    return f"{value.hex()[:8]}…" if isinstance(value, bytes) and value else "nobody"


def _listed(values: tuple[object, ...]) -> str:
    return " and ".join(map(short, values))


def _is_bid(text: str) -> bool:
    try:
        return isinstance(parse_move(text), Bid)
    except RulesError:
        return False
