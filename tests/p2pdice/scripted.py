"""Helpers for writing matches as text: moves as words, and hands as digits."""

from collections.abc import Iterator
from random import Random

from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.events import Event
from p2pdice.motes import MOTES, Die
from p2pdice.moves import Bid, Evict, Exact, Hand, Hands, Input, Liar, Play, Pledges, Roll, Rolled, Stakes, parse_move
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.state import Buried, Expect, State


def rules(preset: str = "classic", **options: str) -> Ruleset:
    """Return a preset with changed options: ``raise_`` stands for the option raise, ``ones_bid`` for ones-bid."""
    return PRESETS[preset].with_options({name.strip("_").replace("_", "-"): text for name, text in options.items()})


def rolled(ruleset: Ruleset, dice: tuple[int, ...], first: int = 0, **changes: object) -> State:
    """Return the state after a roll, with this many dice in each cup. With motes, a cup keeps its first dice."""
    state = dealt(ruleset, len(dice), first=first)
    if state.motes is not None:
        cups = tuple(cup[:n] for cup, n in zip(state.motes.cups, dice, strict=True))
        state = state._replace(motes=state.motes._replace(cups=cups))
    return apply(state._replace(dice=dice, **changes), Rolled())[0]  # type: ignore[arg-type]


def play(state: State, *texts: str) -> State:
    """Let the player on turn make each move. ``evict 2`` and ``concede 2`` apply to the named seat."""
    for text in texts:
        word, _, seat = text.partition(" ")
        if word == "evict":
            state, _ = apply(state, Evict(int(seat)))
        elif word == "concede":
            state, _ = apply(state, Play(int(seat), parse_move(word)))
        else:
            state, _ = apply(state, Play(state.turn, parse_move(text)))
    return state


def show(state: State, *hands: str) -> tuple[State, tuple[Event, ...]]:
    """Open the cups. A hand is its digits (``"135"``), ``""`` without dice, or ``"?"`` if the cup is never opened."""
    return apply(state, Hands(tuple(None if hand == "?" else tuple(map(int, hand)) for hand in hands)))


def settle(state: State, *hands: str) -> State:
    """Open the cups, and roll again unless the match is over."""
    state, _ = show(state, *hands)
    return state if state.awaits is Expect.OVER else apply(state, Rolled())[0]


def before_play(state: State, rng: Random) -> Input:
    """Return the input that is awaited before a roll: random pledges, a public die, or stakes, some never opened."""
    if state.awaits is Expect.PLEDGES:
        return Pledges(tuple(rng.choices(("redeemed", "cursed"), k=state.players)))
    if state.awaits is Expect.ROLL:
        return Roll(rng.randint(1, 6))
    drawn = []
    for seat in range(state.players):
        funds, owned = rng.choice([0, 1, 7, 1000]), rng.randrange(3)
        silent = seat not in state.live or rng.random() < 0.05
        drawn.append(None if silent else (rng.randint(0, funds), funds, rng.randint(0, owned), owned))
    return Stakes(tuple(drawn))


def dealt(ruleset: Ruleset, players: int, *, first: int = 0, prize: int = 6) -> State:
    """Return the state before the first roll, after pledges, stakes of 0, and the roll of the prize (6: dark)."""
    state = new_match(ruleset, players, first)
    if state.awaits is Expect.PLEDGES:
        state, _ = apply(state, Pledges(("redeemed", "cursed") * (players // 2) + ("redeemed",) * (players % 2)))
    if state.awaits is Expect.STAKES:
        state, _ = apply(state, Stakes(((0, 1000, 0, 0),) * players))
    return apply(state, Roll(prize))[0] if state.awaits is Expect.ROLL else state


def die(text: str) -> Die:
    mote, _, seat = text.partition("@")
    return next(Die(known, int(seat)) for known in MOTES if known == mote)


def table(players: int, *buried: str, first: int = 0, prize: int = 6, ruleset: Ruleset | None = None) -> State:
    """Return a match with motes before its first roll, with some dice in the graveyard.

    :param buried: ``"light@0"`` for a die sent there by its own seat, ``"light@0 1"`` for a die sent by seat 1.
    """
    state = dealt(ruleset or rules("motes", stakes="no"), players, first=first, prize=prize)
    assert state.motes is not None
    motes = state.motes
    for text in buried:
        name, _, sender = text.partition(" ")
        known = die(name)
        motes = motes.bury(known, known.seat)
        graveyard = (*motes.graveyard[:-1], Buried(known, int(sender or known.seat)))
        motes = motes._replace(graveyard=graveyard)
    return state._replace(motes=motes, dice=tuple(map(len, motes.cups)))


def reach(state: State, phase: str, *, loses: str = "") -> State:
    """Play until a move is awaited in ``phase``: all pass, and the leader bids too much, is called and loses a die."""
    if state.awaits is Expect.ROLLED:
        state, _ = apply(state, Rolled())
    while state.phase != phase or state.awaits is not Expect.MOVE:
        if state.awaits is Expect.ROLLED:
            state, _ = apply(state, Rolled())
        elif state.awaits is Expect.HANDS:
            state, _ = show(state, *("6" * n for n in state.dice))
        elif state.phase == "bidding":
            state = play(state, "liar" if state.bids else "900x2")
        elif state.phase == "discard":
            state = play(state, f"lose {loses}" if loses else str(legal_moves(state)[0]))
        else:
            state = play(state, "pass")
    return state


def listed(state: State) -> list[str]:
    """Return the legal moves as texts, without bids and calls."""
    return [str(move) for move in legal_moves(state) if not isinstance(move, Bid | Liar | Exact)]


def roll(dice: tuple[int, ...], rng: Random) -> tuple[Hand, ...]:
    return tuple(tuple(sorted(rng.choices(range(1, 7), k=n))) for n in dice)


def random_play(
    ruleset: Ruleset, players: int, rng: Random, *, departures: float = 0.0
) -> Iterator[tuple[State, State, tuple[Event, ...]]]:
    """Play a whole match at random and yield (state, next state, events) of every input.

    :param departures: the probability, before each input, that a player is evicted. The cup then stays shut.
    """
    state = new_match(ruleset, players, rng.randrange(players))
    hands: tuple[Hand, ...] = ()
    while state.awaits is not Expect.OVER:
        before = state
        if rng.random() < departures:
            state, events = apply(state, Evict(rng.choice(state.live)))
        elif state.awaits is Expect.MOVE:
            # A uniform draw would rarely call, so most rounds would reach the last raise.
            moves = legal_moves(state)
            move = rng.choice(moves[-2:] if rng.random() < 0.2 else moves)
            state, events = apply(state, Play(state.turn, move))
        elif state.awaits is Expect.ROLLED:
            hands = roll(state.dice, rng)
            state, events = apply(state, Rolled())
        elif state.awaits is not Expect.HANDS:
            state, events = apply(state, before_play(state, rng))
        else:
            shown = [hand if seat in state.live or not hand else None for seat, hand in enumerate(hands)]
            state, events = apply(state, Hands(tuple(shown)))
        yield before, state, events


MOTE_RULES = rules("motes", stakes="no")


def after_a_round() -> State:
    """Return a state in which the first of two players must choose which of five motes to lose."""
    return show(play(rolled(MOTE_RULES, (5, 5)), "9x2", "liar"), "23456", "23456")[0]
