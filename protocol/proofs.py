"""Misconduct that two signed messages alone prove: their author contradicts themselves.

A *slot* holds one message of an honest player. For a message of the history it is (match, step, T, author), whatever
its kind; for a vote (match, step, T, author, kind, round). Two ids in one slot are equivocation. Beside that, who sent
a CLOSE never votes ABSENT in a later round for something else, unless a newer majority is named.

No history is needed to judge it: who knows the match keys of the roster can.
"""

from __future__ import annotations

from typing import cast

from protocol.messages import VOTES, Kind, Signed


def contradiction(first: Signed, second: Signed) -> str:
    """Return what is wrong with one author having signed both messages; empty if nothing is.

    Signatures are the caller's to check.
    """
    one, other = first.message, second.message
    if first.id == second.id or one[:2] != other[:2] or one.tip != other.tip or one.author != other.author:
        return ""
    if one.kind not in VOTES and other.kind not in VOTES:
        # Two receipts of one end say that a program has a bug, not that somebody plays two games.
        return "" if Kind.RESULT in (one.kind, other.kind) else "signed two messages for one slot"
    if one.kind is other.kind:
        return "voted twice in one round" if _vote(first)[0] == _vote(second)[0] else ""
    if {one.kind, other.kind} == set(VOTES):
        close, absent = (first, second) if one.kind is Kind.CLOSE else (second, first)
        number, entries, *newest = _vote(absent)
        closed_in, closed_with, *_ = _vote(close)
        if newest[0] < closed_in < number and entries != closed_with:
            return "voted against what they had voted to close the step with"
    return ""


def _vote(signed: Signed) -> tuple[int, tuple[bytes, ...], *tuple[int, ...]]:
    return cast("tuple[int, tuple[bytes, ...], *tuple[int, ...]]", signed.message.body)
