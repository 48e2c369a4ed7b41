"""A match in memory: bots at a table without a network, with dice from a seed. No secrets are at stake here."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from cli.bots.bot import Bot
from p2pdice import (
    GROUPS,
    Expect,
    Hand,
    Hands,
    Input,
    Play,
    Pledges,
    Roll,
    Rolled,
    Ruleset,
    Stake,
    Stakes,
    State,
    apply,
    new_match,
    newcomer_wager,
    view,
)


async def rehearse(ruleset: Ruleset, bots: Sequence[Bot], rng: Random) -> State:
    """Play a match to its end, and return the state then.

    :param bots: by seat; who leads first is drawn. They are not closed.
    """
    state = new_match(ruleset, len(bots), rng.randrange(len(bots)))
    names = [bot.name for bot in bots]
    for seat, bot in enumerate(bots):
        await bot.started(ruleset, seat, names)
    hands: tuple[Hand, ...] = ((),) * len(bots)
    while state.awaits is not Expect.OVER:
        if state.awaits is Expect.ROLLED:
            hands = tuple(tuple(sorted(rng.choices(range(1, 7), k=dice))) for dice in state.dice)
        item = await _next(state, bots, hands, rng)
        if isinstance(item, Hands):
            hands = ((),) * len(bots)
        state, events = apply(state, item)
        for event in events:
            for bot in bots:
                bot.happened(event)
    for bot in bots:
        bot.over(state.places)
    return state


async def _next(state: State, bots: Sequence[Bot], hands: tuple[Hand, ...], rng: Random) -> Input:
    match state.awaits:
        case Expect.MOVE:
            seat = state.turn
            return Play(seat, await bots[seat].choose(view(state, seat, hands[seat])))
        case Expect.ROLLED:
            return Rolled()
        case Expect.HANDS:
            return Hands(hands)
        case Expect.ROLL:
            return Roll(rng.randint(1, 6))
        case Expect.PLEDGES:
            return Pledges(tuple(rng.choices(GROUPS, k=len(bots))))
    stakes = []
    for seat, bot in enumerate(bots):
        stake = await bot.choose(view(state, seat))
        assert isinstance(stake, Stake)
        stakes.append(newcomer_wager(stake.bet, stake.tickets))
    return Stakes(tuple(stakes))
