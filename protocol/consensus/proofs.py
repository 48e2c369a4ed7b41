"""Misconduct that two signed messages alone prove: their author contradicts themselves.

A *slot* holds one message of an honest player. For a message of the history it is (match, step, T, author), whatever
its kind; for a vote (match, step, T, author, kind, round). Two ids in one slot are equivocation. Also, the author of a
CLOSE never votes ABSENT for something else in a later round, unless the vote names a newer majority.

Judging this takes the match keys of the roster, and no history.
"""

from __future__ import annotations

from protocol.consensus.absence import conflict
from protocol.consensus.kinds import statement
from protocol.consensus.kinds.rule import short
from protocol.consensus.votes import read_vote
from protocol.wire.messages import ASIDE, VOTES, Signed


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
