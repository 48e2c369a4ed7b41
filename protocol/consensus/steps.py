"""Steps: which position follows when a step closes.

Every step has a :class:`~protocol.consensus.position.Purpose`. Each purpose has a fixed script of message kinds,
:data:`~protocol.consensus.kinds.SCRIPTS`. The engine's state decides which purpose comes next: :data:`FOR` names the
script that supplies what the engine expects, and the last step of the script gives the result to the engine. So this
module knows no rule of the game, and the engine knows no peer::

    FORMING (lock) → SEATING (commit, lock, reveal) → STAKES? → DEAL ⇄ TURN … ⇄ PUBLIC_DIE → SHOWDOWN → DEAL …
    … → ENDING (lock) → END

The rule behind the scripts: no secret leaves a node before every live player has signed the same history. So every
REVEAL, STAKE and OPEN directly follows a LOCK. The OPEN of a showdown carries the commitments to the next deal; the
deal then starts at its LOCK.

An author who owes a message and sends none has left the match. If a player leaves who has committed, between the LOCK
and the end of a roll or deal, the roll is thrown away and made again: the player may have known the outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from p2pdice.engine import new_match
from p2pdice.inputs import Pledges
from p2pdice.state import Expect, State
from protocol.consensus.accounts import account_of, result_hash
from protocol.consensus.closing import Closing
from protocol.consensus.kinds import RULES, SCRIPTS
from protocol.consensus.kinds.lock import state_hash
from protocol.consensus.position import Position, Purpose, Standing, Transition
from protocol.crypto.hashing import tagged_hash
from protocol.wire.genesis import Genesis
from protocol.wire.messages import Kind, Signed

FOR: Final[Mapping[Expect, Purpose]] = {
    Expect.ROLLED: Purpose.DEAL,
    Expect.MOVE: Purpose.TURN,
    Expect.HANDS: Purpose.SHOWDOWN,
    Expect.ROLL: Purpose.PUBLIC_DIE,
    Expect.STAKES: Purpose.STAKES,
    Expect.OVER: Purpose.ENDING,
}
"""The purpose that serves each expectation of the engine."""


def advance(
    genesis: Genesis,
    match: bytes,
    position: Position,
    entries: Mapping[int, Signed],
    certificate: tuple[Signed, ...],
    transition: Transition | None,
) -> Position:
    """Return the position after ``position`` was closed with these messages.

    :param certificate: the votes that close it, if a message is missing.
    :param transition: the game after the move among the messages; None if it was not judged just now.
    """
    assert position.kind is not None
    closing: Closing[Any] = Closing(genesis, match, position, entries, transition)
    RULES[position.kind].fold(closing)
    if closing.state is None:
        _begin_game(closing)
    state, riding = closing.state, closing.riding
    purpose, place = next_step(position, state, riding, closing.is_spoilt)
    standing = closing.standing if place else None
    if riding is not None and purpose is Purpose.DEAL:
        standing, riding = riding, None
    script = SCRIPTS[purpose]
    kind = script[place] if script else None
    step, tip = position.step + 1, tip_after(position, entries, len(genesis.roster))
    is_final = position.is_boundary or bool(certificate)
    return Position(
        step=step,
        tip=tip,
        purpose=purpose,
        place_in_script=place,
        kind=kind,
        owed=RULES[kind].owed(state, closing.seats, closing.players) if kind is not None else (),
        base=closing.base,
        players=closing.players,
        signers=closing.signers,
        carried=closing.carried,
        locks=closing.locks,
        root=step if is_final else position.root,
        root_tip=tip if is_final else position.root_tip,
        state=state,
        seats=closing.seats,
        left=closing.left,
        resigned=closing.resigned,
        standing=standing,
        riding=riding,
        deal=closing.deal,
        lock=_end(genesis, closing) if kind is None else state_hash(state) if kind is Kind.LOCK else b"",
        entries=entries,
        certificate=certificate,
        happened=tuple(closing.happened),
    )


def tip_after(position: Position, entries: Mapping[int, Signed], players: int) -> bytes:
    """Return the tip behind a step that is closed with these messages. It does not depend on who has signed a LOCK."""
    named = {} if position.kind is Kind.LOCK else entries
    ids = [named[author].id if author in named else b"" for author in range(players)]
    return tagged_hash("step", position.tip, position.step, *ids)


def _end(genesis: Genesis, closing: Closing[Any]) -> bytes:
    """Return the hash that RESULTs sign."""
    assert closing.state is not None
    signed = state_hash(closing.state)
    return result_hash(signed, account_of(closing.seats, closing.state).encoded()) if genesis.has_purses else signed


def _begin_game(closing: Closing[Any]) -> None:
    """Begin the game when the seats are drawn, or when too few players are left to draw them: then the last one has
    won."""
    roster = closing.genesis.roster
    if not closing.seats and len(roster) - len(closing.left) >= 2:
        return
    closing.seats = closing.seats or tuple(range(len(roster)))
    closing.state = state = new_match(closing.genesis.ruleset, len(roster))
    if state.expects.kind is Expect.PLEDGES:
        closing.feed(Pledges(tuple(roster[author].join.pledge for author in closing.seats)))
    closing.take_out(closing.left)


def next_step(position: Position, state: State | None, riding: Standing | None, is_spoilt: bool) -> tuple[Purpose, int]:
    """Return the purpose of the next step and its stage in that purpose's script."""
    purpose = Purpose.SEATING if state is None else FOR[state.awaits]
    if purpose is position.purpose is Purpose.ENDING:
        return Purpose.END, 0
    if purpose is position.purpose and position.place_in_script + 1 < len(SCRIPTS[purpose]) and not is_spoilt:
        return purpose, position.place_in_script + 1  # the script goes on
    if riding is not None and purpose is Purpose.DEAL:
        return purpose, SCRIPTS[purpose].index(Kind.LOCK)  # the commitments came with the last showdown
    return purpose, 0
