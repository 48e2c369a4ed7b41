"""Contradictions: two signed messages that prove misconduct without any history.

An honest player signs one message for each *slot*. The slot of a vote is (match, step, T, author, kind, n), that of
any other message in the history (match, step, T, author). Also, the author of a CLOSE never votes ABSENT for another
value in a later round, unless that vote names a newer polka. And a player signs one RESULT in a match. SPEC.md, §5 has
the rules.
"""

from __future__ import annotations

from protocol.consensus.kinds import RULES, statement
from protocol.consensus.kinds.rule import Slot, short
from protocol.consensus.votes import read_vote, vote_contradiction
from protocol.wire.messages import VOTES, Kind, Signed


def contradiction(first: Signed, second: Signed) -> str:
    """Return how two messages of one author contradict each other, in words; empty if they do not.

    The caller checks the signatures.
    """
    one, other = first.message, second.message
    if first.id == second.id or (one.match, one.author) != (other.match, other.author):
        return ""
    if one.kind is other.kind is Kind.RESULT:
        reason = "signed two ends of one match" if one.body != other.body else ""
    elif one[:4] != other[:4]:
        return ""
    elif one.kind in VOTES and other.kind in VOTES:
        reason = vote_contradiction(read_vote(first), read_vote(second))
    else:
        is_history = {RULES[one.kind].slot, RULES[other.kind].slot} <= {Slot.STEP, Slot.ANY_STEP}
        reason = "signed two messages for one slot" if is_history else ""
    if not reason:
        return ""
    said, also = statement(one), statement(other)
    if said == also:  # they differ only in bytes that the statements leave out
        said, also = f"{said} (message {short(first.id)})", f"{also} (message {short(second.id)})"
    joint = " and" if one.kind is Kind.RESULT else ", and in the same place"
    return f"{reason}: {said}{joint} {also}"
